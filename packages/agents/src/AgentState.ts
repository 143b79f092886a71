import type { Agent, KnowledgeBaseRef } from "@svc/api/agents/Agent"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { hintOf } from "@svc/webhooks/SigningSecret"
import type { Subscription } from "@svc/webhooks/Subscription"
import { Subscriptions } from "@svc/webhooks/Subscriptions"
import { Effect } from "effect"
import { type AgentRow, AgentsRepo } from "./AgentsRepo.ts"

/** An agent with its webhook, if it has one, and the knowledge bases that it uses, by ascending id. */
export interface AgentState {
  readonly row: AgentRow
  readonly webhook: Subscription | undefined
  readonly knowledge_bases: ReadonlyArray<KnowledgeBaseRef>
}

/** Completes rows, in their order: at most two queries however many they are, and none for what they do not have. */
export const agentStates: Effect.Effect<
  (rows: ReadonlyArray<AgentRow>) => Effect.Effect<ReadonlyArray<AgentState>>,
  never,
  AgentsRepo | Subscriptions
> = Effect.gen(function* () {
  const repo = yield* AgentsRepo
  const subscriptions = yield* Subscriptions
  return Effect.fnUntraced(function* (rows) {
    const webhooks = yield* subscriptions.ofAgents(rows.flatMap((row) => (row.has_webhook ? [row.id] : [])))
    const linked = rows.flatMap((row) => (row.has_knowledge_bases ? [row.id] : []))
    const links = linked.length === 0 ? [] : yield* repo.links(linked)
    const bases = new Map<number, Array<KnowledgeBaseRef>>(linked.map((id) => [id, []]))
    for (const { agent_id, id, public_id } of links) bases.get(agent_id)?.push({ id, public_id })
    return rows.map((row) => ({
      row,
      webhook: webhooks.get(row.id),
      knowledge_bases: bases.get(row.id) ?? []
    }))
  })
})

/** The names that a subscription stands for: `*` is all there are. */
export const namesOf = (events: ReadonlyArray<string>): ReadonlyArray<string> =>
  events.includes("*") ? webhookEvents : events

/** The wire form (spec 2.4). A webhook that was disabled has no events. */
export const toAgent = ({ knowledge_bases, row, webhook }: AgentState): Agent => ({
  id: row.id,
  public_id: row.public_id,
  name: row.name,
  language: row.language,
  voice: row.voice,
  max_duration: row.max_duration,
  recording: row.recording,
  end_call_enabled: row.end_call_enabled,
  server_url: row.server_url,
  server_secret_hint: hintOf(row.server_secret),
  webhook_url: webhook?.url ?? null,
  webhook_secret_hint: webhook === undefined ? null : hintOf(webhook.secret),
  webhook_events: webhook?.is_active === true ? namesOf(webhook.events) : null,
  knowledge_base_ids: knowledge_bases,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString()
})

/** What an agent is made of, as the audit log tells it: secrets by their hints, under the secrets' names. */
export const settingsOf = (state: AgentState): { readonly [field: string]: unknown } => {
  const agent = toAgent(state)
  return {
    name: agent.name,
    language: agent.language,
    voice: agent.voice,
    max_duration: agent.max_duration,
    recording: agent.recording,
    end_call_enabled: agent.end_call_enabled,
    server_url: agent.server_url,
    server_secret: agent.server_secret_hint,
    webhook_url: agent.webhook_url,
    webhook_secret: agent.webhook_secret_hint,
    webhook_events: agent.webhook_events,
    knowledge_base_ids: agent.knowledge_base_ids
  }
}

/** Where two sets of values differ; a field that one of them lacks is null there, and told only by the other. */
export const difference = (
  before: { readonly [field: string]: unknown },
  after: { readonly [field: string]: unknown }
) => {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed_fields = fields.filter(
    (field) => JSON.stringify(before[field] ?? null) !== JSON.stringify(after[field] ?? null)
  )
  const pick = (values: { readonly [field: string]: unknown }) =>
    Object.fromEntries(changed_fields.flatMap((field) => (field in values ? [[field, values[field]]] : [])))
  return { changed_fields, old_values: pick(before), new_values: pick(after) }
}
