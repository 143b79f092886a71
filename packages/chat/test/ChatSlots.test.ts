import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import type { Principal } from "@svc/api/Principal"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Fiber, Layer } from "effect"
import { ChatSlotsRepo } from "../src/ChatSlotsRepo.ts"
import { begin, orgOf, quick, refusal, server } from "./LimitsOfServer.ts"

const slotsOf = ({ id }: Principal["org"]) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql`select 1 from chat_slots where org_id = ${id}`, ({ length }) => length)
  )

layer(Layer.provideMerge(ChatSlotsRepo.layer, TestDatabase.layer), {
  timeout: "60 seconds",
  excludeTestServices: true
})("chat completions at once on several servers", (it) => {
  it.scoped("are as many as the tier has, also when all begin together, and one that ends makes room everywhere", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      const [one, other] = [(yield* server("node_a")).limits, (yield* server("node_b")).limits]
      const attempts = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other)),
        (limits) => Effect.either(begin(limits, org)),
        { concurrency: "unbounded" }
      )
      const admitted = attempts.flatMap((attempt) => (attempt._tag === "Right" ? [attempt.right] : []))
      expect(admitted).toHaveLength(5)
      expect(new Set(attempts.flatMap((one) => (one._tag === "Left" ? [one.left.code] : [])))).toEqual(
        new Set(["AI_CONCURRENT_LIMIT_EXCEEDED"])
      )
      expect([yield* slotsOf(org), one.running(org.id) + other.running(org.id)]).toEqual([5, 5])
      yield* Fiber.interruptAll(admitted)
      expect([one.running(org.id), other.running(org.id)]).toEqual([0, 0])
      yield* Effect.repeat(slotsOf(org), { until: (slots) => slots === 0 })
    })
  )

  it.scoped("one after the other are never refused: a slot is free before the answer's last words", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      const [one, other] = [(yield* server("node_a")).limits, (yield* server("node_b")).limits]
      for (let running = 0; running < 4; running++) yield* begin(one, org)
      for (let round = 0; round < 20; round++) {
        yield* quick(one, org)
        yield* quick(other, org)
      }
      expect(yield* slotsOf(org)).toBe(4)
    })
  )

  it.scoped("of a dead server make room when it is settled, those of others stay", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      const [dead, live] = [yield* server("node_dead"), yield* server("node_live")]
      for (let running = 0; running < 3; running++) yield* begin(dead.limits, org)
      for (let running = 0; running < 2; running++) yield* begin(live.limits, org)
      expect((yield* Effect.flip(quick(live.limits, org))).code).toBe("AI_CONCURRENT_LIMIT_EXCEEDED")
      yield* live.settle(["node_dead", "node_other"])
      expect(yield* slotsOf(org)).toBe(2)
      yield* quick(live.limits, org)
    })
  )

  it.scoped("take no slot when the limit per minute refuses them, before or after their slot was taken", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      for (const rates of [{ peek: () => refusal }, { consume: () => refusal }]) {
        const { limits } = yield* server("node_a", rates)
        expect(yield* Effect.flip(quick(limits, org))).toMatchObject({ code: "AI_RATE_LIMIT_EXCEEDED", retryAfter: 7 })
        expect(limits.running(org.id)).toBe(0)
        yield* Effect.repeat(slotsOf(org), { until: (slots) => slots === 0 })
      }
    })
  )

  it.scoped("are as many as the tier has when a second server starts beside one that was alone and keeps slots", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      const nodes = { id: "node_first", others: 0 }
      const first = (yield* server(nodes)).limits
      yield* Fiber.interruptAll(yield* Effect.forEach([1, 2, 3, 4, 5], () => begin(first, org)))
      // Half of the 5, which a killed server leaves behind.
      yield* Effect.repeat(slotsOf(org), { until: (slots) => slots === 2 })
      yield* Effect.forEach([1, 2, 3], () => begin(first, org))
      const second = (yield* server("node_second")).limits
      yield* Effect.forEach([1, 2], () => begin(second, org))
      expect((yield* Effect.flip(quick(second, org))).code).toBe("AI_CONCURRENT_LIMIT_EXCEEDED")
      expect((yield* Effect.flip(quick(first, org))).code).toBe("AI_CONCURRENT_LIMIT_EXCEEDED")
      expect(yield* slotsOf(org)).toBe(5)
    })
  )
})
