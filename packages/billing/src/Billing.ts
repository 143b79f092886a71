import { SqlClient } from "@effect/sql"
import type { Credits } from "@svc/api/billing/CreditsApi"
import type { CallId } from "@svc/api/Ids"
import { toNumber } from "@svc/api/Money"
import type { Tier } from "@svc/api/Principal"
import { Balance } from "@svc/auth/Balance"
import { TierLimits } from "@svc/auth/TierLimits"
import { Tiers } from "@svc/auth/Tiers"
import * as TtlCache from "@svc/auth/TtlCache"
import { BigDecimal, Clock, Context, Data, Effect, Layer, Option } from "effect"
import { type CallCharge, type CallFigures, chargeOf, freeRates } from "./CallCharge.ts"
import { HoldsRepo } from "./HoldsRepo.ts"
import { LedgerRepo, type Movement } from "./LedgerRepo.ts"
import { isAmount, zero } from "./Money.ts"
import { Rates } from "./Rates.ts"

/** An amount that cannot be booked. */
export class InvalidAmount extends Data.TaggedError("InvalidAmount")<{ readonly message: string }> {
  constructor() {
    super({ message: "must be an amount in EUR above 0 and below 1000000000, with at most 4 decimals" })
  }
}

/** A cost other than a call's, or a refund. */
export interface Charge {
  readonly kind: "sms" | "number_rent" | "refund"
  /** Booked once per kind and reference: a message's id, a number's id with its month, … */
  readonly reference: string
  /** EUR, above 0, also of a refund. */
  readonly amount_eur: BigDecimal.BigDecimal
}

/** A call that requests admission. */
export interface CallRequest {
  readonly call_id: CallId
  readonly org_id: number
  /** Whether it will be recorded. */
  readonly recording: boolean
}

/** `paused`: no credits. `full`: the tier's limit of concurrent calls is reached. */
export type Admission = "admitted" | "paused" | "full"

/** How long `mayWrite` caches its result, in ms. */
const writableTtl = 1_000

/**
 * The credits of organizations (docs/reference/billing.md). An account is paused while its balance is 0 or less, except
 * on the tier enterprise; this is derived from the balance, not stored.
 */
export class Billing extends Context.Tag("@svc/billing/Billing")<
  Billing,
  {
    readonly account: (orgId: number) => Effect.Effect<Credits>
    /** The same with a known tier. */
    readonly creditsOf: (org: { readonly id: number; readonly tier: Tier }) => Effect.Effect<Credits>
    /** Whether writes are allowed: false is `402 INSUFFICIENT_CREDITS`. At most 1 s old. */
    readonly mayWrite: (orgId: number) => Effect.Effect<boolean>
    /** Which of these organizations have been paused since before `time`. */
    readonly suspendedBefore: (orgIds: ReadonlyArray<number>, time: Date) => Effect.Effect<ReadonlyArray<number>>
    /** A top-up (administration only). Returns the account after it. Each reference is added once. */
    readonly add: (
      orgId: number,
      amount: BigDecimal.BigDecimal,
      reference?: string
    ) => Effect.Effect<Credits, InvalidAmount>
    /** Books a cost or a refund, in the caller's transaction if there is one. The balance may become negative. */
    readonly charge: (orgId: number, charge: Charge) => Effect.Effect<void, InvalidAmount>
    /**
     * Takes a slot and a hold of one minute at the call's rates. Runs in the caller's transaction, which also writes
     * the call record, so that neither exists without the other.
     */
    readonly admit: (call: CallRequest) => Effect.Effect<Admission>
    /**
     * Releases slot and hold and books the call's cost, in the transaction that completes the call record. A second
     * settlement, or that of a call that was not admitted, books nothing and returns a cost of 0.
     */
    readonly settle: (callId: string, figures: CallFigures) => Effect.Effect<CallCharge>
    /** Releases only the slot, of a call that has ended and whose cost is not known yet. */
    readonly freeSlot: (callId: string) => Effect.Effect<void>
    /** Number of calls that hold a slot. */
    readonly liveCalls: (orgId: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<
    Billing,
    never,
    HoldsRepo | LedgerRepo | Rates | TierLimits | Tiers | SqlClient.SqlClient
  > = Layer.effect(
    Billing,
    Effect.gen(function* () {
      const holds = yield* HoldsRepo
      const ledger = yield* LedgerRepo
      const rates = yield* Rates
      const limits = yield* TierLimits
      const tiers = yield* Tiers
      const sql = yield* SqlClient.SqlClient
      const writable = TtlCache.make<boolean>({ ttl: writableTtl, capacity: 10_000 })

      const isPaused = (tier: Tier, balance: BigDecimal.BigDecimal) =>
        tier !== "enterprise" && !BigDecimal.isPositive(balance)

      const toCredits = (tier: Tier, balance: BigDecimal.BigDecimal): Credits => ({
        balance_eur: toNumber(balance),
        tier,
        concurrent_call_limit: limits.of(tier).concurrentCalls,
        is_paused: isPaused(tier, balance)
      })

      const creditsOf = Effect.fn("Billing.creditsOf")(function* (org: { readonly id: number; readonly tier: Tier }) {
        return toCredits(org.tier, yield* ledger.balance(org.id))
      })

      const account = (orgId: number) => Effect.flatMap(tiers.of(orgId), (tier) => creditsOf({ id: orgId, tier }))

      const mayWrite = Effect.fn("Billing.mayWrite")(function* (orgId: number) {
        const key = String(orgId)
        const now = yield* Clock.currentTimeMillis
        const known = writable.get(key, now)
        if (known !== undefined) return known
        const epoch = writable.epoch()
        const may = !(yield* account(orgId)).is_paused
        writable.set(key, may, now, epoch)
        return may
      })

      /** In the caller's transaction, or in a new one. */
      const inTransaction = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
        Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (current) =>
          Option.isSome(current) ? effect : Effect.orDie(sql.withTransaction(effect))
        )

      const book = (orgId: number, movements: ReadonlyArray<Movement>) =>
        inTransaction(Effect.zipRight(ledger.lock(orgId), ledger.append(orgId, movements)))

      const checkAmount = (amount: BigDecimal.BigDecimal) => (isAmount(amount) ? Effect.void : new InvalidAmount())

      const add = Effect.fn("Billing.add")(function* (
        orgId: number,
        amount_eur: BigDecimal.BigDecimal,
        reference: string = crypto.randomUUID()
      ) {
        yield* checkAmount(amount_eur)
        yield* book(orgId, [{ kind: "top_up", reference, amount_eur }])
        writable.clear()
        return yield* account(orgId)
      })

      const charge = Effect.fn("Billing.charge")(function* (orgId: number, { amount_eur, kind, reference }: Charge) {
        yield* checkAmount(amount_eur)
        const signed = kind === "refund" ? amount_eur : BigDecimal.negate(amount_eur)
        yield* book(orgId, [{ kind, reference, amount_eur: signed }])
      })

      const admit = Effect.fn("Billing.admit")(function* (call: CallRequest) {
        const tier = yield* tiers.of(call.org_id)
        const { call: perMinute, recording, transfer } = rates.of(tier)
        const { concurrentCalls, concurrentCallsEnforced } = limits.of(tier)
        const held_eur = call.recording ? BigDecimal.sum(perMinute, recording) : perMinute
        const free = tier === "enterprise" && !concurrentCallsEnforced && BigDecimal.isZero(held_eur)
        const slot = {
          call_id: call.call_id,
          org_id: call.org_id,
          rate_per_minute: perMinute,
          recording_per_minute: recording,
          transfer_per_minute: transfer,
          held_eur
        }
        const limit = concurrentCallsEnforced ? concurrentCalls : null
        // Calls of an organization without limits and costs need not wait for each other.
        if (free) return yield* Effect.as(holds.take(slot, null), "admitted" as const)
        return yield* inTransaction(
          Effect.gen(function* () {
            if (isPaused(tier, yield* ledger.lock(call.org_id))) return "paused" as const
            if (!(yield* holds.take(slot, limit))) return "full" as const
            const amount_eur = BigDecimal.negate(held_eur)
            yield* ledger.append(call.org_id, [{ kind: "call_hold", reference: call.call_id, amount_eur }])
            return "admitted" as const
          })
        )
      })

      const settle = Effect.fn("Billing.settle")(function* (callId: string, figures: CallFigures) {
        return yield* inTransaction(
          Effect.gen(function* () {
            const released = yield* holds.release(callId)
            if (Option.isNone(released)) return chargeOf(freeRates, figures)
            const hold = released.value
            const cost = chargeOf(
              { call: hold.rate_per_minute, recording: hold.recording_per_minute, transfer: hold.transfer_per_minute },
              figures
            )
            const movements = movementsOf(callId, hold.held_eur, cost)
            if (movements.length > 0) yield* book(hold.org_id, movements)
            return cost
          })
        )
      })

      const suspendedBefore = Effect.fn("Billing.suspendedBefore")(function* (
        orgIds: ReadonlyArray<number>,
        time: Date
      ) {
        const empty = yield* ledger.emptySince(orgIds, time)
        return yield* Effect.filter(empty, (id) => Effect.map(tiers.of(id), (tier) => tier !== "enterprise"))
      })

      return {
        account,
        creditsOf,
        mayWrite,
        suspendedBefore,
        add,
        charge,
        admit,
        settle,
        freeSlot: holds.free,
        liveCalls: holds.count
      }
    })
  )

  /** The port through which auth reads balances. */
  static readonly balance: Layer.Layer<Balance, never, LedgerRepo> = Layer.effect(
    Balance,
    Effect.map(LedgerRepo, ({ balance }) => ({ of: balance }))
  )
}

/** The ledger entries of a settlement. The discount reduces the entry of the call. */
const movementsOf = (reference: string, held: BigDecimal.BigDecimal, cost: CallCharge): ReadonlyArray<Movement> => {
  const call = BigDecimal.subtract(cost.call_cost, cost.llm_discount)
  const entries: ReadonlyArray<Movement> = [
    { kind: "call_hold_release", reference, amount_eur: held },
    { kind: "call", reference, amount_eur: BigDecimal.negate(call) },
    { kind: "recording", reference, amount_eur: BigDecimal.negate(cost.recording_cost) },
    { kind: "transfer", reference, amount_eur: BigDecimal.negate(cost.transfer_cost) }
  ]
  return entries.filter(({ amount_eur }) => !BigDecimal.equals(amount_eur, zero))
}
