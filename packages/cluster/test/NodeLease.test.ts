import { SqlClient, Statement } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Database } from "@svc/database/Database"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Context, Effect, Exit, Layer, Logger, LogLevel, Option, Ref, Scope, TestClock } from "effect"
import { NodeLease } from "../src/NodeLease.ts"

/** A node on the database of the test; it ends with its scope. */
const node = (exclusive = false) =>
  Layer.build(
    Layer.fresh(NodeLease.layer).pipe(
      Layer.provide(Layer.succeed(Database, { exclusive, displayName: "a test database" }))
    )
  ).pipe(Effect.map(Context.get(NodeLease)))

/** Advances the nodes' clocks by a second, and waits for their statements. */
const second = Effect.gen(function* () {
  yield* TestClock.adjust("1 second")
  const sql = yield* SqlClient.SqlClient
  for (let round = 0; round < 5; round++) {
    yield* Effect.ignore(sql`select pg_sleep(0.002)`)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const seconds = (count: number) => Effect.repeatN(second, count - 1)

/** Lets seconds pass until `look` returns a value. */
const eventually = <A, E, R>(look: Effect.Effect<Option.Option<A>, E, R>) =>
  Effect.repeat(Effect.zipRight(second, look), { until: Option.isSome }).pipe(Effect.flatten)

const addDeadNode = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`insert into nodes (id, expires_at) values (${id}, now() - interval '1 second')`
  )

const nodeRow = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly alive: boolean; readonly dead: boolean }>`
      select expires_at > now() as alive, dead_at is not null as dead from nodes where id = ${id}`
  ).pipe(Effect.map((rows) => rows[0]))

/** Registers a settlement on the node, and returns the ids that it gets, in order. */
const settlements = (lease: Context.Tag.Service<typeof NodeLease>, name = "calls") =>
  Effect.gen(function* () {
    const settled = yield* Ref.make<ReadonlyArray<string>>([])
    yield* lease.onDeath(name, (ids) => Ref.update(settled, (all) => [...all, ...ids]))
    return { handed: Ref.get(settled) }
  })

const whenAny = ({ handed }: { readonly handed: Effect.Effect<ReadonlyArray<string>> }) =>
  eventually(Effect.map(handed, (ids) => (ids.length > 0 ? Option.some(ids) : Option.none())))

const test = (name: string, body: () => Effect.Effect<void, unknown, SqlClient.SqlClient | Scope.Scope>) =>
  it.scoped(name, () => body().pipe(Effect.provide(TestDatabase.layer)))

describe.concurrent("NodeLease", () => {
  test("onDeath settles a dead node once, on one of the other nodes", () =>
    Effect.gen(function* () {
      const one = yield* Effect.flatMap(node(), (lease) => settlements(lease))
      const two = yield* Effect.flatMap(node(), (lease) => settlements(lease))
      const handed = Effect.zipWith(one.handed, two.handed, (a, b) => [...a, ...b])
      yield* Effect.forEach(["node_a", "node_b", "node_c"], addDeadNode)
      yield* whenAny({ handed })
      yield* seconds(3)
      expect([...(yield* handed)].sort()).toEqual(["node_a", "node_b", "node_c"])
      expect(yield* nodeRow("node_a")).toEqual({ alive: false, dead: true })
    }))

  test("onDeath settles each name separately, also one that is registered later", () =>
    Effect.gen(function* () {
      const lease = yield* node(true)
      yield* addDeadNode("node_a")
      expect(yield* whenAny(yield* settlements(lease, "calls"))).toEqual(["node_a"])
      expect(yield* whenAny(yield* settlements(lease, "exports"))).toEqual(["node_a"])
    }))

  test("onDeath needs one statement a second for all registrations, and a dead node is still settled within one", () =>
    Effect.gen(function* () {
      const looks = yield* Ref.make<ReadonlyArray<string>>([])
      const counting = Statement.withTransformer((statement) => {
        const [text] = statement.compile(true)
        return text.includes("settled")
          ? Effect.as(
              Ref.update(looks, (all) => [...all, text]),
              statement
            )
          : Effect.succeed(statement)
      })
      yield* Effect.gen(function* () {
        const lease = yield* node(true)
        const all = yield* Effect.forEach(["calls", "exports", "orders", "chats"], (name) => settlements(lease, name))
        // Each registration begins with a look of its own.
        const began = (texts: ReadonlyArray<string>) =>
          texts.filter((text) => text.includes("array_append")).length === all.length
            ? Option.some(texts)
            : Option.none()
        yield* eventually(Effect.map(Ref.get(looks), began))
        yield* Ref.set(looks, [])
        yield* seconds(5)
        expect(yield* Ref.get(looks)).toHaveLength(5)
        yield* addDeadNode("node_a")
        yield* TestClock.adjust("1 second")
        const sql = yield* SqlClient.SqlClient
        const handed = Effect.zipRight(
          sql`select pg_sleep(0.002)`,
          Effect.forEach(all, ({ handed }) => handed)
        )
        // Without further seconds.
        const got = yield* Effect.repeat(handed, { until: (ids) => ids.every(({ length }) => length > 0) })
        expect(got).toEqual(all.map(() => ["node_a"]))
      }).pipe(counting)
    }))

  test("what is to run after a settlement runs when it is committed, and not after one that failed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = yield* node(true)
      yield* addDeadNode("node_a")
      const runs = yield* Ref.make<ReadonlyArray<unknown>>([])
      let attempts = 0
      // On another connection, so that it sees only what is committed.
      const committed = Effect.orDie(sql`select dead_at is not null as dead from nodes where id = 'node_a'`)
      yield* lease.onDeath(
        "calls",
        () => Effect.suspend(() => (++attempts < 2 ? Effect.dieMessage("not now") : Effect.void)),
        Effect.flatMap(committed, (rows) => Ref.update(runs, (all) => [...all, ...rows]))
      )
      yield* eventually(Effect.map(Ref.get(runs), (all) => (all.length > 0 ? Option.some(all) : Option.none())))
      yield* seconds(2)
      expect([attempts, yield* Ref.get(runs)]).toEqual([2, [{ dead: true }]])
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None)))

  test("a settlement that fails is rolled back and retried", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = yield* node(true)
      yield* sql`create table settled (id text)`
      yield* addDeadNode("node_a")
      const attempts = yield* Ref.make(0)
      yield* lease.onDeath("calls", (ids) =>
        Effect.gen(function* () {
          yield* sql`insert into settled ${sql.insert(ids.map((id) => ({ id })))}`
          if ((yield* Ref.updateAndGet(attempts, (n) => n + 1)) < 3) return yield* Effect.dieMessage("not now")
        }).pipe(Effect.orDie)
      )
      yield* eventually(
        Effect.map(sql`select id from settled`, (rows) => (rows.length > 0 ? Option.some(rows) : Option.none()))
      )
      yield* seconds(2)
      expect(yield* sql`select id from settled`).toEqual([{ id: "node_a" }])
      expect(yield* Ref.get(attempts)).toBe(3)
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None)))

  test("others is the number of other live nodes, without dead ones", () =>
    Effect.gen(function* () {
      const one = yield* node()
      yield* addDeadNode("node_a")
      yield* second
      expect(yield* one.others).toBe(0)
      const scope = yield* Scope.make()
      yield* Scope.extend(node(), scope)
      const two = yield* node()
      const seen = (wanted: number) =>
        eventually(Effect.map(one.others, (n) => (n === wanted ? Option.some(n) : Option.none())))
      yield* seen(2)
      yield* Scope.close(scope, Exit.void)
      yield* seen(1)
      expect(yield* Effect.zipRight(second, two.others)).toBe(1)
    }))

  test("a node that others declared dead loses its lease, and gets a new one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = yield* node()
      const { id, lost } = yield* lease.current
      yield* sql`update nodes set dead_at = now() where id = ${id}`
      yield* Effect.raceFirst(lost, Effect.forever(second))
      const next = yield* eventually(
        Effect.map(lease.current, (now) => (now.id === id ? Option.none() : Option.some(now)))
      )
      expect(yield* nodeRow(next.id)).toEqual({ alive: true, dead: false })
    }))

  test("a node that shut down is settled without waiting for the end of its lease", () =>
    Effect.gen(function* () {
      const settled = yield* Effect.flatMap(node(), (lease) => settlements(lease))
      yield* seconds(8)
      const scope = yield* Scope.make()
      const { id } = yield* Effect.flatMap(Scope.extend(node(), scope), (lease) => lease.current)
      expect(yield* nodeRow(id)).toEqual({ alive: true, dead: false })
      yield* Scope.close(scope, Exit.void)
      expect(yield* nodeRow(id)).toEqual({ alive: false, dead: false })
      expect(yield* whenAny(settled)).toEqual([id])
    }))

  test("on an exclusive database other leases are settled at once, even if they have not ended", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into nodes (id, expires_at) values ('node_killed', now() + interval '1 hour')`
      const lease = yield* node(true)
      const settled = yield* settlements(lease)
      expect(yield* whenAny(settled)).toEqual(["node_killed"])
    }))

  test("a node that has just started declares no other dead", () =>
    Effect.gen(function* () {
      yield* addDeadNode("node_a")
      const settled = yield* Effect.flatMap(node(), (lease) => settlements(lease))
      yield* seconds(4)
      expect(yield* settled.handed).toEqual([])
    }))

  test("a pause of the database makes no node lose its lease", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = yield* node()
      const settled = yield* settlements(lease)
      const other = yield* (yield* node()).current
      // Another node, whose connections recover some seconds later.
      yield* sql`insert into nodes (id, expires_at) values ('node_late', now() + interval '1 hour')`
      const own = yield* lease.current
      yield* seconds(8)
      // The database is away for 20 seconds: no heartbeat arrives, and all leases end.
      yield* sql`alter table nodes rename to nodes_away`
      yield* seconds(20)
      yield* sql`update nodes_away set expires_at = now() - interval '15 seconds'`
      yield* sql`alter table nodes_away rename to nodes`
      yield* seconds(4)
      yield* sql`update nodes set expires_at = now() + interval '1 hour' where id = 'node_late' and dead_at is null`
      yield* seconds(6)
      expect(yield* settled.handed).toEqual([])
      expect((yield* lease.current).id).toBe(own.id)
      expect(yield* nodeRow(own.id)).toEqual({ alive: true, dead: false })
      expect(yield* nodeRow(other.id)).toEqual({ alive: true, dead: false })
    }))

  test("a node that cannot reach the database for 30 seconds gives up its lease, and gets a new one afterwards", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lease = yield* node()
      const { id, lost } = yield* lease.current
      yield* seconds(2)
      yield* sql`alter table nodes rename to nodes_away`
      yield* Effect.raceFirst(lost, Effect.forever(second))
      yield* sql`alter table nodes_away rename to nodes`
      const next = yield* eventually(
        Effect.map(lease.current, (now) => (now.id === id ? Option.none() : Option.some(now)))
      )
      expect(yield* nodeRow(next.id)).toEqual({ alive: true, dead: false })
      expect(yield* nodeRow(id)).toEqual({ alive: false, dead: false })
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None)))
})
