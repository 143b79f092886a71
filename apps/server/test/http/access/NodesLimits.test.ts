import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Context, Effect, Layer, Logger, Redacted } from "effect"
import { HttpServer } from "../../../src/http/listening/HttpServer.ts"
import { Server } from "../../../src/Server.ts"
import { ask, json } from "../../servers/Client.ts"

const key = `svc_live_${"a".repeat(48)}`
const limit = 1_000_000

/** Ports of two whole servers on one database. */
const start = Effect.gen(function* () {
  const url = yield* TestDatabase.freshUrl
  const settings = new Map([
    ["SVC_DATABASE_URL", Redacted.value(url)],
    ["SVC_PORT", "0"],
    ["SVC_PLUGINS", "@svc/plugin-simulated"],
    ["SVC_TRUSTED_PROXIES", "127.0.0.1"],
    ["SVC_LIMIT_AUTH_FAILURES", "3"],
    ["SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG", String(limit)],
    ["SVC_BOOTSTRAP_TIER", "payg"],
    ["SVC_BOOTSTRAP_PROJECT_KEY", key],
    ["SVC_BOOTSTRAP_ORG_KEY", `svc_org_${"b".repeat(48)}`],
    ["SVC_BOOTSTRAP_WORKSPACE_KEY", `svc_wsp_live_${"c".repeat(48)}`]
  ])
  const server = Layer.build(Server).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(settings)),
    Effect.map((context) => Context.get(context, HttpServer).port)
  )
  return [yield* server, yield* server] as const
}).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

const health = (port: number, client: string, raw = key) =>
  ask(port, { path: "/v1/health", key: raw, headers: { "x-forwarded-for": client } })

describe("two servers on one database", () => {
  it.scopedLive("both lock out an address that failed on one of them, and no other address", () =>
    Effect.gen(function* () {
      const [one, two] = yield* start
      const wrong = `svc_live_${"0".repeat(48)}`
      for (let i = 0; i < 3; i++) expect((yield* health(one, "198.51.100.1", wrong)).status).toBe(401)
      expect(json(yield* health(one, "198.51.100.1"))["code"]).toBe("AUTH_RATE_LIMITED")
      const there = yield* Effect.repeat(health(two, "198.51.100.1"), { until: ({ status }) => status !== 200 })
      expect(json(there)).toMatchObject({ code: "AUTH_RATE_LIMITED", retryAfter: expect.any(Number) })
      expect((yield* health(two, "198.51.100.2")).status).toBe(200)
    })
  )

  it.scopedLive("count the requests of an organization together", () =>
    Effect.gen(function* () {
      const [one, two] = yield* start
      let window: unknown
      let own = 0
      /** What is gone of the limit beyond what this server itself let through in this minute. */
      const elsewhere = Effect.gen(function* () {
        yield* health(one, "198.51.100.1")
        const { headers } = yield* health(two, "198.51.100.1")
        own = headers["x-ratelimit-reset"] === window ? own + 1 : 1
        window = headers["x-ratelimit-reset"]
        return limit - Number(headers["x-ratelimit-remaining"]) - own
      })
      expect(yield* Effect.repeat(elsewhere, { until: (count) => count > 0 })).toBeGreaterThan(0)
    })
  )
})
