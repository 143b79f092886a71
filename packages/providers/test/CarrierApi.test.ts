import type { ServerResponse } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as CarrierApi from "../src/CarrierApi.ts"
import { makeFailures } from "../src/RequestFailed.ts"
import { emulatedServer } from "../src/testing/EmulatedServer.ts"
import { makeHostDouble } from "../src/testing/HostDouble.ts"

/** The interface of a server that answers the requests in turn; the last answer stands for all that follow. */
const apiOf = (...answers: ReadonlyArray<(response: ServerResponse) => void>) =>
  Effect.gen(function* () {
    let made = 0
    const server = yield* emulatedServer({
      request: (_, response) => answers[Math.min(made++, answers.length - 1)]?.(response)
    })
    const { host } = yield* makeHostDouble()
    const failures = makeFailures({
      server: server.origin,
      key: Redacted.make("secret-0123"),
      keySetting: "SVC_EXAMPLE_API_KEY",
      log: host.log
    })
    const api = CarrierApi.make({
      headers: { authorization: "Bearer secret-0123" },
      failures,
      codeOf: (body) => Object(body).code?.toString(),
      attempt: "300 millis",
      within: "2 seconds"
    })
    const url = `${server.origin}/v1/calls`
    return {
      server,
      url,
      request: (one: Omit<CarrierApi.CarrierRequest, "url"> & { readonly url?: string }) => api.request({ url, ...one })
    }
  })

const answer =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body)

describe("CarrierApi", () => {
  it.live("sends forms and JSON with the key, and reads JSON or nothing", () =>
    Effect.gen(function* () {
      const { request, server } = yield* apiOf(answer(201, '{"sid":"CA1"}'), answer(204, ""))
      const created = yield* request({
        method: "POST",
        form: [
          ["To", "+1 202"],
          ["Event", "a"],
          ["Event", "b"]
        ]
      })
      expect(created).toEqual({ status: 201, body: { sid: "CA1" } })
      expect(server.requests[0]?.body.toString()).toBe("To=%2B1+202&Event=a&Event=b")
      expect(server.requests[0]?.headers).toMatchObject({
        authorization: "Bearer secret-0123",
        "content-type": "application/x-www-form-urlencoded"
      })
      expect(yield* request({ method: "PATCH", json: { a: 1 } })).toEqual({ status: 204, body: null })
      expect(server.requests[1]?.json).toEqual({ a: 1 })
    }).pipe(Effect.scoped)
  )

  it.live("a refusal is for good, has the carrier's code, and is not repeated", () =>
    Effect.gen(function* () {
      const { request, server } = yield* apiOf(answer(400, '{"code":21211,"message":"Invalid To of secret-0123"}'))
      const failure = yield* Effect.flip(request({ method: "GET" }))
      expect(failure).toMatchObject({ outcome: "refused", status: 400, code: "21211" })
      expect(failure.reason).toBe(`${server.origin} answered 400: Invalid To of …`)
      expect(server.requests).toHaveLength(1)
      expect(CarrierApi.carrierError(failure)._tag).toBe("CarrierRefused")
    }).pipe(Effect.scoped)
  )

  it.live("repeats what was not accepted after the time that is asked for, if that is soon", () =>
    Effect.gen(function* () {
      const soon = yield* apiOf(answer(429, "", { "retry-after": "0.1" }), answer(200, "{}"))
      expect((yield* soon.request({ method: "POST" })).status).toBe(200)
      expect(soon.server.requests).toHaveLength(2)
      const late = yield* apiOf(answer(429, "", { "retry-after": "60" }))
      const failure = yield* Effect.flip(late.request({ method: "POST" }))
      expect([failure.outcome, late.server.requests.length]).toEqual(["not-done", 1])
      expect(CarrierApi.carrierError(failure)._tag).toBe("CarrierUnavailable")
    }).pipe(Effect.scoped)
  )

  it.live("makes a request whose answer was lost again only if that does no harm", () =>
    Effect.gen(function* () {
      const faults: ReadonlyArray<(response: ServerResponse) => void> = [
        answer(500, "oops"),
        (response) => response.destroy(),
        () => {}
      ]
      for (const fault of faults) {
        const read = yield* apiOf(fault, answer(200, "[]"))
        expect((yield* read.request({ method: "GET" })).body).toEqual([])
        const write = yield* apiOf(fault, answer(200, "[]"))
        const failure = yield* Effect.flip(write.request({ method: "POST" }))
        expect([failure.outcome, write.server.requests.length]).toEqual(["unknown", 1])
      }
      const html = yield* apiOf(answer(200, "<html>"))
      expect((yield* Effect.flip(html.request({ method: "POST" }))).outcome).toBe("unknown")
    }).pipe(Effect.scoped)
  )

  it.live("reports a request as not done when the server cannot be reached", () =>
    Effect.gen(function* () {
      const { request } = yield* apiOf(answer(200, "{}"))
      const { origin } = yield* Effect.scoped(emulatedServer({}))
      const failure = yield* Effect.flip(request({ method: "POST", url: `${origin}/v1/calls` }))
      expect(failure.outcome).toBe("not-done")
    }).pipe(Effect.scoped)
  )

  it.live("a refused key is not tried again", () =>
    Effect.gen(function* () {
      const { request, server } = yield* apiOf(answer(401, ""))
      const failure = yield* Effect.flip(request({ method: "GET" }))
      expect(failure).toMatchObject({ outcome: "not-done", status: 401 })
      expect(failure.reason).toContain("SVC_EXAMPLE_API_KEY was refused")
      expect(server.requests).toHaveLength(1)
    }).pipe(Effect.scoped)
  )
})
