import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Ask, QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, press, Quiet, webhookOf } from "./Town.ts"

const node = "node_a"
const ask = (more: Partial<Ask>): Ask => ({
  node,
  now: new Date(),
  room: 400,
  roomLeft: new Map(),
  roomForOthers: 64,
  alone: true,
  ...more
})

/** Takes so many and finishes them. */
const deliver = (count: number) =>
  Effect.gen(function* () {
    const queue = yield* QueueRepo
    const claimed = yield* queue.claim(ask({ room: count, roomForOthers: count }))
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

const Rows = Schema.Tuple(Schema.Struct({ n: Schema.Int }))

/** Rows of the queue that this transaction has read so far, by an index or not. */
const read = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql`
      select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_xact_user_tables
      where relname = 'webhook_deliveries'`,
    (rows) => Schema.decodeUnknownSync(Rows)(rows)[0].n
  )
)

const backlog = 5_000
const receivers = 10
const perReceiver = 5

layer(Quiet)("the queue", (it) => {
  // A kept plan takes arrays for ten long: with the wrong statistics it goes through the whole queue for each of hundreds.
  it.effect("plans the outcomes of many deliveries for their number, and those of a few not each time", () =>
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

  it.effect("is not read through for receivers that have little in it, because another has a lot", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* QueueRepo
      const owner = yield* account
      const slow = yield* webhookOf(owner)
      yield* press(owner, ["first"])
      yield* sql`
        insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at)
        select d.webhook_id, d.event_seq, d.event_id, d.event, d.org_id, 'call_' || n, now()
        from webhook_deliveries d, generate_series(2, ${backlog}) n where d.webhook_id = ${slow.id}`
      // All of another's waits for a later attempt.
      const failing = yield* webhookOf(owner)
      yield* sql`
        insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, attempts, next_at)
        select ${failing.id}, d.event_seq, d.event_id, d.event, d.org_id, d.call_id, 1, now() + d.id * interval '1 hour'
        from webhook_deliveries d where d.webhook_id = ${slow.id}`
      // Some of it is at other nodes.
      yield* sql`update webhook_deliveries set leased_by = 'node_b' where id % 50 = 0`
      yield* sql`update webhooks set is_active = false where id in (${slow.id}, ${failing.id})`
      const fast = yield* Effect.replicateEffect(webhookOf(owner), receivers)
      yield* sql`analyze webhook_deliveries`
      // The queue is passed over by ids only where it is known to be done with.
      const only = new Map(fast.map(({ id }) => [id, 0]))
      const roomLeft = new Map([[slow.id, 0]])
      const ways: ReadonlyArray<Partial<Ask>> = [
        { only, alone: true },
        { only, alone: false },
        { roomLeft, alone: true },
        { roomLeft, alone: false },
        { roomLeft, alone: true, known: [] }
      ]
      for (const way of ways) {
        const rows = yield* Effect.gen(function* () {
          yield* press(owner, Array.from({ length: perReceiver }, String))
          const before = yield* read
          expect(yield* queue.claim(ask(way))).toHaveLength(receivers * perReceiver)
          const rows = (yield* read) - before
          yield* sql`delete from webhook_deliveries where leased_by = ${node}`
          return rows
        }).pipe(sql.withTransaction)
        // Of its own deliveries each is read a few times.
        expect(rows).toBeLessThan(receivers * perReceiver * 20)
      }
    })
  )
})
