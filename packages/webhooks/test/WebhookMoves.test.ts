import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { newCallId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import { Outbox } from "@svc/database/Outbox"
import { Effect } from "effect"
import { AgentWebhooks } from "../src/AgentWebhooks.ts"
import { Deliveries } from "../src/Deliveries.ts"
import type { WebhookRow } from "../src/WebhookRow.ts"
import { Webhooks } from "../src/Webhooks.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import {
  type Account,
  account,
  appendEvents,
  dtmfEvent,
  freshUrl,
  historyOf,
  ReceiversInMemory,
  requestsTo,
  until,
  WithoutWorker,
  WithWorker,
  webhookOf
} from "./Fixture.ts"

const page = { limit: 50, after: undefined }
const moved = "webhook was limited to another project"

/** Appends an event of `owner`'s project, and one of another project of the organization. */
const appendOfBoth = (owner: Account, other: number) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const clock = yield* Effect.clock
    const timestamp = new Date(clock.unsafeCurrentTimeMillis()).toISOString()
    const own = dtmfEvent(owner, yield* newCallId, "own", timestamp)
    const foreign: EventDraft = { ...dtmfEvent(owner, yield* newCallId, "foreign", timestamp), project_id: other }
    return yield* outbox.appendAll([own, foreign])
  })

const twoProjects = Effect.gen(function* () {
  const owner = yield* account
  const accounts = yield* Accounts
  const { id } = yield* accounts.createProject(owner.org_id, { name: "Other", description: null })
  return { owner, other: id, webhook: yield* webhookOf(owner), org: { org_id: owner.org_id, project_id: null } }
})

const deadLettersOf = (webhookId: number) =>
  Effect.flatMap(Deliveries, (deliveries) =>
    Effect.map(deliveries.deadLetters(historyOf(webhookId), page), ({ items }) =>
      items.map(({ event_id, last_error }) => [event_id, last_error])
    )
  )

const attempts = (webhookId: number) =>
  Effect.flatMap(Deliveries, (deliveries) =>
    Effect.map(deliveries.ofWebhook(historyOf(webhookId), page), ({ deliveries: rows }) => rows)
  )

layer(WithoutWorker, { excludeTestServices: true })("limiting a webhook to a project", (it) => {
  it.effect("resets failure_count and last_failure_at, which belong to its former owner", () =>
    Effect.gen(function* () {
      const { org, other, owner, webhook } = yield* twoProjects
      const webhooks = yield* Webhooks
      const sql = yield* SqlClient.SqlClient
      const id = String(webhook.id)
      const fail = sql`
        update webhooks set failure_count = 7, consecutive_failures = 3, last_failure_at = now() where id = ${webhook.id}`
      const failures = (row: WebhookRow) => [row.failure_count, row.consecutive_failures, row.last_failure_at !== null]
      yield* fail
      expect(failures(yield* webhooks.update(org, id, { filters: { project_id: other } }))).toEqual([0, 0, false])
      yield* fail
      // The same project, then the organization to which it belongs.
      expect(failures(yield* webhooks.update(org, id, { filters: { project_id: other } }))).toEqual([7, 3, true])
      expect(failures(yield* webhooks.update(org, id, { filters: {} }))).toEqual([7, 3, true])
      const own = { filters: { project_id: owner.project_id } }
      expect(failures(yield* webhooks.update(org, id, own))).toEqual([0, 0, false])
    })
  )

  it.effect("makes dead letters of other projects' pending deliveries at once, which project keys do not see", () =>
    Effect.gen(function* () {
      const { org, other, owner, webhook } = yield* twoProjects
      const webhooks = yield* Webhooks
      const deliveries = yield* Deliveries
      const sql = yield* SqlClient.SqlClient
      const [own, foreign] = yield* appendOfBoth(owner, other)
      yield* webhooks.update(org, String(webhook.id), { filters: { project_id: owner.project_id } })
      expect(yield* deadLettersOf(webhook.id)).toEqual([[foreign, moved]])
      expect(
        yield* sql`select event_id, owner_project_id from webhook_deliveries where webhook_id = ${webhook.id}`
      ).toEqual([{ event_id: own, owner_project_id: null }])
      const ofProject = { webhook_id: webhook.id, project_id: owner.project_id }
      expect((yield* deliveries.deadLetters(ofProject, page)).items).toEqual([])
      expect(yield* deliveries.resendAll(ofProject)).toBe(0)
      expect(yield* deliveries.resendAll(historyOf(webhook.id))).toBe(0)
      // Without the limit the organization may send it again.
      yield* webhooks.update(org, String(webhook.id), { filters: {} })
      expect(yield* deliveries.resendAll(historyOf(webhook.id))).toBe(1)
    })
  )

  it.effect("refuses the change, secret and deletion that a key of its former project asked for meanwhile", () =>
    Effect.gen(function* () {
      const { org, other, owner, webhook } = yield* twoProjects
      const webhooks = yield* Webhooks
      const deliveries = yield* Deliveries
      const repo = yield* WebhooksRepo
      yield* webhooks.update(org, String(webhook.id), { filters: { project_id: other } })
      const former = { org_id: owner.org_id, project_id: owner.project_id }
      expect((yield* repo.change(former, webhook.id, { url: freshUrl() }))._tag).toBe("None")
      expect((yield* repo.setSecret(former, webhook.id, "stolen"))._tag).toBe("None")
      expect(yield* repo.delete(former, webhook.id)).toBe(false)
      yield* appendOfBoth(owner, other)
      const range = {
        from: new Date(Date.now() - 3_600_000).toISOString(),
        to: new Date(Date.now() + 60_000).toISOString()
      }
      const history = { webhook_id: webhook.id, project_id: owner.project_id }
      expect(yield* deliveries.replay(history, range)).toBe(0)
      expect(yield* webhooks.get(org, String(webhook.id))).toMatchObject({ url: webhook.url, secret: webhook.secret })
    })
  )

  it.effect("and deleting an agent's webhook leaves no pending delivery or dead letter of it behind", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const agents = yield* AgentWebhooks
      const sql = yield* SqlClient.SqlClient
      for (const remove of [agents.remove(owner.agent.id), agents.removeAllOfProject(owner.project_id)]) {
        const { id } = yield* agents.put(owner.agent, { url: freshUrl(), events: ["*"] })
        yield* appendEvents(owner, ["pending"])
        yield* sql`
          insert into webhook_dead_letters (webhook_id, org_id, event_seq, event_id, event, url, is_replay, attempts, failed_at)
          select webhook_id, org_id, event_seq, event_id, event, '', false, 1, now()
          from webhook_deliveries where webhook_id = ${id}`
        yield* remove
        expect(
          yield* sql`
            select webhook_id from webhook_deliveries where webhook_id = ${id}
            union all select webhook_id from webhook_dead_letters where webhook_id = ${id}`
        ).toEqual([])
      }
    })
  )
})

layer(WithWorker, { excludeTestServices: true })("a delivery in flight while its webhook is limited", (it) => {
  it.effect("to a project whose event it is not is not attempted again", () =>
    Effect.gen(function* () {
      const { org, other, owner, webhook } = yield* twoProjects
      const webhooks = yield* Webhooks
      const { behaviors, held } = yield* ReceiversInMemory
      behaviors.set(webhook.url, () => "held")
      const [own, foreign] = yield* appendOfBoth(owner, other)
      yield* until(requestsTo(webhook.url), (all) => all.length === 2)
      const url = freshUrl()
      const change = { url, filters: { project_id: owner.project_id } }
      yield* webhooks.update(org, String(webhook.id), change)
      for (const answer of held.splice(0)) answer(503)
      yield* until(deadLettersOf(webhook.id), (all) => all.length === 1)
      expect(yield* deadLettersOf(webhook.id)).toEqual([[foreign, moved]])
      yield* until(requestsTo(url), (all) => all.length === 1)
      expect((yield* requestsTo(url)).map(({ event_id }) => event_id)).toEqual([own])
      yield* until(attempts(webhook.id), (all) => all.length === 3)
      const ofProject = { webhook_id: webhook.id, project_id: owner.project_id }
      const seen = yield* Effect.flatMap(Deliveries, (deliveries) => deliveries.ofWebhook(ofProject, page))
      expect(seen.deliveries).toEqual([])
    })
  )
})
