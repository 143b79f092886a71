import type { Runtime } from "@effect/platform"
import { Cause, Exit } from "effect"

/** How the simulator's programs end. */
export const exitCodes = {
  /** Everything was as expected. */
  met: 0,
  /** An expectation was not met, or something broke. */
  failed: 1,
  /** Wrong usage, or a script that is none. */
  usage: 2,
  /** The server cannot be reached, or refuses. */
  server: 3,
  /** Ctrl-C. */
  interrupted: 130
} as const

/**
 * Ends the process with the number that the program succeeded with. Always an exit: a server that hangs would hold the
 * process by the closing handshake of the line.
 */
export const teardown: Runtime.Teardown = (exit) => {
  if (Exit.isSuccess(exit)) process.exit(typeof exit.value === "number" ? exit.value : exitCodes.failed)
  if (Cause.isInterruptedOnly(exit.cause)) process.exit(exitCodes.interrupted)
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exit(exitCodes.failed)
}
