import { Effect, FiberSet, Schema } from "effect"
import type { Asks } from "./Messages.ts"

/** How a child of the bench answers what its parent asks. */
export type Duties<A extends Asks<A>> = {
  readonly [K in keyof A & string]: (argument: A[K]["argument"]) => Effect.Effect<A[K]["answer"]>
}

const isQuestion = Schema.is(
  Schema.Struct({ id: Schema.Number, ask: Schema.String, argument: Schema.optional(Schema.Unknown) })
)

/** Answers until the parent goes, which ends this process too. */
export const attend = <A extends Asks<A>>(duties: Duties<A>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never, void, never>()
    const known = new Map<string, (argument: never) => Effect.Effect<unknown>>(Object.entries(duties))
    const send = (message: unknown) => Effect.sync(() => void process.send?.(message, () => {}))
    const onMessage = (question: unknown): void => {
      if (!isQuestion(question)) return
      const { argument, ask, id } = question
      const duty = known.get(ask)
      run(
        Effect.matchCauseEffect(
          duty === undefined ? Effect.dieMessage(`nobody answers ${ask}`) : duty(argument as never),
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
