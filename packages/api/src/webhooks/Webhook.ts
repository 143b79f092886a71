import { Schema } from "effect"
import { define } from "../VoiceError.ts"
import { Timestamp } from "../Wire.ts"

/** Limits a webhook of the organization to the events of an agent or a project (numeric ids); empty: all events. */
export const WebhookFilters = Schema.Struct({
  agent_id: Schema.optional(Schema.Int),
  project_id: Schema.optional(Schema.Int)
}).annotations({ identifier: "WebhookFilters" })
export type WebhookFilters = typeof WebhookFilters.Type

/** A webhook of any level. */
export const Webhook = Schema.Struct({
  id: Schema.Int,
  url: Schema.String.annotations({ examples: ["https://example.com/events"] }),
  events: Schema.Array(Schema.String).annotations({
    description: "Names of events; `*` means all",
    examples: [["call.started", "call.ended"]]
  }),
  filters: WebhookFilters,
  is_active: Schema.Boolean,
  agent_id: Schema.NullOr(Schema.Int),
  project_id: Schema.NullOr(Schema.Int),
  is_agent_managed: Schema.Boolean.annotations({ description: "Is changed through its agent only" }),
  is_project_managed: Schema.Boolean.annotations({ description: "Is changed through `/v1/project/webhook` only" }),
  failure_count: Schema.Int.annotations({ description: "Attempts that failed, ever" }),
  consecutive_failures: Schema.Int.annotations({ description: "Attempts that failed since the last success" }),
  disabled_reason: Schema.NullOr(Schema.String).annotations({ examples: ["10 consecutive failures"] }),
  last_failure_at: Schema.NullOr(Timestamp),
  api_version: Schema.String,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** The webhook of a project; all null when there is none. */
export const ProjectWebhook = Schema.Struct({
  webhook_url: Schema.NullOr(Schema.String).annotations({ examples: ["https://example.com/events"] }),
  webhook_secret_hint: Schema.NullOr(Schema.String).annotations({
    description: "Three dots and the last 8 characters of the secret",
    examples: ["...89abcdef"]
  }),
  webhook_events: Schema.NullOr(Schema.Array(Schema.String)).annotations({
    description: "Null when there is no webhook, or when it was disabled because deliveries kept failing",
    examples: [["call.started", "call.ended"]]
  })
}).annotations({ identifier: "ProjectWebhook" })
export type ProjectWebhook = typeof ProjectWebhook.Type

export class WebhookNotFound extends define("WebhookNotFound", "WEBHOOK_NOT_FOUND", 404, "webhook not found") {}
export class DeliveryNotFound extends define("DeliveryNotFound", "DELIVERY_NOT_FOUND", 404, "delivery not found") {}
export class WebhookManaged extends define(
  "WebhookManaged",
  "WEBHOOK_MANAGED",
  409,
  "this webhook is changed through its agent or project"
) {}
