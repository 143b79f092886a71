import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { SqlClient } from "@effect/sql"
import type { BookingCustomersQuery } from "@svc/api/bookings/BookingCustomersApi"
import { newOrgId } from "@svc/api/Ids"
import { CustomerList } from "@svc/bookings/CustomerList"
import { CustomerListRepo } from "@svc/bookings/CustomerListRepo"
import { seedCustomers } from "@svc/bookings/testing/SeedCustomers"
import { Database } from "@svc/database/Database"
import { Clock, ConfigProvider, Console, Effect, Layer, Logger, LogLevel } from "effect"
import { BenchFailed } from "./Child.ts"
import { table } from "./Table.ts"
import { type Line, quantile } from "./Verdict.ts"

/** `npm run bench:customers`: lists and search with many booking customers of one organization. */

const usage = `npm run bench:customers -- [options]
  --customers N  how many there are (1000000)
  --times N      how often each query is run (50)`

const options = Effect.try({
  try: () => {
    const { values } = parseArgs({
      options: { customers: { type: "string", default: "1000000" }, times: { type: "string", default: "50" } }
    })
    const count = (name: "customers" | "times") => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number from 1 up`)
      return value
    }
    return { customers: count("customers"), times: count("times") }
  },
  catch: (error) => new BenchFailed({ message: `${error instanceof Error ? error.message : error}\n\n${usage}` })
})

const questions: ReadonlyArray<readonly [what: string, query: Partial<BookingCustomersQuery>]> = [
  ["first page", {}],
  ["recycle bin", { deleted: "only" }],
  ["an email address", { email: "anna.jansen7@example.com" }],
  ["a phone number", { phone: "+31600048271" }],
  ["q: one letter", { q: "a" }],
  ["q: one letter without match", { q: "ß" }],
  ["q: two letters", { q: "an" }],
  ["q: two letters without match", { q: "xq" }],
  ["q: a first name", { q: "fatima" }],
  ["q: a last name", { q: "jansen" }],
  ["q: a full name", { q: "fatima zwart" }],
  ["q: part of an email address", { q: "timmermans77" }],
  ["q: a phone number", { q: "06 0004 8271" }],
  ["q: five digits", { q: "12345" }],
  ["q: words without match", { q: "nobody here" }]
]

const budget = { must: 50, goal: 50 }

const measure = (customers: number, times: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const list = yield* CustomerList
    const public_id = yield* newOrgId
    const [row] = yield* sql<{ readonly id: number }>`
      insert into organizations (public_id, name, tier) values (${public_id}, 'Bench', 'enterprise') returning id`
    if (row === undefined) return yield* new BenchFailed({ message: "no organization" })
    yield* Console.error(`seeding ${customers} customers …`)
    yield* seedCustomers(row.id, customers)
    const org = { id: row.id, public_id, tier: "enterprise" } as const
    return yield* Effect.forEach(questions, ([what, query]) =>
      Effect.gen(function* () {
        const one = Effect.gen(function* () {
          const before = yield* Clock.currentTimeNanos
          yield* list.page(org, { limit: 50, deleted: "exclude", ...query })
          return Number((yield* Clock.currentTimeNanos) - before) / 1e6
        })
        // Warm-up of plans and database pages.
        yield* Effect.replicateEffect(one, 3)
        return { what, took: yield* Effect.replicateEffect(one, times) }
      })
    )
  })

const temporary = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-bench-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const program = Effect.gen(function* () {
  const { customers, times } = yield* options
  const directory = yield* temporary
  const Services = CustomerList.layer.pipe(
    Layer.provide(CustomerListRepo.layer),
    Layer.provideMerge(Database.layer),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SVC_DATA_DIR", directory]]))))
  )
  const figures = yield* Effect.provide(measure(customers, times), Services)
  const lines = figures.flatMap(
    ({ took, what }): ReadonlyArray<Line> => [
      { what: `${what}: median`, figure: quantile(took, 0.5), unit: "ms", budget },
      { what: `${what}: p95`, figure: quantile(took, 0.95), unit: "ms", budget }
    ]
  )
  yield* Console.log(table(`Pages of 50 among ${customers} booking customers, ${times} times each`, lines))
})

program.pipe(
  Effect.scoped,
  Effect.tapErrorTag("BenchFailed", ({ message }) => Console.error(message)),
  Logger.withMinimumLogLevel(LogLevel.Warning),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
