import { WebhookFilters } from "@svc/api/webhooks/Webhook"
import { Schema } from "effect"

/** A row of `webhooks`: who gets which events, and where (spec 2.7). */
export const Subscription = Schema.Struct({
  id: Schema.Number,
  org_id: Schema.Number,
  /** Whose it is, or which events it is limited to: null is all of the organization. */
  project_id: Schema.NullOr(Schema.Number),
  agent_id: Schema.NullOr(Schema.Number),
  url: Schema.String,
  /** Names of spec 2.4, or `*` for all. */
  events: Schema.Array(Schema.String),
  filters: WebhookFilters,
  /** 64 hex characters; signs the deliveries. */
  secret: Schema.String,
  /** False when it was disabled: nothing is delivered then. */
  is_active: Schema.Boolean,
  is_agent_managed: Schema.Boolean,
  is_project_managed: Schema.Boolean,
  /** Failed attempts, ever; tests and resends do not count. */
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
