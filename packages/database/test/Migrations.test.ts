import { readdirSync } from "node:fs"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Migrations from "../src/Migrations.ts"
import { TestDatabase } from "../src/TestDatabase.ts"
import { pool } from "../src/TestServer.ts"

const names = Object.keys(Migrations.migrations)

describe("Migrations", () => {
  it("every file of the folder is in the list under its name, and the other way round", () => {
    const files = readdirSync(new URL("../src/migrations", import.meta.url)).map((file) => file.replace(/\.ts$/, ""))
    expect(names).toEqual(files.sort())
  })

  it("numbers are unique and ascend from 1", () => {
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, index) => index + 1))
    expect(names.filter((name) => !/^[0-9]{4}_[a-z_]+$/.test(name))).toEqual([])
  })

  /** An empty database with independent pools, as several servers have. */
  const emptyDatabase = Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabase.freshUrl)
    yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`drop schema public cascade; create schema public`).pipe(
      Effect.provide(pool(url, 1))
    )
    return pool(url, 2)
  })

  it.scoped("each migration runs once when servers start at once on an empty database", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      const start = Effect.provide(Migrations.run, server)
      const ran = yield* Effect.all([start, start, start, start], { concurrency: "unbounded" })
      expect(ran.flat().sort()).toEqual(names)
      expect(ran.filter((list) => list.length > 0)).toHaveLength(1)
    })
  )

  it.scoped("a migration runs that was listed after a later-numbered one was applied", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      yield* Effect.provide(Migrations.run, server)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`drop table events`
        yield* sql`delete from migrations where name = '0001_outbox'`
      }).pipe(Effect.provide(server))
      expect(yield* Effect.provide(Migrations.run, server)).toEqual(["0001_outbox"])
    })
  )

  it.scoped("a migration that fails is named, and the schema stays unchanged", () =>
    Effect.gen(function* () {
      const server = yield* emptyDatabase
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`create table nodes (other int)`).pipe(
        Effect.provide(server)
      )
      const error = yield* Effect.flip(Effect.provide(Migrations.run, server))
      expect(error).toMatchObject({ _tag: "MigrationFailed", name: "0002_nodes" })
      const left = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`select table_name from information_schema.tables where table_schema = 'public'`
      ).pipe(Effect.provide(server))
      expect(left).toEqual([{ table_name: "nodes" }])
    })
  )

  /** Runs all migrations before the one of this name on an empty database. */
  const before = (name: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create table migrations (name text primary key, applied_at timestamptz not null default now())`
      for (const [other, migration] of Object.entries(Migrations.migrations)) {
        if (other === name) return
        yield* migration
        yield* sql`insert into migrations (name) values (${other})`
      }
    })

  it.scoped(
    "events that still waited for it become deliveries to the webhooks that want them, once, in their order",
    () =>
      Effect.gen(function* () {
        const server = yield* emptyDatabase
        const name = names.find((one) => one.endsWith("_direct_deliveries")) ?? ""
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* before(name)
          yield* sql`
          insert into organizations (public_id, name, tier) values ('org_1', 'Acme', 'payg'), ('org_2', 'Other', 'payg')`
          yield* sql`insert into projects (public_id, org_id, name) values ('proj_1', 1, 'A'), ('proj_2', 1, 'B')`
          yield* sql`
          insert into agents (public_id, org_id, project_id, name, name_folded, language, voice, max_duration, recording,
            end_call_enabled, server_url, server_secret)
          select 'agent_' || n, 1, 1, n, n, 'en-US', 'Sarah', 1800, false, false, 'https://example.com', 's'
          from unnest(array['1', '2']) n`
          yield* sql`
          insert into webhooks (url, org_id, project_id, agent_id, agent_public_id, events, is_agent_managed,
            is_project_managed, is_active, secret, api_version)
          select *, 's', '2026-11-01' from (values
            ('all', 1, null::bigint, null::bigint, null, array['*'], false, false, true),
            ('ended', 1, null, null, null, array['call.ended', 'call.started'], false, false, true),
            ('inactive', 1, null, null, null, array['*'], false, false, false),
            ('of project 1', 1, 1, null, null, array['*'], false, false, true),
            ('of project 2', 1, 2, null, null, array['*'], false, false, true),
            ('of agent 1', 1, null, 1, 'agent_1', array['*'], false, false, true),
            ('managed by agent 1', 1, 1, 1, 'agent_1', array['*'], true, false, true),
            ('of agent 2', 1, null, 2, 'agent_2', array['*'], false, false, true),
            ('managed by project 1', 1, 1, null, null, array['call.ended', 'knowledge_base.refreshed'], false, true, true),
            ('of the other', 2, null, null, null, array['*'], false, false, true)
          ) as webhook`
          yield* sql`
          insert into events (id, event, api_version, org_id, project_id, agent_id, call_id, data, created_at)
          select id, event, '2026-11-01', org_id, project_id, agent_id, call_id, '{}', now() from (values
            ('done', 'call.started', 1, 1, 'agent_1', 'call_1'),
            ('ended', 'call.ended', 1, 1, 'agent_1', 'call_1'),
            ('customer', 'booking_customer.created', 1, null, null, null),
            ('knowledge', 'knowledge_base.refreshed', 1, 1, 'agent_1', null),
            ('theirs', 'call.ended', 2, 3, 'agent_3', 'call_2')
          ) as e (id, event, org_id, project_id, agent_id, call_id)`
          // The event that has a delivery already keeps it.
          yield* sql`insert into outbox select seq from events where id <> 'done'`
          yield* sql`
          insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, attempts, next_at, leased_by)
          select 1, seq, id, event, org_id, call_id, 1, now(), 'node_1' from events where id = 'done'`

          expect((yield* Migrations.run)[0]).toBe(name)

          const deliveries = yield* sql<{ readonly event: string; readonly webhook: string }>`
          select d.event_id as event, h.url as webhook from webhook_deliveries d join webhooks h on h.id = d.webhook_id
          order by d.id`
          expect(deliveries.map(({ event, webhook }) => `${event}: ${webhook}`)).toEqual([
            "done: all",
            "ended: all",
            "ended: ended",
            "ended: of project 1",
            "ended: of agent 1",
            "ended: managed by agent 1",
            "ended: managed by project 1",
            "customer: all",
            "knowledge: all",
            "knowledge: of project 1",
            "knowledge: of agent 1",
            "knowledge: managed by project 1",
            "theirs: of the other"
          ])
          const made = yield* sql`
          select distinct attempts, leased_by, next_at <= now() as is_due, is_replay or is_resend as is_again, seq = event_seq
            and e.event = d.event and e.org_id = d.org_id and e.call_id is not distinct from d.call_id as is_whole
          from webhook_deliveries d join events e on e.id = d.event_id where e.id <> 'done'`
          expect(made).toEqual([{ attempts: 0, leased_by: null, is_due: true, is_again: false, is_whole: true }])
          expect(yield* sql`select attempts, leased_by from webhook_deliveries where event_id = 'done'`).toEqual([
            { attempts: 1, leased_by: "node_1" }
          ])
          expect(yield* sql`select to_regclass('outbox') as outbox`).toEqual([{ outbox: null }])
          expect(yield* Migrations.run).toEqual([])
        }).pipe(Effect.provide(server))
      })
  )

  it.effect("every table with a foreign key to projects refuses inserts into a deleted project", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const unprotected = yield* sql`
        select conrelid::regclass::text as table from pg_constraint c
        where contype = 'f' and confrelid = 'projects'::regclass and not exists (
          select 1 from pg_trigger t join pg_proc p on p.oid = t.tgfoid
          where t.tgrelid = c.conrelid and p.proname = 'require_live_project')`
      expect(unprotected).toEqual([])
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
