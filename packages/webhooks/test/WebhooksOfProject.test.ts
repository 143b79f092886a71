import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import { Projects } from "@svc/auth/Projects"
import { Effect, Exit } from "effect"
import { Deliveries } from "../src/Deliveries.ts"
import { ProjectWebhooks } from "../src/ProjectWebhooks.ts"
import { Webhooks } from "../src/Webhooks.ts"
import {
  account,
  appendEvents,
  freshUrl,
  historyOf,
  ReceiversInMemory,
  requestsTo,
  until,
  WithWorker,
  webhookOf
} from "./Fixture.ts"

/** A project with a webhook of its own and one limited to it, and webhooks of another project and the organization. */
const webhooksOfProject = Effect.gen(function* () {
  const owner = yield* account
  const webhooks = yield* Webhooks
  const { id: project_id } = yield* Effect.flatMap(Accounts, (accounts) =>
    accounts.createProject(owner.org_id, { name: "Other", description: null })
  )
  const own = yield* Effect.flatMap(ProjectWebhooks, (all) => all.update(owner, { webhook_url: freshUrl() }))
  const limited = (filters: object) =>
    webhooks.create({ org_id: owner.org_id, project_id: null }, { url: freshUrl(), events: ["*"], filters })
  return {
    owner,
    own: { id: own.webhook?.id ?? Number.NaN, url: own.webhook?.url ?? "" },
    limited: yield* limited({ project_id: owner.project_id }),
    ofOtherProject: yield* limited({ project_id }),
    ofOrg: yield* webhookOf(owner)
  }
})

const idsOf = (org_id: number) =>
  Effect.flatMap(Webhooks, (all) =>
    Effect.map(all.list({ org_id, project_id: null }), (rows) => rows.map(({ id }) => id))
  )
const pendingFor = (ids: ReadonlyArray<number>) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`select id from webhook_deliveries where webhook_id = any(${ids}::bigint[])`
  )

layer(WithWorker, { excludeTestServices: true })("the webhooks of a deleted project", (it) => {
  it.effect("are deleted with their pending deliveries; those of the organization and of other projects stay", () =>
    Effect.gen(function* () {
      const { ofOtherProject, limited, ofOrg, own, owner } = yield* webhooksOfProject
      const { behaviors } = yield* ReceiversInMemory
      const projects = yield* Projects
      const deliveries = yield* Deliveries
      const sql = yield* SqlClient.SqlClient
      for (const { url } of [own, limited]) behaviors.set(url, () => 503)
      const call = yield* newCallId
      yield* appendEvents(owner, ["dead"], call)
      const dead = (id: number) =>
        Effect.map(deliveries.deadLetters(historyOf(id), { limit: 10, after: undefined }), ({ items }) => items.length)
      for (const { id } of [own, limited]) yield* until(dead(id), (count) => count === 1)

      yield* projects.remove(owner.org_id, String(owner.project_id))
      expect(yield* idsOf(owner.org_id)).toEqual([ofOrg.id, ofOtherProject.id])
      expect(
        yield* sql`
          select id from webhook_dead_letters where webhook_id = any(${[own.id, limited.id]}::bigint[])`
      ).toEqual([])
      const requests = yield* requestsTo(own.url)
      // Later events of its calls reach only the webhook of the organization.
      yield* appendEvents(owner, ["after"], call)
      yield* until(requestsTo(ofOrg.url), (all) => all.some(({ data }) => data["action"] === "after"))
      yield* until(pendingFor([own.id, limited.id]), (rows) => rows.length === 0)
      expect(yield* requestsTo(own.url)).toEqual(requests)
      // The call keeps its history.
      const records = yield* deliveries.ofCall(call)
      expect(records.filter(({ url }) => url === own.url)).toHaveLength(4)
    })
  )

  it.effect("have no retry and no dead letter for an attempt that was in flight", () =>
    Effect.gen(function* () {
      const { own, owner } = yield* webhooksOfProject
      const { held, behaviors } = yield* ReceiversInMemory
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      behaviors.set(own.url, () => "held")
      yield* appendEvents(owner, ["in flight"])
      yield* until(requestsTo(own.url), (all) => all.length === 1)
      yield* projects.remove(owner.org_id, String(owner.project_id))
      expect(yield* pendingFor([own.id])).toHaveLength(1)
      for (const answer of held) answer(503)
      yield* until(pendingFor([own.id]), (rows) => rows.length === 0)
      expect(yield* requestsTo(own.url)).toHaveLength(1)
      expect(yield* sql`select id from webhook_dead_letters where webhook_id = ${own.id}`).toEqual([])
    })
  )

  it.scoped("stay when the deletion is rolled back", () =>
    Effect.gen(function* () {
      const { ofOtherProject, limited, ofOrg, own, owner } = yield* webhooksOfProject
      const projects = yield* Projects
      yield* projects.onDelete("test", ({ id }) => (id === owner.project_id ? Effect.die("no") : Effect.void))
      expect(Exit.isFailure(yield* Effect.exit(projects.remove(owner.org_id, String(owner.project_id))))).toBe(true)
      expect(yield* idsOf(owner.org_id)).toEqual([ofOrg.id, ofOtherProject.id, limited.id, own.id])
      yield* appendEvents(owner, ["one"])
      for (const { url } of [own, limited, ofOrg]) yield* until(requestsTo(url), (all) => all.length === 1)
    })
  )
})
