import type { Agent } from "@svc/api/agents/Agent"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { hintOf } from "@svc/webhooks/SigningSecret"
import type { Subscription } from "@svc/webhooks/Subscription"
import type { LinkedRow } from "./AgentsRepo.ts"

/** An agent with its webhook, if it has one. */
export interface AgentState {
  readonly row: LinkedRow
  readonly webhook: Subscription | undefined
}

/** The names that a subscription stands for: `*` is all there are. */
export const namesOf = (events: ReadonlyArray<string>): ReadonlyArray<string> =>
  events.includes("*") ? webhookEvents : events

/** The wire form (spec 2.4). A webhook that was disabled has no events. */
export const toAgent = ({ row, webhook }: AgentState): Agent => ({
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
  knowledge_base_ids: row.knowledge_bases ?? [],
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
