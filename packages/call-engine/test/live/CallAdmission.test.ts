import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { Agents } from "@svc/agents/Agents"
import { NodeLease } from "@svc/cluster/NodeLease"
import type { IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { CallLinksRepo } from "../../src/links/CallLinksRepo.ts"
import { CallAdmission } from "../../src/live/CallAdmission.ts"
import { agentOnNumber, Base, configuration, Engine, until } from "../doubles/Engine.ts"

const incoming: IncomingCall = {
  id: "test",
  from: null,
  to: "",
  headers: {},
  ringing: () => {},
  answer: () => Effect.die("not answered here"),
  reject: () => {},
  canceled: Effect.never
}

describe("CallAdmission", () => {
  layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })((it) => {
    it.scoped("many calls that start at once with one link wait in order, and leave connections for other work", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const links = yield* CallLinksRepo
        const { agent, owner } = yield* agentOnNumber(() => configuration({ otherwise: "Ok." }))
        const token = "q".repeat(32)
        const ids = { org_id: owner.org.id, project_id: owner.project.id, agent_id: agent.id }
        yield* links.insert({ token, ...ids, from_number: null, metadata: {}, max_calls: 28, expires_in: 60 })
        const link = { id: (yield* links.find(token))?.id ?? 0, from: null, to: null, metadata: {} }
        const { id: node_id } = yield* (yield* NodeLease).current
        const known = yield* (yield* Agents).forCall(agent.id)
        const admission = yield* CallAdmission
        const admitted: Array<{ readonly n: number; readonly id: number }> = []
        const admit = (n: number) =>
          Effect.tap(
            admission.admit({ telephony: { id: "browser" }, incoming, node_id, ...ids, agent: known, link }),
            (call) => Effect.sync(() => call !== undefined && admitted.push({ n, id: call.id }))
          )

        const locked = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const holder = yield* Effect.fork(
          sql.withTransaction(
            sql`select 1 from call_links where id = ${link.id} for update`.pipe(
              Effect.zipRight(Deferred.succeed(locked, undefined)),
              Effect.zipRight(Deferred.await(release))
            )
          )
        )
        yield* Deferred.await(locked)
        const starts = yield* Effect.forEach(
          Array.from({ length: 30 }, (_, n) => n),
          (n) => Effect.fork(admit(n))
        )
        // Of the pool's five connections one holds the row and three wait for it: the last one serves this query.
        yield* until(
          sql<{ readonly waiting: number }>`
            select count(*)::int as waiting from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
          ([row]) => row?.waiting === 3
        )
        expect(admitted).toEqual([])
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(holder)
        yield* Fiber.joinAll(starts)
        expect(admitted).toHaveLength(28)
        // Ids are in the order of the records. Three at a time may change places.
        const inOrder = admitted.toSorted((a, b) => a.id - b.id)
        for (const [place, { n }] of inOrder.entries()) expect(Math.abs(place - n)).toBeLessThan(6)
        expect(yield* links.state(token)).toBe("closed")
      })
    )
  })
})
