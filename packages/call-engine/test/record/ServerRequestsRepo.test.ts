import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Outbox } from "@svc/database/Outbox"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Clock, Effect, Layer } from "effect"
import type { ServerRequest } from "../../src/agent-server/ServerRequest.ts"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { JournalRepo } from "../../src/record/JournalRepo.ts"
import { LiveCallWriter } from "../../src/record/LiveCallWriter.ts"
import { ServerRequestsRepo } from "../../src/record/ServerRequestsRepo.ts"

const Test = LiveCallWriter.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(CallsRepo.layer, JournalRepo.layer, ServerRequestsRepo.layer)),
  Layer.provide(Outbox.layerWithoutDeliveries),
  Layer.provideMerge(TestDatabase.layer)
)

const newCall = (publicId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly id: number }>`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at)
        values (${publicId}, 1, 7, 'simulated', 'ringing', now()) returning id`,
      (rows) => rows[0]?.id ?? 0
    )
  )

const request = (change: Partial<ServerRequest> = {}): ServerRequest => ({
  event: "tool.call",
  started_at: 1_767_225_600_123,
  duration_ms: 45,
  status: 200,
  content_type: "application/json",
  error: null,
  request: "{}",
  response: `{"result":1}`,
  ...change
})

describe("requests to the agent's server", () => {
  layer(Test, { excludeTestServices: true })("on a database", (it) => {
    it.effect("are stored per call, also those that complete after the call has ended", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { journal, serverRequests } = yield* LiveCallWriter
        const repo = yield* ServerRequestsRepo
        const [one, other] = [yield* newCall(`call_${"1".repeat(24)}`), yield* newCall(`call_${"2".repeat(24)}`)]
        const first = request({ event: "call.started" })
        const failed = request({ status: null, error: "no answer within 5 seconds", response: null })
        serverRequests.add({ ...first, call_id: one })
        serverRequests.add({ ...request(), call_id: other })
        yield* journal.flush
        yield* sql`update calls set ended_at = now() where id = ${one}`
        serverRequests.add({ ...failed, call_id: one })
        yield* journal.flush
        expect(yield* repo.newestOfCall(one)).toEqual({ requests: [first, failed], leftOut: 0 })
      })
    )

    it.effect("are deleted in batches when they are older than the retention, and no others", () =>
      Effect.gen(function* () {
        const repo = yield* ServerRequestsRepo
        const { journal, serverRequests } = yield* LiveCallWriter
        const id = yield* newCall(`call_${"3".repeat(24)}`)
        const day = 86_400_000
        const now = yield* Clock.currentTimeMillis
        for (let age = 0; age < 8; age++)
          serverRequests.add({ ...request({ started_at: now - age * day }), call_id: id })
        yield* journal.flush
        const { requests: before } = yield* repo.newestOfCall(id)
        expect(yield* repo.deleteOlder(4, 3)).toBe(3)
        expect(yield* repo.deleteOlder(4, 3)).toBeLessThanOrEqual(3)
        yield* Effect.repeat(repo.deleteOlder(4, 3), { until: (deleted) => deleted === 0 })
        expect((yield* repo.newestOfCall(id)).requests).toEqual(before.slice(0, 4))
      })
    )
  })
})
