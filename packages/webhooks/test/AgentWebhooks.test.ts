import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { apiVersion } from "@svc/api/events/Event"
import { newAgentId } from "@svc/api/Ids"
import { hintOf } from "@svc/api/SecretHint"
import { Accounts } from "@svc/auth/Accounts"
import * as AuthSlice from "@svc/auth/AuthSlice"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, Effect, Exit, Layer, Option } from "effect"
import { AgentWebhooks } from "../src/AgentWebhooks.ts"
import * as WebhooksSlice from "../src/WebhooksSlice.ts"

const Test = Layer.merge(WebhooksSlice.agentWebhooks, AuthSlice.accounts).pipe(Layer.provideMerge(TestDatabase.layer))

const project = Effect.gen(function* () {
  const accounts = yield* Accounts
  const balance_eur = BigDecimal.fromBigInt(0n)
  const org = yield* accounts.createOrganization({ name: "Acme", tier: "payg", balance_eur })
  const { id } = yield* accounts.createProject(org.id, { name: "Default", description: null })
  return { org_id: org.id, project_id: id }
})

const agentOf = (owner: { readonly org_id: number; readonly project_id: number }) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const public_id = yield* newAgentId
    const [row] = yield* sql<{ readonly id: number }>`
      insert into agents ${sql.insert({
        ...owner,
        public_id,
        name: "Reception",
        name_folded: "reception",
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false,
        server_url: "https://example.com",
        server_secret: "secret"
      })} returning id`
    return { ...owner, public_id, id: row?.id ?? Number.NaN }
  })

const webhookOf = (agentId: number) =>
  Effect.flatMap(AgentWebhooks, (agentWebhooks) =>
    Effect.map(agentWebhooks.ofAgents([agentId]), (found) => Option.fromNullable(found.get(agentId)))
  )

const webhook = { url: "https://example.com/events", events: ["call.ended"] }

layer(Test)("AgentWebhooks", (it) => {
  it.effect("putOfAgent creates a row that the agent manages, with its own secret", () =>
    Effect.gen(function* () {
      const agentWebhooks = yield* AgentWebhooks
      const sql = yield* SqlClient.SqlClient
      const agent = yield* agentOf(yield* project)
      const made = yield* agentWebhooks.put(agent, webhook)
      expect(made).toMatchObject({ ...webhook, agent_id: agent.id, project_id: agent.project_id, is_active: true })
      expect(made.secret).toMatch(/^[0-9a-f]{64}$/)
      expect(hintOf(made.secret)).toBe(`...${made.secret.slice(56)}`)
      expect(
        yield* sql`
          select is_agent_managed, is_project_managed, filters, failure_count, consecutive_failures, disabled_reason,
            last_failure_at, api_version
          from webhooks where id = ${made.id}`
      ).toEqual([
        {
          is_agent_managed: true,
          is_project_managed: false,
          filters: { agent_id: agent.id },
          failure_count: 0,
          consecutive_failures: 0,
          disabled_reason: null,
          last_failure_at: null,
          api_version: apiVersion
        }
      ])
      expect(yield* webhookOf(agent.id)).toEqual(Option.some(made))
    })
  )

  it.effect("concurrent putOfAgent create one webhook, which keeps the first secret", () =>
    Effect.gen(function* () {
      const agentWebhooks = yield* AgentWebhooks
      const agent = yield* agentOf(yield* project)
      const puts = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, i) => `https://example.com/${i}`),
        (url) => agentWebhooks.put(agent, { ...webhook, url }),
        { concurrency: "unbounded" }
      )
      expect(new Set(puts.map(({ id }) => id)).size).toBe(1)
      expect(new Set(puts.map(({ secret }) => secret)).size).toBe(1)
    })
  )

  it.effect("rotateSecret sets a new secret, and remove deletes the webhook with it", () =>
    Effect.gen(function* () {
      const agentWebhooks = yield* AgentWebhooks
      const agent = yield* agentOf(yield* project)
      expect(yield* agentWebhooks.rotateSecret(agent.id)).toEqual(Option.none())
      yield* agentWebhooks.remove(agent.id)
      const made = yield* agentWebhooks.put(agent, webhook)
      const rotated = Option.getOrThrow(yield* agentWebhooks.rotateSecret(agent.id))
      expect(rotated.id).toBe(made.id)
      expect(rotated.secret).not.toBe(made.secret)
      yield* agentWebhooks.remove(agent.id)
      expect(yield* webhookOf(agent.id)).toEqual(Option.none())
      const again = yield* agentWebhooks.put(agent, webhook)
      expect([made.secret, rotated.secret]).not.toContain(again.secret)
    })
  )

  it.effect("putOfAgent is part of the caller's transaction", () =>
    Effect.gen(function* () {
      const agentWebhooks = yield* AgentWebhooks
      const sql = yield* SqlClient.SqlClient
      const agent = yield* agentOf(yield* project)
      const rolledBack = sql.withTransaction(Effect.zipRight(agentWebhooks.put(agent, webhook), Effect.fail("no")))
      expect(Exit.isFailure(yield* Effect.exit(rolledBack))).toBe(true)
      expect(yield* webhookOf(agent.id)).toEqual(Option.none())
    })
  )

  it.effect("ofAgents finds webhooks of many agents, and removeAllOfProject removes those of a project", () =>
    Effect.gen(function* () {
      const agentWebhooks = yield* AgentWebhooks
      const sql = yield* SqlClient.SqlClient
      const [mine, theirs] = [yield* project, yield* project]
      const [a, b, c] = [yield* agentOf(mine), yield* agentOf(mine), yield* agentOf(theirs)]
      for (const agent of [a, c]) yield* agentWebhooks.put(agent, webhook)
      // Limited to the project, but not managed by an agent: it must stay.
      yield* sql`
        insert into webhooks (org_id, project_id, url, events, secret, api_version)
        values (${mine.org_id}, ${mine.project_id}, 'https://example.com', array['*'], 's', ${apiVersion})`
      const found = yield* agentWebhooks.ofAgents([a.id, b.id, c.id])
      expect([...found.keys()].sort()).toEqual([a.id, c.id].sort())
      expect(yield* agentWebhooks.ofAgents([])).toEqual(new Map())
      yield* agentWebhooks.removeAllOfProject(mine.project_id)
      expect([...(yield* agentWebhooks.ofAgents([a.id, c.id])).keys()]).toEqual([c.id])
      expect(yield* sql`select agent_id from webhooks where project_id = ${mine.project_id}`).toEqual([
        { agent_id: null }
      ])
    })
  )
})
