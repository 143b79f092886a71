import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** The countries that an organization may call and text, in place of SVC_OUTBOUND_COUNTRIES. Null: the server's. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table organizations add column outbound_countries text`
})
