import type { CallAgent } from "@svc/agents/Agents"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts } from "@svc/conversation/Input"
import { type Passage, withinBudget } from "@svc/conversation/Passages"
import { KnowledgeSearch } from "@svc/knowledge/KnowledgeSearch"
import { Cause, Context, Data, Effect, Layer } from "effect"
import type { Feed } from "./ConversationServices.ts"

/** Knowledge was not looked up; `reason` is one plain sentence, which the model may get as the result of its tool. */
export class LookUpFailed extends Data.TaggedError("LookUpFailed")<{ readonly reason: string }> {}

/** What a look-up found. */
export interface Found {
  /** How many knowledge bases the agent has. */
  readonly bases: number
  /** Best first. */
  readonly passages: ReadonlyArray<Passage>
}

/** Most passages of a look-up; the budget of characters may leave fewer. */
const maxPassages = 6

/** The port through which calls look up the knowledge bases of their agent, as they are at that time. */
export class CallKnowledge extends Context.Tag("@svc/call-engine/CallKnowledge")<
  CallKnowledge,
  { readonly lookUp: (agent: Pick<CallAgent, "id">, query: string) => Effect.Effect<Found, LookUpFailed> }
>() {
  static readonly layer: Layer.Layer<CallKnowledge, never, KnowledgeSearch> = Layer.effect(
    CallKnowledge,
    Effect.map(KnowledgeSearch, ({ search }) => ({
      lookUp: ({ id }, query) => search({ agent_id: id }, query, maxPassages)
    }))
  )

  /** Finds nothing, as for an agent without knowledge bases. */
  static readonly layerNone: Layer.Layer<CallKnowledge> = Layer.succeed(CallKnowledge, {
    lookUp: () => Effect.succeed({ bases: 0, passages: [] })
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
  return ({ id, purpose, query }) =>
    Effect.suspend(() => {
      const began = now()
      const failed = (reason: string) => Effect.sync(() => feed({ _tag: "KnowledgeFailed", id, purpose, reason }))
      return Effect.suspend(() => knowledge.lookUp(agent, query)).pipe(
        Effect.timeoutFail({
          duration: longestLookUp,
          onTimeout: () => new LookUpFailed({ reason: `the knowledge bases did not answer within ${longestLookUp}` })
        }),
        Effect.flatMap(({ bases, passages }) =>
          Effect.sync(() => {
            const took_ms = Math.round((now() - began) * 10) / 10
            feed({ _tag: "KnowledgeFound", id, purpose, bases, passages: [...withinBudget(passages)], took_ms })
          })
        ),
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
