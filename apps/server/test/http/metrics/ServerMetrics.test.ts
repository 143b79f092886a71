import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { LiveCalls } from "@svc/call-engine/live/LiveCalls"
import { Ticker } from "@svc/call-engine/media/Ticker"
import { TestDatabase } from "@svc/database/TestDatabase"
import { FaultRegister, PluginFaults } from "@svc/plugin-host/faults/PluginFaults"
import { Providers } from "@svc/providers/Providers"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { Metrics } from "../../../src/http/metrics/MetricsRoutes.ts"
import { textOf } from "../../../src/http/metrics/PrometheusText.ts"
import { ServerMetrics } from "../../../src/http/metrics/ServerMetrics.ts"

const NoCalls = Layer.mock(LiveCalls, { find: () => undefined, all: () => [], isDraining: () => true })
const OnePlugin = Layer.succeed(Providers, {
  plugins: [{ name: "house", source: "house", capabilities: [] }],
  telephony: [],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})

/** What new metrics of a server read, by name with labels. */
const figures = Layer.build(
  Layer.fresh(ServerMetrics).pipe(Layer.provide(Layer.mergeAll(NoCalls, OnePlugin, Ticker.layer)))
).pipe(
  Effect.flatMap((context) => Context.get(context, Metrics).read),
  Effect.map(
    (families) =>
      new Map(
        textOf(families)
          .split("\n")
          .filter((line) => line !== "" && !line.startsWith("#"))
          .map((line): readonly [string, number] => {
            const at = line.lastIndexOf(" ")
            return [line.slice(0, at), Number(line.slice(at + 1))]
          })
      )
  ),
  Effect.scoped
)

layer(TestDatabase.layer, { excludeTestServices: true })("metrics of a server", (it) => {
  describe("svc_queue_… and svc_organizations_paused", () => {
    it.scoped("count what is pending and who has no credits, without the tier that needs none", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = yield* figures
        expect(before.get('svc_queue_pending{queue="webhook_deliveries"}')).toBe(0)
        expect(before.get('svc_queue_oldest_seconds{queue="webhook_deliveries"}')).toBe(0)
        expect(before.get("svc_organizations_paused")).toBe(0)
        expect(before.get("svc_draining")).toBe(1)

        yield* sql`
          insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, next_at)
          select 1, n, 'whe_' || n, 'call.ended', 1, now() + n * interval '100 seconds' from unnest(array[-3, -1, 5]) n`
        for (const [tier, eur] of [
          ["payg", 0],
          ["starter", -2],
          ["starter", 3],
          ["enterprise", -4]
        ] as const) {
          const [org] = yield* sql<{ readonly id: number }>`
            insert into organizations (public_id, name, tier)
            values ('org_' || substr(md5(random()::text), 1, 24), 'A', ${tier}) returning id`
          const movement = { kind: eur > 0 ? "top_up" : "call", amount_eur: eur, balance_after: eur }
          if (eur !== 0) {
            yield* sql`insert into ledger_entries ${sql.insert({ org_id: org?.id ?? 0, reference: "r", ...movement })}`
          }
        }
        const after = yield* figures
        expect(after.get('svc_queue_pending{queue="webhook_deliveries"}')).toBe(3)
        const oldest = after.get('svc_queue_oldest_seconds{queue="webhook_deliveries"}') ?? 0
        expect(oldest).toBeGreaterThanOrEqual(300)
        expect(oldest).toBeLessThan(360)
        expect(after.get('svc_queue_pending{queue="number_orders"}')).toBe(0)
        expect(after.get('svc_queue_pending{queue="text_messages"}')).toBe(0)
        expect(after.get('svc_queue_oldest_seconds{queue="knowledge_vectors"}')).toBe(0)
        expect(after.get("svc_organizations_paused")).toBe(2)
        expect(after.get("svc_database_up")).toBe(1)
      })
    )

    it.scoped("are absent while the database does not answer, and svc_database_up is 0; the others are there", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const locked = yield* Deferred.make<void>()
        const released = yield* Deferred.make<void>()
        const holder = yield* Effect.fork(
          sql.withTransaction(
            sql`lock table webhook_deliveries in access exclusive mode`.pipe(
              Effect.zipRight(Deferred.succeed(locked, undefined)),
              Effect.zipRight(Deferred.await(released))
            )
          )
        )
        yield* Deferred.await(locked)
        const hung = yield* figures
        yield* Deferred.succeed(released, undefined)
        yield* Fiber.join(holder)
        expect(hung.get("svc_database_up")).toBe(0)
        expect([...hung.keys()].filter((name) => /^svc_(queue|organizations)_/.test(name))).toEqual([])
        expect(hung.get('svc_calls_live{direction="inbound"}')).toBe(0)
        expect((yield* figures).get("svc_database_up")).toBe(1)
      })
    )
  })

  it.scoped("svc_plugin_uncaught_errors_total and svc_plugin_stalls_total are those of loaded plugins", () =>
    Effect.gen(function* () {
      const register = new FaultRegister()
      const ofPlugin = Effect.map(Effect.provideService(figures, PluginFaults, register), (read) => [
        read.get('svc_plugin_uncaught_errors_total{plugin="house"}'),
        read.get('svc_plugin_stalls_total{plugin="house"}')
      ])
      expect(yield* ofPlugin).toEqual([0, 0])
      for (const kind of ["error", "stall", "error"] as const) register.record("house", 0, kind)
      expect(yield* ofPlugin).toEqual([2, 1])
    })
  )
})
