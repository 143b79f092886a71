import type { CallId } from "@svc/api/Ids"
import { ValidationError } from "@svc/api/VoiceError"
import type { DeadLettersPage, DeliveriesPage, DeliveriesQuery, DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { DeliveryNotFound } from "@svc/api/webhooks/Webhook"
import type { WebhookReplay } from "@svc/api/webhooks/WebhookBody"
import { Clock, Context, Effect, Layer } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"

/** Attempts returned for a call. */
const maxOfCall = 500
/** Dead letters that one request resends. */
const maxResent = 200
const maxReplayed = 500
const maxReplayMs = 7 * 86_400_000

/**
 * The history of deliveries, dead letters, resend and replay (docs/reference/webhooks.md). The caller has checked that
 * the webhook belongs to the organization.
 */
export class Deliveries extends Context.Tag("@svc/webhooks/Deliveries")<
  Deliveries,
  {
    /** All attempts, newest first. */
    readonly ofWebhook: (webhookId: number, query: DeliveriesQuery) => Effect.Effect<DeliveriesPage, ValidationError>
    /** Attempts of all webhooks, oldest first, at most 500. */
    readonly ofCall: (call: CallId) => Effect.Effect<ReadonlyArray<DeliveryRecord>>
    /** Newest first. */
    readonly deadLetters: (webhookId: number, query: DeliveriesQuery) => Effect.Effect<DeadLettersPage, ValidationError>
    /** Queues the event of an attempt again and removes its dead letter. Test events cannot be resent. */
    readonly resend: (webhookId: number, attemptId: string) => Effect.Effect<void, DeliveryNotFound>
    /** Queues the oldest 200 dead letters again, and returns their number. */
    readonly resendAll: (webhookId: number) => Effect.Effect<number>
    /** Queues the events of that time to which the webhook is subscribed now, and returns their number. */
    readonly replay: (webhookId: number, range: WebhookReplay) => Effect.Effect<number, ValidationError>
  }
>() {
  static readonly layer: Layer.Layer<Deliveries, never, DeliveriesRepo> = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo
      const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms))

      /** The row id that the cursor `after` names; undefined on the first page. */
      const cursorOf = (
        webhookId: number,
        after: string | undefined,
        exists: (webhookId: number, id: number) => Effect.Effect<boolean>
      ) =>
        Effect.gen(function* () {
          if (after === undefined) return undefined
          const id = idOf(after)
          if (id === undefined || !(yield* exists(webhookId, id))) {
            return yield* ValidationError.field("after", "after is not a known id")
          }
          return id
        })

      return {
        ofWebhook: Effect.fn("Deliveries.ofWebhook")(function* (webhook_id, { after, limit }) {
          const page = { webhook_id, before: yield* cursorOf(webhook_id, after, repo.hasAttempt), limit: limit + 1 }
          const { next_cursor, rows } = toPage(yield* repo.ofWebhook(page), limit)
          return { deliveries: rows, next_cursor }
        }),
        ofCall: (call) => repo.ofCall(call, maxOfCall),
        deadLetters: Effect.fn("Deliveries.deadLetters")(function* (webhook_id, { after, limit }) {
          const page = { webhook_id, before: yield* cursorOf(webhook_id, after, repo.hasDeadLetter), limit: limit + 1 }
          const { next_cursor, rows } = toPage(yield* repo.deadLetters(page), limit)
          return { items: rows, next_cursor }
        }),
        resend: Effect.fn("Deliveries.resend")(function* (webhookId, attemptId) {
          const id = idOf(attemptId)
          if (id === undefined || !(yield* repo.resend(webhookId, id, yield* now))) return yield* new DeliveryNotFound()
        }),
        resendAll: (webhookId) => Effect.flatMap(now, (at) => repo.resendDeadLetters(webhookId, at, maxResent)),
        replay: Effect.fn("Deliveries.replay")(function* (webhookId, range) {
          const [from, to] = [new Date(range.from), new Date(range.to)]
          const length = to.getTime() - from.getTime()
          if (length < 0) return yield* ValidationError.field("to", "to must not be before from")
          if (length > maxReplayMs) return yield* ValidationError.field("to", "the range must not exceed 7 days")
          const found = yield* repo.replay(webhookId, from, to, yield* now, maxReplayed)
          if (found > maxReplayed) {
            return yield* ValidationError.field("to", `the range has more than ${maxReplayed} events`)
          }
          return found
        })
      }
    })
  )
}

const idOf = (text: string): number | undefined => (/^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined)

/** A page of `limit` rows, given one more if there is another page. */
const toPage = <A extends { readonly id: number }>(found: ReadonlyArray<A>, limit: number) => {
  const rows = found.slice(0, limit)
  return { rows, next_cursor: found.length > limit ? String(rows.at(-1)?.id ?? "") : null }
}
