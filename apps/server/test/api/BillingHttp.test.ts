import { HttpApi } from "@effect/platform"
import { expect, layer } from "@effect/vitest"
import { CreditsApi } from "@svc/api/billing/CreditsApi"
import { UsageApi } from "@svc/api/billing/UsageApi"
import { CallsApi } from "@svc/api/calls/CallsApi"
import { HandlerRegistry } from "@svc/api/Handlers"
import { newAgentId } from "@svc/api/Ids"
import { RouteRegistry } from "@svc/api/PlainRoutes"
import type { Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { AuthFailures } from "@svc/auth/AuthFailures"
import * as AuthSlice from "@svc/auth/AuthSlice"
import { Keys } from "@svc/auth/Keys"
import { RateLimits } from "@svc/auth/RateLimits"
import * as BillingSlice from "@svc/billing/BillingSlice"
import { Usage } from "@svc/billing/Usage"
import { OutboundCalls } from "@svc/call-engine/live/OutboundCalls"
import { Calls } from "@svc/call-engine/record/Calls"
import { CallsHttp } from "@svc/call-engine/record/CallsHttp"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Providers } from "@svc/providers/Providers"
import { BigDecimal, ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { ClientAddress } from "../../src/http/access/ClientAddress.ts"
import { Credits } from "../../src/http/access/Credits.ts"
import { Security } from "../../src/http/access/Security.ts"
import { HttpServer, layerOf } from "../../src/http/listening/HttpServer.ts"
import { PluginSockets } from "../../src/http/plugins/PluginSockets.ts"
import { ask, json } from "../servers/Client.ts"

/** A server of credits and usage: everything is real except rate limits and calls. */

const MoneyApi = HttpApi.make("money").add(CallsApi).add(UsageApi).add(CreditsApi)

const generous = (_: string, limit: number | null) => ({
  admitted: true,
  limit,
  remaining: limit,
  resetAt: 0,
  resetIn: 60
})
const Unlimited = Layer.mergeAll(
  Layer.succeed(AuthFailures, { blockedFor: () => undefined, record: () => undefined, size: () => 0 }),
  Layer.succeed(RateLimits, { consume: generous, peek: generous, size: () => 0 })
)
const NoPlugins = Layer.succeed(Providers, {
  plugins: [],
  telephony: [],
  speechToText: [],
  textToSpeech: [],
  languageModel: [],
  voiceActivity: undefined,
  objectStore: undefined,
  embedding: undefined
})
const unasked = Effect.die("not asked")
const NoCalls = Layer.succeed(Calls, {
  list: () => unasked,
  get: () => unasked,
  state: () => unasked,
  end: () => unasked,
  gather: () => unasked,
  transfer: () => unasked
})

const Services = BillingSlice.layer.pipe(Layer.provideMerge(AuthSlice.services), Layer.provide(BillingSlice.balance))

const MoneyServer = layerOf(MoneyApi).pipe(
  Layer.provideMerge(CallsHttp),
  Layer.provide(
    Layer.mergeAll(NoCalls, Layer.mock(Recordings, {}), Layer.mock(DebugLinks, {}), Layer.mock(OutboundCalls, {}))
  ),
  Layer.provide(Security.layer.pipe(Layer.provide(Layer.mergeAll(Credits.layer, Unlimited)))),
  Layer.provideMerge(Services),
  Layer.provide(Layer.mergeAll(ClientAddress.layer, NoPlugins)),
  Layer.provide(Layer.mergeAll(PluginSockets.layer, HandlerRegistry.layer, RouteRegistry.layer)),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provide(Logger.remove(Logger.defaultLogger)),
  Layer.provide(
    Layer.setConfigProvider(
      ConfigProvider.orElse(
        ConfigProvider.fromMap(
          new Map([
            ["SVC_PORT", "0"],
            ["SVC_STRICT_RESPONSES", "true"]
          ])
        ),
        () => ConfigProvider.fromEnv()
      )
    )
  )
)

const customer = (tier: Tier, balance: string) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const keys = yield* Keys
    const balance_eur = BigDecimal.unsafeFromString(balance)
    const org = yield* accounts.createOrganization({ name: "Acme", tier, balance_eur })
    const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
    const orgKey = yield* keys.issue({ kind: "org", org_id: org.id }, { name: "Org" })
    const owner = { kind: "project", org_id: org.id, project_id: project.id, scope: "full" } as const
    const key = yield* keys.issue(owner, { name: "Project" })
    return { org, project, orgKey: Redacted.value(orgKey.key), key: Redacted.value(key.key) }
  })

const get = (path: string, key: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(HttpServer, ({ port }) =>
    Effect.map(ask(port, { path, key, headers }), (answer) => ({ status: answer.status, body: json(answer) }))
  )

const used = (org_id: number, project_id: number) =>
  Effect.gen(function* () {
    const usage = yield* Usage
    const agent = { id: 7, public_id: yield* newAgentId }
    const owner = { org_id, project_id, agent, at: new Date("2026-04-05T10:00:00Z") }
    const one = BigDecimal.make(1n, 0)
    const zero = BigDecimal.make(0n, 0)
    yield* usage.addCall(owner, {
      status: "completed",
      disposition: "answered",
      duration_seconds: 60,
      charge: {
        minutes_used: one,
        rate_per_minute: BigDecimal.unsafeFromString("0.12"),
        call_cost: BigDecimal.unsafeFromString("0.12"),
        recording_cost: zero,
        transfer_cost: zero,
        llm_discount: zero,
        llm_cost: zero,
        total_cost: BigDecimal.unsafeFromString("0.12")
      }
    })
  })

layer(MoneyServer, { timeout: "30 seconds" })("Over HTTP", (it) => {
  it.effect("GET /v1/credits accepts project and org keys, with and without X-Project-Id", () =>
    Effect.gen(function* () {
      const { key, orgKey, project } = yield* customer("payg", "12.3456")
      const body = { balance_eur: 12.3456, tier: "payg", concurrent_call_limit: 10, is_paused: false }
      expect(yield* get("/v1/credits", key)).toEqual({ status: 200, body })
      expect(yield* get("/v1/credits", orgKey)).toEqual({ status: 200, body })
      expect(yield* get("/v1/credits", orgKey, { "x-project-id": project.public_id })).toEqual({ status: 200, body })
      const foreign = yield* get("/v1/credits", orgKey, { "x-project-id": "999999" })
      expect([foreign.status, foreign.body["code"]]).toEqual([404, "PROJECT_NOT_FOUND"])
      const poor = yield* customer("scale", "0")
      expect((yield* get("/v1/credits", poor.key)).body).toMatchObject({ is_paused: true, concurrent_call_limit: 250 })
      const free = yield* customer("enterprise", "0")
      expect((yield* get("/v1/credits", free.key)).body).toMatchObject({
        is_paused: false,
        concurrent_call_limit: 1000
      })
    })
  )

  it.effect(
    "usage is the project's, or with an org key that names none the organization's; a paused account sees it",
    () =>
      Effect.gen(function* () {
        const { key, org, orgKey, project } = yield* customer("payg", "0")
        const second = yield* Effect.flatMap(Accounts, (a) =>
          a.createProject(org.id, { name: "Two", description: null })
        )
        yield* used(org.id, project.id)
        yield* used(org.id, second.id)
        const april = "from_date=2026-04-01&to_date=2026-04-30"
        const totals = (calls: number) => ({
          total_minutes: calls,
          total_cost: calls * 0.12,
          call_count: calls,
          sms_count: 0,
          sms_cost: 0
        })
        const ofProject = yield* get(`/v1/usage?${april}&granularity=month`, key)
        expect(ofProject).toEqual({
          status: 200,
          body: {
            from_date: "2026-04-01",
            to_date: "2026-04-30",
            granularity: "month",
            totals: totals(1),
            usage: [{ period: "2026-04", ...totals(1) }]
          }
        })
        expect((yield* get(`/v1/usage?${april}`, orgKey)).body).toMatchObject({ granularity: "day", totals: totals(2) })
        const named = yield* get(`/v1/usage?${april}&agent_id=7`, orgKey, { "x-project-id": String(second.id) })
        expect(named.body).toMatchObject({ totals: totals(1) })
        expect((yield* get(`/v1/usage?${april}&agent_id=8`, key)).body).toMatchObject({ totals: totals(0) })
        const summary = yield* get(`/v1/calls/summary?${april}&agent_id=7`, key)
        expect(summary).toMatchObject({
          status: 200,
          body: { total_calls: 1, answered_calls: 1, total_cost: 0.12, filters: { from_date: "2026-04-01" } }
        })
        // A summary is of a project.
        expect((yield* get("/v1/calls/summary", orgKey)).body).toMatchObject({ code: "PROJECT_ID_REQUIRED" })
      })
  )

  it.effect("each bad parameter is refused with its own message", () =>
    Effect.gen(function* () {
      const { key } = yield* customer("payg", "1")
      const badDays = ["", "2026", "2026-02-30", "2026-13-01", "0000-01-01", "01-02-2026", "2026-1-1", "today", "null"]
      const dates = ["from_date", "to_date"].flatMap((field) =>
        badDays.map((value) => [field, value, `${field} must be a date, YYYY-MM-DD`] as const)
      )
      const cases = {
        "/v1/usage": [
          ...dates,
          ...["", "week", "DAY", "1", "day,month"].map(
            (v) => ["granularity", v, "granularity must be day or month"] as const
          ),
          ...["", "0", "-1", "1.5", "agent_x", "x".repeat(3000)].map(
            (v) => ["agent_id", v, "agent_id must be an agent id"] as const
          )
        ],
        "/v1/calls/summary": [
          ...dates,
          ...["", "0", "-1", "1.5", "1e3", "abc", "agent_000000000000000000000000", "9".repeat(16)].map(
            (v) => ["agent_id", v, "agent_id must be a numeric agent id"] as const
          )
        ]
      }
      for (const [path, refusals] of Object.entries(cases)) {
        for (const [field, value, message] of refusals) {
          const asked = `${path}?${field}=${encodeURIComponent(value)}`
          const { body, status } = yield* get(asked, key)
          expect([asked, status, body]).toEqual([
            asked,
            400,
            { code: "VALIDATION_ERROR", message, error: message, details: { [field]: message } }
          ])
        }
        const order = yield* get(`${path}?from_date=2026-02-02&to_date=2026-02-01`, key)
        expect(order.body["details"]).toEqual({ from_date: "from_date must not be after to_date" })
        const several = yield* get(`${path}?from_date=x&to_date=y&unknown=1`, key)
        expect(Object.keys(several.body["details"] ?? {})).toEqual(["from_date", "to_date"])
        expect((yield* get(`${path}?unknown=1&from_date=2026-01-01&to_date=2026-01-02`, key)).status).toBe(200)
      }
    })
  )
})
