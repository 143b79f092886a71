import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import * as Migrations from "@svc/database/Migrations"
import { Effect } from "effect"
import { Agents } from "../src/Agents.ts"
import { logOf, owner, Test } from "./Fixture.ts"

layer(Test, { timeout: "60 seconds" })("An upgrade", (it) => {
  it.effect("keeps existing agents, which can be found by name and changed", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      // The schema of the release in which agents had only a name and a server.
      yield* sql`drop table agent_audit_log, agent_knowledge_bases`
      yield* sql`alter table agents drop column has_webhook, drop column has_knowledge_bases, drop column name_folded`
      yield* sql`delete from migrations where name = '0015_agent_configuration'`
      yield* sql`
        insert into agents (
          public_id, org_id, project_id, name, language, voice, max_duration, recording, end_call_enabled, server_url,
          server_secret
        )
        select 'agent_' || substr(md5(name), 1, 24), ${by.org.id}::bigint, ${by.project.id}::bigint, name, 'en-US',
          'Sarah', 1800, false, false, 'https://example.com', repeat('a', 64)
        from unnest(array['Reception', 'CAFÉ', 'Cafe' || U&'\\0301']) name`
      expect(yield* Migrations.run).toEqual(["0015_agent_configuration"])
      const page = yield* agents.list(by.project, { limit: 10, name: "café" })
      expect(page.agents.map(({ name }) => name.normalize("NFC"))).toEqual(["Café", "CAFÉ"])
      const [first] = page.agents
      const changed = yield* agents.update(by, first?.public_id ?? "", {
        name: "Bar",
        webhook_url: "https://hooks.example.com/"
      })
      expect(changed).toMatchObject({ name: "Bar", webhook_url: "https://hooks.example.com/" })
      expect((yield* logOf(by, changed.public_id)).map(({ action }) => action)).toEqual(["updated"])
    })
  )
})
