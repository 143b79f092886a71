import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Why a call failed, and what else was wrong in it. See docs/reference/calls.md. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table calls
      add column failure jsonb,
      add column warnings jsonb not null default '[]',
      -- Warnings that were not kept.
      add column warnings_dropped integer not null default 0`
  // The media type of the answer.
  yield* sql`alter table callback_exchanges add column content_type text`
})
