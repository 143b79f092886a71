import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Requests to the agent's server during a call and its answers, for the debug page. See the call-engine package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table callback_exchanges (
      id bigint generated always as identity primary key,
      call_id bigint not null references calls on delete cascade,
      event text not null,
      started_at timestamptz not null,
      duration_ms integer not null,
      status integer,
      error text,
      request text not null,
      response text
    )`
  yield* sql`create index callback_exchanges_call on callback_exchanges (call_id, id)`
  yield* sql`create index callback_exchanges_age on callback_exchanges (started_at)`
})
