import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { AgentId } from "@svc/api/Ids"
import { jsonbText } from "@svc/database/Jsonb"
import { Context, Effect, Layer, Option, Schema } from "effect"

/** The address of a pending purchase, as the carrier gets it. */
const OrderAddress = Schema.Struct({
  customer_name: Schema.String,
  street: Schema.String,
  city: Schema.String,
  postcode: Schema.String,
  region: Schema.NullOr(Schema.String),
  country: Schema.String,
  submission_id: Schema.NullOr(Schema.String)
})
export type OrderAddress = typeof OrderAddress.Type

/** A row of `number_orders`. */
export const OrderRow = Schema.Struct({
  id: Schema.Int,
  kind: Schema.Literal("purchase", "release"),
  key: Schema.String,
  org_id: Schema.Int,
  project_id: Schema.Int,
  number: Schema.String,
  telephony: Schema.String,
  other_sellers: Schema.Array(Schema.String),
  agent_id: Schema.NullOr(Schema.Int),
  agent_public_id: Schema.NullOr(AgentId),
  address_id: Schema.NullOr(Schema.Int),
  address: Schema.NullOr(OrderAddress),
  /** EUR; `numeric` arrives as text. */
  monthly_cost_eur: Schema.BigDecimal,
  attempts: Schema.Int,
  created_at: Schema.DateFromSelf
})
export type OrderRow = typeof OrderRow.Type

/** A purchase to begin. `node` carries it out. */
export interface NewPurchase {
  readonly org_id: number
  readonly project_id: number
  readonly number: string
  /** Telephony plugins that may sell it, in the order in which they are asked. */
  readonly sellers: readonly [string, ...ReadonlyArray<string>]
  readonly agent_id: number | null
  readonly agent_public_id: AgentId | null
  readonly address_id: number | null
  readonly address: OrderAddress | null
  /** EUR as decimal text. */
  readonly monthly_cost_eur: string
  readonly node: string
}

/** A release to begin. */
export interface NewRelease {
  readonly org_id: number
  readonly project_id: number
  readonly number: string
  readonly telephony: string
  /** Carries it out; null: whichever node claims it first. */
  readonly node: string | null
}

/** Seconds after which a claim is void, because the process that made it hangs. Longer than any order takes. */
const claimSeconds = 60

/** Table `number_orders`. Orders are pending unless a method says otherwise. */
export class NumberOrdersRepo extends Context.Tag("@svc/numbers/NumberOrdersRepo")<
  NumberOrdersRepo,
  {
    /** The order for a number. There is at most one. */
    readonly ofNumber: (number: string) => Effect.Effect<Option.Option<OrderRow>>
    readonly beginPurchase: (purchase: NewPurchase) => Effect.Effect<OrderRow>
    readonly beginRelease: (release: NewRelease) => Effect.Effect<OrderRow>
    /** Claims an order that no live node is carrying out. */
    readonly claimOne: (id: number, node: string) => Effect.Effect<Option.Option<OrderRow>>
    /** Whether an order is due: an expression for DueCheck. */
    readonly hasDue: Statement.Fragment
    /** Claims orders that are due. */
    readonly claimDue: (node: string, limit: number) => Effect.Effect<ReadonlyArray<OrderRow>>
    /** Makes the claims of dead nodes due. */
    readonly releaseClaims: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
    /** Repeats the order after a delay in seconds. */
    readonly postpone: (id: number, reason: string, seconds: number) => Effect.Effect<void>
    /** Orders from the next seller, with a new key. None when there is no other. */
    readonly nextSeller: (id: number) => Effect.Effect<Option.Option<OrderRow>>
    /** Ends an order, and erases its copy of the address. False when it has ended already. */
    readonly finish: (id: number, status: "done" | "refused", reason: string | null) => Effect.Effect<boolean>
    /** Oldest first, at most 1000. */
    readonly pending: Effect.Effect<ReadonlyArray<OrderRow>>
    /** How many are pending, and for how many seconds the oldest one has been. */
    readonly backlog: Effect.Effect<{ readonly pending: number; readonly oldest_seconds: number }>
    /** Which of these numbers have an order that is pending, or that ended in the last ten minutes. */
    readonly recent: (numbers: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  }
>() {
  static readonly layer: Layer.Layer<NumberOrdersRepo, never, SqlClient.SqlClient> = Layer.effect(
    NumberOrdersRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(OrderRow.fields).join(", "))
      const rows = Schema.decodeUnknown(Schema.Array(OrderRow))
      const after = (seconds: number) => sql`now() + ${seconds} * interval '1 second'`

      const due = sql`from number_orders where status = 'pending' and next_at <= now()`

      const ofNumber = SqlSchema.findOne({
        Request: Schema.String,
        Result: OrderRow,
        execute: (number) => sql`
          select ${columns} from number_orders where number = ${number} and status = 'pending'`
      })
      const insert = SqlSchema.single({
        Request: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
        Result: OrderRow,
        execute: (row) => sql`
          insert into number_orders ${sql.insert(row)} returning ${columns}`
      })
      const claimOne = SqlSchema.findOne({
        Request: Schema.Struct({ id: Schema.Number, node: Schema.String }),
        Result: OrderRow,
        execute: ({ id, node }) => sql`
          update number_orders set claimed_by = ${node}, attempts = attempts + 1, next_at = ${after(claimSeconds)}
          where id = ${id} and status = 'pending' and (claimed_by is null or next_at <= now())
          returning ${columns}`
      })
      const nextSeller = SqlSchema.findOne({
        Request: Schema.Number,
        Result: OrderRow,
        execute: (id) => sql`
          update number_orders set telephony = other_sellers[1], other_sellers = other_sellers[2:],
            key = gen_random_uuid()::text, next_at = ${after(claimSeconds)}
          where id = ${id} and status = 'pending' and cardinality(other_sellers) > 0
          returning ${columns}`
      })
      /** Inserts an order and claims it for a node, in the caller's transaction. */
      const begin = Effect.fnUntraced(function* (row: { readonly [column: string]: unknown }, node: string | null) {
        const order = yield* insert(row)
        return node === null ? order : Option.getOrElse(yield* claimOne({ id: order.id, node }), () => order)
      }, Effect.orDie)

      return {
        ofNumber: (number) => Effect.orDie(ofNumber(number)),
        beginPurchase: ({ address, node, sellers: [telephony, ...other_sellers], ...purchase }) =>
          begin(
            {
              ...purchase,
              kind: "purchase",
              telephony,
              other_sellers,
              address: address === null ? null : jsonbText(address)
            },
            node
          ),
        beginRelease: ({ node, ...release }) => begin({ ...release, kind: "release" }, node),
        claimOne: (id, node) => Effect.orDie(claimOne({ id, node })),
        hasDue: sql`exists (select ${due})`,
        claimDue: Effect.fn("NumberOrdersRepo.claimDue")(function* (node: string, limit: number) {
          return yield* rows(
            yield* sql`
              update number_orders set claimed_by = ${node}, attempts = attempts + 1, next_at = ${after(claimSeconds)}
              where id in (
                select id ${due} order by next_at limit ${limit} for no key update skip locked
              )
              returning ${columns}`
          )
        }, Effect.orDie),
        releaseClaims: (nodes) =>
          sql`
            update number_orders set next_at = now(), claimed_by = null
            where claimed_by = any(${nodes}::text[]) and status = 'pending'`.pipe(Effect.asVoid, Effect.orDie),
        postpone: (id, reason, seconds) =>
          sql`
            update number_orders set next_at = ${after(seconds)}, claimed_by = null, reason = ${reason}
            where id = ${id} and status = 'pending'`.pipe(Effect.asVoid, Effect.orDie),
        nextSeller: (id) => Effect.orDie(nextSeller(id)),
        finish: (id, status, reason) =>
          sql`
            update number_orders set status = ${status}, reason = ${reason}, finished_at = now(), next_at = null,
              claimed_by = null, address = null
            where id = ${id} and status = 'pending' returning id`.pipe(
            Effect.map((ended) => ended.length === 1),
            Effect.orDie
          ),
        recent: (numbers) =>
          sql<{ readonly number: string }>`
            select distinct number from number_orders
            where number = any(${numbers}::text[])
              and (status = 'pending' or finished_at > now() - interval '10 minutes')`.pipe(
            Effect.map((found) => found.map(({ number }) => number)),
            Effect.orDie
          ),
        backlog: sql<{ readonly pending: number; readonly oldest_seconds: number }>`
          select count(*)::int as pending,
            greatest(0, coalesce(extract(epoch from now() - min(created_at)), 0))::float8 as oldest_seconds
          from number_orders where status = 'pending'`.pipe(
          Effect.map(([backlog = { pending: 0, oldest_seconds: 0 }]) => backlog),
          Effect.orDie
        ),
        pending: sql`
          select ${columns} from number_orders where status = 'pending' order by id limit 1000`.pipe(
          Effect.flatMap(rows),
          Effect.orDie
        )
      }
    })
  )
}
