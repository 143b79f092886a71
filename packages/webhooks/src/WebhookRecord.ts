import { pick } from "@svc/api/EntityFields"
import { hintOf } from "@svc/api/SecretHint"
import { type ProjectWebhook, Webhook } from "@svc/api/webhooks/Webhook"
import { Struct } from "effect"
import type { WebhookRow } from "./WebhookRow.ts"

const wireKeys = Struct.keys(Webhook.fields)

/** The wire form of a webhook: all fields but its secret. */
export const toWebhook = (row: WebhookRow): Webhook => {
  const last_failure_at = row.last_failure_at?.toISOString() ?? null
  const [created_at, updated_at] = [row.created_at.toISOString(), row.updated_at.toISOString()]
  return pick({ ...row, last_failure_at, created_at, updated_at }, wireKeys)
}

/** The fields of a project that describe its own webhook. `webhook_events` is null while it is disabled. */
export const toProjectWebhook = (row: WebhookRow | undefined): ProjectWebhook => ({
  webhook_url: row?.url ?? null,
  webhook_secret_hint: row === undefined ? null : hintOf(row.secret),
  webhook_events: row?.is_active === true ? row.events : null
})
