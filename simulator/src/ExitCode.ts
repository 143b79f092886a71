import type { Runtime } from "@effect/platform"
import { Cause, Exit } from "effect"

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
  interrupted: 130
} as const

/**
 * Exits with the number with which the program succeeded. The exit is explicit, because the closing handshake with a
 * server that hangs would keep the process alive.
 */
export const teardown: Runtime.Teardown = (exit) => {
  if (Exit.isSuccess(exit)) process.exit(typeof exit.value === "number" ? exit.value : exitCodes.failed)
  if (Cause.isInterruptedOnly(exit.cause)) process.exit(exitCodes.interrupted)
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exit(exitCodes.failed)
}
