import type { Runtime } from "@effect/platform"
import { Cause, Effect, Exit, Schedule } from "effect"

/** The exit codes of the simulator's programs. */
export const exitCodes = {
  /** Everything was as expected. */
  ok: 0,
  /** An expectation was not met, or an error occurred. */
  failed: 1,
  /** Invalid arguments or an invalid script. */
  usage: 2,
  /** The server cannot be reached or refuses. */
  server: 3,
  /** Ctrl-C. */
  interrupted: 130,
  /** The reader of standard output has ended, as `head` does. Shells report SIGPIPE so. */
  noReader: 141
} as const

let hasReader = true

/** How often the parent process is looked for. */
const parentInterval = "500 millis"

/**
 * Ends the program as SIGTERM does, so that everything it started is stopped, when nobody reads standard output any
 * more, when the terminal's window is closed, or when the process that started it (npm), `parent`, has ended.
 */
export const endWithSurroundings = (parent = process.ppid): void => {
  const end = () => process.kill(process.pid, "SIGTERM")
  process.once("SIGHUP", end)
  process.stdout.on("error", () => {
    if (!hasReader) return
    hasReader = false
    end()
  })
  // There is no other place to report it.
  process.stderr.on("error", () => {})
  Effect.runFork(
    Effect.sync(() => process.ppid).pipe(
      Effect.repeat({ until: (current) => current !== parent, schedule: Schedule.spaced(parentInterval) }),
      Effect.andThen(Effect.sync(end))
    )
  )
}

/**
 * Exits with the number with which the program succeeded. The exit is explicit, because the closing handshake with a
 * server that hangs would keep the process alive.
 */
export const teardown: Runtime.Teardown = (exit) => {
  if (!hasReader) process.exit(exitCodes.noReader)
  if (Exit.isSuccess(exit)) process.exit(typeof exit.value === "number" ? exit.value : exitCodes.failed)
  if (Cause.isInterruptedOnly(exit.cause)) process.exit(exitCodes.interrupted)
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exit(exitCodes.failed)
}
