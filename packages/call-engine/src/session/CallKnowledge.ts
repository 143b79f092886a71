import type { CallAgent } from "@svc/agents/Agents"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { withinBudget } from "@svc/conversation/Passages"
import { type Found, KnowledgeSearch } from "@svc/knowledge/KnowledgeSearch"
import { Cause, Context, Data, Duration, Effect, Layer } from "effect"
import type { Feed } from "./ConversationServices.ts"

/** Knowledge was not looked up; `reason` is one plain sentence, which the model may get as the result of its tool. */
export class LookUpFailed extends Data.TaggedError("LookUpFailed")<{ readonly reason: string }> {}

/** Most passages of a look-up; the budget of characters may leave fewer. */
const maxPassages = 6

/** How long a look-up waits for the vector of its question: the caller's turn waits 150 ms for all of it. */
const patience = { turn: Duration.millis(100), tool: Duration.seconds(1) }

/** The port through which calls look up the knowledge bases of their agent, as they are at that time. */
export class CallKnowledge extends Context.Tag("@svc/call-engine/CallKnowledge")<
  CallKnowledge,
  {
    readonly lookUp: (
      agent: Pick<CallAgent, "id">,
      query: string,
      purpose: CommandOf<"LookUp">["purpose"]
    ) => Effect.Effect<Found, LookUpFailed>
    /** Gets ready for look-ups of a call that begins. */
    readonly prepare: (agent: Pick<CallAgent, "id">) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<CallKnowledge, never, KnowledgeSearch> = Layer.effect(
    CallKnowledge,
    Effect.map(KnowledgeSearch, ({ prepare, search }) => ({
      lookUp: ({ id }, query, purpose) => search({ agent_id: id }, query, maxPassages, patience[purpose]),
      prepare: ({ id }) =>
        Effect.catchAllCause(prepare({ agent_id: id }), (cause) =>
          Effect.logWarning(`The knowledge bases of agent ${id} could not be read before they are searched`, cause)
        )
    }))
  )

  /** Finds nothing, as for an agent without knowledge bases. */
  static readonly layerNone: Layer.Layer<CallKnowledge> = Layer.succeed(CallKnowledge, {
    lookUp: () => Effect.succeed({ bases: 0, passages: [], without_vectors: null }),
    prepare: () => Effect.void
  })
}

/** A look-up that takes longer has failed. The conversation waits for less. */
const longestLookUp = "4 seconds"

/** Carries out `LookUp` and feeds the outcome back. Never fails. */
export const knowledgeLookUp = (options: {
  readonly agent: CallAgent
  readonly facts: Facts
  readonly knowledge: Context.Tag.Service<CallKnowledge>
  readonly now: () => number
  readonly feed: Feed
}): ((command: CommandOf<"LookUp">) => Effect.Effect<void>) => {
  const { agent, facts, feed, knowledge, now } = options
  let isLogged = false
  /** Once for a call: a provider that fails does so for each turn. */
  const logOnce = (reason: string) =>
    Effect.suspend(() => {
      if (isLogged) return Effect.void
      isLogged = true
      return Effect.logWarning(`Knowledge was looked up by words only in ${facts.call_id}: ${reason}`)
    })
  return ({ id, purpose, query }) =>
    Effect.suspend(() => {
      const began = now()
      const failed = (reason: string) => Effect.sync(() => feed({ _tag: "KnowledgeFailed", id, purpose, reason }))
      return Effect.suspend(() => knowledge.lookUp(agent, query, purpose)).pipe(
        Effect.timeoutFail({
          duration: longestLookUp,
          onTimeout: () => new LookUpFailed({ reason: `the knowledge bases did not answer within ${longestLookUp}` })
        }),
        Effect.flatMap(({ bases, passages, without_vectors }) => {
          const took_ms = Math.round((now() - began) * 10) / 10
          feed({ _tag: "KnowledgeFound", id, purpose, bases, passages: [...withinBudget(passages)], took_ms })
          return without_vectors === null ? Effect.void : logOnce(without_vectors)
        }),
        Effect.catchAll(({ reason }) => failed(reason)),
        // A defect fails only the look-up, not the call.
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(
            Effect.logError(`Knowledge could not be looked up in ${facts.call_id}`, Cause.die(defect)),
            failed("the knowledge bases cannot be read now")
          )
        )
      )
    })
}
