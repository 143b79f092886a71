import { expect, layer } from "@effect/vitest"
import { newAgentId } from "@svc/api/Ids"
import { Effect, TestClock } from "effect"
import { chargeOf, freeRates } from "../src/CallCharge.ts"
import { Usage, type UsageOwner } from "../src/Usage.ts"
import { eur, figures, Test } from "./Account.ts"

const rates = { ...freeRates, call: eur("0.1"), recording: eur("0.01"), transfer: eur("0") }
const completed = (seconds: number) => ({
  status: "completed" as const,
  disposition: "answered" as const,
  duration_seconds: seconds,
  charge: chargeOf(rates, figures(seconds, { recording_seconds: seconds, llm_discount: 0.5 }))
})
const ended = (status: "failed" | "no-answer" | "rejected" | "canceled") => ({
  status,
  disposition: status === "canceled" ? ("no-answer" as const) : status,
  duration_seconds: 0,
  charge: chargeOf(rates, figures(0))
})

let orgs = 1000

/** An organization of two projects, of which the first has two agents. */
const fixture = Effect.gen(function* () {
  const org = ++orgs
  const agents = yield* Effect.replicateEffect(newAgentId, 3)
  const who =
    (project: number, agent: number | null) =>
    (day: string, time = "12:00:00.000Z"): UsageOwner => ({
      org_id: org,
      project_id: org * 10 + project,
      agent: agent === null ? null : { id: org * 100 + agent, public_id: agents[agent] ?? "" },
      at: new Date(`${day}T${time}`)
    })
  return {
    org: { org_id: org, project_id: null },
    project: { org_id: org, project_id: org * 10 + 1 },
    agents,
    agentId: (agent: number) => org * 100 + agent,
    anna: who(1, 0),
    bert: who(1, 1),
    other: who(2, 2),
    noAgent: who(1, null)
  }
})

const day = "day" as const
const month = "month" as const

layer(Test, { timeout: "30 seconds" })("Usage", (it) => {
  it.effect("is returned for every period, also for empty ones", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { anna, bert, noAgent, project } = yield* fixture
      yield* usage.addCall(anna("2026-02-27"), completed(60))
      yield* usage.addCall(bert("2026-02-27", "23:59:59.999Z"), completed(30))
      yield* usage.addCall(anna("2026-03-01", "00:00:00.000Z"), ended("failed"))
      yield* usage.addSms(noAgent("2026-03-01"), eur("0.075"))
      yield* usage.addCall(anna("2026-03-02"), completed(600))
      const report = yield* usage.report(project, {
        from_date: "2026-02-26",
        to_date: "2026-03-01",
        granularity: day
      })
      const none = { total_minutes: 0, total_cost: 0, call_count: 0, sms_count: 0, sms_cost: 0 }
      expect(report).toEqual({
        from_date: "2026-02-26",
        to_date: "2026-03-01",
        granularity: "day",
        // 60 s cost 0.05 + 0.01, 30 s 0.025 + 0.01.
        totals: { total_minutes: 1.5, total_cost: 0.095, call_count: 3, sms_count: 1, sms_cost: 0.075 },
        usage: [
          { period: "2026-02-26", ...none },
          { ...none, period: "2026-02-27", total_minutes: 1.5, total_cost: 0.095, call_count: 2 },
          { period: "2026-02-28", ...none },
          { ...none, period: "2026-03-01", call_count: 1, sms_count: 1, sms_cost: 0.075 }
        ]
      })
    })
  )

  it.effect("is returned by month, for the requested days alone", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { anna, project } = yield* fixture
      for (const on of ["2025-12-31", "2026-01-01", "2026-01-31", "2026-03-10", "2026-03-11"]) {
        yield* usage.addCall(anna(on), completed(60))
      }
      const report = yield* usage.report(project, {
        from_date: "2026-01-01",
        to_date: "2026-03-10",
        granularity: month
      })
      expect(report.usage.map(({ call_count, period }) => `${period} ${call_count}`)).toEqual([
        "2026-01 2",
        "2026-02 0",
        "2026-03 1"
      ])
      expect(report.totals.call_count).toBe(3)
    })
  )

  it.effect("is returned for a project, one of its agents, or the organization", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { agentId, agents, anna, bert, noAgent, org, other, project } = yield* fixture
      const outsider = yield* fixture
      for (const who of [anna, anna, bert, other, noAgent, outsider.anna]) {
        yield* usage.addCall(who("2026-05-05"), completed(60))
      }
      const count = (asker: typeof org | typeof project, agent_id?: string) =>
        Effect.map(
          usage.report(asker, {
            from_date: "2026-05-05",
            to_date: "2026-05-05",
            granularity: day,
            ...(agent_id === undefined ? {} : { agent_id })
          }),
          (report) => report.totals.call_count
        )
      expect(yield* count(project)).toBe(4)
      expect(yield* count(org)).toBe(5)
      expect(yield* count(project, agents[0])).toBe(2)
      expect(yield* count(project, String(agentId(0)))).toBe(2)
      expect(yield* count(project, agents[2])).toBe(0)
      expect(yield* count(org, agents[2])).toBe(1)
      expect(yield* count(org, outsider.agents[0])).toBe(0)
    })
  )

  it.effect("covers this month up to today without from and to", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { project } = yield* fixture
      yield* TestClock.setTime(Date.parse("2026-11-03T23:59:59Z"))
      const report = yield* usage.report(project, { granularity: day })
      expect(report.usage.map(({ period }) => period)).toEqual(["2026-11-01", "2026-11-02", "2026-11-03"])
      const earlier = yield* usage.report(project, { to_date: "2026-02-02", granularity: day })
      expect([earlier.from_date, earlier.usage.length]).toEqual(["2026-02-01", 2])
    })
  )

  it.effect("is refused for invalid or too long ranges, and for unknown agents", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { project } = yield* fixture
      yield* TestClock.setTime(Date.parse("2026-11-03T00:00:00Z"))
      const range = (from_date: string, to_date: string) => ({ from_date, to_date })
      const order = "from_date must not be after to_date"
      const cases = [
        [{ ...range("2026-02-02", "2026-02-01"), granularity: day }, "from_date", order],
        [{ from_date: "2026-11-04", granularity: day }, "from_date", order],
        [
          { ...range("2025-01-01", "2026-02-05"), granularity: day },
          "from_date",
          "from_date and to_date must not be more than 400 days apart"
        ],
        [
          { ...range("0001-01-01", "9999-12-31"), granularity: month },
          "from_date",
          "from_date and to_date must not be more than 400 months apart"
        ],
        ...["", "agent_", "agent_UPPER", "0", "-1", "1.5", "1e3", "x".repeat(5000), "1 or 1=1"].map(
          (agent_id) => [{ agent_id, granularity: day }, "agent_id", "agent_id must be an agent id"] as const
        )
      ] as const
      for (const [query, field, message] of cases) {
        const error = yield* Effect.flip(usage.report(project, query))
        expect([error.code, error.status, error.message, error.details]).toEqual([
          "VALIDATION_ERROR",
          400,
          message,
          { [field]: message }
        ])
      }
      const longest = yield* usage.report(project, { ...range("2025-01-01", "2026-02-04"), granularity: day })
      expect(longest.usage).toHaveLength(400)
    })
  )

  it.effect("of calls is summed by status and disposition", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { agentId, anna, bert, other, project } = yield* fixture
      yield* usage.addCall(anna("2026-06-01"), completed(60))
      yield* usage.addCall(anna("2026-06-02"), { ...completed(30), disposition: "transferred" })
      yield* usage.addCall(bert("2026-06-02"), ended("failed"))
      yield* usage.addCall(anna("2026-06-03"), ended("no-answer"))
      yield* usage.addCall(anna("2026-06-03"), ended("canceled"))
      yield* usage.addCall(anna("2026-06-04"), ended("rejected"))
      yield* usage.addCall(other("2026-06-02"), completed(60))
      expect(yield* usage.summary(project, {})).toEqual({
        total_calls: 6,
        completed_calls: 2,
        failed_calls: 1,
        answered_calls: 1,
        no_answer_calls: 2,
        total_duration_seconds: 90,
        total_minutes_used: 1.5,
        total_cost: 0.095,
        total_recording_cost: 0.02,
        total_llm_discount: 0.075,
        filters: { from_date: null, to_date: null }
      })
      const some = yield* usage.summary(project, {
        agent_id: agentId(0),
        from_date: "2026-06-02",
        to_date: "2026-06-03"
      })
      expect(some).toMatchObject({ total_calls: 3, filters: { from_date: "2026-06-02", to_date: "2026-06-03" } })
      expect(yield* usage.summary(project, { agent_id: 999_999_999_999_999 })).toMatchObject({ total_calls: 0 })
      const error = yield* Effect.flip(usage.summary(project, { from_date: "2026-06-02", to_date: "2026-06-01" }))
      expect(error.details).toEqual({ from_date: "from_date must not be after to_date" })
    })
  )

  it.effect("is complete when added concurrently", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const { anna, project } = yield* fixture
      yield* Effect.replicateEffect(usage.addCall(anna("2026-07-01"), completed(6)), 100, {
        concurrency: "unbounded"
      })
      expect(yield* usage.summary(project, {})).toMatchObject({ total_calls: 100, total_minutes_used: 10 })
    })
  )
})
