import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Day } from "../Day.ts"
import { AnyId } from "../Ids.ts"
import { AccessRule } from "../Principal.ts"
import { ValidationError } from "../VoiceError.ts"

export const Granularity = Schema.Literal("day", "month").annotations({
  message: () => ({ message: "granularity must be day or month", override: true })
})
export type Granularity = typeof Granularity.Type

/**
 * Query of `GET /v1/usage`: UTC days, inclusive. `to_date` defaults to today, `from_date` to the first day of
 * `to_date`'s month. An agent without usage, or of another organization, gets zeros.
 */
export const UsageQuery = Schema.Struct({
  from_date: Schema.optional(Day("from_date")),
  to_date: Schema.optional(Day("to_date")),
  agent_id: Schema.optional(AnyId),
  granularity: Schema.optionalWith(Granularity, { default: () => "day" as const })
})
export type UsageQuery = typeof UsageQuery.Type

/** What was used. A call counts on the UTC day on which it started, once it has ended. Costs are EUR. */
const used = {
  total_minutes: Schema.Number,
  /** Of calls: the sum of their `total_cost`. */
  total_cost: Schema.Number,
  call_count: Schema.Int,
  sms_count: Schema.Int,
  sms_cost: Schema.Number
}

export const UsageTotals = Schema.Struct(used).annotations({ identifier: "UsageTotals" })
export type UsageTotals = typeof UsageTotals.Type

/** `period` is `YYYY-MM-DD` or `YYYY-MM`. */
export const UsagePeriod = Schema.Struct({ period: Schema.String, ...used }).annotations({ identifier: "UsagePeriod" })
export type UsagePeriod = typeof UsagePeriod.Type

/** One entry per period, oldest first, also for empty periods. */
export const Usage = Schema.Struct({
  from_date: Schema.String,
  to_date: Schema.String,
  granularity: Granularity,
  totals: UsageTotals,
  usage: Schema.Array(UsagePeriod)
}).annotations({ identifier: "Usage" })
export type Usage = typeof Usage.Type

/** `/v1/usage`: of the project, or of the whole organization with an org key that names none. */
export const UsageApi = HttpApiGroup.make("usage")
  .annotateContext(OpenApi.annotations({ title: "Usage", description: "Minutes, calls, messages and what they cost." }))
  .add(
    HttpApiEndpoint.get("get", "/v1/usage")
      .annotateContext(
        OpenApi.annotations({
          summary: "Get usage",
          description:
            "Of the project, or of the whole organization with an organization key that names none. Days are UTC, both included. A call counts on the day on which it started, once it has ended."
        })
      )
      .setUrlParams(UsageQuery)
      .addSuccess(Usage)
      .addError(ValidationError.wire)
      .annotate(AccessRule, AccessRule.projectOptional)
  )
