import { SqlClient, SqlSchema } from "@effect/sql"
import { BigDecimal, Context, Effect, Layer, type Option, Schema } from "effect"
import { Money } from "./Money.ts"

/** What a live call keeps until it is settled: a slot, the rates it was admitted at, and an amount. */
export const CallHold = Schema.Struct({
  call_id: Schema.String,
  org_id: Schema.Int,
  rate_per_minute: Money,
  recording_per_minute: Money,
  transfer_per_minute: Money,
  held_eur: Money
})
export type CallHold = typeof CallHold.Type

/** Table `call_holds`: the slots that are taken are its rows of calls that are not over, and there is no counter beside them. */
export class HoldsRepo extends Context.Tag("@svc/billing/HoldsRepo")<
  HoldsRepo,
  {
    /**
     * Takes a slot when fewer than `limit` are taken (null: in any case). Only a transaction that holds the lock on the
     * organization's balance counts right.
     */
    readonly take: (hold: CallHold, limit: number | null) => Effect.Effect<boolean>
    /** Gives a slot back. None when the call has none: it was settled, or never admitted. One who is about to is waited for. */
    readonly release: (callId: string) => Effect.Effect<Option.Option<CallHold>>
    /** The call is over: it holds its money still, but no slot. */
    readonly free: (callId: string) => Effect.Effect<void>
    readonly count: (orgId: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<HoldsRepo, never, SqlClient.SqlClient> = Layer.effect(
    HoldsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(CallHold.fields).join(", "))
      const text = BigDecimal.format

      const release = SqlSchema.findOne({
        Request: Schema.String,
        Result: CallHold,
        execute: (call) => sql`delete from call_holds where call_id = ${call} returning ${columns}`
      })
      const count = SqlSchema.single({
        Request: Schema.Int,
        Result: Schema.Struct({ live: Schema.Int }),
        execute: (org) => sql`select count(*) as live from call_holds where org_id = ${org} and not is_over`
      })

      return {
        take: (h, limit) =>
          sql`
            insert into call_holds (${columns})
            select ${h.call_id}, ${h.org_id}::bigint, ${text(h.rate_per_minute)}::numeric,
              ${text(h.recording_per_minute)}::numeric, ${text(h.transfer_per_minute)}::numeric,
              ${text(h.held_eur)}::numeric
            ${
              limit === null
                ? sql``
                : sql`where (select count(*) from call_holds where org_id = ${h.org_id}::bigint and not is_over)
                    < ${limit}::int`
            }
            returning call_id`.pipe(
            Effect.map((rows) => rows.length === 1),
            Effect.orDie
          ),
        free: (callId) =>
          Effect.asVoid(Effect.orDie(sql`update call_holds set is_over = true where call_id = ${callId}`)),
        release: (callId) => Effect.orDie(release(callId)),
        count: (orgId) => Effect.map(Effect.orDie(count(orgId)), ({ live }) => live)
      }
    })
  )
}
