import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { getJson } from "../src/JsonRequest.ts"
import { makeFailures, retryAfterMs } from "../src/RequestFailed.ts"
import { type EmulatedBehaviour, emulatedServer } from "../src/testing/EmulatedServer.ts"
import { makeHostDouble } from "../src/testing/HostDouble.ts"

const key = "secret-0123"

const get = (request: EmulatedBehaviour["request"] & {}, messageOf?: (body: unknown) => string | undefined) =>
  Effect.gen(function* () {
    const server = yield* emulatedServer({ request })
    const { host } = yield* makeHostDouble()
    const failures = makeFailures({
      server: server.origin,
      key: Redacted.make(key),
      keySetting: "SVC_EXAMPLE_API_KEY",
      log: host.log,
      ...(messageOf && { messageOf })
    })
    const answer = getJson({ url: `${server.origin}/v1/voices`, headers: { "x-key": key }, failures })
    return { server, failures, answer }
  })

describe("JsonRequest", () => {
  it.live("reads JSON with the headers, and accepts the key again after it was refused", () =>
    Effect.gen(function* () {
      let requests = 0
      const { answer, failures, server } = yield* get((_, response) =>
        requests++ === 0 ? response.writeHead(401).end() : response.end('{"voices":[1]}')
      )
      expect((yield* Effect.flip(answer)).reason).toBe(`SVC_EXAMPLE_API_KEY was refused: ${server.origin} answered 401`)
      expect(failures.refused()).toContain("SVC_EXAMPLE_API_KEY was refused")
      expect(yield* answer).toEqual({ voices: [1] })
      expect(failures.refused()).toBeUndefined()
      expect(server.requests[1]?.headers["x-key"]).toBe(key)
    }).pipe(Effect.scoped)
  )

  it.live("fails for redirects, which would get the key, for what is no JSON, and for early ends", () =>
    Effect.gen(function* () {
      const redirected = yield* get((_, response) => response.writeHead(302, { location: "/elsewhere" }).end())
      expect((yield* Effect.flip(redirected.answer)).status).toBe(302)
      expect(redirected.server.requests).toHaveLength(1)
      const html = yield* get((_, response) => response.end("<html>"))
      expect((yield* Effect.flip(html.answer)).reason).toBe(`${html.server.origin} answered with no JSON`)
      const broken = yield* get((_, response) => {
        response.writeHead(200, { "content-length": "100" }).write("{")
        response.destroy()
      })
      expect(yield* Effect.flip(broken.answer)).toMatchObject({
        reason: expect.stringMatching(/^the connection to .* failed: /),
        retryable: true
      })
    }).pipe(Effect.scoped)
  )

  it.live("explains an error by the server's own message, or as the plugin reads it", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ detail: { status: "bad_voice", message: `no voice for ${key}` } })
      const usual = yield* get((_, response) => response.writeHead(422).end(body))
      expect((yield* Effect.flip(usual.answer)).reason).toBe(`${usual.server.origin} answered 422: no voice for …`)
      const own = yield* get(
        (_, response) => response.writeHead(422).end(body),
        (answer) => String(Object(answer).detail?.status)
      )
      expect((yield* Effect.flip(own.answer)).reason).toBe(`${own.server.origin} answered 422: bad_voice`)
    }).pipe(Effect.scoped)
  )

  it.live("closes the request when it is interrupted", () =>
    Effect.gen(function* () {
      const { answer, server } = yield* get(() => {})
      const fiber = yield* Effect.fork(answer)
      yield* Effect.repeat(Effect.sleep(1), { until: () => server.openRequests() === 1 })
      yield* Fiber.interrupt(fiber)
      yield* Effect.repeat(Effect.sleep(1), { until: () => server.openRequests() === 0 })
      expect(server.brokenOff).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it("reads Retry-After as seconds, date or milliseconds, and nothing else", () => {
    const now = Date.parse("2026-11-23T12:00:00Z")
    expect(retryAfterMs({ "retry-after": "2" }, now)).toBe(2000)
    expect(retryAfterMs({ "retry-after": "Mon, 23 Nov 2026 12:00:05 GMT" }, now)).toBe(5000)
    expect(retryAfterMs({ "retry-after": "Mon, 23 Nov 2026 11:00:00 GMT" }, now)).toBe(0)
    expect(retryAfterMs({ "retry-after-ms": "150", "retry-after": "9" }, now)).toBe(150)
    expect(retryAfterMs({ "retry-after": "soon" }, now)).toBeUndefined()
    expect(retryAfterMs({}, now)).toBeUndefined()
  })
})
