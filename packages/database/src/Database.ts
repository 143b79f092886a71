import * as path from "node:path"
import { type SqlClient, SqlError } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { Config, type ConfigError, Context, Data, Effect, Layer, Option, Redacted, Schedule, type Scope } from "effect"
import * as Pg from "pg"
import { columnTypes } from "./ColumnTypes.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import type { EmbeddedPostgresError } from "./embedded/Account.ts"
import * as Migrations from "./Migrations.ts"
import { prepare, StatementNames } from "./Prepared.ts"

/** The database cannot be used; `message` is one line that says which and why, without its password. */
export class DatabaseUnavailable extends Data.TaggedError("DatabaseUnavailable")<{
  readonly message: string
  readonly cause: unknown
}> {}

/** Where to connect, and with how much. */
export interface Connection {
  readonly url: Redacted.Redacted
  /** Connections that the pool opens at most. */
  readonly connections: number
  /**
   * Whether statements that are asked for often are prepared on each connection. A pooler in between that gives every
   * transaction another connection has to know about prepared statements, as PgBouncer does from 1.21 on.
   * @default true
   */
  readonly prepares?: boolean
  /** What the database is called in messages. */
  readonly called: string
}

/** What the rest of the program may know about its database beside using it. */
export class Database extends Context.Tag("@svc/database/Database")<
  Database,
  {
    /**
     * True when this process itself started the embedded database: whatever another process had running on this
     * database has ended.
     */
    readonly exclusive: boolean
    /** What the database is called in messages: `the embedded database in .svc`, `db.example.com:5432/svc`. */
    readonly called: string
  }
>() {
  /**
   * Connects to the server that `SVC_DATABASE_URL` names or, when it is not set, to the embedded PostgreSQL with its
   * data in the folder `postgres` of `SVC_DATA_DIR` (default `.svc`), and brings the schema up to date. The pool
   * opens at most `SVC_DATABASE_POOL` connections (default 10), on which statements that are asked for often are prepared
   * unless `SVC_DATABASE_PREPARE` is `false`. A server that is not there yet is waited for for 10 seconds. Columns
   * decode as {@link columnTypes} says.
   */
  static readonly layer: Layer.Layer<
    Database | SqlClient.SqlClient | PgClient.PgClient,
    DatabaseUnavailable | EmbeddedPostgresError | ConfigError.ConfigError
  > = Layer.unwrapScoped(
    Effect.gen(function* () {
      const url = yield* Config.option(Config.redacted("SVC_DATABASE_URL"))
      const dataDir = yield* Config.nonEmptyString("SVC_DATA_DIR").pipe(Config.withDefault(".svc"))
      const connections = yield* Config.integer("SVC_DATABASE_POOL").pipe(
        Config.validate({ message: "must be from 1 to 1000", validation: (n) => n >= 1 && n <= 1000 }),
        Config.withDefault(10)
      )
      const prepares = yield* Config.boolean("SVC_DATABASE_PREPARE").pipe(Config.withDefault(true))
      if (Option.isSome(url) && Redacted.value(url.value).trim() !== "") {
        const called = yield* nameOf(url.value)
        return migrated({ url: url.value, connections, prepares, called }, false)
      }
      const embedded = yield* EmbeddedPostgres.start({ dir: path.join(dataDir, "postgres") })
      const called = `the embedded database in ${dataDir}`
      return migrated({ url: Redacted.make(embedded.url), connections, prepares, called }, embedded.launched)
    })
  )
}

/** The server, port and database of a URL. */
const nameOf = (url: Redacted.Redacted): Effect.Effect<string, DatabaseUnavailable> =>
  Effect.gen(function* () {
    const parsed = yield* Effect.option(Effect.try(() => new URL(Redacted.value(url))))
    if (Option.isNone(parsed) || !/^postgres(ql)?:$/.test(parsed.value.protocol)) {
      const message = "SVC_DATABASE_URL is not of the form postgres://user:password@host:port/database"
      return yield* new DatabaseUnavailable({ message, cause: undefined })
    }
    const { hostname, pathname, port, searchParams } = parsed.value
    return searchParams.has("host")
      ? `${searchParams.get("host")}${pathname}`
      : `${hostname}:${port || 5432}${pathname}`
  })

/** The system's, TLS's or PostgreSQL's own error inside an error of the SQL client. */
const rootOf = (error: SqlError.SqlError): { readonly code: string; readonly message: string } => {
  const { cause } = error
  // Node reports all addresses of a name that failed as one error with an empty message.
  const first = cause instanceof AggregateError && cause.errors[0] instanceof Error ? cause.errors[0] : cause
  if (!(first instanceof Error)) return { code: "", message: error.message }
  return { code: "code" in first ? String(first.code) : "", message: first.message }
}

const network = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENOENT"])

/** Whether waiting may help: the network, a server that starts, stops or is full. A wrong password stays wrong. */
const isPassing = (error: SqlError.SqlError): boolean => {
  const { code, message } = rootOf(error)
  return network.has(code) || /^(08|53|57)/.test(code) || /timed? ?out|timeout|Connection terminated/i.test(message)
}

const patience = Schedule.spaced("500 millis").pipe(Schedule.upTo("10 seconds"))

const unavailable = (called: string) => (error: SqlError.SqlError) =>
  new DatabaseUnavailable({ message: `Cannot use the database ${called}: ${rootOf(error).message}`, cause: error })

/** Pings the server, so that one that is not there is known at once. */
const pool = ({
  connections,
  prepares = true,
  url
}: Connection): Effect.Effect<Pg.Pool, SqlError.SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const names = new StatementNames()
    const pool = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Pg.Pool({
            connectionString: Redacted.value(url),
            max: connections,
            connectionTimeoutMillis: 5_000,
            application_name: "svc",
            types: columnTypes
          })
      ),
      (pool) => Effect.promise(() => pool.end()).pipe(Effect.interruptible, Effect.timeoutOption("1 second"))
    )
    // Of connections that break while nobody uses them: the pool makes others.
    pool.on("error", () => undefined)
    if (prepares) pool.on("connect", (client) => prepare(client, names))
    yield* Effect.tryPromise({
      try: () => pool.query("select 1"),
      catch: (cause) => new SqlError.SqlError({ cause, message: "Failed to connect" })
    }).pipe(
      Effect.timeoutFail({
        duration: "5 seconds",
        onTimeout: () =>
          new SqlError.SqlError({ cause: new Error("Connection timed out"), message: "Connection timed out" })
      })
    )
    return pool
  })

/** A pool on the database. Also for tools and tests that need no migrations. */
export const connect = (
  connection: Connection
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseUnavailable> =>
  PgClient.layerFromPool({ acquire: pool(connection), transformJson: false }).pipe(
    Layer.retry(patience.pipe(Schedule.whileInput(isPassing))),
    Layer.catchAll((error) => Layer.fail(unavailable(connection.called)(error)))
  )

const migrated = (connection: Connection, exclusive: boolean) =>
  Layer.effect(
    Database,
    Migrations.run.pipe(
      Effect.retry({
        schedule: patience,
        while: (error) => error instanceof SqlError.SqlError && isPassing(error)
      }),
      Effect.catchTags({
        SqlError: (error) => Effect.fail(unavailable(connection.called)(error)),
        MigrationFailed: (error) => Effect.fail(new DatabaseUnavailable({ message: error.message, cause: error }))
      }),
      Effect.tap((ran) => (ran.length > 0 ? Effect.logDebug(`Migrations ran: ${ran.join(", ")}`) : Effect.void)),
      Effect.as({ exclusive, called: connection.called })
    )
  ).pipe(Layer.provideMerge(connect(connection)))
