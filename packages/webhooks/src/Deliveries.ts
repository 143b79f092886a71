import type { CallId } from "@svc/api/Ids"
import { ValidationError } from "@svc/api/VoiceError"
import type { DeadLettersPage, DeliveriesPage, DeliveriesQuery, DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { DeliveryNotFound } from "@svc/api/webhooks/Webhook"
import type { WebhookReplay } from "@svc/api/webhooks/WebhookBody"
import { Clock, Context, Effect, Layer } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"

/** Records of a call that are shown (spec 4.3). */
const mostOfCall = 500
/** Dead letters that go at a time (spec 4.4). */
const mostResent = 200
const mostReplayed = 500
const longestReplayMs = 7 * 86_400_000

/**
 * What became of deliveries, and doing them again (spec 4.3 to 4.5, decisions §5). Whose webhook it is has been checked
 * by the caller.
 */
export class Deliveries extends Context.Tag("@svc/webhooks/Deliveries")<
  Deliveries,
  {
    /** Every attempt, newest first. */
    readonly ofWebhook: (webhookId: number, query: DeliveriesQuery) => Effect.Effect<DeliveriesPage, ValidationError>
    /** Every attempt of every webhook, oldest first, at most 500. */
    readonly ofCall: (call: CallId) => Effect.Effect<ReadonlyArray<DeliveryRecord>>
    /** Newest first. */
    readonly deadLetters: (webhookId: number, query: DeliveriesQuery) => Effect.Effect<DeadLettersPage, ValidationError>
    /** Queues the event of an attempt anew; its dead letter leaves the queue. A test's event cannot be sent again. */
    readonly resend: (webhookId: number, attemptId: string) => Effect.Effect<void, DeliveryNotFound>
    /** Queues the oldest 200 dead letters anew, and gives how many there were. */
    readonly resendAll: (webhookId: number) => Effect.Effect<number>
    /** Queues the events of that time which the webhook is subscribed to now, and gives how many there are. */
    readonly replay: (webhookId: number, range: WebhookReplay) => Effect.Effect<number, ValidationError>
  }
>() {
  static readonly layer: Layer.Layer<Deliveries, never, DeliveriesRepo> = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo
      const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms))

      /** The id that a page goes on after. */
      const before = (
        webhookId: number,
        after: string | undefined,
        has: (webhookId: number, id: number) => Effect.Effect<boolean>
      ) =>
        Effect.gen(function* () {
          if (after === undefined) return undefined
          const id = idOf(after)
          if (id === undefined || !(yield* has(webhookId, id))) {
            return yield* ValidationError.field("after", "after is not a known id")
          }
          return id
        })

      return {
        ofWebhook: Effect.fn("Deliveries.ofWebhook")(function* (webhook_id, { after, limit }) {
          const page = { webhook_id, before: yield* before(webhook_id, after, repo.hasAttempt), limit: limit + 1 }
          const { next_cursor, rows } = cut(yield* repo.ofWebhook(page), limit)
          return { deliveries: rows, next_cursor }
        }),
        ofCall: (call) => repo.ofCall(call, mostOfCall),
        deadLetters: Effect.fn("Deliveries.deadLetters")(function* (webhook_id, { after, limit }) {
          const page = { webhook_id, before: yield* before(webhook_id, after, repo.hasDeadLetter), limit: limit + 1 }
          const { next_cursor, rows } = cut(yield* repo.deadLetters(page), limit)
          return { items: rows, next_cursor }
        }),
        resend: Effect.fn("Deliveries.resend")(function* (webhookId, attemptId) {
          const id = idOf(attemptId)
          if (id === undefined || !(yield* repo.resend(webhookId, id, yield* now))) return yield* new DeliveryNotFound()
        }),
        resendAll: (webhookId) => Effect.flatMap(now, (at) => repo.resendDead(webhookId, at, mostResent)),
        replay: Effect.fn("Deliveries.replay")(function* (webhookId, range) {
          const [from, to] = [new Date(range.from), new Date(range.to)]
          const length = to.getTime() - from.getTime()
          if (length < 0) return yield* ValidationError.field("to", "to must not be before from")
          if (length > longestReplayMs) return yield* ValidationError.field("to", "the range must not exceed 7 days")
          const found = yield* repo.replay(webhookId, from, to, yield* now, mostReplayed)
          if (found > mostReplayed) {
            return yield* ValidationError.field("to", `the range has more than ${mostReplayed} events`)
          }
          return found
        })
      }
    })
  )
}

const idOf = (text: string): number | undefined => (/^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined)

/** A page of `limit` out of rows of which one more was asked for. */
const cut = <A extends { readonly id: number }>(found: ReadonlyArray<A>, limit: number) => {
  const rows = found.slice(0, limit)
  return { rows, next_cursor: found.length > limit ? String(rows.at(-1)?.id ?? "") : null }
}
