import { errorSummary } from "@svc/plugin-host/ErrorSummary"
import { PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { Cause, Data, Deferred, Effect, Runtime, type Scope } from "effect"

/** An uncaught error after which the server must not go on: it has stopped, and its supervisor starts it again. */
export class ServerFault extends Data.TaggedError("ServerFault")<{ readonly message: string }> {}

/** How long the server may take to stop after such an error, longer than calls and requests may take to end. */
const stopDeadline = "30 seconds"

/** The first faults of a plugin are logged, then every hundredth: a timer may throw a thousand times a second. */
const isLogged = (count: number): boolean => count <= 10 || count % 100 === 0

/** `exception`: it was thrown and nobody caught it. `rejection`: a promise that nobody handled. */
type FaultKind = "exception" | "rejection"

const names: { readonly [K in FaultKind]: string } = {
  exception: "an uncaught exception",
  rejection: "an unhandled rejection of a promise"
}

/** Of an error that has no stack, as that of a refused connection or a thrown `null`. */
const unknownOrigin = "of unknown origin (its stack names neither a plugin nor the server)"

const outputs = [process.stdout, process.stderr]

/**
 * Nobody reads the log any more, because the reader of its pipe has ended. As an uncaught exception it would be logged,
 * which fails again, without end.
 */
const ignoreClosedOutput = (): void => {}

/**
 * Listens for errors that nobody caught. One of a plugin is logged and counted against the plugin's health. A
 * rejection without a stack is logged: it has interrupted no code of ours. Any other may have, whose state is then
 * unknown: `fatal` fails, and the server has to stop. Errors while it stops are only logged.
 */
export const processFaults: Effect.Effect<{ readonly fatal: Effect.Effect<never, ServerFault> }, never, Scope.Scope> =
  Effect.gen(function* () {
    const faults = yield* PluginFaults
    const clock = yield* Effect.clock
    const run = Runtime.runFork(yield* Effect.runtime<never>())
    const fatal = yield* Deferred.make<never, ServerFault>()

    let fatalCount = 0

    const on = (kind: FaultKind) => (fault: unknown) => {
      const log = (message: string) => void run(Effect.logError(message, Cause.die(fault)))
      const origin = faults.owners.originOf(fault)
      if (origin._tag === "Plugin") {
        const count = faults.record(origin.plugin, clock.unsafeCurrentTimeMillis())
        if (isLogged(count))
          log(`plugin ${origin.plugin}: ${names[kind]} outside of any call (${count} since the start)`)
      } else if (origin._tag === "Unknown" && kind === "rejection") {
        log("A promise was rejected, and nobody handled it; its stack names no plugin and no part of the server")
      } else {
        const what = `${names[kind]} ${origin._tag === "Server" ? "in the server" : unknownOrigin}`
        fatalCount += 1
        if (!isLogged(fatalCount)) return
        log(`The server stops because of ${what}: live calls may end, then the process exits with code 1`)
        const reason = `${what}: ${errorSummary(fault)}; start it again`
        Deferred.unsafeDone(fatal, Effect.fail(new ServerFault({ message: reason })))
      }
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const listeners = { uncaughtException: on("exception"), unhandledRejection: on("rejection") }
        process.on("uncaughtException", listeners.uncaughtException)
        process.on("unhandledRejection", listeners.unhandledRejection)
        for (const output of outputs) output.on("error", ignoreClosedOutput)
        return listeners
      }),
      ({ uncaughtException, unhandledRejection }) =>
        Effect.sync(() => {
          process.off("uncaughtException", uncaughtException)
          process.off("unhandledRejection", unhandledRejection)
          for (const output of outputs) output.off("error", ignoreClosedOutput)
        })
    )
    return { fatal: Deferred.await(fatal).pipe(Effect.tapError(() => Effect.forkDaemon(exitAtDeadline))) }
  })

/** Ends the process when it does not stop: what is broken may be what has to stop. */
const exitAtDeadline = Effect.sleep(stopDeadline).pipe(
  Effect.zipRight(Effect.logError(`The server did not stop within ${stopDeadline}; the process exits`)),
  Effect.zipRight(Effect.sync(() => process.exit(1)))
)
