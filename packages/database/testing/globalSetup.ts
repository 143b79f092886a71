import { Effect, Exit, Logger, LogLevel, Scope } from "effect"
import * as TestServer from "../src/TestServer.ts"

const acquire = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const run = yield* TestServer.start.pipe(
    Scope.extend(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  process.env[TestServer.variable] = JSON.stringify(run)
  return scope
}).pipe(Logger.withMinimumLogLevel(LogLevel.Warning))

/** vitest's global set-up: one database server for the whole run. The test processes find it in the environment. */
export default (): Promise<() => Promise<void>> =>
  Effect.runPromise(acquire).then((scope) => () => Effect.runPromise(Scope.close(scope, Exit.void)))
