import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { QueueRepo } from "../src/delivery/QueueRepo.ts"
import { account, appendEvents, WithoutWorker, webhookOf } from "./Fixture.ts"

layer(WithoutWorker, { excludeTestServices: true })("the time until a delivery is due", (it) => {
  it.effect(
    "is infinite for an empty queue, none for first attempts, and that of the first retry of all webhooks",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { untilDue, untilDueIf } = yield* QueueRepo
        const now = new Date("2026-11-01T09:30:00.000Z")
        const checked = (isWaiting: boolean) => sql`select ${untilDueIf(isWaiting, now)} as ms`
        expect(yield* untilDue(now)).toBe(Number.POSITIVE_INFINITY)
        expect(yield* checked(true)).toEqual([{ ms: null }])

        const owner = yield* account
        const webhooks = yield* Effect.replicateEffect(webhookOf(owner), 3)
        yield* appendEvents(owner, ["one", "two"])
        expect(yield* untilDue(now)).toBe(0)

        yield* sql`
        update webhook_deliveries d
        set attempts = 1, next_at = ${now}::timestamptz + (40 - d.webhook_id) * interval '1 minute'`
        const newest = Math.max(...webhooks.map(({ id }) => id))
        expect(yield* untilDue(now)).toBe((40 - newest) * 60_000)
        // Rounded up: it is never claimed too early.
        expect(yield* untilDue(new Date(now.getTime() + (40 - newest) * 60_000 - 1))).toBe(1)

        yield* sql`
        update webhook_deliveries set leased_by = 'node_a', next_at = ${now}::timestamptz - interval '3 seconds'
        where webhook_id = ${newest}`
        expect(yield* untilDue(now)).toBe(-3_000)
        expect([yield* checked(true), yield* checked(false)]).toEqual([[{ ms: -3_000 }], [{ ms: null }]])
      })
  )
})
