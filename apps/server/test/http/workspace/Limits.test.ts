import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import {
  base,
  made,
  organization,
  read,
  request,
  requestAt,
  workspaceServer,
  write
} from "../../servers/WorkspaceServer.ts"
import type { EnvelopeAnswer } from "../../servers/WorkspaceWire.ts"

/** Limits of the workspace API, small ones. */

const bo = { name: "Bo", email: "bo@example.com" }

const times = <A, E, R>(count: number, work: Effect.Effect<A, E, R>) =>
  Effect.all(Array.from({ length: count }, () => work))
const atOnce = <A, E, R>(count: number, work: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.all(
    Array.from({ length: count }, (_, index) => work(index)),
    { concurrency: "unbounded" }
  )

const codes = (answers: ReadonlyArray<EnvelopeAnswer>) => answers.map(({ code, status }) => code ?? status)
const tally = (answers: ReadonlyArray<EnvelopeAnswer>) => {
  const counts: Record<string, number> = {}
  for (const code of codes(answers)) counts[code] = (counts[code] ?? 0) + 1
  return counts
}

/** A server's clock that stands still at a time (ms) until it is set; its sleeps are as long as ever. */
const stoppedClock = () => {
  let now = 600_000
  const live = Clock.make()
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: live.currentTimeNanos,
    sleep: (duration) => live.sleep(duration),
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => live.unsafeCurrentTimeNanos()
  }
  return {
    layer: Layer.setClock(clock),
    set: (time: number) =>
      Effect.sync(() => {
        now = time
      })
  }
}

const rateClock = stoppedClock()
const Rates = workspaceServer({
  clock: rateClock.layer,
  settings: { SVC_LIMIT_WORKSPACE_KEY_PER_MINUTE: "5", SVC_LIMIT_WORKSPACE_ORG_PER_MINUTE: "8" }
})

layer(Rates, { excludeTestServices: true })("request rates of the workspace API", (it) => {
  it.effect("a key has its requests per minute, then gets 429 until the minute ends", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* rateClock.set(600_000 + 15_000)
      const get = request("GET", "", { key })
      expect(codes(yield* times(5, get))).toEqual([200, 200, 200, 200, 200])
      const refused = yield* get
      expect([refused.code, refused.headers["retry-after"]]).toEqual(["RATE_LIMITED", "45"])
      yield* rateClock.set(659_999)
      const last = yield* get
      expect([last.code, last.headers["retry-after"]]).toEqual(["RATE_LIMITED", "1"])
      yield* rateClock.set(660_000)
      expect(tally(yield* times(6, get))).toEqual({ 200: 5, RATE_LIMITED: 1 })
    })
  )

  it.effect("all keys of an organization share its requests per minute; refused requests do not count", () =>
    Effect.gen(function* () {
      const { key, keyWith } = yield* organization()
      const second = yield* keyWith([read])
      const third = yield* keyWith([read])
      expect(tally(yield* times(25, request("GET", "", { key })))).toEqual({ 200: 5, RATE_LIMITED: 20 })
      expect(tally(yield* times(5, request("GET", "", { key: second.key })))).toEqual({ 200: 3, RATE_LIMITED: 2 })
      const refused = yield* request("GET", "", { key: third.key })
      expect([refused.code, Number(refused.headers["retry-after"]) <= 60]).toEqual(["RATE_LIMITED", true])
      const other = yield* organization()
      expect((yield* request("GET", "", { key: other.key })).status).toBe(200)
    })
  )

  it.effect("the limits hold for concurrent requests", () =>
    Effect.gen(function* () {
      const { key, keyWith } = yield* organization()
      const second = yield* keyWith([read])
      const answers = yield* atOnce(40, (i) => request("GET", "", { key: i % 2 === 0 ? key : second.key }))
      expect(tally(answers)).toEqual({ 200: 8, RATE_LIMITED: 32 })
    })
  )

  it.effect("a request without a valid key does not count", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      yield* times(10, request("GET", "", { key: `${key}x` }))
      expect(tally(yield* times(6, request("GET", "", { key })))).toEqual({ 200: 5, RATE_LIMITED: 1 })
    })
  )

  it.effect("a refused request has no effect and uses no Idempotency-Key", () =>
    Effect.gen(function* () {
      const { key, keyWith } = yield* organization()
      const writer = yield* keyWith([write])
      yield* times(5, request("GET", "", { key: writer.key }))
      const refused = yield* request("POST", "", { key: writer.key, body: bo, once: "k" })
      expect(refused.code).toBe("RATE_LIMITED")
      expect((yield* request("GET", "", { key })).customers).toEqual([])
      yield* rateClock.set(720_000)
      const again = yield* request("POST", "", { key: writer.key, body: bo, once: "k" })
      expect([again.status, again.headers["idempotency-replayed"]]).toEqual([201, undefined])
    })
  )
})

const failuresClock = stoppedClock()
const Failures = workspaceServer({ clock: failuresClock.layer, settings: { SVC_LIMIT_AUTH_FAILURES: "3" } })

layer(Failures, { excludeTestServices: true })("failed authentications", (it) => {
  it.effect("an address with too many is refused for 15 minutes, also with a valid key", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const get = request("GET", "", { key })
      expect((yield* get).status).toBe(200)
      const wrong = request("GET", "", { key: `svc_wsp_live_${"0".repeat(48)}` })
      expect(codes(yield* times(3, wrong))).toEqual(["INVALID_API_KEY", "INVALID_API_KEY", "INVALID_API_KEY"])
      for (const one of [get, wrong, request("POST", "", { body: bo })]) {
        const refused = yield* one
        expect(refused.code).toBe("AUTH_RATE_LIMITED")
        expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(900)
      }
      expect((yield* requestAt("GET", `${base}/nowhere`, { key })).code).toBe("RESOURCE_NOT_FOUND")
      yield* failuresClock.set(600_000 + 15 * 60_000)
      expect((yield* get).status).toBe(200)
    })
  )

  it.effect("of wrong keys that arrive at once no more than the limit are answered with 401", () =>
    Effect.gen(function* () {
      yield* failuresClock.set(600_000 + 60 * 60_000)
      const answers = yield* atOnce(40, (i) =>
        request("GET", "", { key: `svc_wsp_live_${String(i).padStart(48, "0")}` })
      )
      expect(tally(answers)).toEqual({ INVALID_API_KEY: 3, AUTH_RATE_LIMITED: 37 })
    })
  )
})

const Quotas = workspaceServer({
  settings: { SVC_LIMIT_IDEMPOTENCY_KEYS_PER_DAY: "3", SVC_LIMIT_BOOKING_CUSTOMERS_PAYG: "3" }
})

layer(Quotas, { excludeTestServices: true })("quotas of the workspace API", (it) => {
  const post = (key: string, once: string) => request("POST", "", { key, body: bo, once })

  it.effect("an API key has a daily quota of distinct Idempotency-Keys; repeating one does not count", () =>
    Effect.gen(function* () {
      const { key, keyWith } = yield* organization()
      for (const once of ["a", "b", "a", "c", "b"]) expect((yield* post(key, once)).status).toBe(201)
      const refused = yield* post(key, "d")
      expect(refused.code).toBe("IDEMPOTENCY_KEY_QUOTA_EXCEEDED")
      expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(86_400)
      expect((yield* request("GET", "", { key })).customers).toHaveLength(3)
      for (const once of ["a", "b", "c"]) expect((yield* post(key, once)).headers["idempotency-replayed"]).toBe("true")
      expect((yield* request("POST", "", { key, body: bo })).status).toBe(201)
      const second = yield* keyWith([write])
      expect((yield* post(second.key, "d")).status).toBe(201)
    })
  )

  it.effect("the quota of Idempotency-Keys starts again the next day, also for refused ones", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      for (const once of ["a", "b", "c"]) yield* post(key, once)
      expect((yield* post(key, "d")).status).toBe(429)
      const sql = yield* SqlClient.SqlClient
      yield* sql`update idempotency_key_counts set day = day - 1`
      const answer = yield* post(key, "d")
      expect([answer.status, answer.headers["idempotency-replayed"]]).toEqual([201, undefined])
    })
  )

  it.effect("of many concurrent distinct Idempotency-Keys no more than the quota take effect", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const answers = yield* atOnce(20, (i) => post(key, `k${i}`))
      expect(tally(answers)).toEqual({ 201: 3, IDEMPOTENCY_KEY_QUOTA_EXCEEDED: 17 })
      expect((yield* request("GET", "", { key })).customers).toHaveLength(3)
    })
  )

  it.effect("the payg tier has a limit of customers, which deleted ones do not count against", () =>
    Effect.gen(function* () {
      const { key } = yield* organization("payg")
      const [first, second] = yield* Effect.all([made(key), made(key), made(key)])
      const refused = yield* request("POST", "", { key, body: bo })
      expect(refused.code).toBe("PAYG_LIMIT")
      expect((yield* request("PATCH", `/${first.id}`, { key, body: { city: "Gouda" } })).status).toBe(200)
      yield* request("DELETE", `/${first.id}`, { key })
      yield* made(key)
      const restored = yield* request("POST", `/${first.id}/restore`, { key })
      expect(restored.code).toBe("PAYG_LIMIT")
      expect((yield* request("GET", `/${first.id}?deleted=only`, { key })).status).toBe(200)
      yield* request("DELETE", `/${second.id}`, { key })
      expect((yield* request("POST", `/${first.id}/restore`, { key })).status).toBe(200)
    })
  )

  it.effect("concurrent creations and restorations do not exceed the limit of customers", () =>
    Effect.gen(function* () {
      const { key } = yield* organization("payg")
      const gone = yield* made(key)
      yield* request("DELETE", `/${gone.id}`, { key })
      const answers = yield* atOnce(20, (i) =>
        i % 4 === 0 ? request("POST", `/${gone.id}/restore`, { key }) : request("POST", "", { key, body: bo })
      )
      const done = answers.filter(({ status }) => status < 300)
      expect(done).toHaveLength(3)
      expect((yield* request("GET", "", { key })).customers).toHaveLength(3)
    })
  )

  it.effect("other tiers have no such limit; each organization is counted separately", () =>
    Effect.gen(function* () {
      const [payg, starter] = yield* Effect.all([organization("payg"), organization("starter")])
      yield* times(5, made(starter.key))
      yield* times(3, made(payg.key))
      expect((yield* request("POST", "", { key: payg.key, body: bo })).code).toBe("PAYG_LIMIT")
    })
  )
})
