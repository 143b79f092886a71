import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Whether an agent has live calls, without looking at those that are over. See the call-engine package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index calls_live_agent on calls (agent_id) where ended_at is null`
})
