import { fileURLToPath } from "node:url"
import { type IPty, spawn } from "@lydell/node-pty"
import { Effect } from "effect"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** A program in a pseudo-terminal of 80×24. */
export class PseudoTerminal {
  #output = ""
  #waiting: (() => void) | undefined
  readonly #pty: IPty
  readonly exited: Promise<number>

  constructor(args: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) {
    const { CI: _, NO_COLOR: __, ...env } = process.env
    this.#pty = spawn(process.execPath, [...args], {
      name: variables.TERM ?? "xterm-256color",
      cols: 80,
      rows: 24,
      cwd: root,
      env: { ...env, CONTINUOUS_INTEGRATION: "false", ...variables }
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

/** Runs node with these arguments and variables while the scope is open. */
export const startWith = (variables: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => new PseudoTerminal(args, variables)),
    (terminal) => Effect.sync(() => terminal.kill("SIGKILL"))
  )
/** The same without variables. */
export const started = (...args: ReadonlyArray<string>) => startWith({}, ...args)
