import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Clock, Effect, Layer, Option } from "effect"
import type { CallbackExchange } from "../../src/agent-server/CallbackExchange.ts"
import { DebugRepo } from "../../src/record/DebugRepo.ts"
import { Journal } from "../../src/record/Journal.ts"

const Test = Layer.merge(DebugRepo.layer, Journal.layer.pipe(Layer.provide(Outbox.layerWithoutDeliveries))).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

/** A call of so many days ago; its token is its id. */
const newCall = (publicId: string, days = 0) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly id: number }>`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at, debug_token)
        values (${publicId}, 1, 7, 'simulated', 'ringing', now() - make_interval(days => ${days}::int), ${publicId})
        returning id`,
      (rows) => rows[0]?.id ?? 0
    )
  )

const exchange = (change: Partial<CallbackExchange> = {}): CallbackExchange => ({
  event: "tool.call",
  started_at: 1_767_225_600_123,
  duration_ms: 45,
  status: 200,
  error: null,
  request: "{}",
  response: `{"result":1}`,
  ...change
})

describe("what is kept for debug pages", () => {
  layer(Test, { excludeTestServices: true })("on a database", (it) => {
    it.effect("are the requests to the agent's server, of this call alone, also of one that is over", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const journal = yield* Journal
        const repo = yield* DebugRepo
        const [one, other] = [yield* newCall(`call_${"1".repeat(24)}`), yield* newCall(`call_${"2".repeat(24)}`)]
        const first = exchange({ event: "call.started" })
        const failed = exchange({ status: null, error: "no answer within 5 seconds", response: null })
        journal.exchange({ ...first, call_id: one })
        journal.exchange({ ...exchange(), call_id: other })
        yield* journal.flush
        yield* sql`update calls set ended_at = now() where id = ${one}`
        journal.exchange({ ...failed, call_id: one })
        yield* journal.flush
        expect(yield* repo.exchanges(one)).toEqual([first, failed])
      })
    )

    it.effect("can be had by the call's token for as long as recordings are kept", () =>
      Effect.gen(function* () {
        const repo = yield* DebugRepo
        const old = `call_${"4".repeat(24)}`
        const id = yield* newCall(old, 3)
        expect(yield* repo.callOf(old, 4)).toEqual(Option.some({ id, public_id: old, project_id: 7 }))
        expect(yield* repo.tokenOf(old, 4)).toEqual(Option.some(old))
        expect(yield* repo.callOf(old, 3)).toEqual(Option.none())
        expect(yield* repo.tokenOf(old, 3)).toEqual(Option.none())
      })
    )

    it.effect("are forgotten in small steps when they are older than that, and no others", () =>
      Effect.gen(function* () {
        const repo = yield* DebugRepo
        const journal = yield* Journal
        const id = yield* newCall(`call_${"3".repeat(24)}`)
        const day = 86_400_000
        const now = yield* Clock.currentTimeMillis
        for (let age = 0; age < 8; age++)
          journal.exchange({ ...exchange({ started_at: now - age * day }), call_id: id })
        yield* journal.flush
        const before = yield* repo.exchanges(id)
        expect(yield* repo.forgetExchanges(4, 3)).toBe(3)
        expect(yield* repo.forgetExchanges(4, 3)).toBeLessThanOrEqual(3)
        yield* Effect.repeat(repo.forgetExchanges(4, 3), { until: (gone) => gone === 0 })
        expect(yield* repo.exchanges(id)).toEqual(before.slice(0, 4))
      })
    )
  })
})
