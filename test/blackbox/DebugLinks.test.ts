import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as Line from "../src/blackbox/Line.ts"

const { textAt } = ApiClient

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("Links to debug pages", (it) => {
  it.scoped("show prompts by full keys only, are revoked together, and end with their project", () =>
    Effect.gen(function* () {
      const server = yield* BlackBox
      const byOrg = ApiClient.make(server.url, server.keys.org)
      const project = textAt((yield* byOrg.post("/v1/org/projects", { name: "Short" })).body, "id")
      const withKey = (scope: string) =>
        Effect.map(byOrg.post(`/v1/org/projects/${project}/api-keys`, { scope }), ({ body }) =>
          ApiClient.make(server.url, Redacted.make(textAt(body, "key")))
        )
      const full = yield* withKey("full")
      const read = yield* withKey("read")
      const line = yield* Line.open({ ...server, api: full }, () => Line.configuration({ otherwise: "Ok." }))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      const path = `/v1/calls/${callId}/debug-link`
      const link = (api: ApiClient.ApiClient) => Effect.map(api.get(path), ({ body }) => textAt(body, "url"))
      const show = (url: string) => ApiClient.call(server.url + url, "GET")

      const [open, narrow] = [yield* link(full), yield* link(read)]
      expect([yield* link(full), yield* link(read)]).toEqual([open, narrow])
      expect((yield* show(open)).text).toContain("You answer the phone.")
      const shown = yield* show(narrow)
      expect([shown.status, shown.text.includes(callId), shown.text.includes("You answer the phone.")]).toEqual([
        200,
        true,
        false
      ])

      const timeline = (api: ApiClient.ApiClient) => api.get(`/v1/calls/${callId}/timeline`)
      const whole = yield* timeline(full)
      const started = { event: "call.started", status: 200, content_type: "application/json", error: null }
      expect(whole).toMatchObject({
        status: 200,
        body: {
          version: 1,
          call: { call_id: callId },
          server_requests: expect.arrayContaining([expect.objectContaining(started)]),
          failure: null,
          line: { telephony: "simulated", codec: "PCMU" },
          usage: { llm: { requests: expect.any(Number) } }
        }
      })
      expect(JSON.stringify(whole.body)).toContain("You answer the phone.")
      const narrowed = yield* timeline(read)
      expect(narrowed).toMatchObject({
        status: 200,
        body: { server_requests: expect.arrayContaining([expect.objectContaining({ ...started, response: null })]) }
      })
      expect(JSON.stringify(narrowed.body)).not.toContain("You answer the phone.")

      expect((yield* read.request("DELETE", path)).body["code"]).toBe("READ_ONLY_KEY")
      const revoked = yield* full.request("DELETE", path)
      expect([revoked.status, revoked.body]).toEqual([200, { revoked: 2 }])
      for (const url of [open, narrow]) expect((yield* show(url)).body["code"]).toBe("DEBUG_TOKEN_NOT_FOUND")
      const next = yield* link(full)
      expect([next === open, (yield* show(next)).status]).toEqual([false, 200])
      const unknown = yield* full.request("DELETE", `/v1/calls/call_${"0".repeat(24)}/debug-link`)
      expect(unknown.body["code"]).toBe("CALL_NOT_FOUND")

      phone.hangup()
      expect((yield* byOrg.request("DELETE", `/v1/org/projects/${project}`)).status).toBe(204)
      expect((yield* show(next)).body["code"]).toBe("DEBUG_TOKEN_NOT_FOUND")
    })
  )
})
