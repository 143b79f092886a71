import { SqlClient, SqlSchema } from "@effect/sql"
import { BigDecimal, Context, Effect, Layer, type Option, Schema } from "effect"
import { Money } from "./Money.ts"

/** The slot of a call until its settlement, with the rates at admission. `held_eur` is the amount of its hold. */
export const CallSlot = Schema.Struct({
  call_id: Schema.String,
  org_id: Schema.Int,
  rate_per_minute: Money,
  recording_per_minute: Money,
  transfer_per_minute: Money,
  llm_input_per_million: Money,
  llm_cached_input_per_million: Money,
  llm_output_per_million: Money,
  held_eur: Money
})
export type CallSlot = typeof CallSlot.Type

/** Table `call_holds`. Its rows of calls that have not ended are the taken slots; there is no separate counter. */
export class CallSlotsRepo extends Context.Tag("@svc/billing/CallSlotsRepo")<
  CallSlotsRepo,
  {
    /**
     * Takes a slot if fewer than `limit` are taken (null: always). The count is exact only in a transaction that holds
     * the lock on the organization's balance.
     */
    readonly take: (slot: CallSlot, limit: number | null) => Effect.Effect<boolean>
    /** Removes a slot. None when the call has none: settled, or never admitted. Waits for a concurrent settlement. */
    readonly release: (callId: string) => Effect.Effect<Option.Option<CallSlot>>
    /** Frees the slot of a call that has ended, and keeps its rates for the settlement. */
    readonly free: (callId: string) => Effect.Effect<void>
    readonly count: (orgId: number) => Effect.Effect<number>
  }
>() {
  static readonly layer: Layer.Layer<CallSlotsRepo, never, SqlClient.SqlClient> = Layer.effect(
    CallSlotsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(CallSlot.fields).join(", "))
      const text = BigDecimal.format

      const release = SqlSchema.findOne({
        Request: Schema.String,
        Result: CallSlot,
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
              ${text(h.llm_input_per_million)}::numeric, ${text(h.llm_cached_input_per_million)}::numeric,
              ${text(h.llm_output_per_million)}::numeric,
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
