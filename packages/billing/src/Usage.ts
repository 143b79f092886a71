import type { Usage as UsageAnswer, UsageQuery } from "@svc/api/billing/UsageApi"
import type { CallStatus, Disposition } from "@svc/api/calls/Call"
import type { CallsSummary, CallsSummaryQuery } from "@svc/api/calls/CallsSummary"
import { AgentId, parseId } from "@svc/api/Ids"
import { ValidationError } from "@svc/api/VoiceError"
import { BigDecimal, Context, DateTime, Effect, Layer } from "effect"
import type { CallCharge } from "./CallCharge.ts"
import { UsageRepo, type UsageRow, type UsageScope } from "./UsageRepo.ts"

/** The organization, project, agent and day that usage is counted for. */
export interface UsageOwner {
  readonly org_id: number
  readonly project_id: number
  /** Null for usage without an agent. */
  readonly agent: { readonly id: number; readonly public_id: string } | null
  /** When it began; it counts for that UTC day. */
  readonly at: Date
}

/** The figures of an ended call that usage counts. */
export interface UsedCall {
  readonly status: CallStatus
  readonly disposition: Disposition
  readonly duration_seconds: number
  readonly charge: CallCharge
}

/** Whose usage may be read: a project's, or with null the whole organization's. */
export interface UsageReader {
  readonly org_id: number
  readonly project_id: number | null
}

const parseAgentId = parseId(AgentId)

/** Maximum number of periods in a response; a longer range is refused. */
const maxPeriods = 400
const dayMillis = 86_400_000

/** Usage per agent and day (docs/reference/billing.md). Totals are updated at settlement, not computed from calls. */
export class Usage extends Context.Tag("@svc/billing/Usage")<
  Usage,
  {
    /** Runs in the transaction that settles the call. */
    readonly addCall: (owner: UsageOwner, call: UsedCall) => Effect.Effect<void>
    /** Runs in the transaction that records the message. Cost in EUR. */
    readonly addSms: (owner: UsageOwner, cost: BigDecimal.BigDecimal) => Effect.Effect<void>
    readonly report: (reader: UsageReader, query: UsageQuery) => Effect.Effect<UsageAnswer, ValidationError>
    readonly summary: (reader: UsageReader, query: CallsSummaryQuery) => Effect.Effect<CallsSummary, ValidationError>
  }
>() {
  static readonly layer: Layer.Layer<Usage, never, UsageRepo> = Layer.effect(
    Usage,
    Effect.gen(function* () {
      const repo = yield* UsageRepo

      const scopeOf = (
        reader: UsageReader,
        agentId: string | undefined
      ): Effect.Effect<UsageScope, ValidationError> => {
        if (agentId === undefined) return Effect.succeed({ ...reader, agent: null })
        const agent = parseAgentId(agentId)
        return agent === undefined
          ? Effect.fail(ValidationError.field("agent_id", "agent_id must be an agent id"))
          : Effect.succeed({ ...reader, agent })
      }

      const report = Effect.fn("Usage.report")(function* (reader: UsageReader, query: UsageQuery) {
        const scope = yield* scopeOf(reader, query.agent_id)
        const to = query.to_date ?? (yield* today)
        const from = query.from_date ?? `${to.slice(0, 8)}01`
        yield* checkOrder(from, to)
        if (periodsBetween(from, to, query.granularity) > maxPeriods) {
          const message = `from_date and to_date must not be more than ${maxPeriods} ${query.granularity}s apart`
          return yield* ValidationError.field("from_date", message)
        }
        const rows = yield* repo.periods(scope, { from, to, granularity: query.granularity })
        const { period: _, ...totals } = rows.at(-1) ?? { period: "", ...noUsage }
        return { from_date: from, to_date: to, granularity: query.granularity, totals, usage: rows.slice(0, -1) }
      })

      const summary = Effect.fn("Usage.summary")(function* (reader: UsageReader, query: CallsSummaryQuery) {
        const range = { from: query.from_date ?? null, to: query.to_date ?? null }
        if (range.from !== null && range.to !== null) yield* checkOrder(range.from, range.to)
        const agent = query.agent_id === undefined ? null : { numeric: query.agent_id }
        const found = yield* repo.summary({ ...reader, agent }, range)
        return { ...found, filters: { from_date: range.from, to_date: range.to } }
      })

      return {
        addCall: (owner, call) =>
          repo.add({
            ...rowOf(owner),
            calls: 1,
            completed_calls: call.status === "completed" ? 1 : 0,
            failed_calls: call.status === "failed" ? 1 : 0,
            answered_calls: call.disposition === "answered" ? 1 : 0,
            no_answer_calls: call.disposition === "no-answer" ? 1 : 0,
            duration_seconds: call.duration_seconds,
            minutes_used: BigDecimal.format(call.charge.minutes_used),
            total_cost: BigDecimal.format(call.charge.total_cost),
            recording_cost: BigDecimal.format(call.charge.recording_cost),
            llm_discount: BigDecimal.format(call.charge.llm_discount)
          }),
        addSms: (owner, cost) => repo.add({ ...rowOf(owner), sms_count: 1, sms_cost: BigDecimal.format(cost) }),
        report,
        summary
      }
    })
  )
}

const noUsage = { total_minutes: 0, total_cost: 0, call_count: 0, sms_count: 0, sms_cost: 0 }

const rowOf = ({ agent, at, org_id, project_id }: UsageOwner): UsageRow => ({
  org_id,
  project_id,
  agent_id: agent?.id ?? 0,
  agent_public_id: agent?.public_id ?? "",
  day: at.toISOString().slice(0, 10),
  calls: 0,
  completed_calls: 0,
  failed_calls: 0,
  answered_calls: 0,
  no_answer_calls: 0,
  duration_seconds: 0,
  minutes_used: "0",
  total_cost: "0",
  recording_cost: "0",
  llm_discount: "0",
  sms_count: 0,
  sms_cost: "0"
})

const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

const checkOrder = (from: string, to: string): Effect.Effect<void, ValidationError> =>
  from <= to ? Effect.void : Effect.fail(ValidationError.field("from_date", "from_date must not be after to_date"))

const periodsBetween = (from: string, to: string, granularity: UsageQuery["granularity"]): number => {
  if (granularity === "day") return (Date.parse(to) - Date.parse(from)) / dayMillis + 1
  const months = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7))
  return months(to) - months(from) + 1
}
