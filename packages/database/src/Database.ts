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

/** The database cannot be used. `message` is one line with its name and the reason, without its password. */
export class DatabaseUnavailable extends Data.TaggedError("DatabaseUnavailable")<{
  readonly message: string
  readonly cause: unknown
}> {}

/** `SVC_DATA_DIR`: the folder of what this process stores outside of a database server. */
export const dataDir = Config.nonEmptyString("SVC_DATA_DIR").pipe(Config.withDefault(".svc"))

/** How to connect. */
export interface Connection {
  readonly url: Redacted.Redacted
  /** Size of the pool. */
  readonly connections: number
  /**
   * How long a statement waits for a connection of the pool, in milliseconds. Then it fails, and a request is answered
   * with 503.
   * @default 5000
   */
  readonly connectionTimeoutMs?: number
  /**
   * Whether frequent statements are prepared on each connection. A pooler in transaction mode must support prepared
   * statements, as PgBouncer does from 1.21 on.
   * @default true
   */
  readonly prepareStatements?: boolean
  /** The database in messages. */
  readonly displayName: string
  /** The setting that has the URL, for people who must mend it; none when this process made the URL itself. */
  readonly setting?: string
}

/** The connection pools of this process, for metrics. */
export class DatabasePools extends Context.Reference<DatabasePools>()("@svc/database/DatabasePools", {
  defaultValue: (): Set<Pg.Pool> => new Set()
}) {}

/** The database that this process uses. */
export class Database extends Context.Tag("@svc/database/Database")<
  Database,
  {
    /**
     * True when this process started the embedded database itself, so no other process can be using it.
     */
    readonly exclusive: boolean
    /** The database in messages: `the embedded database in .svc`, `db.example.com:5432/svc`. */
    readonly displayName: string
  }
>() {
  /**
   * Connects to `SVC_DATABASE_URL` or, when it is not set, to an embedded PostgreSQL with its data in the folder
   * `postgres` of `SVC_DATA_DIR` (default `.svc`), and runs missing migrations. The pool has `SVC_DATABASE_POOL`
   * connections (default 10), on which frequent statements are prepared unless `SVC_DATABASE_PREPARE` is `false`. Waits
   * up to 10 seconds for a server that is not up yet. Columns are decoded by {@link columnTypes}.
   */
  static readonly layer: Layer.Layer<
    Database | SqlClient.SqlClient | PgClient.PgClient,
    DatabaseUnavailable | EmbeddedPostgresError | ConfigError.ConfigError
  > = Layer.unwrapScoped(
    Effect.gen(function* () {
      const url = yield* Config.option(Config.redacted("SVC_DATABASE_URL"))
      const folder = yield* dataDir
      const connections = yield* Config.integer("SVC_DATABASE_POOL").pipe(
        Config.validate({ message: "must be from 1 to 1000", validation: (n) => n >= 1 && n <= 1000 }),
        Config.withDefault(10)
      )
      const prepareStatements = yield* Config.boolean("SVC_DATABASE_PREPARE").pipe(Config.withDefault(true))
      if (Option.isSome(url) && Redacted.value(url.value).trim() !== "") {
        const displayName = yield* nameOf(url.value)
        const connection = { url: url.value, connections, prepareStatements, displayName, setting: "SVC_DATABASE_URL" }
        return migrated(connection, false)
      }
      const embedded = yield* EmbeddedPostgres.start({ dir: path.join(folder, "postgres") })
      const displayName = `the embedded database in ${folder}`
      return migrated(
        { url: Redacted.make(embedded.url), connections, prepareStatements, displayName },
        embedded.launched
      )
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

/** The error of the system, of TLS or of PostgreSQL inside an error of the SQL client. */
const rootOf = (error: SqlError.SqlError): { readonly code: string; readonly message: string } => {
  const { cause } = error
  // When all addresses of a host name fail, Node reports one error with an empty message.
  const first = cause instanceof AggregateError && cause.errors[0] instanceof Error ? cause.errors[0] : cause
  if (!(first instanceof Error)) return { code: "", message: error.message }
  return { code: "code" in first ? String(first.code) : "", message: first.message }
}

const network = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENOENT"])

/** Whether a retry may succeed: network errors, a server that starts, stops or is full; not a wrong password. */
const isTransient = (error: SqlError.SqlError): boolean => {
  const { code, message } = rootOf(error)
  return network.has(code) || /^(08|53|57)/.test(code) || /timed? ?out|timeout|Connection terminated/i.test(message)
}

const connectRetries = Schedule.spaced("500 millis").pipe(Schedule.upTo("10 seconds"))

/** What to do about an error of a database that is named in a setting; empty when the error says it. */
const adviceOf = (error: SqlError.SqlError, setting: string): string => {
  const { code } = rootOf(error)
  // 28: the user or the password was refused. See the table of SQLSTATE codes in PostgreSQL's manual.
  if (code.startsWith("28")) return `. Correct the user and the password in ${setting}`
  if (code === "3D000") return `. Create the database, or correct ${setting}`
  return isTransient(error) ? `. Check that PostgreSQL runs there and can be reached, or correct ${setting}` : ""
}

const unavailable = ({ displayName, setting }: Connection, error: SqlError.SqlError) =>
  new DatabaseUnavailable({
    message: `Cannot use the database ${displayName}: ${rootOf(error).message}${setting === undefined ? "" : adviceOf(error, setting)}`,
    cause: error
  })

/** Runs a query at once, so that an unreachable server fails here. */
const pool = ({
  connections,
  connectionTimeoutMs = 5_000,
  prepareStatements = true,
  url
}: Connection): Effect.Effect<Pg.Pool, SqlError.SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const names = new StatementNames()
    const pools = yield* DatabasePools
    const pool = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Pg.Pool({
            connectionString: Redacted.value(url),
            max: connections,
            connectionTimeoutMillis: connectionTimeoutMs,
            application_name: "svc",
            types: columnTypes
          })
      ),
      (pool) =>
        Effect.promise(() => {
          pools.delete(pool)
          return pool.end()
        }).pipe(Effect.interruptible, Effect.timeoutOption("1 second"))
    )
    pools.add(pool)
    // Idle connections that break: the pool opens new ones.
    pool.on("error", () => undefined)
    if (prepareStatements) pool.on("connect", (client) => prepare(client, names))
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

/** A pool, without migrations: also for tools and tests. */
export const connect = (
  connection: Connection
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, DatabaseUnavailable> =>
  PgClient.layerFromPool({ acquire: pool(connection), transformJson: false }).pipe(
    Layer.retry(connectRetries.pipe(Schedule.whileInput(isTransient))),
    Layer.catchAll((error) => Layer.fail(unavailable(connection, error)))
  )

const migrated = (connection: Connection, exclusive: boolean) =>
  Layer.effect(
    Database,
    Migrations.run.pipe(
      Effect.retry({
        schedule: connectRetries,
        while: (error) => error instanceof SqlError.SqlError && isTransient(error)
      }),
      Effect.catchTags({
        SqlError: (error) => Effect.fail(unavailable(connection, error)),
        MigrationFailed: (error) => Effect.fail(new DatabaseUnavailable({ message: error.message, cause: error }))
      }),
      Effect.tap((ran) => (ran.length > 0 ? Effect.logDebug(`Migrations ran: ${ran.join(", ")}`) : Effect.void)),
      Effect.as({ exclusive, displayName: connection.displayName })
    )
  ).pipe(Layer.provideMerge(connect(connection)))
