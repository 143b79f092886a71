import { Cause, ConfigError, Console, Effect, LogLevel } from "effect"
import { logLevel } from "./Logging.ts"
import { describe } from "./Settings.ts"

const lineOf = (error: unknown): string => {
  if (ConfigError.isConfigError(error)) return describe(error)
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().replace(/\s*\n\s*/g, "; ")
}

/** Why a command ended, in one line for the operator. */
export const describeCause = (cause: Cause.Cause<unknown>): string => lineOf(Cause.squash(cause))

/** The exit codes of commands that failed. */
export const exitCodes = {
  failed: 1,
  /** A command whose result is its exit code, such as `svc agent check`, could not get to a result. */
  usage: 2
} as const

/** A command that failed and has printed why; the process ends with this exit code. */
export class Reported extends Error {
  override readonly name = "Reported"
  readonly exitCode: number
  constructor(exitCode: number = exitCodes.failed) {
    super()
    this.exitCode = exitCode
  }
}

/** The exit code for the cause with which a command failed. */
export const exitCodeOf = (cause: Cause.Cause<unknown>): number => {
  const error = Cause.squash(cause)
  return error instanceof Reported ? error.exitCode : exitCodes.failed
}

/**
 * Prints one line on standard error for the failure that ended a command, with `SVC_LOG_LEVEL=debug` also its trace.
 * A signal to stop is not a failure.
 */
export const report = (cause: Cause.Cause<unknown>): Effect.Effect<never, Reported> =>
  Effect.gen(function* () {
    if (Cause.isInterruptedOnly(cause)) return yield* Effect.interrupt
    if (Cause.squash(cause) instanceof Reported) return yield* Effect.fail(new Reported(exitCodeOf(cause)))
    yield* Console.error(`svc: ${describeCause(cause)}`)
    const level = yield* Effect.orElseSucceed(logLevel, () => LogLevel.Info)
    if (LogLevel.lessThanEqual(level, LogLevel.Debug)) {
      yield* Console.error(Cause.pretty(cause, { renderErrorCause: true }))
    }
    return yield* Effect.fail(new Reported())
  })
