import { Effect, FiberSet, Schema } from "effect"
import type { Requests } from "./ProcessRequests.ts"

/** The handlers for requests of the parent process. */
export type RequestHandlers<A extends Requests<A>> = {
  readonly [K in keyof A & string]: (argument: A[K]["argument"]) => Effect.Effect<A[K]["answer"]>
}

const isRequest = Schema.is(
  Schema.Struct({ id: Schema.Number, name: Schema.String, argument: Schema.optional(Schema.Unknown) })
)

/** Answers requests until the parent disconnects, which ends this process too. */
export const serveRequests = <A extends Requests<A>>(handlers: RequestHandlers<A>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never, void, never>()
    const byName = new Map<string, (argument: never) => Effect.Effect<unknown>>(Object.entries(handlers))
    const send = (message: unknown) => Effect.sync(() => void process.send?.(message, () => {}))
    const onMessage = (request: unknown): void => {
      if (!isRequest(request)) return
      const { argument, id, name } = request
      const handler = byName.get(name)
      run(
        Effect.matchCauseEffect(
          handler === undefined ? Effect.dieMessage(`no handler for ${name}`) : handler(argument as never),
          {
            onSuccess: (answer) => send({ id, answer }),
            onFailure: (cause) => send({ id, failure: String(cause) })
          }
        )
      )
    }
    yield* Effect.acquireUseRelease(
      Effect.sync(() => process.on("message", onMessage)),
      () =>
        Effect.async<void>((resume) => {
          if (!process.connected) resume(Effect.void)
          else process.once("disconnect", () => resume(Effect.void))
        }),
      () => Effect.sync(() => process.off("message", onMessage))
    )
  }).pipe(Effect.scoped)
