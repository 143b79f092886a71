import { Schema } from "effect"
import { Day } from "../Day.ts"

/** Query of `GET /v1/calls/summary`: UTC days, inclusive; the agent by its numeric id only. */
export const CallsSummaryQuery = Schema.Struct({
  agent_id: Schema.optional(
    Schema.String.pipe(
      Schema.pattern(/^[1-9][0-9]{0,14}$/, { message: () => "agent_id must be a numeric agent id" }),
      Schema.compose(Schema.NumberFromString)
    ).annotations({ jsonSchema: { type: "integer", minimum: 1 } })
  ),
  from_date: Schema.optional(Day("from_date")),
  to_date: Schema.optional(Day("to_date"))
})
export type CallsSummaryQuery = typeof CallsSummaryQuery.Type

/**
 * Calls that have ended, summed up. `completed_calls` and `failed_calls` go by status, `answered_calls` and
 * `no_answer_calls` by disposition, as the filters of the list do. A call counts on the UTC day on which it started.
 */
export const CallsSummary = Schema.Struct({
  total_calls: Schema.Int,
  completed_calls: Schema.Int,
  failed_calls: Schema.Int,
  answered_calls: Schema.Int,
  no_answer_calls: Schema.Int,
  total_duration_seconds: Schema.Int,
  total_minutes_used: Schema.Number,
  total_cost: Schema.Number,
  total_recording_cost: Schema.Number,
  total_llm_discount: Schema.Number,
  filters: Schema.Struct({ from_date: Schema.NullOr(Schema.String), to_date: Schema.NullOr(Schema.String) })
}).annotations({ identifier: "CallsSummary" })
export type CallsSummary = typeof CallsSummary.Type
