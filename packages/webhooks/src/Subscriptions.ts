import type { AgentId } from "@svc/api/Ids"
import { Context, Effect, Layer, type Option } from "effect"
import { newSecret } from "./SigningSecret.ts"
import type { Subscription } from "./Subscription.ts"
import { SubscriptionsRepo } from "./SubscriptionsRepo.ts"

/** An agent as its subscription knows it. */
export interface SubscribedAgent {
  readonly id: number
  readonly public_id: AgentId
  readonly org_id: number
  readonly project_id: number
}

/**
 * Who gets events (spec 2.7, 6.1). An agent's webhook is a row that the agent manages (decisions §5.7): these are what
 * agents do with theirs, each part of the caller's transaction. Whoever changes an agent holds a lock on it, so there
 * are never two at once.
 */
export class Subscriptions extends Context.Tag("@svc/webhooks/Subscriptions")<
  Subscriptions,
  {
    /**
     * Gives the agent this webhook. A new one gets a new secret; one that is there keeps its own, and is put back to work
     * when it was disabled. `events`: names of spec 2.4, or `*` for all.
     */
    readonly putOfAgent: (
      agent: SubscribedAgent,
      webhook: { readonly url: string; readonly events: ReadonlyArray<string> }
    ) => Effect.Effect<Subscription>
    /** A new secret; the old one is invalid with the commit. None when the agent has no webhook. */
    readonly rotateOfAgent: (agentId: number) => Effect.Effect<Option.Option<Subscription>>
    /** Removes the webhook with its secret; nothing when there is none. */
    readonly removeOfAgent: (agentId: number) => Effect.Effect<void>
    /** Removes the webhooks of all agents of a project. */
    readonly removeOfAgentsOf: (projectId: number) => Effect.Effect<void>
    /** In one query; agents that have none are missing. */
    readonly ofAgents: (agentIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Subscription>>
  }
>() {
  static readonly layer: Layer.Layer<Subscriptions, never, SubscriptionsRepo> = Layer.effect(
    Subscriptions,
    Effect.map(SubscriptionsRepo, (repo) => ({
      putOfAgent: Effect.fn("Subscriptions.putOfAgent")(function* (agent, { events, url }) {
        const { id: agent_id, org_id, project_id, public_id: agent_public_id } = agent
        return yield* repo.putOfAgent({
          agent_id,
          agent_public_id,
          org_id,
          project_id,
          url,
          events,
          secret: yield* newSecret
        })
      }),
      rotateOfAgent: (agentId) => Effect.flatMap(newSecret, (secret) => repo.setSecretOfAgent(agentId, secret)),
      removeOfAgent: repo.deleteOfAgent,
      removeOfAgentsOf: repo.deleteOfAgentsOf,
      ofAgents: (agentIds) =>
        Effect.map(
          agentIds.length === 0 ? Effect.succeed([]) : repo.ofAgents(agentIds),
          (rows) => new Map(rows.flatMap((row) => (row.agent_id === null ? [] : [[row.agent_id, row] as const])))
        )
    }))
  )
}
