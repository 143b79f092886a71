import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Metrics, MetricsRoutes } from "../../../src/http/metrics/MetricsRoutes.ts"
import { ask, json } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

const plain = MetricsRoutes.pipe(
  Layer.provide(
    Layer.succeed(Metrics, {
      read: Effect.succeed([{ name: "up_test", type: "gauge" as const, help: "", samples: [{ value: 1 }] }])
    })
  ),
  Layer.orDie
)

const server = (settings: { readonly [variable: string]: string } = {}) =>
  Effect.map(
    startTiny({ plain, settings }),
    ({ port }) =>
      (headers: { readonly [name: string]: string } = {}) =>
        ask(port, { path: "/metrics", headers })
  )

describe("GET /metrics", () => {
  it.scopedLive("needs no key on loopback", () =>
    Effect.gen(function* () {
      const metrics = yield* server()
      const answer = yield* metrics()
      expect(answer.status).toBe(200)
      expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(answer.text).toBe("# TYPE up_test gauge\nup_test 1\n")
    })
  )

  it.scopedLive(
    "is 404 from elsewhere and behind a proxy while SVC_METRICS_TOKEN is not set, as a path that does not exist",
    () =>
      Effect.gen(function* () {
        const metrics = yield* server({ SVC_TRUSTED_PROXIES: "127.0.0.1" })
        for (const headers of [
          { "X-Forwarded-For": "203.0.113.9" },
          { "X-Forwarded-For": "127.0.0.1" },
          { "X-Forwarded-For": "203.0.113.9", Authorization: "Bearer " },
          { "X-Forwarded-For": "203.0.113.9", Authorization: "Bearer undefined" }
        ]) {
          const answer = yield* metrics(headers)
          expect([answer.status, json(answer)["code"]]).toEqual([404, "ROUTE_NOT_FOUND"])
        }
        const untrusted = yield* server()
        expect((yield* untrusted({ "X-Forwarded-For": "203.0.113.9" })).status).toBe(404)
        expect((yield* untrusted({ Forwarded: "for=203.0.113.9" })).status).toBe(404)
      })
  )

  it.scopedLive("takes SVC_METRICS_TOKEN as a bearer token from elsewhere, and no other", () =>
    Effect.gen(function* () {
      const metrics = yield* server({ SVC_TRUSTED_PROXIES: "127.0.0.1", SVC_METRICS_TOKEN: "let-me-see" })
      const from = (Authorization: string) =>
        Effect.map(metrics({ "X-Forwarded-For": "203.0.113.9", Authorization }), ({ status }) => status)
      expect(yield* from("Bearer let-me-see")).toBe(200)
      for (const wrong of ["Bearer let-me-se", "Bearer let-me-see2", "Basic let-me-see", "let-me-see", "Bearer full"]) {
        expect(yield* from(wrong)).toBe(404)
      }
    })
  )
})
