import type { AgentId } from "@svc/api/Ids"
import { Context, Effect, Layer, type Option } from "effect"
import { AgentWebhooksRepo } from "./AgentWebhooksRepo.ts"
import { newSecret } from "./SigningSecret.ts"
import { NewWebhook, type WebhookRow } from "./WebhookRow.ts"

/** An agent that has a webhook. */
export interface WebhookAgent {
  readonly id: number
  readonly public_id: AgentId
  readonly org_id: number
  readonly project_id: number
}

/**
 * The webhooks that agents manage themselves: one row each, at most. Every method is part of the caller's transaction.
 * The caller holds a lock on the agent, so an agent's webhook is never changed concurrently.
 */
export class AgentWebhooks extends Context.Tag("@svc/webhooks/AgentWebhooks")<
  AgentWebhooks,
  {
    /**
     * Creates the agent's webhook, with a new secret, or changes it: it keeps its secret then, and is enabled again if
     * it was disabled. `events`: event names, or `*` for all.
     */
    readonly put: (
      agent: WebhookAgent,
      webhook: { readonly url: string; readonly events: ReadonlyArray<string> }
    ) => Effect.Effect<WebhookRow>
    /** Sets a new secret; the old one is invalid from the commit on. None when the agent has no webhook. */
    readonly rotateSecret: (agentId: number) => Effect.Effect<Option.Option<WebhookRow>>
    /** Removes the webhook, if there is one. */
    readonly remove: (agentId: number) => Effect.Effect<void>
    /** Removes the webhooks of all agents of a project. */
    readonly removeAllOfProject: (projectId: number) => Effect.Effect<void>
    /** By agent id, in one query; agents without a webhook are missing. */
    readonly ofAgents: (agentIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, WebhookRow>>
  }
>() {
  static readonly layer: Layer.Layer<AgentWebhooks, never, AgentWebhooksRepo> = Layer.effect(
    AgentWebhooks,
    Effect.map(AgentWebhooksRepo, (repo) => ({
      put: Effect.fn("AgentWebhooks.put")(function* (agent, { events, url }) {
        const { id: agent_id, org_id, project_id, public_id: agent_public_id } = agent
        const owned = { org_id, project_id, agent_id, agent_public_id, is_agent_managed: true }
        const secret = yield* newSecret
        return yield* repo.put(NewWebhook.make({ ...owned, url, events, filters: { agent_id }, secret }))
      }),
      rotateSecret: (agentId) => Effect.flatMap(newSecret, (secret) => repo.setSecret(agentId, secret)),
      remove: repo.deleteOfAgent,
      removeAllOfProject: repo.deleteAllOfProject,
      ofAgents: (agentIds) =>
        Effect.map(
          agentIds.length === 0 ? Effect.succeed([]) : repo.ofAgents(agentIds),
          (rows) => new Map(rows.flatMap((row) => (row.agent_id === null ? [] : [[row.agent_id, row] as const])))
        )
    }))
  )
}
