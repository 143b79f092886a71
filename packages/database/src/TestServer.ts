import * as fs from "node:fs/promises"
import * as os from "node:os"
import * as path from "node:path"
import { SqlClient, type SqlError } from "@effect/sql"
import type { PgClient } from "@effect/sql-pg"
import { Config, type ConfigError, Effect, Layer, Option, Random, Redacted, Schema, type Scope } from "effect"
import { connect, type DatabaseUnavailable } from "./Database.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { EmbeddedPostgresError } from "./embedded/Account.ts"
import * as Migrations from "./Migrations.ts"

/** The database server of one run of the test suite. */
export const TestRun = Schema.Struct({
  /** The database in which others are created. */
  url: Schema.String,
  /** The number of the run; its databases are named `svc_test_<run>_…`. */
  run: Schema.Int
})
export type TestRun = typeof TestRun.Type

/** The environment variable that passes a {@link TestRun}, as JSON, to the processes of the run. */
export const variable = "SVC_TEST_RUN"

/** The migrated database from which test databases are copied. */
export const templateOf = (run: number): string => `svc_test_${run}_template`

/** The class of the advisory locks of live runs; the object is the number of the run. */
const lockClass = 5_782_002

/** The URL of another database of the same server. */
export const withDatabase = (url: string, database: string): string => {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

/** A pool on a database of the test server. */
export const pool = (
  url: string,
  connections: number
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseUnavailable> =>
  connect({
    url: Redacted.make(url),
    connections,
    // Statements of a test that starts many at once wait for as long as a busy machine takes.
    connectionTimeoutMs: 30_000,
    displayName: new URL(url).pathname.slice(1)
  })

/** Linux's folder in memory, where a database is created in half of the time; elsewhere, or if it is small, on disk. */
const fastFolder = Effect.tryPromise(() => fs.statfs("/dev/shm")).pipe(
  Effect.map(({ bavail, bsize }) => (bavail * bsize > 4 * 2 ** 30 ? "/dev/shm" : os.tmpdir())),
  Effect.orElseSucceed(() => os.tmpdir())
)

const embedded = Effect.gen(function* () {
  const folder = yield* fastFolder
  const dir = yield* Effect.tryPromise({
    try: () => fs.mkdtemp(path.join(folder, "svc-test-")),
    catch: (cause) =>
      new EmbeddedPostgresError({ message: `Cannot create a folder for the test database: ${cause}`, cause })
  })
  return (yield* EmbeddedPostgres.start({ dir, durable: false, removeAtEnd: true })).url
})

/** Drops the databases of runs that were killed. */
const dropStale = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const stale = yield* sql<{ readonly datname: string }>`
    select datname from pg_database
    where datname ~ '^svc_test_[0-9]+_' and not exists (
      select 1 from pg_locks
      where locktype = 'advisory' and classid = ${lockClass} and objid = split_part(datname, '_', 3)::bigint::oid
    )`
  yield* Effect.forEach(stale, ({ datname }) => sql`drop database if exists ${sql(datname)} with (force)`)
})

const dropAll = (run: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const left = yield* sql<{ readonly datname: string }>`
      select datname from pg_database where starts_with(datname, ${`svc_test_${run}_`})`
    yield* Effect.forEach(left, ({ datname }) => sql`drop database if exists ${sql(datname)} with (force)`)
  })

/**
 * A server for one run of the test suite: `SVC_TEST_DATABASE_URL`, or a temporary embedded one. Runs may share a
 * server: each holds a lock with its number, and has its own template and databases. They are dropped at the end of the
 * run, or by the next run if this one is killed.
 */
export const start: Effect.Effect<
  TestRun,
  | DatabaseUnavailable
  | EmbeddedPostgresError
  | SqlError.SqlError
  | Migrations.MigrationFailed
  | ConfigError.ConfigError,
  Scope.Scope
> = Effect.gen(function* () {
  const given = yield* Config.option(Config.nonEmptyString("SVC_TEST_DATABASE_URL"))
  const url = Option.isSome(given) ? given.value : yield* embedded
  const run = yield* Random.nextIntBetween(1, 2 ** 31 - 1)
  const admin = yield* Layer.build(pool(url, 2))
  const template = templateOf(run)
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const holder = yield* sql.reserve
    yield* holder.executeUnprepared(`select pg_advisory_lock(${lockClass}, ${run})`, [], undefined)
    yield* dropStale
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.provide(dropAll(run), admin)))
    yield* sql`create database ${sql(template)}`
  }).pipe(Effect.provide(admin))
  yield* Migrations.run.pipe(Effect.provide(pool(withDatabase(url, template), 1)))
  return { url, run }
})
