import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { BadRequest, ValidationError } from "../VoiceError.ts"
import { DeadLettersPage, DeliveriesPage, DeliveriesQuery, Queued, TestResult } from "./Delivery.ts"
import { DeliveryNotFound, Webhook, WebhookManaged, WebhookNotFound } from "./Webhook.ts"
import { WebhookCreate, WebhookReplay, WebhookTest, WebhookUpdate } from "./WebhookBody.ts"

const webhookId = Schema.Struct({ webhookId: AnyId })
const One = Schema.Struct({ webhook: Webhook })

/** `/v1/webhooks`: an organization key works on all of the organization's, a project key on its project's. */
export const WebhooksApi = HttpApiGroup.make("webhooks")
  .annotateContext(
    OpenApi.annotations({
      title: "Webhooks",
      description:
        "Who gets events, and what became of their deliveries. An organization key works on all webhooks of the organization, a project key on those of its project. Webhooks of agents and projects are listed here and changed through their own endpoints."
    })
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/webhooks")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a webhook",
          description:
            "`secret` signs the deliveries and is shown only here. `*` among the events means all, also those of later releases. With a project key the filter `project_id` is that project."
        })
      )
      .setPayload(WebhookCreate)
      .addSuccess(Schema.Struct({ webhook: Webhook, secret: Schema.String }), { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/webhooks")
      .annotateContext(
        OpenApi.annotations({ summary: "List webhooks", description: "Of all levels, newest first, at most 100." })
      )
      .addSuccess(Schema.Struct({ webhooks: Schema.Array(Webhook) }))
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/webhooks/:webhookId")
      .annotateContext(OpenApi.annotations({ summary: "Get a webhook", description: "By its numeric id." }))
      .setPath(webhookId)
      .addSuccess(One)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.patch("update", "/v1/webhooks/:webhookId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Change a webhook",
          description:
            "Fields that are absent stay; `filters` is replaced whole. `is_active: false` sends waiting deliveries to the dead letters; `true` puts a disabled webhook back to work."
        })
      )
      .setPath(webhookId)
      .setPayload(WebhookUpdate)
      .addSuccess(One)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
      .addError(WebhookNotFound.wire)
      .addError(WebhookManaged.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", "/v1/webhooks/:webhookId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a webhook",
          description: "What waits for it and its dead letters are dropped; calls keep the history of their deliveries."
        })
      )
      .setPath(webhookId)
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(WebhookNotFound.wire)
      .addError(WebhookManaged.wire)
      .annotate(AccessRule, AccessRule.projectOptionalCreditsExempt)
  )
  .add(
    HttpApiEndpoint.post("rotate", "/v1/webhooks/:webhookId/rotate")
      .annotateContext(
        OpenApi.annotations({
          summary: "Rotate the secret of a webhook",
          description: "The new secret is shown only here; the old one is invalid at once."
        })
      )
      .setPath(webhookId)
      .addSuccess(Schema.Struct({ id: Schema.Int, secret: Schema.String }))
      .addError(WebhookNotFound.wire)
      .addError(WebhookManaged.wire)
  )
  .add(
    HttpApiEndpoint.post("test", "/v1/webhooks/:webhookId/test")
      .annotateContext(
        OpenApi.annotations({
          summary: "Send a test delivery",
          description:
            "Sends the sample of an event at once, once, with the header `X-Svc-Test-Event: 1`, and answers what came of it. It counts neither as a failure nor as a success."
        })
      )
      .setPath(webhookId)
      .setPayload(WebhookTest)
      .addSuccess(TestResult)
      .addError(ValidationError.wire)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("deliveries", "/v1/webhooks/:webhookId/deliveries")
      .annotateContext(
        OpenApi.annotations({
          summary: "List deliveries of a webhook",
          description: "Every attempt, newest first. `after` is the id of the last one seen."
        })
      )
      .setPath(webhookId)
      .setUrlParams(DeliveriesQuery)
      .addSuccess(DeliveriesPage)
      .addError(ValidationError.wire)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("resend", "/v1/webhooks/:webhookId/deliveries/:deliveryId/resend")
      .annotateContext(
        OpenApi.annotations({
          summary: "Resend a delivery",
          description:
            "Queues the event of that attempt anew, with all attempts. Its dead letter, if there is one, leaves the queue."
        })
      )
      .setPath(Schema.Struct({ webhookId: AnyId, deliveryId: AnyId }))
      .addSuccess(Queued, { status: 202 })
      .addError(WebhookNotFound.wire)
      .addError(DeliveryNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("replay", "/v1/webhooks/:webhookId/replay")
      .annotateContext(
        OpenApi.annotations({
          summary: "Replay events",
          description:
            "Queues all events of that time which the webhook is subscribed to, delivered before or not, with the header `X-Svc-Replay: 1`. At most 7 days and 500 events."
        })
      )
      .setPath(webhookId)
      .setPayload(WebhookReplay)
      .addSuccess(Queued, { status: 202 })
      .addError(ValidationError.wire)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("deadLetters", "/v1/webhooks/:webhookId/dlq")
      .annotateContext(
        OpenApi.annotations({
          summary: "List dead letters of a webhook",
          description: "Deliveries that failed every attempt or met a disabled webhook, newest first."
        })
      )
      .setPath(webhookId)
      .setUrlParams(DeliveriesQuery)
      .addSuccess(DeadLettersPage)
      .addError(ValidationError.wire)
      .addError(WebhookNotFound.wire)
  )
  .add(
    HttpApiEndpoint.post("resendAll", "/v1/webhooks/:webhookId/dlq/resend-all")
      .annotateContext(
        OpenApi.annotations({
          summary: "Resend dead letters of a webhook",
          description: "Queues the oldest 200 anew, with all attempts; they leave the dead letters."
        })
      )
      .setPath(webhookId)
      .addSuccess(Queued, { status: 202 })
      .addError(WebhookNotFound.wire)
  )
  .annotate(AccessRule, AccessRule.projectOptional)
