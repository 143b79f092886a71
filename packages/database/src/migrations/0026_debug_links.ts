import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Links to debug pages: several of a call, each with the scope of the key that made it, and revocable. Only the SHA-256 of
 * a token is stored. The token that each call had goes on working with all content, as before. See the call-engine
 * package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table debug_links (
      id bigint generated always as identity primary key,
      call_id bigint not null references calls on delete cascade,
      scope text not null check (scope in ('full', 'read')),
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      created_at timestamptz not null default now(),
      revoked_at timestamptz
    )`
  yield* sql`create index debug_links_call on debug_links (call_id)`
  yield* sql`
    insert into debug_links (call_id, scope, token_hash, created_at)
    select id, 'full', sha256(convert_to(debug_token, 'UTF8')), started_at from calls where debug_token is not null`
  yield* sql`drop index calls_debug_token`
  yield* sql`alter table calls drop column debug_token`
})
