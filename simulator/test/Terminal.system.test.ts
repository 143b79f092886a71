import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { type IPty, spawn } from "@lydell/node-pty"
import { Effect } from "effect"
import { fakeServer, key, numbers } from "./FakeServer.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** A program in a pseudo-terminal. */
class Terminal {
  #output = ""
  #waiting: (() => void) | undefined
  readonly #pty: IPty
  readonly exited: Promise<number>

  constructor(args: ReadonlyArray<string>) {
    const { CI: _, ...env } = process.env
    this.#pty = spawn(process.execPath, [...args], {
      name: "xterm-256color",
      cols: 80,
      rows: 24,
      cwd: root,
      env: { ...env, CONTINUOUS_INTEGRATION: "false" }
    })
    this.#pty.onData((data) => {
      this.#output += data
      this.#waiting?.()
    })
    this.exited = new Promise((resolve) => this.#pty.onExit(({ exitCode }) => resolve(exitCode)))
  }

  get output(): string {
    return this.#output
  }

  /** The rows of the last frame. Ink brackets each frame with a synchronized update. */
  get screen(): ReadonlyArray<string> {
    const frame = this.#output.slice(Math.max(0, this.#output.lastIndexOf("\u001b[?2026h")))
    return frame.replace(/\u001b\[[0-9;?]*[a-zA-Z]/g, "").split("\r\n")
  }

  /** Waits for a frame. The timeout of the test limits the wait. */
  async until(wanted: (rows: ReadonlyArray<string>) => boolean): Promise<void> {
    while (!wanted(this.screen)) {
      const changed = new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
      const early = this.exited.then((code) =>
        Promise.reject(new Error(`ended with ${code}:\n${this.screen.join("\n")}`))
      )
      await Promise.race([changed, early])
    }
  }

  shows(text: string): Promise<void> {
    return this.until((rows) => rows.some((row) => row.includes(text)))
  }

  type(keys: string): void {
    this.#pty.write(keys)
  }

  resize(columns: number, rows: number): void {
    this.#pty.resize(columns, rows)
  }

  kill(signal: string): void {
    this.#pty.kill(signal)
  }

  /** Whether the cursor was shown and the alternate screen was left last. */
  get restored(): boolean {
    const after = (code: string) => this.#output.lastIndexOf(code)
    return (
      after("\u001b[?1049l") > after("\u001b[?1049h") &&
      after("\u001b[?25h") > after("\u001b[?25l") &&
      after("\u001b[?1049h") >= 0
    )
  }
}

const start = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => new Terminal(args)),
    (terminal) => Effect.sync(() => terminal.kill("SIGKILL"))
  )
const open = (url: string) => start("simulator/dist/main.js", "--url", url, "--key", key)

describe("the simulator in a terminal", () => {
  it.scopedLive("makes a call and restores the terminal when it quits", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* open(server.url)
      yield* Effect.promise(async () => {
        await terminal.shows(numbers.friendly)
        terminal.type("\r")
        await terminal.shows("Good morning, this is the test")
        terminal.type("Is anybody there?\r")
        await terminal.shows("You said: Is anybody there?")
        terminal.resize(60, 20)
        await terminal.until((rows) => rows.some((row) => row.length === 60) && rows.every((row) => row.length <= 60))
        terminal.type("\t5")
        await terminal.shows("You pressed 5")
        terminal.type("\u001b")
        await terminal.shows("you hung up")
        terminal.type("q")
        expect(await terminal.exited).toBe(0)
      })
      expect(terminal.restored).toBe(true)
      // The scrollback is not cleared.
      expect(terminal.output).not.toContain("\u001b[3J")
      expect(server.received.map((m) => m.event)).toEqual(["dial", "say", "dtmf", "hangup"])
    })
  )

  it.scopedLive("shows that the server is away and that it is back", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* open(server.url)
      yield* Effect.promise(async () => {
        await terminal.shows("● connected")
        server.die()
        await terminal.shows("the server is away")
        await server.start()
        await terminal.shows("the server is back")
        terminal.type("\u0003")
        expect(await terminal.exited).toBe(0)
      })
      expect(terminal.restored).toBe(true)
    })
  )

  it.scopedLive("restores the terminal at SIGTERM", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* open(server.url)
      yield* Effect.promise(async () => {
        await terminal.shows("● connected")
        terminal.kill("SIGTERM")
        expect(await terminal.exited).toBe(130)
      })
      expect(terminal.restored).toBe(true)
    })
  )

  for (const [how, message] of [
    ["render", "the picture broke"],
    ["uncaught", "a callback broke"]
  ] as const) {
    it.scopedLive(`restores the terminal before it prints the error of a crash (${how})`, () =>
      Effect.gen(function* () {
        const terminal = yield* start(
          "--conditions=@svc/source",
          "--import",
          "tsx",
          "simulator/test/CrashingProgram.ts",
          how
        )
        yield* Effect.promise(async () => {
          if (how === "uncaught") {
            await terminal.shows("Transcript")
            terminal.type("x")
          }
          expect(await terminal.exited).toBe(1)
        })
        expect(terminal.restored).toBe(true)
        expect(terminal.output.slice(terminal.output.lastIndexOf("\u001b[?1049l"))).toContain(message)
      })
    )
  }
})
