import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { fakeServer, key, numbers } from "./FakeServer.ts"
import { started as start, startWith } from "./PseudoTerminal.ts"

const open = (url: string) => start("simulator/dist/main.js", "--url", url, "--key", key)

describe("the simulator in a terminal", () => {
  it.scopedLive("makes a call and restores the terminal when it quits", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* open(server.url)
      yield* Effect.promise(async () => {
        await terminal.shows(numbers.friendly)
        // The second Enter does not dial again.
        terminal.type("\r\r")
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

  it.scopedLive("prints a summary of each call, with its debug page, that stays in the terminal when it quits", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* start("simulator/dist/main.js", "--url", server.url, "--key", key, "--to", numbers.brief)
      yield* Effect.promise(async () => {
        await terminal.shows(`▸ ${numbers.brief}`)
        terminal.type("\r")
        await terminal.shows("Debug page:")
        terminal.resize(20, 5)
        await terminal.until((rows) => rows.length <= 5 && rows.every((row) => row.length <= 20))
        terminal.type("q")
        expect(await terminal.exited).toBe(0)
      })
      const printed = terminal.output.slice(terminal.output.lastIndexOf("\u001b[?1049l"))
      expect(printed).toContain(`Call to ${numbers.brief} ended after 0:00: agent-hangup`)
      expect(printed).toContain(`Debug page: ${server.url}/debug/calls/call_000000000000000000000001`)
    })
  )

  it.scopedLive("has no colours with NO_COLOR", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* startWith({ NO_COLOR: "1" }, "simulator/dist/main.js", "--url", server.url, "--key", key)
      yield* Effect.promise(async () => {
        await terminal.shows("● connected")
        terminal.type("q")
        expect(await terminal.exited).toBe(0)
      })
      expect(terminal.output).not.toMatch(/\u001b\[[0-9;]*\b(?:3[0-9]|4[0-9]|9[0-7])\b[0-9;]*m/)
    })
  )

  it.scopedLive("is made of plain lines where the terminal has no screen (TERM=dumb)", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* startWith({ TERM: "dumb" }, "simulator/dist/main.js", "--url", server.url, "--key", key)
      yield* Effect.promise(async () => {
        await terminal.shows(`* ${numbers.friendly}`)
        terminal.type("\r")
        await terminal.shows("Good morning, this is the test agent.")
        terminal.type("please book me in\r")
        await terminal.shows('tool book_appointment {"day":"Friday"} → {"booked":true}  [12 ms]')
        terminal.type("/quit\r")
        expect(await terminal.exited).toBe(0)
      })
      expect(terminal.output).toContain(`Debug page: ${server.url}/debug/calls/call_000000000000000000000001`)
      expect(terminal.output).not.toContain("\u001b")
      expect(server.received.map((m) => m.event)).toEqual(["dial", "say", "hangup"])
    })
  )

  it.scopedLive("prints the summaries at Ctrl-C where the terminal has no screen", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const terminal = yield* startWith({ TERM: "dumb" }, "simulator/dist/main.js", "--url", server.url, "--key", key)
      yield* Effect.promise(async () => {
        await terminal.shows(`* ${numbers.friendly}`)
        terminal.type("\r")
        await terminal.shows("Good morning, this is the test agent.")
        terminal.type("\u0003")
        expect(await terminal.exited).toBe(130)
      })
      expect(terminal.output).toContain(`Call to ${numbers.friendly} ended after 0:00: you hung up`)
      expect(server.received.map((m) => m.event)).toEqual(["dial", "hangup"])
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
