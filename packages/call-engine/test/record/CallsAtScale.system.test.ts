import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newAgentId } from "@svc/api/Ids"
import { Usage } from "@svc/billing/Usage"
import { UsageRepo } from "@svc/billing/UsageRepo"
import { TestDatabase } from "@svc/database/TestDatabase"
import { planFiguresOf } from "@svc/database/TestPlans"
import { Effect, Layer } from "effect"
import { CallQueriesRepo } from "../../src/record/CallQueriesRepo.ts"
import { seedCalls } from "../../src/testing/SeedCalls.ts"

const Test = Usage.layer.pipe(
  Layer.provide(UsageRepo.layer),
  Layer.provideMerge(CallQueriesRepo.layer),
  Layer.provideMerge(TestDatabase.layer)
)

const until = new Date("2026-11-15T12:00:00Z")

/** 100,000 calls of ten agents over 400 days, and half as many of another project of the organization. */
const seeded = Effect.gen(function* () {
  const agents = yield* Effect.forEach(
    Array.from({ length: 15 }, (_, i) => i + 1),
    (id) => Effect.map(newAgentId, (public_id) => ({ id, public_id }))
  )
  const all = { org_id: 1, until, days: 400 }
  yield* seedCalls({ ...all, project_id: 2, agents: agents.slice(10), count: 50_000 })
  yield* seedCalls({ ...all, project_id: 1, agents: agents.slice(0, 10), count: 100_000 })
})

const readBy = (effect: Effect.Effect<unknown, unknown>) => planFiguresOf(effect, ["calls", "usage_days"])

layer(Test, { timeout: "120 seconds" })("with a very large number of calls", (it) => {
  it.effect("pages and sums use indexes and never scan a whole table", () =>
    Effect.gen(function* () {
      yield* seeded
      const repo = yield* CallQueriesRepo
      const usage = yield* Usage
      const sql = yield* SqlClient.SqlClient
      const [middle] = yield* sql<{ readonly id: number }>`
        select id from calls where project_id = 1 order by started_at offset 50000 limit 1`
      const project = { org_id: 1, project_id: 1 }
      const org = { org_id: 1, project_id: null }
      const list = { project_id: 1, limit: 51 }
      const month = { from_date: "2026-10-01", to_date: "2026-10-31" }

      const pages = {
        newest: repo.list(list),
        "in the middle": repo.list({ ...list, before_id: middle?.id ?? 0 }),
        completed: repo.list({ ...list, status: "completed" }),
        rejected: repo.list({ ...list, status: "rejected" }),
        "without answer": repo.list({ ...list, disposition: "no-answer" }),
        "of an agent": repo.list({ ...list, agent_id: 3 }),
        "of an agent, failed": repo.list({ ...list, agent_id: 3, status: "failed" }),
        "of a month": repo.list({ ...list, ...month }),
        "of a month long ago": repo.list({ ...list, from_date: "2025-11-01", to_date: "2025-11-30" }),
        "of a month, failed": repo.list({ ...list, ...month, status: "failed" }),
        "of a month, of an agent": repo.list({ ...list, ...month, agent_id: 3 }),
        "after one, of an agent": repo.list({ ...list, agent_id: 3, before_id: middle?.id ?? 0 })
      }
      for (const [page, asked] of Object.entries(pages)) {
        const read = yield* readBy(asked)
        // The page, and the row of the cursor.
        expect([page, read.sequentialScans, read.scans > 0, read.rows <= 60]).toEqual([page, [], true, true])
      }

      const sums = {
        "a month by day": [usage.report(project, { ...month, granularity: "day" }), 10 * 31],
        "a month of the organization": [usage.report(org, { ...month, granularity: "day" }), 15 * 31],
        "a month of an agent": [usage.report(project, { ...month, granularity: "day", agent_id: "3" }), 31],
        "a month's summary": [usage.summary(project, month), 10 * 31],
        "the summary of an agent": [usage.summary(project, { agent_id: 3 }), 401],
        // The filter matches half of the table or more, so a scan of the whole table is the fastest plan.
        "the summary of all time": [usage.summary(project, {}), 15 * 401]
      } as const
      for (const [sum, [asked, days]] of Object.entries(sums)) {
        const read = yield* readBy(asked)
        const sequentialScans = sum === "the summary of all time" ? [] : read.sequentialScans
        expect([sum, sequentialScans, read.scans, read.rows <= days]).toEqual([sum, [], 1, true])
      }
    })
  )

  it.effect("sums equal those of the calls themselves", () =>
    Effect.gen(function* () {
      const usage = yield* Usage
      const sql = yield* SqlClient.SqlClient
      const [counted] = yield* sql`
        select count(*) as total_calls, count(*) filter (where status = 'failed') as failed_calls,
          sum(minutes_used)::float8 as total_minutes_used, sum(total_cost)::float8 as total_cost
        from calls where project_id = 1 and started_at >= '2026-03-01Z' and started_at < '2026-04-01Z'`
      const range = { from_date: "2026-03-01", to_date: "2026-03-31" }
      expect(yield* usage.summary({ org_id: 1, project_id: 1 }, range)).toMatchObject({ ...counted })
    })
  )
})
