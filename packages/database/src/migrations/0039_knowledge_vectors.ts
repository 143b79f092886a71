import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Vectors of passages, by embedding models. `knowledge_models` are the models of plugins: one that no server has loaded
 * for a week is deleted with its vectors. `knowledge_embeddings` is the state of a base for a model: `next_at` is when its
 * missing vectors are made, null when none is missing; a claim moves it forward and counts `claim` up. `version` changes
 * with the vectors. `knowledge_vectors.vector` has 32-bit floating-point numbers, least significant byte first, and the
 * length 1; `code` has 1, 2 or 4 bits for each. See docs/decisions/0024-vectors-by-codes.md.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table knowledge_models (
      id integer generated always as identity primary key,
      model text not null,
      dimensions integer not null,
      seen_at timestamptz not null default now(),
      unique (model, dimensions)
    )`
  yield* sql`
    create table knowledge_embeddings (
      knowledge_base_id bigint not null references knowledge_bases (id) on delete cascade,
      model_id integer not null references knowledge_models (id) on delete cascade,
      -- 0 until there are vectors.
      version bigint not null default 0,
      next_at timestamptz default now(),
      leased_by text,
      claim integer not null default 0,
      -- Attempts in a row that left vectors missing.
      attempts integer not null default 0,
      last_error text,
      primary key (knowledge_base_id, model_id)
    )`
  yield* sql`create index knowledge_embeddings_due on knowledge_embeddings (model_id, next_at) where next_at is not null`
  yield* sql`create index knowledge_embeddings_leased on knowledge_embeddings (leased_by) where leased_by is not null`
  yield* sql`
    create table knowledge_vectors (
      knowledge_base_id bigint not null,
      model_id integer not null,
      -- Of the passage.
      content_hash bytea not null,
      code bytea not null,
      vector bytea not null,
      primary key (knowledge_base_id, model_id, content_hash),
      foreign key (knowledge_base_id, model_id) references knowledge_embeddings on delete cascade
    )`
  // Numbers are hardly smaller compressed.
  yield* sql`alter table knowledge_vectors alter column vector set storage external`
})
