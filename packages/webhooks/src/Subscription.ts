import { WebhookFilters } from "@svc/api/webhooks/Webhook"
import { Schema } from "effect"

/** A row of `webhooks`: which events are sent to which URL. */
export const Subscription = Schema.Struct({
  id: Schema.Number,
  org_id: Schema.Number,
  /** The project and agent that it belongs or is limited to; null: all of the organization. */
  project_id: Schema.NullOr(Schema.Number),
  agent_id: Schema.NullOr(Schema.Number),
  url: Schema.String,
  /** Event names (docs/reference/events.md), or `*` for all. */
  events: Schema.Array(Schema.String),
  filters: WebhookFilters,
  /** The HMAC key that signs deliveries: 64 hex characters. */
  secret: Schema.String,
  /** False: disabled, nothing is delivered. */
  is_active: Schema.Boolean,
  is_agent_managed: Schema.Boolean,
  is_project_managed: Schema.Boolean,
  /** Failed attempts in total, without tests and resends. */
  failure_count: Schema.Number,
  /** The same since the last success. */
  consecutive_failures: Schema.Number,
  disabled_reason: Schema.NullOr(Schema.String),
  last_failure_at: Schema.NullOr(Schema.DateFromSelf),
  api_version: Schema.String,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Subscription = typeof Subscription.Type
