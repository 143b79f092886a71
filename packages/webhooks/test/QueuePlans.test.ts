import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type ClaimRequest, QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, appendEvents, WithoutWorker, webhookOf } from "./Fixture.ts"

const node = "node_a"
const request = (more: Partial<ClaimRequest>): ClaimRequest => ({
  node,
  now: new Date(),
  room: 400,
  roomByWebhook: new Map(),
  roomPerOther: 64,
  isOnlyNode: true,
  ...more
})

/** Claims `count` deliveries and records their success. */
const deliver = (count: number) =>
  Effect.gen(function* () {
    const queue = yield* QueueRepo
    const claimed = yield* queue.claim(request({ room: count, roomPerOther: count }))
    expect(claimed).toHaveLength(count)
    yield* queue.recordOutcomes(
      claimed.map((delivery) => ({ delivery, node, at: Date.now(), status_code: 200, error: null, next_at: null }))
    )
  })

/** Number of statements that record outcomes and are prepared on this connection. */
const preparedCount = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql`select 1 from pg_prepared_statements where statement like '%insert into webhook_attempts%'`,
    (rows) => rows.length
  )
)

const Rows = Schema.Tuple(Schema.Struct({ n: Schema.Int }))

/** Rows of the queue that this transaction has read so far, with or without an index. */
const rowsRead = Effect.flatMap(SqlClient.SqlClient, (sql) =>
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

layer(WithoutWorker)("QueueRepo", (it) => {
  // A generic plan expects arrays of ten: with wrong statistics it scans the whole queue for each of hundreds.
  it.effect("recordOutcomes is planned anew for many outcomes, and uses a prepared plan for a few", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const owner = yield* account
      yield* webhookOf(owner)
      yield* Effect.gen(function* () {
        for (let turn = 0; turn < 8; turn++) {
          yield* appendEvents(owner, Array.from({ length: 100 }, String))
          yield* deliver(100)
        }
        expect(yield* preparedCount).toBe(0)
        for (let turn = 0; turn < 8; turn++) {
          yield* appendEvents(owner, ["1", "2"])
          yield* deliver(2)
        }
        expect(yield* preparedCount).toBe(1)
      }).pipe(sql.withTransaction)
    })
  )

  it.effect("claim does not scan the long queue of one webhook to find the few deliveries of others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* QueueRepo
      const owner = yield* account
      const slow = yield* webhookOf(owner)
      yield* appendEvents(owner, ["first"])
      yield* sql`
        insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at)
        select d.webhook_id, d.event_seq, d.event_id, d.event, d.org_id, 'call_' || n, now()
        from webhook_deliveries d, generate_series(2, ${backlog}) n where d.webhook_id = ${slow.id}`
      // All deliveries of another webhook wait for a retry.
      const failing = yield* webhookOf(owner)
      yield* sql`
        insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, attempts, next_at)
        select ${failing.id}, d.event_seq, d.event_id, d.event, d.org_id, d.call_id, 1, now() + d.id * interval '1 hour'
        from webhook_deliveries d where d.webhook_id = ${slow.id}`
      // Another node holds some of them.
      yield* sql`update webhook_deliveries set leased_by = 'node_b' where id % 50 = 0`
      yield* sql`update webhooks set is_active = false where id in (${slow.id}, ${failing.id})`
      const fast = yield* Effect.replicateEffect(webhookOf(owner), receivers)
      yield* sql`analyze webhook_deliveries`
      // Ids are a lower bound only in claims for given webhooks.
      const webhooks = new Map(fast.map(({ id }) => [id, 0]))
      const roomByWebhook = new Map([[slow.id, 0]])
      const claims: ReadonlyArray<Partial<ClaimRequest>> = [
        { webhooks, isOnlyNode: true },
        { webhooks, isOnlyNode: false },
        { roomByWebhook, isOnlyNode: true },
        { roomByWebhook, isOnlyNode: false },
        { roomByWebhook, isOnlyNode: true, held: [] }
      ]
      for (const claim of claims) {
        const rows = yield* Effect.gen(function* () {
          yield* appendEvents(owner, Array.from({ length: perReceiver }, String))
          const before = yield* rowsRead
          expect(yield* queue.claim(request(claim))).toHaveLength(receivers * perReceiver)
          const rows = (yield* rowsRead) - before
          yield* sql`delete from webhook_deliveries where leased_by = ${node}`
          return rows
        }).pipe(sql.withTransaction)
        // Each delivery of its own is read a few times.
        expect(rows).toBeLessThan(receivers * perReceiver * 20)
      }
    })
  )
})
