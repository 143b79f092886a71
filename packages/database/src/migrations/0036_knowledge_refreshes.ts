import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** For the limit on refreshes of one organization at once, which each claim of a knowledge base checks. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index knowledge_bases_running on knowledge_bases (org_id) where leased_by is not null`
})
