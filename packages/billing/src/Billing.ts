import { SqlClient } from "@effect/sql"
import type { Credits } from "@svc/api/billing/CreditsApi"
import type { CallId } from "@svc/api/Ids"
import { toNumber } from "@svc/api/Money"
import type { Tier } from "@svc/api/Principal"
import { Balance, isPaused } from "@svc/auth/Balance"
import { TierLimits } from "@svc/auth/TierLimits"
import { Tiers } from "@svc/auth/Tiers"
import * as TtlCache from "@svc/auth/TtlCache"
import { BigDecimal, Clock, Context, Effect, FiberSet, Layer, Option } from "effect"
import { type CallCharge, type CallFigures, chargeOf, freeRates } from "./CallCharge.ts"
import { type CallSlot, CallSlotsRepo } from "./CallSlotsRepo.ts"
import { type Cost, debitOf, Holds, inTransaction, type Purpose } from "./Holds.ts"
import { LedgerRepo, type Movement } from "./LedgerRepo.ts"
import { InvalidAmount, isAmount } from "./Money.ts"
import { Rates, type RatesOfTier } from "./Rates.ts"

/** A call that requests admission. */
export interface CallRequest {
  readonly call_id: CallId
  readonly org_id: number
  /** Whether it will be recorded. */
  readonly recording: boolean
  /**
   * Whether a request places it. The balance must cover its hold then; an incoming call rings as long as the account is
   * not paused.
   */
  readonly is_placed?: boolean
}

/** `paused`: no credits, or for a placed call too few. `full`: the tier's limit of concurrent calls is reached. */
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
    CallSlotsRepo | Holds | LedgerRepo | Rates | TierLimits | Tiers | SqlClient.SqlClient
  > = Layer.scoped(
    Billing,
    Effect.gen(function* () {
      const holds = yield* Holds
      const slots = yield* CallSlotsRepo
      const ledger = yield* LedgerRepo
      const rates = yield* Rates
      const limits = yield* TierLimits
      const tiers = yield* Tiers
      const transaction = inTransaction(yield* SqlClient.SqlClient)
      const background = yield* FiberSet.runtime(yield* FiberSet.make<unknown, unknown>())<never>()
      const writable = TtlCache.make<boolean>({ ttl: writableTtl, capacity: 10_000 })

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
        const now = yield* Clock.currentTimeMillis
        const may = Effect.map(account(orgId), ({ is_paused }) => !is_paused)
        return yield* TtlCache.readThrough(writable, String(orgId), now, may, background)
      })

      const book = (orgId: number, movements: ReadonlyArray<Movement>) =>
        transaction(Effect.zipRight(ledger.lock(orgId), ledger.append(orgId, movements)))

      const add = Effect.fn("Billing.add")(function* (
        orgId: number,
        amount_eur: BigDecimal.BigDecimal,
        reference: string = crypto.randomUUID()
      ) {
        if (!isAmount(amount_eur)) return yield* new InvalidAmount()
        yield* book(orgId, [{ kind: "top_up", reference, amount_eur }])
        writable.clear()
        return yield* account(orgId)
      })

      const admit = Effect.fn("Billing.admit")(function* (call: CallRequest) {
        const tier = yield* tiers.of(call.org_id)
        const { call: perMinute, llm, recording, transfer } = rates.of(tier)
        const { concurrentCalls, concurrentCallsEnforced } = limits.of(tier)
        const held_eur = call.recording ? BigDecimal.sum(perMinute, recording) : perMinute
        const free = tier === "enterprise" && !concurrentCallsEnforced && BigDecimal.isZero(held_eur)
        const slot = {
          call_id: call.call_id,
          org_id: call.org_id,
          rate_per_minute: perMinute,
          recording_per_minute: recording,
          transfer_per_minute: transfer,
          llm_input_per_million: llm.input,
          llm_cached_input_per_million: llm.cached_input,
          llm_output_per_million: llm.output,
          held_eur
        }
        const limit = concurrentCallsEnforced ? concurrentCalls : null
        // Calls of an organization without limits and costs need not wait for each other.
        if (free) return yield* Effect.as(slots.take(slot, null), "admitted" as const)
        return yield* transaction(
          Effect.gen(function* () {
            const balance = yield* ledger.lock(call.org_id)
            if (isPaused(tier, balance)) return "paused" as const
            if (!(yield* slots.take(slot, limit))) return "full" as const
            const purpose = purposeOf(call)
            if (call.is_placed !== true)
              return yield* Effect.as(holds.holdUncovered(purpose, held_eur), "admitted" as const)
            return yield* Effect.matchEffect(holds.hold(purpose, held_eur), {
              onSuccess: () => Effect.succeed("admitted" as const),
              onFailure: () => Effect.as(slots.release(call.call_id), "paused" as const)
            })
          })
        )
      })

      const settle = Effect.fn("Billing.settle")(function* (callId: string, figures: CallFigures) {
        return yield* transaction(
          Effect.gen(function* () {
            const released = yield* slots.release(callId)
            if (Option.isNone(released)) return chargeOf(freeRates, figures)
            const slot = released.value
            const cost = chargeOf(ratesOf(slot), figures)
            const costs = costsOf(cost)
            // A call whose minute is free has no hold; its transfer and its models may still cost something.
            if (!BigDecimal.isZero(slot.held_eur)) yield* holds.settle(purposeOf(slot), costs)
            else if (costs.length > 0) yield* book(slot.org_id, costs.map(debitOf(callId)))
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
        admit,
        settle,
        freeSlot: slots.free,
        liveCalls: slots.count
      }
    })
  )

  /** The port through which auth reads balances. */
  static readonly balance: Layer.Layer<Balance, never, LedgerRepo> = Layer.effect(
    Balance,
    Effect.map(LedgerRepo, ({ balance }) => ({ of: balance }))
  )
}

const purposeOf = ({ call_id, org_id }: { readonly call_id: string; readonly org_id: number }): Purpose => ({
  org_id,
  kind: "call",
  reference: call_id
})

const ratesOf = (slot: CallSlot): RatesOfTier => ({
  call: slot.rate_per_minute,
  recording: slot.recording_per_minute,
  transfer: slot.transfer_per_minute,
  llm: {
    input: slot.llm_input_per_million,
    cached_input: slot.llm_cached_input_per_million,
    output: slot.llm_output_per_million
  }
})

/** What a call has cost, without parts that are free. The discount reduces the cost of the call. */
const costsOf = (charge: CallCharge): ReadonlyArray<Cost> => {
  const costs: ReadonlyArray<Cost> = [
    { kind: "call", amount_eur: BigDecimal.subtract(charge.call_cost, charge.llm_discount) },
    { kind: "recording", amount_eur: charge.recording_cost },
    { kind: "transfer", amount_eur: charge.transfer_cost },
    { kind: "llm", amount_eur: charge.llm_cost }
  ]
  return costs.filter(({ amount_eur }) => !BigDecimal.isZero(amount_eur))
}
