import { SqlClient } from "@effect/sql"
import type { InsufficientCredits } from "@svc/api/VoiceError"
import { Holds, type Purpose } from "@svc/billing/Holds"
import { Usage } from "@svc/billing/Usage"
import { Outbox } from "@svc/database/Outbox"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { type Messaging, SmsFailed } from "@svc/providers/Messaging"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, Clock, Context, Effect, Either, Fiber, FiberSet, Layer, Option, Schedule } from "effect"
import { type LostSms, type NewSms, type SmsOutcome, SmsRepo } from "./SmsRepo.ts"

/** How long the outcome may take to be recorded, before the caller gets it without: the database is unreachable. */
const recordTimeout = "5 seconds"
/** How long a shutdown waits for outcomes to be recorded. */
const shutdownTimeout = "2 seconds"
/** How long after the first time a message may be sent again, in milliseconds. Networks forget the ids of old ones. */
const againWithin = 3_600_000
/** A message that this many nodes took over and did not survive is not sent again. */
const maxTakeovers = 3

/** Why a message failed whose answer was lost. */
export const unknownReason = "it is not known whether the message was sent"

/**
 * Asks the network to take stored messages, and records what it answers: status, cost, usage and `sms.sent` in one
 * transaction, once per message, whoever has the answer first.
 *
 * Where the network knows our ids ({@link Messaging.deliversOnce}), a message whose answer was lost is sent once more.
 */
export class SmsDispatch extends Context.Tag("@svc/sms/SmsDispatch")<
  SmsDispatch,
  {
    /** Stores a message and holds its cost. False when its reference was used before. */
    readonly begin: (sms: NewSms) => Effect.Effect<boolean, InsufficientCredits>
    /** Sends a message that {@link begin} has stored. None when it has another outcome: see the row. */
    readonly send: (sms: NewSms) => Effect.Effect<Option.Option<SmsOutcome>>
    /** Ends a message of a dead node: it is sent again, or it has failed. */
    readonly end: (sms: LostSms) => Effect.Effect<void>
    /** The ids of the messages that are being sent or recorded. */
    readonly held: Effect.Effect<ReadonlyArray<string>>
  }
>() {
  static readonly layer: Layer.Layer<
    SmsDispatch,
    never,
    SmsRepo | PhoneNumbers | Holds | Usage | Outbox | Providers | SqlClient.SqlClient
  > = Layer.scoped(
    SmsDispatch,
    Effect.gen(function* () {
      const repo = yield* SmsRepo
      const numbers = yield* PhoneNumbers
      const holds = yield* Holds
      const usage = yield* Usage
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const { telephony } = yield* Providers
      const recording = yield* FiberSet.make<boolean>()
      const held = new Set<string>()
      yield* Effect.addFinalizer(() =>
        FiberSet.awaitEmpty(recording).pipe(Effect.timeoutOption(shutdownTimeout), Effect.interruptible)
      )

      /** An outcome that is not known for certain is recorded by the owner only: another may still get the answer. */
      const record = (sms: LostSms | NewSms, outcome: SmsOutcome, isCertain: boolean) =>
        Effect.gen(function* () {
          const now = new Date(yield* Clock.currentTimeMillis)
          if (!(yield* repo.finish(sms.public_id, outcome, isCertain ? undefined : sms.node))) return false
          if (outcome.status === "sent") {
            yield* holds.settle(purposeOf(sms))
            yield* usage.addSms(ownerOf(sms, now), BigDecimal.unsafeFromString(outcome.cost_eur ?? "0"))
          } else {
            yield* holds.release(purposeOf(sms))
          }
          yield* outbox.append({
            event: "sms.sent",
            org_id: sms.org_id,
            project_id: sms.project_id,
            agent_id: sms.agent_public_id,
            call_id: sms.call_id,
            timestamp: now.toISOString(),
            data: {
              call_id: sms.call_id,
              agent_id: sms.agent_public_id,
              from: sms.caller_number,
              to: sms.to_number,
              from_number: sms.from_number,
              sender_name: sms.sender_name,
              message: sms.message,
              sender_type: sms.sender_type,
              provider_message_id: outcome.provider_message_id,
              cost_eur: outcome.cost_eur === null ? null : Number(outcome.cost_eur),
              status: outcome.status
            }
          })
          return true
        }).pipe(
          sql.withTransaction,
          Effect.sandbox,
          Effect.tapError((cause) =>
            Effect.logWarning("The outcome of a text message could not be recorded; trying again", cause)
          ),
          Effect.retry(Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))),
          Effect.orDie
        )

      /** Records in the background. None when the message has another outcome. */
      const conclude = (sms: LostSms | NewSms, outcome: SmsOutcome, isCertain: boolean) =>
        Effect.gen(function* () {
          const release = Effect.sync(() => held.delete(sms.public_id))
          const fiber = yield* FiberSet.run(recording, Effect.ensuring(record(sms, outcome, isCertain), release))
          const isRecorded = yield* Effect.timeoutOption(Fiber.join(fiber), recordTimeout)
          return Option.getOrElse(isRecorded, () => true) ? Option.some(outcome) : Option.none()
        })

      const fail = (sms: LostSms | NewSms, { mayBeSent, reason }: SmsFailed) =>
        mayBeSent === true
          ? conclude(sms, failed(`${unknownReason}: ${reason}`), false)
          : conclude(sms, failed(reason), true)

      const ask = (sms: LostSms | NewSms, price: string, messaging: Messaging) =>
        Effect.gen(function* () {
          const answer = yield* messaging
            .send({
              id: sms.public_id,
              to: sms.to_number,
              from: sms.sender_name ?? sms.from_number ?? "",
              sender_type: sms.sender_type,
              message: sms.message
            })
            .pipe(
              Effect.retry({
                while: ({ mayBeSent }) => mayBeSent === true && messaging.deliversOnce === true,
                schedule: Schedule.spaced("1 second"),
                times: 1
              }),
              Effect.either
            )
          return yield* Either.match(answer, {
            onLeft: (error) => fail(sms, error),
            onRight: ({ provider_message_id }) =>
              conclude(sms, { status: "sent", error: null, provider_message_id, cost_eur: price }, true)
          })
        })

      const messagingOf = (id: string): Either.Either<Messaging, string> => {
        const plugin = telephony.find((one) => one.id === id)
        if (plugin === undefined) return Either.left(`the telephony plugin ${id} is not loaded`)
        return Either.fromNullable(plugin.sms, () => `the telephony plugin ${id} sends no messages`)
      }

      /** The network and the price with which a lost message is sent again, or why it is not. */
      const termsOf = (sms: LostSms) =>
        Effect.gen(function* () {
          const messaging = yield* messagingOf(sms.telephony)
          const { number, price_eur } = sms
          const age = (yield* Clock.currentTimeMillis) - sms.created_at.getTime()
          if (messaging.deliversOnce !== true || price_eur === null || number === null || sms.takeovers > maxTakeovers)
            return yield* Effect.fail("the server stopped before the network answered")
          if (age > againWithin) return yield* Effect.fail("the server stopped, and it is too late to send it again")
          // It may have been released, with its project, and belong to somebody else now.
          const owned = yield* numbers.ofProject(sms.project_id, number)
          if (Option.isNone(owned) || owned.value.telephony !== sms.telephony)
            return yield* Effect.fail(`the server stopped, and ${number} is no longer a number of the project`)
          return { messaging, price_eur }
        })

      /** From here until the outcome is recorded, the message is ours; an interruption leaves it to the next node. */
      const holding = <A, E>(sms: LostSms | NewSms, effect: Effect.Effect<A, E>) =>
        Effect.zipRight(
          Effect.sync(() => held.add(sms.public_id)),
          Effect.onInterrupt(effect, () => Effect.sync(() => held.delete(sms.public_id)))
        )

      return {
        begin: (sms) =>
          Effect.gen(function* () {
            if (!(yield* repo.begin(sms))) return false
            yield* holds.hold(purposeOf(sms), BigDecimal.unsafeFromString(sms.price_eur))
            return true
          }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die)),
        send: (sms) =>
          holding(
            sms,
            Either.match(messagingOf(sms.telephony), {
              onLeft: (reason) => fail(sms, new SmsFailed({ reason })),
              onRight: (messaging) => ask(sms, sms.price_eur, messaging)
            })
          ),
        end: (sms) =>
          holding(
            sms,
            Effect.matchEffect(termsOf(sms), {
              onFailure: (reason) => fail(sms, new SmsFailed({ reason, mayBeSent: true })),
              onSuccess: ({ messaging, price_eur }) => ask(sms, price_eur, messaging)
            })
          ),
        held: Effect.sync(() => [...held])
      }
    })
  )
}

const failed = (error: string): SmsOutcome => ({ status: "failed", error, provider_message_id: null, cost_eur: null })

/** What the cost of a message is held for, from `begin` until its row is no longer `sending`. */
const purposeOf = ({ org_id, public_id }: LostSms | NewSms): Purpose => ({ org_id, kind: "sms", reference: public_id })

const ownerOf = (sms: LostSms | NewSms, at: Date) => ({
  org_id: sms.org_id,
  project_id: sms.project_id,
  agent:
    sms.agent_id === null || sms.agent_public_id === null ? null : { id: sms.agent_id, public_id: sms.agent_public_id },
  at
})
