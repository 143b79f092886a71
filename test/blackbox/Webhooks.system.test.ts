import { createHmac } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { eventSamples } from "@svc/api/events/EventSamples"
import { newCallId } from "@svc/api/Ids"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { DeliveryFanOut } from "@svc/webhooks/delivery/DeliveryFanOut"
import { Effect, Layer, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

/** A receiver's check, as docs/webhooks.md shows it. */
const isSigned = (request: CustomerServer.Received, secret: string): boolean => {
  const timestamp = String(request.headers["x-webhook-timestamp"])
  const expected = createHmac("sha256", secret).update(`${timestamp}.${request.raw}`).digest("hex")
  return request.headers["x-webhook-signature"] === `sha256=${expected}`
}

it.scopedLive("events appended before and while a server was killed are all delivered by the next start", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.freshUrl
    const keys = yield* ServerProcess.newKeys
    const options = { data: { url: database }, keys }
    const receiver = yield* CustomerServer.start(() => ({ json: {} }))
    const first = yield* ServerProcess.start(options)
    const api = ApiClient.make(first.url, keys.org)
    const created = yield* api.post("/v1/webhooks", { url: receiver.url, events: ["*"] })
    expect(created.status).toBe(201)
    const secret = textAt(created.body, "secret")
    const id = at(created.body, "webhook.id")

    const tested = yield* api.post(`/v1/webhooks/${id}/test`, { event_type: "call.ended" })
    expect(tested).toMatchObject({ status: 200, body: { success: true, status_code: 200, error: null } })
    const sample = yield* receiver.until("call.ended")
    expect(sample.headers["x-svc-test-event"]).toBe("1")
    expect(isSigned(sample, secret)).toBe(true)

    const connection = yield* Layer.build(
      Outbox.layer.pipe(Layer.provide(DeliveryFanOut.layer), Layer.provideMerge(pool(Redacted.value(database), 2)))
    )
    const ids = yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const [org] = yield* sql<{ readonly id: number }>`select id from organizations`
      const call_id = yield* newCallId
      const draft = (n: number): EventDraft => ({
        event: "call.dtmf.received",
        org_id: org?.id ?? 0,
        project_id: null,
        agent_id: null,
        call_id,
        timestamp: "2026-11-01T09:30:00.000Z",
        data: { ...eventSamples["call.dtmf.received"], call_id, action: String(n) }
      })
      const appended: Array<string> = []
      for (let n = 0; n < 40; n++) {
        appended.push(...(yield* outbox.appendAll(Array.from({ length: 25 }, (_, m) => draft(n * 25 + m)))))
        if (n === 20) yield* first.signal("SIGKILL")
      }
      return appended
    }).pipe(Effect.provide(connection))
    yield* first.exit()
    const second = yield* ServerProcess.start(options)
    const delivered = () => new Set(receiver.of("call.dtmf.received").map(({ headers }) => headers["x-svc-delivery"]))
    yield* eventually("every event", Effect.sync(delivered), (seen) => seen.size === ids.length)
    expect(delivered()).toEqual(new Set(ids))
    expect(receiver.of("call.dtmf.received").every((request) => isSigned(request, secret))).toBe(true)

    const later = ApiClient.make(second.url, keys.org)
    const page = yield* later.get(`/v1/webhooks/${id}/deliveries?limit=100`)
    expect(page).toMatchObject({ status: 200, body: { next_cursor: expect.any(String) } })
    const next = yield* later.get(`/v1/webhooks/${id}/deliveries?limit=100&after=${at(page.body, "next_cursor")}`)
    expect(next.status).toBe(200)
    for (const [path, code] of [
      ["/v1/webhooks/999999", "WEBHOOK_NOT_FOUND"],
      [`/v1/webhooks/${id}/deliveries?after=x`, "VALIDATION_ERROR"],
      [`/v1/webhooks/${id}/deliveries?limit=101`, "VALIDATION_ERROR"]
    ] as const) {
      expect((yield* later.get(path)).body, path).toMatchObject({ code })
    }
    const bad = yield* later.post("/v1/webhooks", { url: receiver.url, events: ["call.exploded"] })
    expect(bad.status).toBe(400)
    expect(textAt(bad.body, "message")).toContain("knowledge_base.auto_refresh_disabled")
    const typo = yield* later.post("/v1/webhooks", { url: receiver.url, events: ["*"], filters: { agent: 1 } })
    expect(typo.body).toMatchObject({ code: "VALIDATION_ERROR", details: { "filters.agent": expect.any(String) } })

    const project = ApiClient.make(second.url, keys.project)
    const none = { webhook_url: null, webhook_secret_hint: null, webhook_events: null }
    expect((yield* project.get("/v1/project/webhook")).body).toEqual(none)
    const star = yield* project.patch("/v1/project/webhook", { webhook_url: receiver.url, webhook_events: ["*"] })
    expect(star.status).toBe(400)
    const made = yield* project.patch("/v1/project/webhook", { webhook_url: receiver.url })
    expect(made.body).toMatchObject({
      webhook_url: receiver.url,
      webhook_secret: expect.stringMatching(/^[0-9a-f]{64}$/)
    })
    expect((yield* project.post("/v1/project/webhook/rotate")).body).toMatchObject({ note: expect.any(String) })
    const list = yield* project.get("/v1/webhooks")
    expect(list.body).toMatchObject({ webhooks: [{ is_project_managed: true }] })
    const managed = yield* later.request("DELETE", `/v1/webhooks/${at(list.body, "webhooks.0.id")}`)
    expect(managed).toMatchObject({ status: 409, body: { code: "WEBHOOK_MANAGED" } })
    expect((yield* project.request("DELETE", "/v1/project/webhook")).body).toEqual({ deleted: true })
    expect((yield* project.get("/v1/calls/call_unknown/webhooks")).body).toMatchObject({ code: "CALL_NOT_FOUND" })
    expect((yield* later.request("DELETE", `/v1/webhooks/${id}`)).body).toEqual({ deleted: true })
  })
)
