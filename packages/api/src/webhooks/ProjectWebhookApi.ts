import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { WebhookUrlRequired } from "../agents/Agent.ts"
import { AccessRule } from "../Principal.ts"
import { BadRequest, ValidationError } from "../VoiceError.ts"
import { DeadLettersPage, DeliveriesPage, DeliveriesQuery, Queued, TestResult } from "./Delivery.ts"
import { ProjectWebhook, WebhookNotFound } from "./Webhook.ts"
import { ProjectWebhookTest, ProjectWebhookUpdate } from "./WebhookBody.ts"

/** The webhook after a change, with its secret when it was made just now. */
export const ChangedProjectWebhook = Schema.Struct({
  ...ProjectWebhook.fields,
  webhook_secret: Schema.optional(Schema.String)
}).annotations({ identifier: "ChangedProjectWebhook" })
export type ChangedProjectWebhook = typeof ChangedProjectWebhook.Type

/** `/v1/project/webhook`. See docs/reference/webhooks.md. */
export const ProjectWebhookApi = HttpApiGroup.make("projectWebhook")
  .annotateContext(
    OpenApi.annotations({
      title: "Project webhook",
      description: "The webhook that gets the events of one project. A project has at most one."
    })
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/project/webhook")
      .annotateContext(
        OpenApi.annotations({ summary: "Get the project's webhook", description: "All null when there is none." })
      )
      .addSuccess(ProjectWebhook)
  )
  .add(
    HttpApiEndpoint.patch("update", "/v1/project/webhook")
      .annotateContext(
        OpenApi.annotations({
          summary: "Set the project's webhook",
          description:
            "A webhook that is made by this shows its secret only here, and gets all events of the project unless `webhook_events` names some. One that is there keeps its secret, and is put back to work when it was disabled. `webhook_url` null removes it."
        })
      )
      .setPayload(ProjectWebhookUpdate)
      .addSuccess(ChangedProjectWebhook)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", "/v1/project/webhook")
      .annotateContext(
        OpenApi.annotations({ summary: "Remove the project's webhook", description: "With its secret." })
      )
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(WebhookNotFound.wire)
      .annotate(AccessRule, AccessRule.creditsExempt)
  )
  .add(
    HttpApiEndpoint.post("rotate", "/v1/project/webhook/rotate")
      .annotateContext(
        OpenApi.annotations({
          summary: "Rotate the secret of the project's webhook",
          description: "The new secret is shown only here; the old one is invalid at once."
        })
      )
      .addSuccess(Schema.Struct({ webhook_secret: Schema.String, note: Schema.String }))
      .addError(WebhookUrlRequired.wire)
  )
  .add(
    HttpApiEndpoint.post("test", "/v1/project/webhook/test")
      .annotateContext(
        OpenApi.annotations({
          summary: "Send a test delivery to the project's webhook",
          description:
            "Sends the sample of an event at once, once, with the header `X-Svc-Test-Event: 1`, and answers what came of it."
        })
      )
      .setPayload(ProjectWebhookTest)
      .addSuccess(TestResult)
      .addError(ValidationError.wire)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("deliveries", "/v1/project/webhook/deliveries")
      .annotateContext(
        OpenApi.annotations({
          summary: "List deliveries of the project's webhook",
          description: "Every attempt, newest first. `after` is the id of the last one seen."
        })
      )
      .setUrlParams(DeliveriesQuery)
      .addSuccess(DeliveriesPage)
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("deadLetters", "/v1/project/webhook/dlq")
      .annotateContext(
        OpenApi.annotations({
          summary: "List dead letters of the project's webhook",
          description: "Deliveries that failed every attempt or met a disabled webhook, newest first."
        })
      )
      .setUrlParams(DeliveriesQuery)
      .addSuccess(DeadLettersPage)
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("resendAll", "/v1/project/webhook/dlq/resend-all")
      .annotateContext(
        OpenApi.annotations({
          summary: "Resend dead letters of the project's webhook",
          description: "Queues the oldest 200 anew, with all attempts; they leave the dead letters."
        })
      )
      .addSuccess(Queued, { status: 202 })
  )
