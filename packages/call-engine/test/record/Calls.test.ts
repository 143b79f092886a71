import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { CallsQuery } from "@svc/api/calls/CallsApi"
import type { PrincipalProject } from "@svc/api/Principal"
import { Effect, Layer, Schema } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"

const query = Schema.decodeUnknownSync(CallsQuery)

interface Past {
  readonly number: string
  readonly started: string
  readonly status?: string
  readonly disposition?: string
  readonly ended_reason?: string
  readonly agent?: { readonly id: number; readonly public_id: string }
}

let count = 0

/** Calls that are over, in this order. Returns their public ids. */
const past = (project: PrincipalProject, calls: ReadonlyArray<Past>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(calls, (call) => {
      const { agent, disposition = "answered", ended_reason = "caller-hangup" } = call
      const { number, started, status = "completed" } = call
      const id = `call_${String(++count).padStart(24, "0")}`
      return sql`
        insert into calls (public_id, org_id, project_id, agent_id, agent_public_id, telephony, status, disposition,
          ended_reason, to_number, started_at, ended_at)
        values (${id}, 1, ${project.id}, ${agent?.id ?? null}, ${agent?.public_id ?? null}, 'simulated', ${status},
          ${disposition}, ${ended_reason}, ${number}, ${started}::timestamptz, ${started}::timestamptz + interval '9 seconds')
      `.pipe(Effect.as(id))
    })
  )

const day = (d: string, time = "12:00:00Z") => `${d}T${time}`

/** A project of its own. */
const project = agentOnNumber(() => configuration({ otherwise: "Ok." }, { first_message: "Hi." }))

const ids = (page: { readonly calls: ReadonlyArray<{ readonly call_id: string }> }) => page.calls.map((c) => c.call_id)

describe.concurrent("/v1/calls", () => {
  layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("calls", (it) => {
    it.scoped("lists the calls of one project, newest first", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const [mine, other] = [yield* project, yield* project]
        const made = yield* past(mine.project, [
          { number: "1", started: day("2026-01-01") },
          { number: "2", started: day("2026-01-02") }
        ])
        yield* past(other.project, [{ number: "3", started: day("2026-01-03") }])
        const page = yield* calls.list(mine.project, query({}))
        expect(ids(page)).toEqual([...made].reverse())
        expect(page.next_cursor).toBeNull()
        expect(page.calls[0]).toMatchObject({ to_number: "2", started_at: "2026-01-02T12:00:00.000Z", total_cost: 0 })
        expect(Object.keys(page.calls[0] ?? {})).not.toContain("id")
      })
    )

    it.scoped("filters by status, disposition and agent_id", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const sql = yield* SqlClient.SqlClient
        const { agent, project: p } = yield* project
        const other = yield* project
        const [row] = yield* sql<{ readonly id: number }>`select id from agents where public_id = ${agent.public_id}`
        const mine = { id: row?.id ?? 0, public_id: agent.public_id }
        const [a, b, c] = yield* past(p, [
          { number: "1", started: day("2026-01-01"), agent: mine },
          { number: "2", started: day("2026-01-01"), status: "failed", disposition: "failed" },
          { number: "3", started: day("2026-01-01"), status: "completed", disposition: "transferred" }
        ])
        const list = (q: unknown) => Effect.map(calls.list(p, query(q)), ids)
        expect(yield* list({ status: "completed" })).toEqual([c, a])
        expect(yield* list({ status: "busy" })).toEqual([])
        expect(yield* list({ disposition: "failed" })).toEqual([b])
        expect(yield* list({ status: "completed", disposition: "transferred" })).toEqual([c])
        expect(yield* list({ agent_id: agent.public_id })).toEqual([a])
        expect(yield* list({ agent_id: String(mine.id) })).toEqual([a])
        for (const agent_id of [other.agent.public_id, "agent_x", "999999"]) {
          const refused = yield* Effect.either(calls.list(p, query({ agent_id })))
          expect(refused).toMatchObject({ left: { details: { agent_id: expect.any(String) } } })
        }
      })
    )

    it.scoped("filters by ended_reason, where max-duration is an alias of timeout", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { project: p } = yield* project
        const [a, b] = yield* past(p, [
          { number: "1", started: day("2026-01-01"), ended_reason: "timeout" },
          { number: "2", started: day("2026-01-01"), ended_reason: "api" }
        ])
        const list = (q: unknown) => Effect.map(calls.list(p, query(q)), ids)
        expect(yield* list({ ended_reason: "api" })).toEqual([b])
        expect(yield* list({ ended_reason: "timeout" })).toEqual([a])
        expect(yield* list({ ended_reason: "max-duration" })).toEqual([a])
        expect(() => query({ ended_reason: "boredom" })).toThrow()
      })
    )

    it.scoped("filters by from_date and to_date, inclusive days in UTC", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { project: p } = yield* project
        const [before, first, middle, last, after] = yield* past(p, [
          { number: "1", started: day("2026-03-09", "23:59:59.999Z") },
          { number: "2", started: day("2026-03-10", "00:00:00Z") },
          { number: "3", started: day("2026-03-11", "01:30:00+14:00") },
          { number: "4", started: day("2026-03-11", "23:59:59.999Z") },
          { number: "5", started: day("2026-03-12", "00:00:00Z") }
        ])
        const list = (q: unknown) => Effect.map(calls.list(p, query(q)), ids)
        expect(yield* list({ from_date: "2026-03-10", to_date: "2026-03-11" })).toEqual([last, middle, first])
        expect(yield* list({ from_date: "2026-03-11" })).toEqual([after, last])
        expect(yield* list({ to_date: "2026-03-09" })).toEqual([before])
        expect(yield* list({ from_date: "2026-03-10", to_date: "2026-03-10" })).toEqual([middle, first])
        expect(yield* list({ from_date: "2026-03-12", to_date: "2026-03-10" })).toEqual([])
        for (const bad of ["2026-3-1", "2026-02-30", "today", ""]) {
          expect(() => query({ from_date: bad })).toThrow("from_date must be a date, YYYY-MM-DD")
        }
      })
    )

    it.scoped("pages without skipping or repeating calls while new ones are added", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { project: p } = yield* project
        const made = yield* past(
          p,
          Array.from({ length: 25 }, (_, i) => ({ number: String(i), started: day("2026-01-01") }))
        )
        const seen: Array<string> = []
        let after: string | null = null
        do {
          const page: {
            readonly calls: ReadonlyArray<{ readonly call_id: string }>
            readonly next_cursor: string | null
          } = yield* calls.list(p, query({ limit: "10", ...(after === null ? {} : { after }) }))
          seen.push(...ids(page))
          after = page.next_cursor
          yield* past(p, [{ number: "new", started: day("2026-01-02") }])
        } while (after !== null)
        expect(seen).toEqual([...made].reverse())
        const [newest] = yield* Effect.map(calls.list(p, query({ limit: "1" })), ids)
        expect(newest).not.toBe(seen[0])
        const exact = yield* calls.list(p, query({ limit: "28" }))
        expect([exact.calls.length, exact.next_cursor]).toEqual([28, null])
      })
    )

    it.scoped("pages with `after` from a public or a numeric id of the same project only", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const sql = yield* SqlClient.SqlClient
        const [mine, other] = [yield* project, yield* project]
        const [a, b] = yield* past(mine.project, [
          { number: "1", started: day("2026-01-01") },
          { number: "2", started: day("2026-01-01") }
        ])
        const [foreign] = yield* past(other.project, [{ number: "3", started: day("2026-01-01") }])
        const [row] = yield* sql<{ readonly id: number }>`select id from calls where public_id = ${b ?? ""}`
        expect(ids(yield* calls.list(mine.project, query({ after: b })))).toEqual([a])
        expect(ids(yield* calls.list(mine.project, query({ after: String(row?.id) })))).toEqual([a])
        for (const after of [foreign, "call_x", "0", "-1", "999999999999999", "call_' or 1=1"]) {
          const refused = yield* Effect.either(calls.list(mine.project, query({ after })))
          expect(refused).toMatchObject({ left: { details: { after: "after is not a call of this project" } } })
        }
      })
    )

    it.scoped("finds calls by public and numeric id, within their project only", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const sql = yield* SqlClient.SqlClient
        const [mine, other] = [yield* project, yield* project]
        const [id = ""] = yield* past(mine.project, [{ number: "1", started: day("2026-01-01") }])
        const [row] = yield* sql<{ readonly id: number }>`select id from calls where public_id = ${id}`
        const call = yield* calls.get(mine.project, id)
        expect(yield* calls.get(mine.project, String(row?.id))).toEqual(call)
        expect(call).toMatchObject({ call_id: id, transcript: [], latency_data: { turns: [] } })
        expect(yield* calls.state(mine.project, id)).toEqual({
          call_id: id,
          status: "completed",
          disposition: "answered",
          ended_reason: "caller-hangup",
          duration_seconds: 0,
          started_at: "2026-01-01T12:00:00.000Z",
          ended_at: "2026-01-01T12:00:09.000Z"
        })
        for (const [p, unknown] of [
          [other.project, id],
          [other.project, String(row?.id)],
          [mine.project, id.slice(0, -1)],
          [mine.project, id.toUpperCase()],
          [mine.project, "999999999999999"],
          [mine.project, "99999999999999999999"],
          [mine.project, "0"],
          [mine.project, "1.5"],
          [mine.project, ""]
        ] as const) {
          const results = yield* Effect.all([
            Effect.flip(calls.get(p, unknown)),
            Effect.flip(calls.state(p, unknown)),
            Effect.flip(calls.end(p, unknown))
          ])
          expect(results.map((error) => error._tag)).toEqual(["CallNotFound", "CallNotFound", "CallNotFound"])
        }
      })
    )

    it.scoped("refuses to end or gather in a call that has ended or that no node controls", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const sql = yield* SqlClient.SqlClient
        const { project: p } = yield* project
        const [over = "", lost = ""] = yield* past(p, [
          { number: "1", started: day("2026-01-01") },
          { number: "2", started: day("2026-01-01") }
        ])
        yield* sql`update calls set status = 'in-progress', ended_at = null, disposition = null where public_id = ${lost}`
        const results = yield* Effect.all([Effect.either(calls.end(p, over)), Effect.either(calls.end(p, lost))])
        const expected = [{ left: { _tag: "CallNotInProgress" } }, { left: { _tag: "NoControlChannel" } }]
        expect(results).toMatchObject(expected)
        const rules = { prompt: "Type.", max_digits: 1, terminator: "#", timeout_seconds: 5 }
        const gather = (id: string) =>
          Effect.either(calls.gather(p, id, { ...rules, voice: "female", language: "en-US" }))
        expect(yield* Effect.all([gather(over), gather(lost)])).toMatchObject(expected)
      })
    )

    it.scoped("shows transcript and duration of a live call until now", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { number, project: p } = yield* project
        const caller = yield* dial(number)
        const answered = yield* caller.until("answered")
        const id = answered.event === "answered" ? answered.call_id : ""
        yield* caller.hears(/^Hi\.$/)
        caller.send({ event: "say", text: "Yo" })
        yield* caller.hears(/^Ok\.$/)
        const live = yield* until(calls.get(p, id), (c) => c.transcript.length === 3)
        expect(live).toMatchObject({ status: "in-progress", ended_at: null, ended_reason: null })
        expect(live.transcript.map((t) => t.content)).toEqual(["Hi.", "Yo", "Ok."])
        expect(live.latency_data.turns.length).toBe(1)
        expect(live.duration_seconds).toBeGreaterThanOrEqual(1)
        expect((yield* calls.list(p, query({ status: "in-progress" }))).calls[0]?.call_id).toBe(id)
        caller.send({ event: "hangup" })
        const over = yield* until(calls.get(p, id), (c) => c.ended_at !== null)
        expect(over.transcript).toEqual(live.transcript)
        expect(over.latency_data).toEqual(live.latency_data)
        expect(over).toMatchObject({ status: "completed", turn_count: 3 })
      })
    )
  })
})
