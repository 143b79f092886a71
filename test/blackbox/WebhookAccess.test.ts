import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { eventSamples } from "@svc/api/events/EventSamples"
import { type CallId, newCallId } from "@svc/api/Ids"
import { Outbox } from "@svc/database/Outbox"
import { DeliveryFanOut } from "@svc/webhooks/delivery/DeliveryFanOut"
import { Effect, Layer, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"

/** A project with a key of its own. */
const project = Effect.gen(function* () {
  const { keys, url } = yield* BlackBox
  const org = ApiClient.make(url, keys.org)
  const made = yield* org.post("/v1/org/projects", { name: "Shop" })
  const id = Number(textAt(made.body, "internal_id"))
  const key = yield* org.post(`/v1/org/projects/${textAt(made.body, "id")}/api-keys`, { name: "Shop" })
  return { id, public_id: textAt(made.body, "id"), api: ApiClient.make(url, Redacted.make(textAt(key.body, "key"))) }
})

/** Two projects, the organization's key, and a receiver that refuses what `refuses` says. */
const setting = Effect.gen(function* () {
  const { keys, url } = yield* BlackBox
  const state = { refuses: false }
  const receiver = yield* CustomerServer.start(() => ({
    write: (response) => void response.writeHead(state.refuses ? 410 : 200).end()
  }))
  return { org: ApiClient.make(url, keys.org), a: yield* project, b: yield* project, receiver, state }
})

/** Appends an event of a project, as the server's slices do. */
const append = (project_id: number, ofCall?: CallId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const outbox = yield* Outbox
    const [org] = yield* sql<{ readonly id: number }>`select org_id as id from projects where id = ${project_id}`
    const call_id = ofCall ?? (yield* newCallId)
    const data = { ...eventSamples["call.dtmf.received"], call_id }
    const event = "call.dtmf.received" as const
    const timestamp = new Date().toISOString()
    return yield* outbox.append({ event, org_id: org?.id ?? 0, project_id, agent_id: null, call_id, timestamp, data })
  }).pipe(Effect.provide(Outbox.layer.pipe(Layer.provide(DeliveryFanOut.layer))))

const idsIn = (body: ApiClient.JsonRecord, list: string): ReadonlyArray<unknown> => {
  const rows = at(body, list)
  return Array.isArray(rows) ? rows.map((row) => at(row, "event_id")) : []
}
const deliveriesOf = (api: ApiClient.ApiClient, id: string) =>
  Effect.map(api.get(`/v1/webhooks/${id}/deliveries`), ({ body }) => idsIn(body, "deliveries"))
const deadLettersOf = (api: ApiClient.ApiClient, id: string) =>
  Effect.map(api.get(`/v1/webhooks/${id}/dlq`), ({ body }) => idsIn(body, "items"))

/** Every request about one webhook, with a body that it accepts. */
const requests = (id: string, delivery: string) =>
  [
    ["GET", `/v1/webhooks/${id}`, undefined],
    ["PATCH", `/v1/webhooks/${id}`, { events: ["*"] }],
    ["POST", `/v1/webhooks/${id}/rotate`, undefined],
    ["POST", `/v1/webhooks/${id}/test`, { event_type: "call.ended" }],
    ["GET", `/v1/webhooks/${id}/deliveries`, undefined],
    ["POST", `/v1/webhooks/${id}/deliveries/${delivery}/resend`, undefined],
    ["POST", `/v1/webhooks/${id}/replay`, { from: "2026-11-01T00:00:00Z", to: "2026-11-01T00:00:01Z" }],
    ["GET", `/v1/webhooks/${id}/dlq`, undefined],
    ["POST", `/v1/webhooks/${id}/dlq/resend-all`, undefined],
    ["DELETE", `/v1/webhooks/${id}`, undefined]
  ] as const

/** A webhook of the organization that has delivered an event of each project. */
const delivered = Effect.gen(function* () {
  const all = yield* setting
  const { a, b, org, receiver } = all
  const made = yield* org.post("/v1/webhooks", { url: receiver.url, events: ["*"] })
  const id = textAt(made.body, "webhook.id")
  const events = [yield* append(a.id), yield* append(b.id)]
  yield* eventually("both deliveries", deliveriesOf(org, id), (seen) => seen.length === 2)
  return { ...all, id, events }
})

layer(BlackBox.layer, { excludeTestServices: true, timeout: "60 seconds" })("a webhook", (it) => {
  it.scoped("of the organization is found by no project key, in no request", () =>
    Effect.gen(function* () {
      const { a, id, org } = yield* delivered
      const attempt = textAt((yield* org.get(`/v1/webhooks/${id}/deliveries`)).body, "deliveries.0.id")
      expect((yield* a.api.get("/v1/webhooks")).body).toEqual({ webhooks: [] })
      for (const [method, path, json] of requests(id, attempt)) {
        expect(yield* a.api.request(method, path, { json }), `${method} ${path}`).toMatchObject({
          status: 404,
          body: { code: "WEBHOOK_NOT_FOUND" }
        })
      }
      expect((yield* org.get(`/v1/webhooks/${id}`)).status).toBe(200)
    })
  )

  it.scoped("of a project is found by its keys and organization keys, and by no key of another project", () =>
    Effect.gen(function* () {
      const { a, b, org, receiver } = yield* setting
      const made = yield* a.api.post("/v1/webhooks", { url: receiver.url, events: ["*"] })
      const id = textAt(made.body, "webhook.id")
      expect(at(made.body, "webhook.project_id")).toBe(a.id)
      yield* append(a.id)
      yield* eventually("the delivery", deliveriesOf(a.api, id), (seen) => seen.length === 1)
      const attempt = textAt((yield* a.api.get(`/v1/webhooks/${id}/deliveries`)).body, "deliveries.0.id")
      for (const [method, path, json] of requests(id, attempt)) {
        const reply = yield* b.api.request(method, path, { json })
        expect(reply, `${method} ${path}`).toMatchObject({ status: 404, body: { code: "WEBHOOK_NOT_FOUND" } })
        if (method === "DELETE") continue
        for (const api of [org, a.api]) {
          expect((yield* api.request(method, path, { json })).status, `${method} ${path}`).toBeLessThan(300)
        }
      }
      // Its keys cannot move it out of the project.
      const widened = yield* a.api.patch(`/v1/webhooks/${id}`, { filters: {} })
      expect(at(widened.body, "webhook.filters")).toEqual({ project_id: a.id })
      expect((yield* a.api.patch(`/v1/webhooks/${id}`, { filters: { project_id: b.id } })).status).toBe(400)
      expect((yield* a.api.request("DELETE", `/v1/webhooks/${id}`)).status).toBe(200)
    })
  )

  it.scoped("that is limited to a project shows its keys no delivery from before, and resends none for them", () =>
    Effect.gen(function* () {
      const { a, events, id, org } = yield* delivered
      const attempts = yield* org.get(`/v1/webhooks/${id}/deliveries`)
      yield* org.patch(`/v1/webhooks/${id}`, { filters: { project_id: a.id } })
      expect(yield* deliveriesOf(a.api, id)).toEqual([])
      expect(yield* deliveriesOf(org, id)).toEqual([events[1], events[0]])
      for (const index of [0, 1]) {
        const attempt = textAt(attempts.body, `deliveries.${index}.id`)
        const resent = yield* a.api.post(`/v1/webhooks/${id}/deliveries/${attempt}/resend`)
        expect(resent).toMatchObject({ status: 404, body: { code: "DELIVERY_NOT_FOUND" } })
        const page = yield* a.api.get(`/v1/webhooks/${id}/deliveries?after=${attempt}`)
        expect(page).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR" } })
      }
      // An organization key resends only what the project may receive.
      const [ofB, ofA] = [0, 1].map((index) => textAt(attempts.body, `deliveries.${index}.id`))
      expect(yield* org.post(`/v1/webhooks/${id}/deliveries/${ofB}/resend`)).toMatchObject({
        status: 404,
        body: { code: "DELIVERY_NOT_FOUND", message: expect.stringContaining("filters.project_id") }
      })
      expect((yield* org.post(`/v1/webhooks/${id}/deliveries/${ofA}/resend`)).status).toBe(202)
      yield* eventually("the resent delivery", deliveriesOf(org, id), (seen) => seen.length === 3)
      expect(yield* deliveriesOf(a.api, id)).toEqual([])

      const later = yield* append(a.id)
      yield* eventually("the project's delivery", deliveriesOf(a.api, id), (seen) => seen.includes(later))
      expect(yield* deliveriesOf(a.api, id)).toEqual([later])
    })
  )

  it.scoped("that is moved shows each project its own deliveries, and the organization all", () =>
    Effect.gen(function* () {
      const { a, b, org, receiver } = yield* setting
      const made = yield* a.api.post("/v1/webhooks", { url: receiver.url, events: ["*"] })
      const id = textAt(made.body, "webhook.id")
      const first = yield* append(a.id)
      yield* eventually("the first delivery", deliveriesOf(a.api, id), (seen) => seen.length === 1)
      yield* org.patch(`/v1/webhooks/${id}`, { filters: { project_id: b.id } })
      const second = yield* append(b.id)
      yield* eventually("the second delivery", deliveriesOf(b.api, id), (seen) => seen.length === 1)
      expect(yield* deliveriesOf(b.api, id)).toEqual([second])
      expect((yield* a.api.get(`/v1/webhooks/${id}`)).status).toBe(404)
      yield* org.patch(`/v1/webhooks/${id}`, { filters: {} })
      for (const { api } of [a, b]) expect((yield* api.get(`/v1/webhooks/${id}/deliveries`)).status).toBe(404)
      yield* org.patch(`/v1/webhooks/${id}`, { filters: { project_id: a.id } })
      expect(yield* deliveriesOf(a.api, id)).toEqual([first])
      expect(yield* deliveriesOf(org, id)).toEqual([second, first])
    })
  )

  it.scoped(
    "that is limited to a project keeps dead letters from before from its keys, and never sends them there",
    () =>
      Effect.gen(function* () {
        const { a, b, id, org, receiver, state } = yield* delivered
        state.refuses = true
        // 410 disables the webhook, and what is pending becomes a dead letter.
        const refused: Array<string> = []
        for (const { id: project_id } of [b, a]) {
          yield* org.patch(`/v1/webhooks/${id}`, { is_active: true })
          refused.unshift(yield* append(project_id))
          yield* eventually("the dead letter", deadLettersOf(org, id), (seen) => seen.length === refused.length)
        }
        state.refuses = false
        expect(yield* deadLettersOf(org, id)).toEqual(refused)
        yield* org.patch(`/v1/webhooks/${id}`, { filters: { project_id: a.id }, is_active: true })
        expect(yield* deadLettersOf(a.api, id)).toEqual([])
        expect((yield* a.api.post(`/v1/webhooks/${id}/dlq/resend-all`)).body).toEqual({ queued: 0 })
        const before = receiver.inbox.all.length
        expect((yield* org.post(`/v1/webhooks/${id}/dlq/resend-all`)).body).toEqual({ queued: 1 })
        const [ofA, ofB] = refused
        expect(yield* deadLettersOf(org, id)).toEqual([ofB])
        const last = yield* append(a.id)
        yield* eventually("the last delivery", deliveriesOf(a.api, id), (seen) => seen.includes(last))
        const sent = receiver.inbox.all.slice(before).map(({ headers }) => headers["x-svc-delivery"])
        expect(new Set(sent)).toEqual(new Set([ofA, last]))
      })
  )

  it.scoped("replays only events of the project that it is limited to", () =>
    Effect.gen(function* () {
      const { a, events, id, org, receiver } = yield* delivered
      const from = new Date(Date.now() - 3_600_000).toISOString()
      const to = new Date(Date.now() + 3_600_000).toISOString()
      yield* org.patch(`/v1/webhooks/${id}`, { filters: { project_id: a.id } })
      expect(yield* a.api.post(`/v1/webhooks/${id}/replay`, { from, to })).toMatchObject({
        status: 202,
        body: { queued: 1 }
      })
      yield* eventually("the replayed delivery", deliveriesOf(a.api, id), (seen) => seen.length === 1)
      expect(yield* deliveriesOf(a.api, id)).toEqual([events[0]])
      const replayed = receiver.inbox.all.filter(({ headers }) => headers["x-svc-replay"] === "1")
      expect(replayed.map(({ headers }) => headers["x-svc-delivery"])).toEqual([events[0]])
    })
  )

  it.scoped("of any level is in the history of a call, which only keys of the call's project see", () =>
    Effect.gen(function* () {
      const { a, b, org, receiver } = yield* setting
      const sql = yield* SqlClient.SqlClient
      yield* org.post("/v1/webhooks", { url: receiver.url, events: ["*"] })
      yield* a.api.patch("/v1/project/webhook", { webhook_url: receiver.url })
      const call_id = yield* newCallId
      yield* sql`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at, ended_at)
        select ${call_id}, org_id, id, 'simulated', 'failed', now(), now() from projects where id = ${a.id}`
      const event = yield* append(a.id, call_id)
      const history = Effect.map(a.api.get(`/v1/calls/${call_id}/webhooks`), ({ body }) => idsIn(body, "deliveries"))
      yield* eventually("both deliveries", history, (seen) => seen.filter((id) => id === event).length >= 2)
      expect((yield* b.api.get(`/v1/calls/${call_id}/webhooks`)).body).toMatchObject({ code: "CALL_NOT_FOUND" })
    })
  )

  it.scoped("of an agent or a project is read and tested by the project's keys, and changed at its own endpoint", () =>
    Effect.gen(function* () {
      const { a, b, org, receiver } = yield* setting
      yield* a.api.patch("/v1/project/webhook", { webhook_url: receiver.url })
      yield* a.api.post("/v1/agents", { name: "Reception", server_url: receiver.url, webhook_url: receiver.url })
      const list = yield* a.api.get("/v1/webhooks")
      for (const index of [0, 1]) {
        const id = textAt(list.body, `webhooks.${index}.id`)
        expect(at(list.body, `webhooks.${index}.project_id`)).toBe(a.id)
        expect((yield* b.api.get(`/v1/webhooks/${id}`)).status).toBe(404)
        for (const api of [a.api, org]) {
          expect((yield* api.post(`/v1/webhooks/${id}/test`, { event_type: "call.ended" })).status).toBe(200)
          expect((yield* api.get(`/v1/webhooks/${id}/deliveries`)).status).toBe(200)
          for (const [method, path, json] of [
            ["PATCH", `/v1/webhooks/${id}`, { events: ["*"] }],
            ["POST", `/v1/webhooks/${id}/rotate`, undefined],
            ["DELETE", `/v1/webhooks/${id}`, undefined]
          ] as const) {
            const reply = yield* api.request(method, path, { json })
            expect(reply, `${method} ${path}`).toMatchObject({ status: 409, body: { code: "WEBHOOK_MANAGED" } })
          }
        }
      }
    })
  )

  it.scoped("is deleted with its project or its agent; one of the organization that names the agent stays", () =>
    Effect.gen(function* () {
      const { a, org, receiver } = yield* setting
      const agent = yield* a.api.post("/v1/agents", {
        name: "Reception",
        server_url: receiver.url,
        webhook_url: receiver.url
      })
      const named = yield* org.post("/v1/webhooks", {
        url: receiver.url,
        events: ["*"],
        filters: { agent_id: at(agent.body, "agent.id") }
      })
      const limited = yield* org.post("/v1/webhooks", {
        url: receiver.url,
        events: ["*"],
        filters: { project_id: a.id }
      })
      const ids = Effect.map(org.get("/v1/webhooks"), ({ body }) => {
        const rows = at(body, "webhooks")
        return Array.isArray(rows) ? rows.map((row) => at(row, "id")) : []
      })
      const [ofAgent] = (yield* ids).filter(
        (id) => id !== at(named.body, "webhook.id") && id !== at(limited.body, "webhook.id")
      )
      yield* a.api.request("DELETE", `/v1/agents/${textAt(agent.body, "agent.public_id")}`)
      expect((yield* org.get(`/v1/webhooks/${ofAgent}`)).status).toBe(404)
      yield* org.request("DELETE", `/v1/org/projects/${a.public_id}`)
      const left = yield* ids
      expect(left).toContain(at(named.body, "webhook.id"))
      expect(left).not.toContain(at(limited.body, "webhook.id"))
    })
  )
})
