import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Ref } from "effect"
import { Agents } from "../src/Agents.ts"
import { create, knowledgeBase, logOf, owner, Test, webhook_url } from "./Fixture.ts"

layer(Test)("deletion of an agent", (it) => {
  it.effect("makes the agent not found everywhere, and removes its webhook and links to knowledge bases", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const base = yield* knowledgeBase(by)
      const { agent } = yield* create(by, { webhook_url, knowledge_base_ids: [base.id] })
      const { agent: other } = yield* create(by, { webhook_url, knowledge_base_ids: [base.id] })
      expect(yield* agents.remove(by, String(agent.id))).toBe(agent.public_id)
      expect((yield* Effect.flip(agents.get(by.project, agent.public_id))).code).toBe("AGENT_NOT_FOUND")
      expect((yield* Effect.flip(agents.forCall(agent.id))).code).toBe("AGENT_NOT_FOUND")
      expect((yield* agents.list(by.project, { limit: 10 })).agents).toEqual([other])
      expect((yield* agents.list(by.project, { limit: 10, name: "recept" })).agents).toEqual([other])
      expect(yield* sql`select agent_id from agent_knowledge_bases where knowledge_base_id = ${base.id}`).toEqual([
        { agent_id: other.id }
      ])
      expect(yield* sql`select agent_id from webhooks where project_id = ${by.project.id}`).toEqual([
        { agent_id: other.id }
      ])
      expect((yield* Effect.flip(agents.remove(by, agent.public_id))).code).toBe("AGENT_NOT_FOUND")
    })
  )

  it.effect("succeeds for one of many concurrent requests", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { webhook_url })
      const exits = yield* Effect.all(
        Array.from({ length: 10 }, () => Effect.either(agents.remove(by, agent.public_id))),
        { concurrency: "unbounded" }
      )
      expect(exits.filter(({ _tag }) => _tag === "Right")).toHaveLength(1)
      expect((yield* logOf(by, agent.public_id)).map(({ action }) => action)).toEqual(["deleted", "created"])
    })
  )

  it.scoped("runs the hooks of other slices in its transaction, and a failing hook rolls it back", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { agent } = yield* create(by, { webhook_url })
      const notified = yield* Ref.make<ReadonlyArray<number>>([])
      const failing = yield* Ref.make(true)
      yield* Effect.orDie(sql`create table hooked (agent_id bigint)`)
      yield* agents.onDelete("test", (id) =>
        sql`insert into hooked values (${id})`.pipe(
          Effect.orDie,
          Effect.zipRight(Ref.update(notified, (ids) => [...ids, id])),
          Effect.zipRight(Effect.flatMap(Ref.get(failing), (fails) => (fails ? Effect.die("no") : Effect.void)))
        )
      )
      expect(Exit.isFailure(yield* Effect.exit(agents.remove(by, agent.public_id)))).toBe(true)
      expect(yield* sql`select * from hooked`).toEqual([])
      expect(yield* agents.get(by.project, agent.public_id)).toEqual(agent)
      yield* Ref.set(failing, false)
      yield* agents.remove(by, agent.public_id)
      expect(yield* sql`select * from hooked`).toEqual([{ agent_id: agent.id }])
      expect(yield* Ref.get(notified)).toEqual([agent.id, agent.id])
    })
  )

  it.scoped("is refused while the agent has live calls, and changes nothing", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const by = yield* owner
      const { agent } = yield* create(by, { webhook_url })
      const busy = yield* Ref.make(true)
      yield* agents.activeWhen("test", (id) => Effect.map(Ref.get(busy), (is) => is && id === agent.id))
      const error = yield* Effect.flip(agents.remove(by, agent.public_id))
      expect([error.status, error.code, error.message]).toEqual([
        409,
        "AGENT_HAS_ACTIVE_CALLS",
        "agent has active calls"
      ])
      expect(yield* agents.get(by.project, agent.public_id)).toEqual(agent)
      // It can still be changed.
      yield* agents.update(by, agent.public_id, { name: "Still here" })
      yield* Ref.set(busy, false)
      yield* agents.remove(by, agent.public_id)
    })
  )

  it.effect("waits for a transaction that has pinned the agent; a later one finds it deleted", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { agent } = yield* create(by)
      const pinned = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const order: Array<string> = []
      const holder = yield* agents.pin(agent.id).pipe(
        Effect.tap(() => Deferred.succeed(pinned, undefined)),
        Effect.zipLeft(Deferred.await(release)),
        Effect.tap(() => Effect.sync(() => order.push("released"))),
        sql.withTransaction,
        Effect.fork
      )
      yield* Deferred.await(pinned)
      const deletion = yield* agents.remove(by, agent.public_id).pipe(
        Effect.tap(() => Effect.sync(() => order.push("deleted"))),
        Effect.fork
      )
      const waiting = sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
      yield* Deferred.succeed(release, undefined)
      expect(yield* Fiber.join(holder)).toBe(true)
      yield* Fiber.join(deletion)
      expect(order).toEqual(["released", "deleted"])
      expect(yield* agents.pin(agent.id)).toBe(false)
    })
  )

  it.effect("allows many transactions to pin the agent while another one changes it", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sql = yield* SqlClient.SqlClient
      const by = yield* owner
      const { agent } = yield* create(by)
      // A change that holds its lock does not block the start of a call, nor the other way round.
      const both = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select 1 from agents where id = ${agent.id} for no key update`
          return yield* Effect.fork(agents.pin(agent.id)).pipe(Effect.flatMap(Fiber.join))
        })
      )
      expect(yield* both).toBe(true)
      const changed = sql.withTransaction(
        Effect.zipRight(
          agents.pin(agent.id),
          Effect.flatMap(Effect.fork(agents.update(by, agent.public_id, { name: "Other" })), Fiber.join)
        )
      )
      expect(yield* changed).toMatchObject({ name: "Other" })
    })
  )
})
