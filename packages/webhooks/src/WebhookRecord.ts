import type { ProjectWebhook, Webhook } from "@svc/api/webhooks/Webhook"
import { hintOf } from "./SigningSecret.ts"
import type { Subscription } from "./Subscription.ts"

/** The wire form of a webhook: all fields but its secret. */
export const toWebhook = (row: Subscription): Webhook => ({
  id: row.id,
  url: row.url,
  events: row.events,
  filters: row.filters,
  is_active: row.is_active,
  agent_id: row.agent_id,
  project_id: row.project_id,
  is_agent_managed: row.is_agent_managed,
  is_project_managed: row.is_project_managed,
  failure_count: row.failure_count,
  consecutive_failures: row.consecutive_failures,
  disabled_reason: row.disabled_reason,
  last_failure_at: row.last_failure_at?.toISOString() ?? null,
  api_version: row.api_version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString()
})

/** The fields of a project that describe its own webhook. `webhook_events` is null while it is disabled. */
export const toProjectWebhook = (row: Subscription | undefined): ProjectWebhook => ({
  webhook_url: row?.url ?? null,
  webhook_secret_hint: row === undefined ? null : hintOf(row.secret),
  webhook_events: row?.is_active === true ? row.events : null
})
