import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Indexes for lists of calls by project or agent, with filters for status, disposition and time: a page costs the same
 * however many calls there are. See the call-engine package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`drop index calls_project`
  yield* sql`drop index calls_agent`
  yield* sql`create index calls_project on calls (project_id, started_at desc, id desc)`
  yield* sql`create index calls_project_status on calls (project_id, status, started_at desc, id desc)`
  yield* sql`create index calls_project_disposition on calls (project_id, disposition, started_at desc, id desc)`
  yield* sql`create index calls_agent on calls (agent_id, started_at desc, id desc)`
  yield* sql`create index calls_agent_status on calls (agent_id, status, started_at desc, id desc)`
})
