import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, press, Quiet, webhookOf } from "./Town.ts"

/** Takes so many and finishes them. */
const deliver = (count: number) =>
  Effect.gen(function* () {
    const queue = yield* QueueRepo
    const node = "node_a"
    const claimed = yield* queue.claim({
      node,
      now: new Date(),
      room: count,
      roomLeft: new Map(),
      roomForOthers: count,
      alone: true
    })
    expect(claimed).toHaveLength(count)
    yield* queue.finish(
      claimed.map((delivery) => ({ delivery, node, at: Date.now(), status_code: 200, error: null, next_at: null }))
    )
  })

/** Statements that write outcomes and have a plan that this connection keeps. */
const kept = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql`select 1 from pg_prepared_statements where statement like '%insert into webhook_attempts%'`,
    (rows) => rows.length
  )
)

layer(Quiet)("outcomes", (it) => {
  // A kept plan takes arrays for ten long: with the wrong statistics it goes through the whole queue for each of hundreds.
  it.effect("of many deliveries are planned for their number, and those of a few are not planned each time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const owner = yield* account
      yield* webhookOf(owner)
      yield* Effect.gen(function* () {
        for (let turn = 0; turn < 8; turn++) {
          yield* press(owner, Array.from({ length: 100 }, String))
          yield* deliver(100)
        }
        expect(yield* kept).toBe(0)
        for (let turn = 0; turn < 8; turn++) {
          yield* press(owner, ["1", "2"])
          yield* deliver(2)
        }
        expect(yield* kept).toBe(1)
      }).pipe(sql.withTransaction)
    })
  )
})
