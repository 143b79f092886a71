import { expect, layer } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { webhookEvents } from "@svc/api/events/WebhookEvents"
import { newCallId } from "@svc/api/Ids"
import { Outbox } from "@svc/database/Outbox"
import { Effect, Option } from "effect"
import { AgentWebhooks } from "../src/AgentWebhooks.ts"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { ProjectWebhooks } from "../src/ProjectWebhooks.ts"
import { TestDeliveries } from "../src/TestDeliveries.ts"
import { Webhooks } from "../src/Webhooks.ts"
import { account, freshUrl, requestsTo, WithoutWorker } from "./Fixture.ts"

const codeOf = <A, E extends { readonly code: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ code }) => code)

layer(WithoutWorker, { excludeTestServices: true })("Webhooks", (it) => {
  it.effect("create, list, get, update, rotate and remove work on webhooks of the organization", () =>
    Effect.gen(function* () {
      const { agent, org_id, project_id } = yield* account
      const webhooks = yield* Webhooks
      const owner = { org_id, project_id: null }
      const url = freshUrl()
      const made = yield* webhooks.create(owner, {
        url,
        events: ["call.ended", "call.ended"],
        filters: { agent_id: agent.id }
      })
      expect(made.secret).toMatch(/^[0-9a-f]{64}$/)
      expect(made).toMatchObject({
        url,
        events: ["call.ended"],
        filters: { agent_id: agent.id },
        agent_id: agent.id,
        project_id: null,
        is_active: true,
        is_agent_managed: false,
        is_project_managed: false,
        failure_count: 0,
        consecutive_failures: 0,
        disabled_reason: null,
        last_failure_at: null,
        api_version: "2026-11-01"
      })
      const second = yield* webhooks.create(owner, { url, events: ["*", "call.ended"], filters: {} })
      expect(second.events).toEqual(["*"])
      expect((yield* webhooks.list(owner)).map(({ id }) => id)).toEqual([second.id, made.id])
      const changed = yield* webhooks.update(owner, String(made.id), { filters: { project_id }, is_active: false })
      expect(changed).toMatchObject({
        filters: { project_id },
        project_id,
        agent_id: null,
        is_active: false,
        events: ["call.ended"]
      })
      const rotated = yield* webhooks.rotate(owner, String(made.id))
      expect(rotated.secret).not.toBe(made.secret)
      expect(yield* codeOf(webhooks.update(owner, String(made.id), {}))).toBe("BAD_REQUEST")
      yield* webhooks.remove(owner, String(made.id))
      for (const id of [String(made.id), "0", "x", "999999999"]) {
        expect(yield* codeOf(webhooks.get(owner, id))).toBe("WEBHOOK_NOT_FOUND")
      }
      const outsider = yield* account
      expect(yield* codeOf(webhooks.get({ org_id: outsider.org_id, project_id: null }, String(second.id)))).toBe(
        "WEBHOOK_NOT_FOUND"
      )
    })
  )

  it.effect("a project owner sees and creates only webhooks of its project, and filters of others are refused", () =>
    Effect.gen(function* () {
      const { agent, org_id, project_id } = yield* account
      const other = yield* account
      const webhooks = yield* Webhooks
      const org = { org_id, project_id: null }
      const project = { org_id, project_id }
      const ofOrg = yield* webhooks.create(org, { url: freshUrl(), events: ["*"], filters: {} })
      const mine = yield* webhooks.create(project, { url: freshUrl(), events: ["*"], filters: { agent_id: agent.id } })
      expect(mine).toMatchObject({ project_id, filters: { project_id, agent_id: agent.id } })
      expect((yield* webhooks.list(project)).map(({ id }) => id)).toEqual([mine.id])
      expect(yield* codeOf(webhooks.get(project, String(ofOrg.id)))).toBe("WEBHOOK_NOT_FOUND")
      // An update of filters keeps the project.
      const wider = yield* webhooks.update(project, String(mine.id), { filters: {} })
      expect(wider.filters).toEqual({ project_id })
      for (const filters of [{ project_id: other.project_id }, { agent_id: other.agent.id }, { agent_id: 999_999 }]) {
        for (const owner of [org, project]) {
          const error = yield* Effect.flip(webhooks.create(owner, { url: freshUrl(), events: ["*"], filters }))
          const [key] = Object.keys(filters)
          expect(error).toMatchObject({ code: "VALIDATION_ERROR", details: { [`filters.${key}`]: expect.any(String) } })
        }
      }
      const unsafe = yield* Effect.flip(webhooks.create(org, { url: "https://10.0.0.1/", events: ["*"], filters: {} }))
      expect(unsafe.details).toEqual({ url: "url blocked by SSRF filter" })
    })
  )

  it.effect(
    "list includes webhooks managed by agents and projects, which update, rotate and remove refuse with WEBHOOK_MANAGED",
    () =>
      Effect.gen(function* () {
        const { agent, org_id, project_id } = yield* account
        const webhooks = yield* Webhooks
        const owner = { org_id, project_id: null }
        const ofAgent = yield* Effect.flatMap(AgentWebhooks, (all) =>
          all.put(agent, { url: freshUrl(), events: ["*"] })
        )
        const { webhook: ofProject } = yield* Effect.flatMap(ProjectWebhooks, (all) =>
          all.update({ org_id, project_id }, { webhook_url: freshUrl() })
        )
        const ids = [String(ofProject?.id), String(ofAgent.id)]
        expect((yield* webhooks.list(owner)).map(({ id }) => String(id))).toEqual(ids)
        for (const id of ids) {
          expect(yield* codeOf(webhooks.update(owner, id, { is_active: false }))).toBe("WEBHOOK_MANAGED")
          expect(yield* codeOf(webhooks.rotate(owner, id))).toBe("WEBHOOK_MANAGED")
          expect(yield* codeOf(webhooks.remove(owner, id))).toBe("WEBHOOK_MANAGED")
        }
      })
  )

  it.effect(
    "ProjectWebhooks.update creates the webhook of a project once, keeps its secret, and removes it with an empty webhook_url",
    () =>
      Effect.gen(function* () {
        const project = yield* account
        const all = yield* ProjectWebhooks
        expect(yield* all.find(project)).toEqual(Option.none())
        const unset = yield* Effect.flip(all.rotate(project))
        expect(unset.code).toBe("WEBHOOK_URL_REQUIRED")
        expect(unset.message).toContain("webhook_url")
        expect(unset.message).not.toContain("agent")
        expect(yield* codeOf(all.remove(project))).toBe("WEBHOOK_NOT_FOUND")
        expect(yield* codeOf(all.update(project, { webhook_events: ["call.ended"] }))).toBe("VALIDATION_ERROR")
        expect(yield* codeOf(all.update(project, {}))).toBe("BAD_REQUEST")
        const url = freshUrl()
        const both = yield* Effect.all(
          [all.update(project, { webhook_url: url }), all.update(project, { webhook_url: url })],
          {
            concurrency: "unbounded"
          }
        )
        const secrets = both.flatMap(({ secret }) => secret ?? [])
        expect(secrets).toHaveLength(1)
        const webhook = Option.getOrThrow(yield* all.find(project))
        expect(webhook).toMatchObject({ url, secret: secrets[0], is_project_managed: true, events: webhookEvents })
        const { secret, webhook: after } = yield* all.update(project, { webhook_events: ["call.started"] })
        expect(secret).toBeUndefined()
        expect(after).toMatchObject({ id: webhook.id, url, events: ["call.started"], secret: webhook.secret })
        expect((yield* all.rotate(project)).secret).not.toBe(webhook.secret)
        expect((yield* all.update(project, { webhook_url: "" })).webhook).toBeUndefined()
        expect(yield* all.find(project)).toEqual(Option.none())
      })
  )

  it.effect("agents get events of their calls, projects their own, and the organization all", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const { agent, org_id, project_id } = owner
      const outbox = yield* Outbox
      const queue = yield* QueueRepo
      const webhooks = yield* Webhooks
      const other = yield* account
      const everything = ["*"] as const
      const org = yield* webhooks.create(
        { org_id, project_id: null },
        { url: freshUrl(), events: everything, filters: {} }
      )
      const outsider = yield* webhooks.create(
        { org_id: other.org_id, project_id: null },
        { url: freshUrl(), events: everything, filters: {} }
      )
      const filtered = yield* webhooks.create(
        { org_id, project_id },
        { url: freshUrl(), events: everything, filters: {} }
      )
      const ofAgent = yield* Effect.flatMap(AgentWebhooks, (all) =>
        all.put(agent, { url: freshUrl(), events: everything })
      )
      const { webhook: ofProject } = yield* Effect.flatMap(ProjectWebhooks, (all) =>
        all.update({ org_id, project_id }, { webhook_url: freshUrl() })
      )
      const names = new Map([
        [org.id, "org"],
        [outsider.id, "stranger"],
        [filtered.id, "filtered"],
        [ofAgent.id, "agent"],
        [ofProject?.id ?? 0, "project"]
      ])
      const call_id = yield* newCallId
      const common = { org_id, call_id, timestamp: "2026-11-01T09:30:00.000Z" }
      const drafts: ReadonlyArray<readonly [draft: EventDraft, to: string]> = [
        [
          {
            ...common,
            event: "call.started",
            project_id,
            agent_id: agent.public_id,
            data: eventSamples["call.started"]
          },
          "agent filtered org project"
        ],
        [
          { ...common, event: "call.started", project_id, agent_id: null, data: eventSamples["call.started"] },
          "filtered org project"
        ],
        [
          {
            ...common,
            event: "call.started",
            project_id: project_id + 1_000_000,
            agent_id: null,
            data: eventSamples["call.started"]
          },
          "org"
        ],
        [
          {
            ...common,
            event: "knowledge_base.refreshed",
            project_id,
            agent_id: agent.public_id,
            data: eventSamples["knowledge_base.refreshed"]
          },
          "filtered org project"
        ],
        [
          {
            ...common,
            event: "address.verification.verified",
            project_id,
            agent_id: null,
            data: eventSamples["address.verification.verified"]
          },
          "filtered org project"
        ],
        [
          {
            ...common,
            event: "booking_customer.created",
            project_id: null,
            agent_id: null,
            data: eventSamples["booking_customer.created"]
          },
          "org"
        ]
      ]
      for (const [draft, to] of drafts) {
        yield* outbox.append(draft)
        const claimed = yield* queue.claim({
          node: "n",
          now: new Date(1),
          room: 100,
          roomPerOther: 100,
          roomByWebhook: new Map(),
          isOnlyNode: true
        })
        expect(
          claimed
            .flatMap(({ webhook_id }) => names.get(webhook_id) ?? [])
            .toSorted()
            .join(" "),
          draft.event
        ).toBe(to)
      }
    })
  )

  it.effect("TestDeliveries.send sends the sample of an event once, marked, and does not change failure_count", () =>
    Effect.gen(function* () {
      const { org_id } = yield* account
      const webhooks = yield* Webhooks
      const tests = yield* TestDeliveries
      const webhook = yield* webhooks.create(
        { org_id, project_id: null },
        { url: freshUrl(), events: ["call.ended"], filters: {} }
      )
      for (const event of webhookEvents) {
        const result = yield* tests.send(webhook, event)
        expect(result).toEqual({ success: true, status_code: 200, error: null, delivery_id: expect.any(Number) })
      }
      const requests = yield* requestsTo(webhook.url)
      expect(requests.map(({ event }) => event)).toEqual(webhookEvents)
      for (const request of requests) {
        expect(request.headers["x-svc-test-event"]).toBe("1")
        expect(request.headers["x-svc-replay"]).toBeUndefined()
      }
      expect(requests[2]?.data).toEqual(eventSamples["call.ended"])
      expect(yield* webhooks.get({ org_id, project_id: null }, String(webhook.id))).toMatchObject({ failure_count: 0 })
    })
  )
})
