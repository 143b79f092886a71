import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { WebhookNotFound } from "@svc/api/webhooks/Webhook"
import { Effect, type Layer, Option } from "effect"
import { Deliveries } from "./Deliveries.ts"
import { ProjectWebhooks } from "./ProjectWebhooks.ts"
import { TestDeliveries } from "./TestDeliveries.ts"
import { toProjectWebhook } from "./WebhookRecord.ts"
import type { WebhookRow } from "./WebhookRow.ts"

/** All of it belongs to the project, whose webhook it always was. */
const historyOf = ({ id, project_id }: WebhookRow) => ({ webhook_id: id, project_id })
const note = "Store this secret now: it is shown only once."

/** Handlers of `/v1/project/webhook`. A project without a webhook has no deliveries. */
export const ProjectWebhookHttp: Layer.Layer<
  never,
  never,
  ProjectWebhooks | Deliveries | TestDeliveries | Handlers.HandlerRegistry
> = Handlers.group(
  VoiceApi,
  "projectWebhook",
  Effect.gen(function* () {
    const webhooks = yield* ProjectWebhooks
    const deliveries = yield* Deliveries
    const tests = yield* TestDeliveries

    const currentProject = Effect.gen(function* () {
      const { org } = yield* CurrentPrincipal
      return { org_id: org.id, project_id: (yield* CurrentProject).id }
    })
    const currentWebhook = Effect.flatMap(currentProject, webhooks.find)

    return {
      get: () => Effect.map(currentWebhook, (row) => toProjectWebhook(Option.getOrUndefined(row))),
      update: ({ payload }) =>
        Effect.map(
          Effect.flatMap(currentProject, (project) => webhooks.update(project, payload)),
          ({ secret, webhook }) => ({
            ...toProjectWebhook(webhook),
            ...(secret === undefined ? {} : { webhook_secret: secret })
          })
        ),
      remove: () => Effect.as(Effect.flatMap(currentProject, webhooks.remove), { deleted: true as const }),
      rotate: () =>
        Effect.map(Effect.flatMap(currentProject, webhooks.rotate), ({ secret }) => ({ webhook_secret: secret, note })),
      test: ({ payload }) =>
        Effect.gen(function* () {
          const row = yield* currentWebhook
          if (Option.isNone(row)) return yield* new WebhookNotFound()
          return yield* tests.send(row.value, payload.event_type)
        }),
      deliveries: ({ urlParams }) =>
        Effect.flatMap(
          currentWebhook,
          Option.match({
            onNone: () => Effect.succeed({ deliveries: [], next_cursor: null }),
            onSome: (row) => deliveries.ofWebhook(historyOf(row), urlParams)
          })
        ),
      deadLetters: ({ urlParams }) =>
        Effect.flatMap(
          currentWebhook,
          Option.match({
            onNone: () => Effect.succeed({ items: [], next_cursor: null }),
            onSome: (row) => deliveries.deadLetters(historyOf(row), urlParams)
          })
        ),
      resendAll: () =>
        Effect.flatMap(
          currentWebhook,
          Option.match({
            onNone: () => Effect.succeed({ queued: 0 }),
            onSome: (row) => Effect.map(deliveries.resendAll(historyOf(row)), (queued) => ({ queued }))
          })
        )
    }
  })
)
