import { Schema } from "effect"
import { variant } from "../EntityFields.ts"
import { OrganizationEventType, ProjectEventType, ProjectWebhookEvents } from "../events/WebhookEvents.ts"
import { WebhookFields, webhookUrl } from "./WebhookFields.ts"

/** Bodies of the webhook endpoints. What needs more than the value itself is checked by the services. */

/** Body of `POST /v1/webhooks`. */
export const WebhookCreate = variant(WebhookFields, "create").annotations({ identifier: "WebhookCreate" })
export type WebhookCreate = typeof WebhookCreate.Type

/** Body of `PATCH /v1/webhooks/<id>`: what is absent stays; `filters` is replaced whole. */
export const WebhookUpdate = variant(WebhookFields, "update").annotations({ identifier: "WebhookUpdate" })
export type WebhookUpdate = typeof WebhookUpdate.Type

/** Body of `PATCH /v1/project/webhook`. */
export const ProjectWebhookUpdate = Schema.Struct({
  webhook_url: Schema.optional(
    Schema.NullOr(webhookUrl).annotations({
      description: "Public HTTPS URL that gets the project's events; null or empty removes the webhook",
      examples: ["https://example.com/events"]
    })
  ),
  webhook_events: Schema.optional(ProjectWebhookEvents)
}).annotations({ identifier: "ProjectWebhookUpdate" })
export type ProjectWebhookUpdate = typeof ProjectWebhookUpdate.Type

/** Body of `POST /v1/webhooks/<id>/test`. */
export const WebhookTest = Schema.Struct({ event_type: OrganizationEventType }).annotations({
  identifier: "WebhookTest"
})

/** Body of `POST /v1/project/webhook/test`. */
export const ProjectWebhookTest = Schema.Struct({ event_type: ProjectEventType }).annotations({
  identifier: "ProjectWebhookTest"
})

const instant = (field: string) =>
  Schema.String.pipe(
    Schema.filter(
      (text) =>
        /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
        !Number.isNaN(Date.parse(text)),
      {
        message: () => `${field} must be an ISO 8601 timestamp`
      }
    )
  ).annotations({ jsonSchema: { type: "string", format: "date-time" }, examples: ["2026-11-01T09:30:00Z"] })

/** Body of `POST /v1/webhooks/<id>/replay`: events from `from` to `to`, both included. */
export const WebhookReplay = Schema.Struct({ from: instant("from"), to: instant("to") }).annotations({
  identifier: "WebhookReplay"
})
export type WebhookReplay = typeof WebhookReplay.Type
