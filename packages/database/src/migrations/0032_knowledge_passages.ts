import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Contents of knowledge bases and the passages that they are cut into. A base has its passages once each, by the SHA-256
 * of heading and text. `next_at` is when a base is refreshed next, null when it is not; a claim moves it forward and
 * counts `claim` up, so that a refresh that lost its claim changes nothing. See the knowledge package.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table knowledge_bases
      add column content text,
      add column entries jsonb,
      add column entries_truncated integer not null default 0,
      add column next_at timestamptz,
      add column leased_by text,
      add column claim integer not null default 0,
      add column attempts integer not null default 0,
      add column deleted_at timestamptz,
      add constraint knowledge_bases_deleted check (deleted_at is null or next_at is null)`
  yield* sql`drop index knowledge_bases_project`
  yield* sql`create index knowledge_bases_project on knowledge_bases (project_id, id desc) where deleted_at is null`
  yield* sql`create index knowledge_bases_due on knowledge_bases (next_at) where next_at is not null`

  yield* sql`
    create table knowledge_passages (
      id bigint generated always as identity primary key,
      knowledge_base_id bigint not null references knowledge_bases (id) on delete cascade,
      -- Those of the base, which refers to them.
      org_id bigint not null,
      project_id bigint not null,
      -- The place in the base, from 0.
      position integer not null,
      -- The headings above the text, outermost first and separated by " > ", or the question of an entry.
      heading text,
      text text not null,
      content_hash bytea not null,
      source_url text,
      created_at timestamptz not null default now(),
      unique (knowledge_base_id, content_hash)
    )`
})
