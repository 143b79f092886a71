import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Deliveries } from "./Deliveries.ts"
import { TestDeliveries } from "./TestDeliveries.ts"
import { toWebhook } from "./WebhookRecord.ts"
import { Webhooks } from "./Webhooks.ts"

/** Handlers of `/v1/webhooks`. */
export const WebhooksHttp: Layer.Layer<
  never,
  never,
  Webhooks | Deliveries | TestDeliveries | Handlers.HandlerRegistry
> = Handlers.group(
  VoiceApi,
  "webhooks",
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const deliveries = yield* Deliveries
    const tests = yield* TestDeliveries

    /** An organization key has access to all webhooks, even when its request names a project. */
    const currentOwner = Effect.map(CurrentPrincipal, ({ kind, org, project }) => ({
      org_id: org.id,
      project_id: kind === "project" && project !== null ? project.id : null
    }))
    const webhookOf = (id: string) => Effect.flatMap(currentOwner, (owner) => webhooks.get(owner, id))
    /** The part of a webhook's history that belongs to the owner. */
    const historyOf = (id: string) =>
      Effect.flatMap(currentOwner, (owner) =>
        Effect.map(webhooks.get(owner, id), (row) => ({ webhook_id: row.id, project_id: owner.project_id }))
      )

    return {
      create: ({ payload }) =>
        Effect.map(
          Effect.flatMap(currentOwner, (owner) => webhooks.create(owner, payload)),
          (row) => ({ webhook: toWebhook(row), secret: row.secret })
        ),
      list: () =>
        Effect.map(Effect.flatMap(currentOwner, webhooks.list), (rows) => ({ webhooks: rows.map(toWebhook) })),
      get: ({ path }) => Effect.map(webhookOf(path.webhookId), (row) => ({ webhook: toWebhook(row) })),
      update: ({ path, payload }) =>
        Effect.map(
          Effect.flatMap(currentOwner, (owner) => webhooks.update(owner, path.webhookId, payload)),
          (row) => ({ webhook: toWebhook(row) })
        ),
      remove: ({ path }) =>
        Effect.as(
          Effect.flatMap(currentOwner, (owner) => webhooks.remove(owner, path.webhookId)),
          { deleted: true as const }
        ),
      rotate: ({ path }) =>
        Effect.map(
          Effect.flatMap(currentOwner, (owner) => webhooks.rotate(owner, path.webhookId)),
          ({ id, secret }) => ({ id, secret })
        ),
      test: ({ path, payload }) =>
        Effect.flatMap(webhookOf(path.webhookId), (row) => tests.send(row, payload.event_type)),
      deliveries: ({ path, urlParams }) =>
        Effect.flatMap(historyOf(path.webhookId), (history) => deliveries.ofWebhook(history, urlParams)),
      resend: ({ path }) =>
        Effect.as(
          Effect.flatMap(historyOf(path.webhookId), (history) => deliveries.resend(history, path.deliveryId)),
          { queued: 1 }
        ),
      replay: ({ path, payload }) =>
        Effect.map(
          Effect.flatMap(historyOf(path.webhookId), (history) => deliveries.replay(history, payload)),
          (queued) => ({ queued })
        ),
      deadLetters: ({ path, urlParams }) =>
        Effect.flatMap(historyOf(path.webhookId), (history) => deliveries.deadLetters(history, urlParams)),
      resendAll: ({ path }) =>
        Effect.map(
          Effect.flatMap(historyOf(path.webhookId), (history) => deliveries.resendAll(history)),
          (queued) => ({ queued })
        )
    }
  })
)
