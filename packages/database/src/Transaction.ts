import type { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Runs work in one transaction. A fault of the database is a defect. */
export const atomically =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.catchTag(sql.withTransaction(work), "SqlError", Effect.die)
