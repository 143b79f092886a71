import { SqlClient } from "@effect/sql"
import { seedCalls } from "@svc/call-engine/testing/SeedCalls"
import * as Database from "@svc/database/Database"
import { Console, DateTime, Effect, Option, Redacted, Schedule, Schema } from "effect"
import type { ApiLoadRequests } from "./ApiRequests.ts"
import { BenchFailed, type Child } from "./Child.ts"
import type { Line } from "./Verdict.ts"

export interface ApiCallsOptions {
  /** The number of calls to seed. */
  readonly calls: number
  readonly database: string
  readonly load: Child<ApiLoadRequests>
  /** The server, and a key of the project that has the agents. */
  readonly url: string
  readonly key: string
  /** Length of the measurement of each query. */
  readonly seconds: number
}

/** Time to answer of one query, in milliseconds. */
export interface CallsFigures {
  readonly what: string
  readonly path: string
  readonly p50: number
  readonly p95: number
  readonly requests: number
  readonly failures: number
}

const days = 365
const budget = { must: 50, goal: 50 }
/** Warm-up of each request: plans and pages of the database. */
const warmUpMs = 500

const failed = (what: string) => (error: unknown) =>
  new BenchFailed({ message: `${what}: ${error instanceof Error ? error.message : String(error)}` })

/** Fills the database; returns an agent that has calls. */
const seed = ({ calls: count, database }: ApiCallsOptions, until: DateTime.Utc) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const agents = yield* sql<{
      readonly id: number
      readonly public_id: string
      readonly org_id: number
      readonly project_id: number
    }>`select id, public_id, org_id, project_id from agents order by id`
    const [agent] = agents
    if (agent === undefined) return yield* new BenchFailed({ message: "no agents to seed calls for" })
    const { org_id, project_id } = agent
    yield* Console.error(`seeding ${count} calls …`)
    // The rows are not visible before the end; the ids they took are.
    const progress = sql<{ readonly taken: number | null }>`
      select pg_sequence_last_value(pg_get_serial_sequence('calls', 'id')::regclass)::float8 as taken`.pipe(
      Effect.flatMap(([row]) => Console.error(`  ${row?.taken ?? 0} of ${count} calls written`)),
      Effect.delay("5 seconds"),
      Effect.repeat(Schedule.forever)
    )
    yield* Effect.raceFirst(
      seedCalls({ org_id, project_id, agents, count, until: DateTime.toDateUtc(until), days }),
      progress
    )
    yield* Console.error("  vacuuming …")
    // Autovacuum does this while rows arrive one by one; here it would run during the measurement.
    yield* sql`vacuum calls`
    yield* sql`vacuum usage_days`
    return agent.public_id
  }).pipe(
    Effect.catchTag("SqlError", (error) => failed("cannot seed calls")(error.cause ?? error)),
    Effect.provide(Database.connect({ url: Redacted.make(database), connections: 2, displayName: "of the bench" })),
    Effect.catchTag("DatabaseUnavailable", failed("cannot seed calls"))
  )

/** The number of calls that an answer lists or aggregates. */
const Shown = Schema.Union(
  Schema.Struct({ calls: Schema.Array(Schema.Unknown) }),
  Schema.Struct({ totals: Schema.Struct({ call_count: Schema.Number }) }),
  Schema.Struct({ total_calls: Schema.Number })
)
const readShown = Schema.decodeUnknownOption(Schema.parseJson(Shown))

/** An answer without calls would be fast and meaningless. */
const check = ({ key, url }: ApiCallsOptions, path: string): Effect.Effect<void, BenchFailed> =>
  Effect.gen(function* () {
    const { status, text } = yield* Effect.tryPromise({
      try: () =>
        fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } }).then((response) =>
          response.text().then((body) => ({ status: response.status, text: body }))
        ),
      catch: failed(path)
    })
    const count = Option.match(readShown(text), {
      onNone: () => 0,
      onSome: (shown) =>
        "calls" in shown ? shown.calls.length : "totals" in shown ? shown.totals.call_count : shown.total_calls
    })
    if (status !== 200 || count === 0) {
      return yield* new BenchFailed({ message: `${path} contains no calls: ${status} ${text.slice(0, 400)}` })
    }
    yield* Console.error(`GET ${path} covers ${count} calls …`)
  })

/** Seeds the calls, then measures each query, one request at a time. */
export const measure = (options: ApiCallsOptions): Effect.Effect<ReadonlyArray<CallsFigures>, BenchFailed> =>
  Effect.gen(function* () {
    const { key, load, seconds, url } = options
    const now = yield* DateTime.now
    const agent = yield* seed(options, now)
    const dates = (from: number, to: number): string => {
      const day = (back: number) => DateTime.formatIsoDateUtc(DateTime.subtract(now, { days: back }))
      return `from_date=${day(from)}&to_date=${day(to)}`
    }
    const questions = [
      { what: "a month's usage by day", path: `/v1/usage?granularity=day&${dates(30, 0)}` },
      { what: "a month's summary", path: `/v1/calls/summary?${dates(30, 0)}` },
      { what: "summary of all calls", path: "/v1/calls/summary" },
      { what: "first page of calls", path: "/v1/calls" },
      { what: "first page of a rare status", path: "/v1/calls?status=rejected" },
      { what: "first page of an agent", path: `/v1/calls?agent_id=${agent}` },
      { what: "first page of a month half a year ago", path: `/v1/calls?${dates(210, 180)}` }
    ]
    return yield* Effect.forEach(questions, ({ path, what }) =>
      Effect.gen(function* () {
        yield* check(options, path)
        const burst = { url: `${url}${path}`, key, connections: 1 }
        yield* load.request("send", { ...burst, ms: warmUpMs })
        const { failures, p50, p95, requests } = yield* load.request("send", { ...burst, ms: seconds * 1000 })
        return { what, path, p50, p95, requests, failures }
      })
    )
  })

/** The figures against the budget. */
export const linesOf = (figures: ReadonlyArray<CallsFigures>): ReadonlyArray<Line> => [
  ...figures.flatMap(
    ({ p50, p95, what }): ReadonlyArray<Line> => [
      { what: `${what}: median`, figure: p50, unit: "ms", budget },
      { what: `${what}: p95`, figure: p95, unit: "ms", budget }
    ]
  ),
  { what: "requests", figure: figures.reduce((sum, { requests }) => sum + requests, 0), unit: "" },
  { what: "answers other than 200", figure: figures.reduce((sum, { failures }) => sum + failures, 0), unit: "" }
]
