import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * A message belongs to the node that sends it, as long as its status is `sending`; another node ends the messages of a
 * dead one. So the row has everything that this needs. See docs/reference/numbers-and-messages.md.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table sms_messages
      -- Null in rows of earlier versions.
      add column node text,
      -- What it costs if it is sent; its hold. Null in rows of earlier versions.
      add column price_eur numeric(12, 4),
      -- The caller's number, for a message of a call.
      add column caller_number text,
      -- The project's number, also where a name is the sender. Null in rows of earlier versions.
      add column number text,
      -- How often a node took it over from a dead one.
      add column takeovers integer not null default 0`
  yield* sql`create index sms_messages_sending on sms_messages (id) where status = 'sending'`
  // A message is refused while its project is being deleted, as agents and numbers are (0023).
  yield* sql`
    create trigger sms_messages_live_project before insert on sms_messages
    for each row execute function require_live_project()`
})
