import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Data, Deferred, Effect, Exit, Fiber, Ref, TestServices } from "effect"
import { Customers } from "../src/Customers.ts"
import { Idempotency } from "../src/Idempotency.ts"
import { anna, apiKey, eventsOf, limits, organization, Test } from "./Account.ts"

class Refused extends Data.TaggedError("Refused") {}

/** Work that counts its runs, and answers with the count. */
const counting = Effect.map(Ref.make(0), (times) => ({
  work: Effect.map(
    Ref.updateAndGet(times, (n) => n + 1),
    (n) => ({ status: 201, answer: { data: { n } } })
  ),
  times: Ref.get(times)
}))

const account = Effect.flatMap(organization(), (org) => Effect.map(apiKey(org.id), (key_id) => ({ org, key_id })))

layer(Test)("Idempotency", (it) => {
  it.effect("a repeated request has one effect and one answer", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const { key_id } = yield* account
      const { times, work } = yield* counting
      const request = { key_id, key: "a", content: { name: "Anna", tags: [1, 2] } }
      const first = yield* idempotency.once(request, work)
      expect(first).toEqual({ status: 201, answer: { data: { n: 1 } }, replayed: false })
      const reordered = { ...request, content: { tags: [1, 2], name: "Anna" } }
      expect(yield* idempotency.once(reordered, work)).toEqual({ ...first, replayed: true })
      expect(yield* times).toBe(1)
    })
  )

  it.effect("fifty concurrent requests with one key have one effect and one answer", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const customers = yield* Customers
      const { key_id, org } = yield* account
      const create = Effect.map(customers.create(org, anna()), (data) => ({ status: 201, answer: { data } }))
      const answers = yield* Effect.replicateEffect(idempotency.once({ key_id, key: "a", content: 1 }, create), 50, {
        concurrency: 50
      })
      expect(answers.filter(({ replayed }) => !replayed).length).toBe(1)
      expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1)
      expect((yield* eventsOf(org.id)).length).toBe(1)
    })
  )

  it.effect("another request with the same key is an IdempotencyKeyConflict, and has no effect", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const { key_id } = yield* account
      const { times, work } = yield* counting
      yield* idempotency.once({ key_id, key: "a", content: { name: "Anna" } }, work)
      for (const content of [{ name: "Bob" }, { name: "Anna", x: null }, {}, null, ["name", "Anna"]]) {
        const error = yield* Effect.flip(idempotency.once({ key_id, key: "a", content }, work))
        expect(error._tag).toBe("IdempotencyKeyConflict")
      }
      expect(yield* times).toBe(1)
    })
  )

  it.effect("idempotency keys of different API keys are independent", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const { times, work } = yield* counting
      const [one, other] = yield* Effect.all([account, account])
      for (const { key_id } of [one, other]) {
        expect((yield* idempotency.once({ key_id, key: "a", content: 1 }, work)).replayed).toBe(false)
      }
      expect(yield* times).toBe(2)
    })
  )

  it.effect("failed work has no effect, and the key is free again", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const customers = yield* Customers
      const { key_id, org } = yield* account
      const create = Effect.map(customers.create(org, anna()), (data) => ({ status: 201, answer: { data } }))
      const request = { key_id, key: "a", content: 1 }
      for (const fault of [new Refused(), Effect.die(new Error("bug")), Effect.interrupt]) {
        expect(Exit.isFailure(yield* Effect.exit(idempotency.once(request, Effect.zipRight(create, fault))))).toBe(true)
      }
      expect(yield* eventsOf(org.id)).toEqual([])
      expect((yield* idempotency.once(request, create)).replayed).toBe(false)
      expect((yield* eventsOf(org.id)).length).toBe(1)
    })
  )

  it.effect("an answer is stored for a day, and then the key is free", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const sql = yield* SqlClient.SqlClient
      const { key_id } = yield* account
      const { work } = yield* counting
      const age = (time: string) =>
        sql`update idempotency_keys set created_at = now() - ${time}::interval where api_key_id = ${key_id}`
      const once = idempotency.once({ key_id, key: "a", content: 1 }, work)
      yield* once
      yield* age("23 hours 59 minutes")
      expect((yield* once).replayed).toBe(true)
      yield* age("24 hours 1 second")
      expect(yield* once).toEqual({ status: 201, answer: { data: { n: 2 } }, replayed: false })
      expect(yield* once).toEqual({ status: 201, answer: { data: { n: 2 } }, replayed: true })
    })
  )

  it.effect("the quota of keys per day is exact, also for concurrent requests; a refused request has no effect", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const customers = yield* Customers
      const sql = yield* SqlClient.SqlClient
      const { key_id, org } = yield* account
      const create = Effect.map(customers.create(org, anna()), (data) => ({ status: 201, answer: { data } }))
      const once = (key: string) => idempotency.once({ key_id, key, content: 1 }, create)
      const exits = yield* Effect.forEach(
        Array.from({ length: limits.idempotencyKeysPerDay + 10 }, (_, n) => `key ${n}`),
        (key) => Effect.exit(once(key)),
        { concurrency: 10 }
      )
      expect(exits.filter(Exit.isSuccess).length).toBe(limits.idempotencyKeysPerDay)
      expect((yield* eventsOf(org.id)).length).toBe(limits.idempotencyKeysPerDay)
      const refused = yield* Effect.flip(once("one more"))
      expect(refused).toMatchObject({ _tag: "IdempotencyKeyQuotaExceeded", retryAfter: expect.any(Number) })

      // Known keys still return their answers, and the quota resets tomorrow.
      const known = exits.findIndex(Exit.isSuccess)
      expect((yield* once(`key ${known}`)).replayed).toBe(true)
      yield* sql`update idempotency_key_counts set day = day - 1 where api_key_id = ${key_id}`
      expect((yield* once("one more")).replayed).toBe(false)
    })
  )

  it.effect(
    "a request waits for a concurrent one with the same key, and is an IdempotencyKeyConflict after 5 seconds",
    () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const { key_id } = yield* account
        const go = yield* Deferred.make<void>()
        const begun = yield* Deferred.make<void>()
        const slow = Deferred.succeed(begun, undefined).pipe(
          Effect.zipRight(Deferred.await(go)),
          Effect.as({ status: 200, answer: { data: "slow" } })
        )
        const once = idempotency.once({ key_id, key: "a", content: 1 }, slow)
        const first = yield* Effect.fork(once)
        yield* Deferred.await(begun)
        const error = yield* Effect.flip(once)
        expect([error._tag, error.message]).toEqual([
          "IdempotencyKeyConflict",
          "A request with this Idempotency-Key is still running"
        ])
        const waiting = yield* Effect.fork(once)
        yield* Deferred.succeed(go, undefined)
        expect((yield* Fiber.join(first)).replayed).toBe(false)
        expect(yield* Fiber.join(waiting)).toEqual({ status: 200, answer: { data: "slow" }, replayed: true })
      }).pipe(TestServices.provideLive)
  )

  it.effect("erasing a customer removes its data from stored answers", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const customers = yield* Customers
      const sql = yield* SqlClient.SqlClient
      const { key_id, org } = yield* account
      const create = Effect.map(customers.create(org, anna()), (data) => ({ status: 201, answer: { data } }))
      const once = idempotency.once({ key_id, key: "a", content: 1 }, create)
      yield* once
      const [row] = yield* sql<{ readonly id: string }>`
        select public_id as id from booking_customers where org_id = ${org.id}`
      const erased = yield* customers.anonymize(org, row?.id ?? "")
      expect(yield* once).toEqual({ status: 201, answer: { data: erased }, replayed: true })
    })
  )
})
