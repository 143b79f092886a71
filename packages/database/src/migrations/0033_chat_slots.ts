import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Slots of chat completions that run now, numbered from 1 in each organization: the key is the limit. `node_id` is the
 * lease of the node that runs the completion. Unlogged: no completion survives a crash of the database's server for long.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create unlogged table chat_slots (
      org_id bigint not null,
      slot integer not null,
      completion_id text not null,
      node_id text not null,
      primary key (org_id, slot)
    )`
})
