import { type AgentId, type CallId, generate } from "@svc/api/Ids"
import type { ProjectPrincipal } from "@svc/api/Principal"
import { type SmsMessage, SmsNotSent, type SmsSend } from "@svc/api/sms/SmsMessage"
import { type InsufficientCredits, ValidationError } from "@svc/api/VoiceError"
import { Tiers } from "@svc/auth/Tiers"
import { Rates } from "@svc/billing/Rates"
import { NodeLease } from "@svc/cluster/NodeLease"
import { OutboundNumbers } from "@svc/numbers/OutboundNumbers"
import type { OwnNumber } from "@svc/numbers/OwnNumber"
import { PhoneNumbers } from "@svc/numbers/PhoneNumbers"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, Context, Data, Deferred, Effect, FiberId, FiberSet, Layer, Option, Schema, Stream } from "effect"
import { SmsDispatch, unknownReason } from "./SmsDispatch.ts"
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

/** How long a shutdown waits for in-flight messages. */
const shutdownTimeoutMs = 5_000

/**
 * Text messages. Each is stored, with a hold of its cost, before it is sent, and belongs to the lease of this node until
 * it has an outcome: if the process dies in between, SmsRecoveryWorker ends it. An in-flight message is completed even
 * when its caller is interrupted.
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
    SmsRepo | SmsDispatch | NodeLease | OutboundNumbers | PhoneNumbers | Rates | Tiers | Providers
  > = Layer.scoped(
    Sms,
    Effect.gen(function* () {
      const repo = yield* SmsRepo
      const numbers = yield* PhoneNumbers
      const outbound = yield* OutboundNumbers
      const dispatch = yield* SmsDispatch
      const lease = yield* NodeLease
      const rates = yield* Rates
      const tiers = yield* Tiers
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

      const priceOf = (org_id: number, segments: number) =>
        Effect.map(tiers.of(org_id), (tier) =>
          BigDecimal.format(BigDecimal.multiply(rates.sms(tier), BigDecimal.fromBigInt(BigInt(segments))))
        )

      /** Sends a message, or returns the outcome of the one with the same reference. */
      const post = (sms: NewSms): Effect.Effect<SmsMessage, SmsUnsent | InsufficientCredits> =>
        Effect.suspend(() => {
          const first = inFlight.get(sms.reference)
          if (first !== undefined) return Deferred.await(first)
          const done = Deferred.unsafeMake<SmsMessage, SmsUnsent | InsufficientCredits>(FiberId.none)
          inFlight.set(sms.reference, done)
          const work = Effect.gen(function* () {
            if (yield* dispatch.begin(sms)) {
              const outcome = yield* dispatch.send(sms)
              if (Option.isSome(outcome)) return yield* outcomeOf(rowOf(sms, outcome.value))
            }
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

      const draft = Effect.fn("Sms.draft")(function* (
        org_id: number,
        text: { readonly to: string; readonly message: string; readonly sender_name?: string | null | undefined },
        number: OwnNumber
      ) {
        const segments = segmentsOf(text.message)
        const { id: node } = yield* lease.current
        return {
          public_id: yield* newSmsId,
          org_id,
          to_number: text.to,
          ...senderOf(text.to, number.number, text.sender_name ?? null),
          message: text.message,
          segments,
          number: number.number,
          telephony: number.telephony,
          price_eur: yield* priceOf(org_id, segments),
          node
        }
      })

      return {
        send: Effect.fn("Sms.send")(function* (owner, body) {
          const refusal = outbound.refusal(owner.org.id, body.to)
          if (refusal !== null) return yield* ValidationError.field("to", `to ${refusal}`)
          const number = yield* numbers.ofProject(owner.project.id, body.from_number)
          if (Option.isNone(number)) {
            return yield* ValidationError.field("from_number", "from_number must be a phone number of this project")
          }
          const { agent } = number.value
          const message = yield* draft(owner.org.id, body, number.value)
          const sms: NewSms = {
            ...message,
            reference: message.public_id,
            project_id: owner.project.id,
            agent_id: agent?.id ?? null,
            agent_public_id: agent?.public_id ?? null,
            call_id: null,
            caller_number: null
          }
          return yield* Effect.catchTag(post(sms), "SmsUnsent", ({ reason }) => new SmsNotSent({ message: reason }))
        }),
        sendInCall: Effect.fn("Sms.sendInCall")(function* (call) {
          const refusal = outbound.refusal(call.org_id, call.to)
          if (refusal !== null) return yield* new SmsUnsent({ reason: `to ${refusal}` })
          const owned = yield* numbers.ofAgent(call.agent.id)
          const number = owned.find((one) => call.numbers.includes(one.number)) ?? owned[0]
          if (number === undefined)
            return yield* new SmsUnsent({ reason: "the agent has no phone number to send from" })
          const sms: NewSms = {
            ...(yield* draft(call.org_id, call, number)),
            reference: `${call.call_id}/${call.id}`,
            project_id: call.project_id,
            agent_id: call.agent.id,
            agent_public_id: call.agent.public_id,
            call_id: call.call_id,
            caller_number: call.from
          }
          return yield* Effect.catchTag(
            post(sms),
            "InsufficientCredits",
            () => new SmsUnsent({ reason: "the account has too few credits for the message" })
          )
        })
      }
    })
  )
}

const newSmsId = generate(Schema.String, "sms")

const unknown = Effect.fail(new SmsUnsent({ reason: unknownReason }))

const rowOf = (sms: NewSms, outcome: SmsOutcome): SmsRow => ({
  ...sms,
  ...outcome,
  cost_eur: outcome.cost_eur === null ? null : Number(outcome.cost_eur)
})

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
