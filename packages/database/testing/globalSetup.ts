import { Effect, Exit, Logger, LogLevel, Scope } from "effect"
import * as TestServer from "../src/TestServer.ts"

/** vitest's global set-up: one database server for the whole run. The test processes find it in the environment. */
export default (): Promise<() => Promise<void>> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const run = yield* TestServer.start.pipe(
      Scope.extend(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    process.env[TestServer.variable] = JSON.stringify(run)
    return () => Effect.runPromise(Scope.close(scope, Exit.void))
  }).pipe(Logger.withMinimumLogLevel(LogLevel.Warning), Effect.runPromise)
