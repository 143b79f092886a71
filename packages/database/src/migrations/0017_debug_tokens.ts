import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** The token of each call's debug page: 244 random bits. Earlier calls have none. See the call-engine package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table calls add column debug_token text`
  yield* sql`
    alter table calls alter column debug_token
    set default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')`
  yield* sql`create unique index calls_debug_token on calls (debug_token) where debug_token is not null`
})
