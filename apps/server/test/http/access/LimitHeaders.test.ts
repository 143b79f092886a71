import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { define } from "@svc/api/VoiceError"
import { Effect, Logger, Schema } from "effect"
import { ask, json } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

const names = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-ratelimit-tier",
  "x-concurrent-call-limit"
]

class NotThere extends define("NotThere", "AGENT_NOT_FOUND", 404, "agent not found") {}
class Busy extends define("Busy", "AGENT_HAS_ACTIVE_CALLS", 409, "agent has active calls") {}

const Answer = Schema.Struct({ ok: Schema.Boolean })
const api = HttpApi.make("limits").add(
  HttpApiGroup.make("limits")
    .add(HttpApiEndpoint.get("fine", "/v1/fine").addSuccess(Answer))
    .add(HttpApiEndpoint.get("missing", "/v1/missing").addSuccess(Answer).addError(NotThere.wire))
    .add(HttpApiEndpoint.get("busy", "/v1/busy").addSuccess(Answer).addError(Busy.wire))
    .add(HttpApiEndpoint.get("dies", "/v1/dies").addSuccess(Answer))
    .add(
      HttpApiEndpoint.post("create", "/v1/create")
        .setPayload(Schema.Struct({ name: Schema.String }))
        .addSuccess(Answer)
    )
)
const groups = [
  {
    group: "limits",
    handlers: {
      fine: () => Effect.succeed({ ok: true }),
      missing: () => new NotThere(),
      busy: () => new Busy(),
      dies: () => Effect.die(new Error("no")),
      create: () => Effect.succeed({ ok: true })
    }
  }
]

const start = (settings: { readonly [variable: string]: string } = {}) => startTiny({ api, groups, settings })

describe("X-RateLimit headers", () => {
  it.scopedLive("are on every authenticated response, errors included", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const key = "poor"
      for (const [status, request] of [
        [200, { path: "/v1/fine", key }],
        [200, { path: "/v1/fine", key, method: "HEAD" }],
        [404, { path: "/v1/missing", key }],
        [404, { path: "/v1/fine", key, headers: { "x-project-id": "8" } }],
        [409, { path: "/v1/busy", key }],
        [500, { path: "/v1/dies", key }],
        [400, { path: "/v1/fine", key: "poorOrg" }],
        [402, { path: "/v1/create", key, body: "{" }],
        [403, { path: "/v1/create", key: "poorRead", body: "{" }]
      ] as const) {
        const { headers, status: got } = yield* ask(port, request)
        expect([got, headers["x-ratelimit-limit"], headers["x-ratelimit-tier"]]).toEqual([status, "300", "payg"])
        expect(headers["x-concurrent-call-limit"]).toBe("10")
        expect(Number(headers["x-ratelimit-remaining"])).toBeLessThanOrEqual(300)
        expect(Number(headers["x-ratelimit-reset"]) % 60).toBe(0)
      }
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.scopedLive("of the enterprise tier have no limit and no remaining count, also when the body is invalid", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      for (const [body, status] of [
        ["{", 400],
        ["{}", 400],
        ['{"name":"x"}', 200],
        ["x".repeat(2_000_000), 413]
      ] as const) {
        const { headers, status: got } = yield* ask(port, { path: "/v1/create", key: "full", body })
        expect([got, ...names.map((name) => headers[name])]).toEqual([
          status,
          undefined,
          undefined,
          expect.stringMatching(/^\d+$/),
          "enterprise",
          "1000"
        ])
      }
    })
  )

  it.scopedLive("are absent from unauthenticated responses and from unknown routes", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      for (const [status, request] of [
        [401, { path: "/v1/fine" }],
        [401, { path: "/v1/fine", key: "nobody" }],
        [404, { path: "/v1/nothing", key: "poor" }],
        [405, { path: "/v1/fine", key: "poor", method: "DELETE" }],
        [200, { path: "/healthz", key: "poor" }]
      ] as const) {
        const { headers, status: got } = yield* ask(port, request)
        expect([got, ...names.map((name) => headers[name])]).toEqual([status, ...names.map(() => undefined)])
      }
    })
  )

  it.scopedLive("are on a 429, whose Retry-After says when the limit resets", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG: "1", SVC_LIMIT_AUTH_FAILURES: "2" })
      // The minute may turn between two of them, but not between three.
      const answers = yield* Effect.replicateEffect(ask(port, { path: "/v1/fine", key: "poor" }), 3)
      const refused = answers.find(({ status }) => status === 429)
      if (refused === undefined) return yield* Effect.dieMessage("none was refused")
      const { retryAfter, ...body } = json(refused)
      expect(body).toEqual({
        code: "RATE_LIMIT_EXCEEDED",
        message: "Too many requests",
        error: "Too many requests"
      })
      expect(refused.headers["retry-after"]).toBe(String(retryAfter))
      expect(refused.headers["x-ratelimit-remaining"]).toBe("0")

      yield* Effect.replicateEffect(ask(port, { path: "/v1/fine", key: "nobody" }), 2)
      const locked = yield* ask(port, { path: "/v1/fine", key: "full" })
      expect([locked.status, json(locked)["code"]]).toEqual([429, "AUTH_RATE_LIMITED"])
      expect(locked.headers["retry-after"]).toBe(String(json(locked)["retryAfter"]))
      expect(locked.headers["www-authenticate"]).toBeUndefined()
    })
  )

  it.scopedLive("of failed authentications use the client's address behind a trusted proxy, else the peer's", () =>
    Effect.gen(function* () {
      const settings = { SVC_LIMIT_AUTH_FAILURES: "2" }
      const trusting = yield* start({ ...settings, SVC_TRUSTED_PROXIES: "127.0.0.0/8" })
      const from = (port: number, client: string, key: string) =>
        Effect.map(ask(port, { path: "/v1/fine", key, headers: { "x-forwarded-for": client } }), ({ status }) => status)
      // The client puts ever new addresses before its own; the proxy adds the true one.
      for (const claim of ["1.1.1.1", "1.1.1.2"]) {
        expect(yield* from(trusting.port, `${claim}, 198.51.100.1`, "nobody")).toBe(401)
      }
      expect(yield* from(trusting.port, "1.1.1.3, 198.51.100.1", "full")).toBe(429)
      expect(yield* from(trusting.port, "1.1.1.1, 198.51.100.2", "full")).toBe(200)

      const plain = yield* start(settings)
      for (const claim of ["1.1.1.1", "1.1.1.2"]) expect(yield* from(plain.port, claim, "nobody")).toBe(401)
      expect(yield* from(plain.port, "1.1.1.3", "full")).toBe(429)
    })
  )
})
