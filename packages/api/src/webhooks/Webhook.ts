import { Schema } from "effect"
import { variant } from "../EntityFields.ts"
import { define } from "../VoiceError.ts"
import { WebhookFields } from "./WebhookFields.ts"

/** A webhook of any level. */
export const Webhook = variant(WebhookFields, "wire").annotations({ identifier: "Webhook" })
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
