import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The index of a knowledge base is one row, which the process that searches keeps in memory: `terms` are the terms in
 * byte order, one a line; `counts` is the number of passages with each, an unsigned 16-bit number, most significant byte
 * first; `postings` are those of the migration knowledge_index, of all terms one after the other. `version` changes with
 * the index and is never used again. See docs/decisions/0023-knowledge-index-in-memory.md.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create sequence knowledge_index_versions`
  yield* sql`
    alter table knowledge_indexes
      add column version bigint not null default nextval('knowledge_index_versions'),
      add column terms text not null default '',
      add column counts bytea not null default '',
      add column postings bytea not null default ''`
  // Numbers are hardly smaller compressed.
  yield* sql`alter table knowledge_indexes alter column postings set storage external`
  yield* sql`
    update knowledge_indexes set terms = entry.terms, counts = entry.counts, postings = entry.postings
    from (
      select knowledge_base_id, string_agg(term, E'\n' order by term) as terms,
        string_agg(int2send(passages::int2), ''::bytea order by term) as counts,
        string_agg(postings, ''::bytea order by term) as postings
      from knowledge_terms group by 1
    ) as entry
    where entry.knowledge_base_id = knowledge_indexes.knowledge_base_id`
  yield* sql`drop table knowledge_terms`
  yield* sql`drop table knowledge_trigrams`
  yield* sql`drop function knowledge_trigrams_of(text)`

  yield* sql`
    create or replace function knowledge_index(base bigint) returns void language plpgsql as $$
    declare
      language regconfig;
    begin
      select knowledge_config_of(string_agg(concat_ws(' ', heading, text), ' ')) into language from (
        select heading, text from knowledge_passages where knowledge_base_id = base order by position limit 30
      ) as first;

      insert into knowledge_indexes (knowledge_base_id, config, passages, terms, counts, postings)
      with occurrence as (
        select position, knowledge_fold(lexeme) collate "C" as term,
          sum(3 * coalesce(array_length(array_positions(weights, 'A'), 1), 0)
            + coalesce(array_length(array_positions(weights, 'D'), 1), 0)) as frequency
        from knowledge_passages,
          unnest(setweight(to_tsvector(language, coalesce(heading, '')), 'A') || to_tsvector(language, text))
        where knowledge_base_id = base
        group by 1, 2
      ), length as (
        select position, sum(frequency) as terms, avg(sum(frequency)) over () as average from occurrence group by 1
      ), entry as (
        select term, count(*) as passages, string_agg(
          int2send(position::int2) || int2send(round(
            1000 * frequency * 2.2 / (frequency + 1.2 * (0.4 + 0.6 * terms / average)))::int2),
          ''::bytea order by position) as postings
        from occurrence join length using (position)
        where term <> ''
        group by term
      )
      select base, language, (select count(*) from knowledge_passages where knowledge_base_id = base),
        coalesce(string_agg(term, E'\n' order by term), ''),
        coalesce(string_agg(int2send(passages::int2), ''::bytea order by term), ''),
        coalesce(string_agg(postings, ''::bytea order by term), '')
      from entry
      on conflict (knowledge_base_id) do update set config = excluded.config, passages = excluded.passages,
        version = nextval('knowledge_index_versions'), terms = excluded.terms, counts = excluded.counts,
        postings = excluded.postings;
    end $$`
})
