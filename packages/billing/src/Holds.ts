import { SqlClient } from "@effect/sql"
import { InsufficientCredits } from "@svc/api/VoiceError"
import { Tiers } from "@svc/auth/Tiers"
import { BigDecimal, Context, Effect, Layer, Option } from "effect"
import { type HeldKind, type LedgerKind, LedgerRepo, type Movement } from "./LedgerRepo.ts"
import { InvalidAmount, isAmount } from "./Money.ts"

/**
 * What money is held for. Kind and reference identify it: it is held once, and settled or released once, whoever does it
 * and how often.
 */
export interface Purpose {
  readonly org_id: number
  readonly kind: HeldKind
  /** The public id of a call or a message, a number's id with its month, … */
  readonly reference: string
}

/** A part of what a purpose has cost, EUR, 0 or above. */
export interface Cost {
  readonly kind: LedgerKind
  readonly amount_eur: BigDecimal.BigDecimal
}

/** The ledger entry of a cost. */
export const debitOf =
  (reference: string) =>
  ({ amount_eur, kind }: Cost): Movement => ({ kind, reference, amount_eur: BigDecimal.negate(amount_eur) })

/** In the caller's transaction, or in a new one. */
export const inTransaction =
  (sql: SqlClient.SqlClient) =>
  <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (current) =>
      Option.isSome(current) ? effect : Effect.orDie(sql.withTransaction(effect))
    )

/**
 * The one rule for everything that costs (docs/reference/billing.md): money is held before what it pays for begins, under
 * the lock on the balance, and settled or released when that ends. A hold is an entry of the ledger, so it outlives the
 * process that took it: whoever finishes the row that `reference` names settles or releases it.
 *
 * Each method runs in the caller's transaction, which also writes that row; without one it makes its own. An amount that
 * is negative or has more than 4 decimals is a defect.
 */
export class Holds extends Context.Tag("@svc/billing/Holds")<
  Holds,
  {
    /**
     * Holds an amount, 0 included. Fails when it exceeds the balance, except on the tier enterprise. Does nothing for a
     * purpose that was held before.
     */
    readonly hold: (purpose: Purpose, amount: BigDecimal.BigDecimal) => Effect.Effect<void, InsufficientCredits>
    /** The same without the check of the balance, for an incoming call, which an account that is not paused may take. */
    readonly holdUncovered: (purpose: Purpose, amount: BigDecimal.BigDecimal) => Effect.Effect<void>
    /**
     * Gives the held amount back and books the costs, by default one of the kind of the purpose over the held amount.
     * False, and nothing is booked, when nothing is held: never, or no longer.
     */
    readonly settle: (purpose: Purpose, costs?: ReadonlyArray<Cost>) => Effect.Effect<boolean>
    /** Gives the held amount back. False when nothing is held. */
    readonly release: (purpose: Purpose) => Effect.Effect<boolean>
    /**
     * Books a cost for which nothing was held, such as the rent of a further month, whatever the balance. Once for a
     * purpose.
     */
    readonly charge: (purpose: Purpose, amount: BigDecimal.BigDecimal) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Holds, never, LedgerRepo | Tiers | SqlClient.SqlClient> = Layer.effect(
    Holds,
    Effect.gen(function* () {
      const ledger = yield* LedgerRepo
      const tiers = yield* Tiers
      const transaction = inTransaction(yield* SqlClient.SqlClient)

      const check = (amount: BigDecimal.BigDecimal) =>
        BigDecimal.isZero(amount) || isAmount(amount) ? Effect.void : Effect.die(new InvalidAmount())

      const append = ({ kind, org_id, reference }: Purpose, amount: BigDecimal.BigDecimal) =>
        ledger.append(org_id, [{ kind: `${kind}_hold`, reference, amount_eur: BigDecimal.negate(amount) }])

      const hold = Effect.fn("Holds.hold")(function* (purpose: Purpose, amount: BigDecimal.BigDecimal) {
        yield* check(amount)
        // What is free need not wait for other charges of the organization.
        if (BigDecimal.isZero(amount)) return
        const refused = yield* transaction(
          Effect.gen(function* () {
            const tier = yield* tiers.of(purpose.org_id)
            const balance = yield* ledger.lock(purpose.org_id)
            if (tier !== "enterprise" && BigDecimal.lessThan(balance, amount)) {
              const before = yield* ledger.held(purpose)
              return before._tag === "Never" ? insufficient(balance, amount) : undefined
            }
            yield* append(purpose, amount)
            return undefined
          })
        )
        if (refused !== undefined) return yield* refused
      })

      const holdUncovered = (purpose: Purpose, amount: BigDecimal.BigDecimal) =>
        Effect.zipRight(
          check(amount),
          transaction(Effect.zipRight(ledger.lock(purpose.org_id), append(purpose, amount)))
        ).pipe(Effect.asVoid)

      const settle = Effect.fn("Holds.settle")(function* (purpose: Purpose, costs?: ReadonlyArray<Cost>) {
        yield* Effect.forEach(costs ?? [], ({ amount_eur }) => check(amount_eur))
        return yield* transaction(
          Effect.gen(function* () {
            yield* ledger.lock(purpose.org_id)
            const held = yield* ledger.held(purpose)
            if (held._tag !== "Open") return false
            const { kind, reference } = purpose
            yield* ledger.append(purpose.org_id, [
              { kind: `${kind}_hold_release`, reference, amount_eur: held.amount_eur },
              ...(costs ?? [{ kind, amount_eur: held.amount_eur }]).map(debitOf(reference))
            ])
            return true
          })
        )
      })

      const charge = ({ kind, org_id, reference }: Purpose, amount_eur: BigDecimal.BigDecimal) =>
        Effect.zipRight(
          check(amount_eur),
          transaction(
            Effect.zipRight(ledger.lock(org_id), ledger.append(org_id, [debitOf(reference)({ kind, amount_eur })]))
          )
        ).pipe(Effect.asVoid)

      return { hold, holdUncovered, settle, release: (purpose) => settle(purpose, []), charge }
    })
  )
}

const insufficient = (balance: BigDecimal.BigDecimal, amount: BigDecimal.BigDecimal): InsufficientCredits =>
  BigDecimal.isPositive(balance)
    ? new InsufficientCredits({
        message: `This costs ${BigDecimal.format(amount)} EUR, more than the account's credits; add credits and try again`
      })
    : new InsufficientCredits()
