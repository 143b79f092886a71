import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * New names go into the index at once. PostgreSQL otherwise keeps them in a list that each search reads until the next
 * vacuum, and its planner then prefers to read all agents.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter index agents_name set (fastupdate = off)`
  yield* sql`select gin_clean_pending_list('agents_name')`
})
