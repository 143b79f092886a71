import { SqlClient } from "@effect/sql"
import { type AgentId, type CallId, generate } from "@svc/api/Ids"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { type SmsMessage, SmsNotSent, type SmsSend } from "@svc/api/sms/SmsMessage"
import { type InsufficientCredits, ValidationError } from "@svc/api/VoiceError"
import { Tiers } from "@svc/auth/Tiers"
import { Holds, type Purpose } from "@svc/billing/Holds"
import { Rates } from "@svc/billing/Rates"
import { Usage } from "@svc/billing/Usage"
import { Outbox } from "@svc/database/Outbox"
import type { OwnNumber } from "@svc/numbers/OwnNumber"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { SmsFailed } from "@svc/providers/Messaging"
import { Providers } from "@svc/providers/Providers"
import {
  BigDecimal,
  Clock,
  Context,
  Data,
  Deferred,
  Effect,
  Either,
  Fiber,
  FiberId,
  FiberSet,
  Layer,
  Option,
  Schedule,
  Schema,
  Stream
} from "effect"
import { type NewSms, type SmsOutcome, SmsRepo, type SmsRow } from "./SmsRepo.ts"
import { segmentsOf } from "./SmsSegments.ts"
import { senderOf } from "./SmsSender.ts"

/** A message was not sent, or it is unknown whether it was; `reason` is one plain sentence. */
export class SmsUnsent extends Data.TaggedError("SmsUnsent")<{ readonly reason: string }> {}

/** A message of a call. Its text and its sender's name are within the limits of `SmsLimits`. */
export interface SmsOfCall {
  readonly call_id: CallId
  /** The caller's number. */
  readonly from: string | null
  /** Both ends of the call: a number of the agent among them sends the message. */
  readonly numbers: ReadonlyArray<string | null>
  readonly org_id: number
  readonly project_id: number
  readonly agent: { readonly id: number; readonly public_id: AgentId }
  /** Unique in the call: requests with the same id send one message. */
  readonly id: string
  /** E.164. */
  readonly to: string
  readonly message: string
  readonly sender_name: string | null
}

/** How long a response waits for the outcome to be recorded while the database is unreachable. */
const recordTimeoutMs = 5_000

/** How long a shutdown waits for in-flight messages. */
const shutdownTimeoutMs = 5_000

/**
 * Text messages. Each is stored, with a hold of its cost, before it is sent and never sent again: if the process dies in
 * between, it is unknown whether it was sent, its row stays `sending`, and the hold stays with it. Once the network has
 * answered, its status, its cost, its usage and `sms.sent` are written in one transaction. An in-flight message is
 * completed even when its caller is interrupted.
 */
export class Sms extends Context.Tag("@svc/sms/Sms")<
  Sms,
  {
    /** From a number of the project. */
    readonly send: (
      owner: ProjectPrincipal,
      body: SmsSend
    ) => Effect.Effect<SmsMessage, ValidationError | InsufficientCredits | SmsNotSent>
    /** From a number of the agent. */
    readonly sendInCall: (sms: SmsOfCall) => Effect.Effect<SmsMessage, SmsUnsent>
  }
>() {
  static readonly layer: Layer.Layer<
    Sms,
    never,
    SmsRepo | PhoneNumbers | Holds | Rates | Tiers | Usage | Outbox | Providers | SqlClient.SqlClient
  > = Layer.scoped(
    Sms,
    Effect.gen(function* () {
      const repo = yield* SmsRepo
      const numbers = yield* PhoneNumbers
      const holds = yield* Holds
      const rates = yield* Rates
      const tiers = yield* Tiers
      const usage = yield* Usage
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const { telephony } = yield* Providers
      const sending = yield* FiberSet.make<void>()
      /** By reference. */
      const inFlight = new Map<string, Deferred.Deferred<SmsMessage, SmsUnsent | InsufficientCredits>>()

      // The API has no inbound messages. They are consumed, so that a network does not queue them.
      for (const { id, sms } of telephony) {
        if (sms === undefined) continue
        const logIgnored = Effect.logInfo(`A text message was received through ${id} and is ignored`)
        yield* Effect.forkScoped(Stream.runForEach(sms.incoming, () => logIgnored))
      }
      yield* Effect.addFinalizer(() =>
        FiberSet.awaitEmpty(sending).pipe(Effect.timeoutOption(shutdownTimeoutMs), Effect.interruptible)
      )

      const costOf = (sms: NewSms) =>
        Effect.map(tiers.of(sms.org_id), (tier) =>
          BigDecimal.multiply(rates.sms(tier), BigDecimal.fromBigInt(BigInt(sms.segments)))
        )

      /** Stores a message and holds its cost. False when its reference was used before. */
      const begin = (sms: NewSms, cost: BigDecimal.BigDecimal) =>
        Effect.gen(function* () {
          if (!(yield* repo.begin(sms))) return false
          yield* holds.hold(purposeOf(sms), cost)
          return true
        }).pipe(sql.withTransaction, Effect.catchTag("SqlError", Effect.die))

      /** Records the outcome once, and retries while the database is unreachable. */
      const recordOutcome = (sms: NewSms, from: string | null, outcome: SmsOutcome, cost: BigDecimal.BigDecimal) =>
        Effect.gen(function* () {
          const now = new Date(yield* Clock.currentTimeMillis)
          if (!(yield* repo.finish(sms.public_id, outcome))) return
          if (outcome.status === "sent") {
            yield* holds.settle(purposeOf(sms))
            yield* usage.addSms(ownerOf(sms, now), cost)
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
              from,
              to: sms.to_number,
              from_number: sms.from_number,
              sender_name: sms.sender_name,
              message: sms.message,
              sender_type: sms.sender_type,
              provider_message_id: outcome.provider_message_id,
              cost_eur: numberOf(outcome.cost_eur),
              status: outcome.status
            }
          })
        }).pipe(
          sql.withTransaction,
          Effect.sandbox,
          Effect.tapError((cause) =>
            Effect.logWarning("The outcome of a text message could not be recorded; trying again", cause)
          ),
          Effect.retry(Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("5 seconds"))),
          Effect.orDie
        )

      /** Sends a stored message and records its outcome. */
      const deliver = (sms: NewSms, from: string | null, cost: BigDecimal.BigDecimal) =>
        Effect.gen(function* () {
          const messaging = telephony.find(({ id }) => id === sms.telephony)?.sms
          const answer = yield* Effect.either(
            messaging === undefined
              ? new SmsFailed({ reason: `the telephony plugin ${sms.telephony} sends no messages` })
              : messaging.send({
                  id: sms.public_id,
                  to: sms.to_number,
                  from: sms.sender_name ?? sms.from_number ?? "",
                  sender_type: sms.sender_type,
                  message: sms.message
                })
          )
          const outcome: SmsOutcome = Either.match(answer, {
            onLeft: ({ reason }) => ({ status: "failed", error: reason, provider_message_id: null, cost_eur: null }),
            onRight: ({ provider_message_id }) => ({
              status: "sent",
              error: null,
              provider_message_id,
              cost_eur: BigDecimal.format(cost)
            })
          })
          const recording = yield* FiberSet.run(sending, recordOutcome(sms, from, outcome, cost))
          yield* Effect.timeoutOption(Fiber.join(recording), recordTimeoutMs)
          return yield* outcomeOf({ ...sms, ...outcome, cost_eur: numberOf(outcome.cost_eur) })
        })

      /** Sends a message, or returns the outcome of the one with the same reference. */
      const post = (sms: NewSms, from: string | null): Effect.Effect<SmsMessage, SmsUnsent | InsufficientCredits> =>
        Effect.suspend(() => {
          const first = inFlight.get(sms.reference)
          if (first !== undefined) return Deferred.await(first)
          const done = Deferred.unsafeMake<SmsMessage, SmsUnsent | InsufficientCredits>(FiberId.none)
          inFlight.set(sms.reference, done)
          const work = Effect.gen(function* () {
            // Everything that can fail before the network is called precedes the insert.
            const cost = yield* costOf(sms)
            if (yield* begin(sms, cost)) return yield* deliver(sms, from, cost)
            const existing = yield* repo.find(sms.reference)
            return yield* Option.match(existing, { onNone: () => unknown, onSome: outcomeOf })
          }).pipe(
            Effect.onExit((exit) => {
              inFlight.delete(sms.reference)
              return Deferred.done(done, exit)
            }),
            Effect.ignore
          )
          return Effect.zipRight(FiberSet.run(sending, work), Deferred.await(done))
        })

      const draft = (
        text: { readonly to: string; readonly message: string; readonly sender_name?: string | null | undefined },
        number: OwnNumber,
        public_id: string
      ) => ({
        public_id,
        to_number: text.to,
        ...senderOf(text.to, number.number, text.sender_name ?? null),
        message: text.message,
        segments: segmentsOf(text.message),
        telephony: number.telephony
      })

      return {
        send: Effect.fn("Sms.send")(function* (owner, body) {
          const number = yield* numbers.ofProject(owner.project.id, body.from_number)
          if (Option.isNone(number)) {
            return yield* ValidationError.field("from_number", "from_number must be a phone number of this project")
          }
          const public_id = yield* newSmsId
          const { agent } = number.value
          const sms: NewSms = {
            ...draft(body, number.value, public_id),
            reference: public_id,
            org_id: owner.org.id,
            project_id: owner.project.id,
            agent_id: agent?.id ?? null,
            agent_public_id: agent?.public_id ?? null,
            call_id: null
          }
          return yield* Effect.catchTag(
            post(sms, null),
            "SmsUnsent",
            ({ reason }) => new SmsNotSent({ message: reason })
          )
        }),
        sendInCall: Effect.fn("Sms.sendInCall")(function* (call) {
          const owned = yield* numbers.ofAgent(call.agent.id)
          const number = owned.find((one) => call.numbers.includes(one.number)) ?? owned[0]
          if (number === undefined)
            return yield* new SmsUnsent({ reason: "the agent has no phone number to send from" })
          const sms: NewSms = {
            ...draft(call, number, yield* newSmsId),
            reference: `${call.call_id}/${call.id}`,
            org_id: call.org_id,
            project_id: call.project_id,
            agent_id: call.agent.id,
            agent_public_id: call.agent.public_id,
            call_id: call.call_id
          }
          return yield* Effect.catchTag(
            post(sms, call.from),
            "InsufficientCredits",
            () => new SmsUnsent({ reason: "the account has too few credits for the message" })
          )
        })
      }
    })
  )
}

/** What the cost of a message is held for, from `begin` until its row is no longer `sending`. */
const purposeOf = ({ org_id, public_id }: NewSms): Purpose => ({ org_id, kind: "sms", reference: public_id })

const newSmsId = generate(Schema.String, "sms")

const numberOf = (cost: string | null): number | null => (cost === null ? null : Number(cost))

const unknown = Effect.fail(new SmsUnsent({ reason: "it is not known whether the message was sent" }))

/** The outcome of a stored message, as the caller gets it. */
const outcomeOf = (row: SmsRow): Effect.Effect<SmsMessage, SmsUnsent> => {
  if (row.status === "sending") return unknown
  if (row.status === "failed") return Effect.fail(new SmsUnsent({ reason: row.error ?? "the message was refused" }))
  return Effect.succeed({
    message_id: row.public_id,
    status: row.status,
    from_number: row.from_number,
    sender_name: row.sender_name,
    sender_type: row.sender_type,
    to: row.to_number,
    cost_eur: row.cost_eur,
    provider_message_id: row.provider_message_id
  })
}

const ownerOf = (sms: NewSms, at: Date) => ({
  org_id: sms.org_id,
  project_id: sms.project_id,
  agent:
    sms.agent_id === null || sms.agent_public_id === null ? null : { id: sms.agent_id, public_id: sms.agent_public_id },
  at
})
