import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Index to find the live calls of an agent. See the call-engine package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index calls_live_agent on calls (agent_id) where ended_at is null`
})
