import type { Agent } from "@svc/api/agents/Agent"
import { AgentFields, agentSettings, type KnowledgeBaseRef } from "@svc/api/agents/AgentFields"
import { pick, variant } from "@svc/api/EntityFields"
import { hintOf } from "@svc/api/SecretHint"
import { AgentWebhooks } from "@svc/webhooks/AgentWebhooks"
import { namesOf } from "@svc/webhooks/ManagedWebhook"
import type { WebhookRow } from "@svc/webhooks/WebhookRow"
import { Effect, Struct } from "effect"
import { type AgentRow, AgentsRepo } from "./AgentsRepo.ts"

/** An agent with its webhook, if it has one, and the knowledge bases that it uses, by ascending id. */
export interface AgentState {
  readonly row: AgentRow
  readonly webhook: WebhookRow | undefined
  readonly knowledge_bases: ReadonlyArray<KnowledgeBaseRef>
}

/** Completes rows, in their order, with at most two queries for any number of rows. */
export const agentStates: Effect.Effect<
  (rows: ReadonlyArray<AgentRow>) => Effect.Effect<ReadonlyArray<AgentState>>,
  never,
  AgentsRepo | AgentWebhooks
> = Effect.gen(function* () {
  const repo = yield* AgentsRepo
  const agentWebhooks = yield* AgentWebhooks

  const withLinks = Effect.fnUntraced(function* (rows: ReadonlyArray<AgentRow>) {
    const webhooks = yield* agentWebhooks.ofAgents(rows.flatMap((row) => (row.has_webhook ? [row.id] : [])))
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

  return (rows) =>
    rows.some((row) => row.has_webhook || row.has_knowledge_bases)
      ? withLinks(rows)
      : Effect.succeed(rows.map((row) => ({ row, webhook: undefined, knowledge_bases: [] })))
})

const sharedKeys = ["id", "public_id", ...agentSettings] as const

/** The wire form. A webhook that was disabled has no events. */
export const toAgent = ({ knowledge_bases, row, webhook }: AgentState): Agent =>
  // Not a spread of what `pick` returns: V8 takes a slow path for that, which costs a page of 20 another 100 µs.
  Object.assign(pick(row, sharedKeys), {
    server_secret_hint: hintOf(row.server_secret),
    webhook_url: webhook?.url ?? null,
    webhook_secret_hint: webhook === undefined ? null : hintOf(webhook.secret),
    webhook_events: webhook?.is_active === true ? namesOf(webhook.events) : null,
    knowledge_base_ids: knowledge_bases,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString()
  })

const AgentAudit = variant(AgentFields, "audit")
export type AgentAudit = typeof AgentAudit.Type

const auditKeys = Struct.keys(AgentAudit.fields)

/** The fields of an agent in the audit log. */
export const toAudit = (state: AgentState): AgentAudit => {
  const agent = toAgent(state)
  const { server_secret_hint: server_secret, webhook_secret_hint: webhook_secret } = agent
  return pick({ ...agent, server_secret, webhook_secret }, auditKeys)
}

/** Where two sets of values differ. A field that one set lacks counts as null there and appears only in the other. */
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
