import type { CallId } from "@svc/api/Ids"
import { ValidationError } from "@svc/api/VoiceError"
import type { DeadLettersPage, DeliveriesPage, DeliveriesQuery, DeliveryRecord } from "@svc/api/webhooks/Delivery"
import { DeliveryNotFound } from "@svc/api/webhooks/Webhook"
import type { WebhookReplay } from "@svc/api/webhooks/WebhookBody"
import { Clock, Context, Effect, Layer } from "effect"
import { DeliveriesRepo, type WebhookHistory } from "./DeliveriesRepo.ts"

/** Attempts returned for a call. */
const maxOfCall = 500
/** Dead letters that one request resends. */
const maxResent = 200
const maxReplayed = 500
const maxReplayMs = 7 * 86_400_000

const ofAnotherProject =
  "the webhook is limited to a project now, and this delivery is of another: to resend it, change filters.project_id first"

/**
 * The history of deliveries, dead letters, resend and replay (docs/reference/webhooks.md). The caller has checked that
 * the webhook belongs to the organization, or to the project whose history it asks for.
 */
export class Deliveries extends Context.Tag("@svc/webhooks/Deliveries")<
  Deliveries,
  {
    /** All attempts, newest first. */
    readonly ofWebhook: (
      history: WebhookHistory,
      query: DeliveriesQuery
    ) => Effect.Effect<DeliveriesPage, ValidationError>
    /** Attempts of all webhooks, oldest first, at most 500. */
    readonly ofCall: (call: CallId) => Effect.Effect<ReadonlyArray<DeliveryRecord>>
    /** Newest first. */
    readonly deadLetters: (
      history: WebhookHistory,
      query: DeliveriesQuery
    ) => Effect.Effect<DeadLettersPage, ValidationError>
    /**
     * Queues the event of an attempt again and removes its dead letter. Test events cannot be resent, nor other projects'
     * events to a webhook that was limited to a project since.
     */
    readonly resend: (history: WebhookHistory, attemptId: string) => Effect.Effect<void, DeliveryNotFound>
    /** Queues the oldest 200 dead letters again, and returns their number. */
    readonly resendAll: (history: WebhookHistory) => Effect.Effect<number>
    /** Queues the events of that time to which the webhook is subscribed now, and returns their number. */
    readonly replay: (history: WebhookHistory, range: WebhookReplay) => Effect.Effect<number, ValidationError>
  }
>() {
  static readonly layer: Layer.Layer<Deliveries, never, DeliveriesRepo> = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const repo = yield* DeliveriesRepo
      const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms))

      /** The row id that the cursor `after` names; undefined on the first page. */
      const cursorOf = (
        history: WebhookHistory,
        after: string | undefined,
        exists: (history: WebhookHistory, id: number) => Effect.Effect<boolean>
      ) =>
        Effect.gen(function* () {
          if (after === undefined) return undefined
          const id = idOf(after)
          if (id === undefined || !(yield* exists(history, id))) {
            return yield* ValidationError.field("after", "after is not a known id")
          }
          return id
        })

      return {
        ofWebhook: Effect.fn("Deliveries.ofWebhook")(function* (history, { after, limit }) {
          const page = { ...history, before: yield* cursorOf(history, after, repo.hasAttempt), limit: limit + 1 }
          const { next_cursor, rows } = toPage(yield* repo.ofWebhook(page), limit)
          return { deliveries: rows, next_cursor }
        }),
        ofCall: (call) => repo.ofCall(call, maxOfCall),
        deadLetters: Effect.fn("Deliveries.deadLetters")(function* (history, { after, limit }) {
          const page = { ...history, before: yield* cursorOf(history, after, repo.hasDeadLetter), limit: limit + 1 }
          const { next_cursor, rows } = toPage(yield* repo.deadLetters(page), limit)
          return { items: rows, next_cursor }
        }),
        resend: Effect.fn("Deliveries.resend")(function* (history, attemptId) {
          const id = idOf(attemptId)
          const resent = id === undefined ? "unknown" : yield* repo.resend(history, id, yield* now)
          if (resent === "queued") return
          return yield* new DeliveryNotFound(resent === "moved" ? { message: ofAnotherProject } : {})
        }),
        resendAll: (history) => Effect.flatMap(now, (at) => repo.resendDeadLetters(history, at, maxResent)),
        replay: Effect.fn("Deliveries.replay")(function* (history, range) {
          const [from, to] = [new Date(range.from), new Date(range.to)]
          const length = to.getTime() - from.getTime()
          if (length < 0) return yield* ValidationError.field("to", "to must not be before from")
          if (length > maxReplayMs) return yield* ValidationError.field("to", "the range must not exceed 7 days")
          const found = yield* repo.replay(history, from, to, yield* now, maxReplayed)
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
