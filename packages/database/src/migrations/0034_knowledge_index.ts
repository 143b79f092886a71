import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The index by which passages are found: words and trigrams of each knowledge base. Built by the database alone, so that
 * a large base does not occupy the thread of the calls; needs no extension.
 *
 * `knowledge_terms.postings` has 4 bytes for each passage with the term, in the order of positions: the position and the
 * weight of the term there (0 to 3,000, in thousandths), both as unsigned 16-bit numbers, most significant byte first.
 * The weight is that of BM25 without the rarity of the term, which depends on the bases that are searched together:
 * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average length)), with k1 = 1.2 and b = 0.6. A word of a heading counts
 * three times.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table knowledge_indexes (
      knowledge_base_id bigint primary key references knowledge_bases (id) on delete cascade,
      -- The text search configuration of the base's language, or simple.
      config regconfig not null,
      passages integer not null
    )`
  yield* sql`
    create table knowledge_terms (
      knowledge_base_id bigint not null references knowledge_bases (id) on delete cascade,
      term text collate "C" not null,
      -- The number of passages with the term.
      passages integer not null,
      postings bytea not null,
      primary key (knowledge_base_id, term)
    )`
  yield* sql`
    create table knowledge_trigrams (
      knowledge_base_id bigint not null references knowledge_bases (id) on delete cascade,
      trigram text collate "C" not null,
      -- The terms of the base that have it.
      terms text[] not null,
      primary key (knowledge_base_id, trigram)
    )`

  yield* sql`create index knowledge_passages_place on knowledge_passages (knowledge_base_id, position)`

  // Words compare without case and diacritics: \u0300 to \u036f are combining marks.
  yield* sql`
    create function knowledge_fold(word text) returns text language sql immutable parallel safe return
      regexp_replace(
        normalize(
          replace(replace(replace(translate(lower(word), 'øłđð', 'oldd'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), NFKD),
        '[\u0300-\u036f]', '', 'g')`

  yield* sql`
    create function knowledge_trigrams_of(term text) returns setof text language sql immutable parallel safe as $$
      select distinct substr('  ' || term || ' ', n, 3) from generate_series(1, length(term) + 1) n
    $$`

  // The configuration whose stop words a text has most of. Running text of a language has far more than a fifth.
  yield* sql`
    create function knowledge_config_of(sample text) returns regconfig language sql stable as $$
      with words as (
        select lower(word) as word from regexp_split_to_table(sample, '[^[:alpha:]]+') word where word <> '' limit 2000
      ), counted as (
        select name, count(*) filter (where ts_lexize((name || '_stem')::regdictionary, word) = '{}') as stops,
          count(*) as words
        from words, unnest(array[
          'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'italian', 'norwegian', 'portuguese', 'spanish',
          'swedish']) name
        group by name
      )
      select coalesce(
        (select name from counted where stops * 5 >= words order by stops desc, name limit 1), 'simple')::regconfig
    $$`

  yield* sql`
    create function knowledge_index(base bigint) returns void language plpgsql as $$
    declare
      language regconfig;
    begin
      delete from knowledge_trigrams where knowledge_base_id = base;
      delete from knowledge_terms where knowledge_base_id = base;
      select knowledge_config_of(string_agg(concat_ws(' ', heading, text), ' ')) into language from (
        select heading, text from knowledge_passages where knowledge_base_id = base order by position limit 30
      ) as first;
      insert into knowledge_indexes (knowledge_base_id, config, passages)
      select base, language, count(*) from knowledge_passages where knowledge_base_id = base
      on conflict (knowledge_base_id) do update set config = excluded.config, passages = excluded.passages;

      insert into knowledge_terms (knowledge_base_id, term, passages, postings)
      with occurrence as (
        select position, knowledge_fold(lexeme) as term,
          sum(3 * coalesce(array_length(array_positions(weights, 'A'), 1), 0)
            + coalesce(array_length(array_positions(weights, 'D'), 1), 0)) as frequency
        from knowledge_passages,
          unnest(setweight(to_tsvector(language, coalesce(heading, '')), 'A') || to_tsvector(language, text))
        where knowledge_base_id = base
        group by 1, 2
      ), length as (
        select position, sum(frequency) as terms, avg(sum(frequency)) over () as average from occurrence group by 1
      )
      select base, term, count(*), string_agg(
        int2send(position::int2) || int2send(round(
          1000 * frequency * 2.2 / (frequency + 1.2 * (0.4 + 0.6 * terms / average)))::int2),
        ''::bytea order by position)
      from occurrence join length using (position)
      where term <> ''
      group by term;

      insert into knowledge_trigrams (knowledge_base_id, trigram, terms)
      select base, trigram, array_agg(term)
      from knowledge_terms, knowledge_trigrams_of(term) trigram
      where knowledge_base_id = base and length(term) between 4 and 40
      group by trigram;
    end $$`
  yield* sql`select knowledge_index(id) from knowledge_bases where deleted_at is null`
})
