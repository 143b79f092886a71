import { apiVersion, type EventName } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { newEventId } from "@svc/api/Ids"
import type { TestResult } from "@svc/api/webhooks/Delivery"
import { Clock, Context, Deferred, Effect, Exit, Layer } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"
import { type DeliveryRequest, deliveryRequest } from "./delivery/DeliveryRequest.ts"
import { ReceiverClient } from "./delivery/ReceiverClient.ts"
import { type AttemptResult, attemptTimeoutMs } from "./delivery/ReceiverRequests.ts"
import type { WebhookRow } from "./WebhookRow.ts"

/** Sends a sample event to a webhook: one attempt, now, even if it is inactive or not subscribed to the event. */
export class TestDeliveries extends Context.Tag("@svc/webhooks/TestDeliveries")<
  TestDeliveries,
  { readonly send: (webhook: WebhookRow, event: EventName) => Effect.Effect<TestResult> }
>() {
  static readonly layer: Layer.Layer<TestDeliveries, never, DeliveriesRepo | ReceiverClient> = Layer.effect(
    TestDeliveries,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo
      const client = yield* ReceiverClient

      const post = Effect.fnUntraced(function* (request: DeliveryRequest) {
        const done = yield* Deferred.make<AttemptResult>()
        const cancel = client.post(request, (result) => Deferred.unsafeDone(done, Exit.succeed(result)))
        return yield* Deferred.await(done).pipe(
          Effect.timeoutTo({
            duration: attemptTimeoutMs,
            onSuccess: Effect.succeed,
            onTimeout: () => Effect.zipRight(Effect.sync(cancel), Deferred.await(done))
          }),
          Effect.flatten,
          Effect.onInterrupt(() => Effect.sync(cancel))
        )
      })

      return {
        send: Effect.fn("TestDeliveries.send")(function* (webhook, event) {
          const event_id = yield* newEventId
          const now = yield* Clock.currentTimeMillis
          const created_at = new Date(now)
          const data = eventSamples[event]
          const parts = {
            event_id,
            event,
            timestamp: created_at.toISOString(),
            api_version: apiVersion,
            org_id: webhook.org_id,
            project_id: webhook.project_id,
            agent_id: "agent_id" in data ? data.agent_id : null,
            data: JSON.stringify(data)
          }
          const { error, status_code } = yield* post(deliveryRequest(webhook, parts, now, "test"))
          const { id: webhook_id, org_id, project_id: owner_project_id, url } = webhook
          const record = { webhook_id, owner_project_id, org_id, event_id, event, url, status_code, error, created_at }
          return { success: error === null, status_code, error, delivery_id: yield* repo.record(record) }
        })
      }
    })
  )
}
