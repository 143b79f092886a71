import { SqlClient, SqlSchema } from "@effect/sql"
import { BigDecimal, Context, Effect, Layer, Option, Schema } from "effect"
import { Money, zero } from "./Money.ts"

/** What money is held for. */
export type HeldKind = "call" | "sms" | "number_rent"

/** Why a balance changed. `sms_hold` takes the hold of a message, `sms_hold_release` gives it back; others likewise. */
export type LedgerKind =
  | "top_up"
  | HeldKind
  | `${HeldKind}_hold`
  | `${HeldKind}_hold_release`
  | "recording"
  | "transfer"
  | "llm"
  | "refund"

/** The hold of a purpose: never taken; taken; taken and given back. */
export type Held =
  | { readonly _tag: "Never" }
  | { readonly _tag: "Open"; readonly amount_eur: BigDecimal.BigDecimal }
  | { readonly _tag: "Closed" }

/** A change of a balance. Kind and reference identify it: booked again, it is ignored. */
export interface Movement {
  readonly kind: LedgerKind
  /** What it pays for: the public id of a call or message, a number with its month, … */
  readonly reference: string
  /** EUR with at most 4 decimals; negative for costs; 0 is ignored. */
  readonly amount_eur: BigDecimal.BigDecimal
}

const Balance = Schema.Struct({ balance_eur: Money })
const isNotZero = ({ amount_eur }: Movement) => !BigDecimal.isZero(amount_eur)

/** Tables `balances` and `ledger_entries`. */
export class LedgerRepo extends Context.Tag("@svc/billing/LedgerRepo")<
  LedgerRepo,
  {
    /** 0 for an unknown organization. */
    readonly balance: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal>
    /**
     * Locks the balance until the caller's transaction ends, and returns it. Required before `append`, whose statement
     * then sees all earlier entries.
     */
    readonly lock: (orgId: number) => Effect.Effect<BigDecimal.BigDecimal>
    /** Which of these organizations have had a balance of 0 or less since before `before`. */
    readonly emptySince: (orgIds: ReadonlyArray<number>, before: Date) => Effect.Effect<ReadonlyArray<number>>
    /** How many organizations have a balance of 0 or less, apart from these. */
    readonly countEmpty: (except: ReadonlyArray<number>) => Effect.Effect<number>
    /** The hold of a kind and reference, in the transaction that holds the lock. */
    readonly held: (purpose: {
      readonly org_id: number
      readonly kind: HeldKind
      readonly reference: string
    }) => Effect.Effect<Held>
    /** Books movements in order, in the transaction that holds the lock. Returns the sum of the new ones. */
    readonly append: (orgId: number, movements: ReadonlyArray<Movement>) => Effect.Effect<BigDecimal.BigDecimal>
  }
>() {
  static readonly layer: Layer.Layer<LedgerRepo, never, SqlClient.SqlClient> = Layer.effect(
    LedgerRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const read = SqlSchema.findOne({
        Request: Schema.Number,
        Result: Balance,
        execute: (org) => sql`select balance_eur from balances where org_id = ${org}`
      })
      const lock = SqlSchema.single({
        Request: Schema.Number,
        Result: Balance,
        execute: (org) => sql`select balance_eur from balances where org_id = ${org} for no key update`
      })
      // Since the first entry after the last one with a positive balance; without entries, since the account exists.
      const empty = SqlSchema.findAll({
        Request: Schema.Struct({ orgs: Schema.Array(Schema.Number), before: Schema.DateFromSelf }),
        Result: Schema.Struct({ org_id: Schema.Int }),
        execute: ({ before, orgs }) => sql`
          select b.org_id from balances b
          where b.org_id = any(${orgs}::bigint[]) and b.balance_eur <= 0 and ${before}::timestamptz > coalesce(
            (
              select e.created_at from ledger_entries e where e.org_id = b.org_id and e.id > coalesce(
                (
                  select p.id from ledger_entries p where p.org_id = b.org_id and p.balance_after > 0
                  order by p.id desc limit 1
                ), 0)
              order by e.id limit 1
            ), b.updated_at)`
      })
      const held = SqlSchema.findOne({
        Request: Schema.Struct({
          org: Schema.Number,
          hold: Schema.String,
          release: Schema.String,
          reference: Schema.String
        }),
        Result: Schema.Struct({ amount_eur: Money, is_open: Schema.Boolean }),
        execute: ({ hold, org, reference, release }) => sql`
          select -h.amount_eur as amount_eur, not exists (
            select 1 from ledger_entries r
            where r.org_id = ${org} and r.kind = ${release} and r.reference = ${reference}
          ) as is_open
          from ledger_entries h where h.org_id = ${org} and h.kind = ${hold} and h.reference = ${reference}`
      })
      const append = SqlSchema.single({
        Request: Schema.Struct({
          org: Schema.Number,
          kinds: Schema.Array(Schema.String),
          references: Schema.Array(Schema.String),
          amounts: Schema.Array(Schema.String)
        }),
        Result: Schema.Struct({ moved: Money }),
        execute: ({ amounts, kinds, org, references }) => sql`
          with entry as (
            insert into ledger_entries (org_id, kind, reference, amount_eur, balance_after)
            select b.org_id, m.kind, m.reference, m.amount, b.balance_eur + sum(m.amount) over (order by m.place)
            from balances b, unnest(${kinds}::text[], ${references}::text[], ${amounts}::numeric[])
              with ordinality as m (kind, reference, amount, place)
            where b.org_id = ${org} and not exists (
              select 1 from ledger_entries e
              where e.org_id = ${org} and e.kind = m.kind and e.reference = m.reference
            )
            order by m.place
            returning amount_eur
          )
          select coalesce(sum(amount_eur), 0) as moved from entry`
      })

      return {
        countEmpty: (except) =>
          sql<{ readonly count: number }>`
            select count(*)::int as count from balances
            where balance_eur <= 0 and org_id <> all(${except}::bigint[])`.pipe(
            Effect.map(([row]) => row?.count ?? 0),
            Effect.orDie
          ),
        balance: (orgId) =>
          Effect.map(Effect.orDie(read(orgId)), Option.match({ onNone: () => zero, onSome: (row) => row.balance_eur })),
        lock: (orgId) => Effect.map(Effect.orDie(lock(orgId)), ({ balance_eur }) => balance_eur),
        emptySince: (orgs, before) =>
          Effect.map(Effect.orDie(empty({ orgs, before })), (rows) => rows.map((row) => row.org_id)),
        held: ({ kind, org_id, reference }) =>
          Effect.map(
            Effect.orDie(held({ org: org_id, hold: `${kind}_hold`, release: `${kind}_hold_release`, reference })),
            Option.match({
              onNone: (): Held => ({ _tag: "Never" }),
              onSome: ({ amount_eur, is_open }) => (is_open ? { _tag: "Open", amount_eur } : { _tag: "Closed" })
            })
          ),
        append: (orgId, movements) => {
          const nonZero = movements.filter(isNotZero)
          if (nonZero.length === 0) return Effect.succeed(zero)
          return Effect.map(
            Effect.orDie(
              append({
                org: orgId,
                kinds: nonZero.map(({ kind }) => kind),
                references: nonZero.map(({ reference }) => reference),
                amounts: nonZero.map(({ amount_eur }) => BigDecimal.format(amount_eur))
              })
            ),
            ({ moved }) => moved
          )
        }
      }
    })
  )
}
