import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Redacted, Ref, TestClock } from "effect"
import { Keys } from "../src/Keys.ts"
import { Projects } from "../src/Projects.ts"
import { account, Services, Test } from "./Account.ts"

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

const withKey = Effect.gen(function* () {
  const { org, project } = yield* account
  const keys = yield* Keys
  const owner = { kind: "project", org_id: org.id, project_id: project.id, scope: "full" } as const
  const key = Redacted.value((yield* keys.issue(owner, { name: "Default" })).key)
  return { org, project, key }
})

layer(Test)("Projects", (it) => {
  it.effect("are listed newest first, by limit and offset, without deleted ones and those of other organizations", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { org, project } = yield* account
      yield* account
      const names = (page: { limit: number; offset: number }) =>
        Effect.map(projects.list(org.id, page), (rows) => rows.map((row) => row.name))
      for (const name of ["a", "b", "c"]) yield* projects.create(org.id, { name, description: null })
      expect(yield* names({ limit: 50, offset: 0 })).toEqual(["c", "b", "a", "Default"])
      expect(yield* names({ limit: 2, offset: 1 })).toEqual(["b", "a"])
      expect(yield* names({ limit: 2, offset: 999_999_999_999_999 })).toEqual([])
      yield* projects.remove(org.id, project.public_id)
      expect(yield* names({ limit: 50, offset: 0 })).toEqual(["c", "b", "a"])
    })
  )

  it.effect("may have the same name", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { org } = yield* account
      const same = { name: "Default", description: "x" }
      const first = yield* projects.create(org.id, same)
      const second = yield* projects.create(org.id, same)
      expect(first.public_id).not.toBe(second.public_id)
    })
  )

  it.effect("a change keeps fields that it does not name; null removes the description", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { org } = yield* account
      const { id } = yield* projects.create(org.id, { name: "a", description: "b" })
      expect(yield* projects.update(id, { name: "c" })).toMatchObject({ name: "c", description: "b" })
      expect(yield* projects.update(id, { description: null })).toMatchObject({ name: "c", description: null })
      const nothing = yield* Effect.flip(projects.update(id, {}))
      expect([nothing.code, nothing.message]).toEqual(["BAD_REQUEST", "No valid fields to update"])
      yield* projects.remove(org.id, String(id))
      expect((yield* Effect.flip(projects.update(id, { name: "d" }))).code).toBe("PROJECT_NOT_FOUND")
    })
  )

  it.effect("a deleted project is not found by any method, and its keys are refused at once", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const keys = yield* Keys
      const { key, org, project } = yield* withKey
      yield* keys.authenticate(key)
      yield* keys.projectOf(org.id, project.public_id)
      yield* projects.remove(org.id, project.public_id)
      expect((yield* Effect.flip(keys.authenticate(key))).code).toBe("INVALID_API_KEY")
      for (const look of [
        keys.projectOf(org.id, project.public_id),
        projects.get(org.id, String(project.id)),
        projects.remove(org.id, project.public_id)
      ]) {
        expect((yield* Effect.flip(look)).code).toBe("PROJECT_NOT_FOUND")
      }
      expect(yield* projects.deletedAmong([project.id, project.id + 1, -1])).toEqual([project.id])
      expect(yield* projects.deletedAmong([])).toEqual([])
    })
  )

  it.scoped("on another node the keys of a deleted project are refused within 2 s", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { key, org, project } = yield* withKey
      const other = yield* Layer.build(Layer.fresh(Services))
      const there = Effect.provide(
        Effect.flatMap(Keys, (keys) => keys.authenticate(key)),
        other
      )
      yield* there
      yield* projects.remove(org.id, project.public_id)
      yield* TestClock.adjust(Duration.seconds(2))
      expect((yield* Effect.flip(there)).code).toBe("INVALID_API_KEY")
    })
  )

  it.effect("a project of another organization is not found and not deleted", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const mine = yield* account
      const other = yield* account
      for (const id of [mine.project.public_id, String(mine.project.id), "0", "-1", "proj_x", "", "\u0000"]) {
        expect((yield* Effect.flip(projects.get(other.org.id, id))).code).toBe("PROJECT_NOT_FOUND")
        expect((yield* Effect.flip(projects.remove(other.org.id, id))).code).toBe("PROJECT_NOT_FOUND")
      }
      yield* projects.get(mine.org.id, mine.project.public_id)
    })
  )

  it.scoped("of concurrent deletions one succeeds, and the hooks run once", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { org, project } = yield* account
      const ran = yield* Ref.make<ReadonlyArray<string>>([])
      const note = (what: string) => (deleted: { readonly id: number }) =>
        deleted.id === project.id ? Ref.update(ran, (all) => [...all, what]) : Effect.void
      yield* projects.onDelete("test", note("inside"))
      yield* projects.afterDelete("test", note("after"))
      const attempts = Array.from({ length: 4 }, () => Effect.exit(projects.remove(org.id, project.public_id)))
      const exits = yield* Effect.all(attempts, { concurrency: "unbounded" })
      expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
      expect(yield* Ref.get(ran)).toEqual(["inside", "after"])
    })
  )

  it.effect("a failing hook inside the transaction rolls back the deletion and the writes of other hooks", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const { key, org, project } = yield* withKey
      const after = yield* Ref.make(false)
      const failing = Effect.scoped(
        Effect.gen(function* () {
          yield* projects.onDelete("first", ({ id }) =>
            Effect.orDie(sql`update projects set name = 'changed' where id = ${id}`)
          )
          yield* projects.onDelete("second", () => Effect.die(new Error("broken")))
          yield* projects.afterDelete("third", () => Ref.set(after, true))
          return yield* Effect.exit(projects.remove(org.id, project.public_id))
        })
      )
      expect(Exit.isFailure(yield* failing)).toBe(true)
      expect(yield* Ref.get(after)).toBe(false)
      expect(yield* projects.get(org.id, project.public_id)).toEqual(project)
      yield* keys.authenticate(key)
      // The hooks were removed with their scope.
      yield* projects.remove(org.id, project.public_id)
    })
  )

  it.effect("a hook after the deletion that fails or hangs delays the answer by at most 5 s", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const { org, project } = yield* account
      const hanging = yield* Deferred.make<void>()
      const last = yield* Ref.make(false)
      yield* projects.afterDelete("dies", () => Effect.die(new Error("broken")))
      yield* projects.afterDelete("hangs", () => Effect.zipRight(Deferred.succeed(hanging, undefined), Effect.never))
      yield* projects.afterDelete("works", () => Ref.set(last, true))
      const removal = yield* Effect.fork(projects.remove(org.id, project.public_id))
      yield* Deferred.await(hanging)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(removal)
      expect(yield* Ref.get(last)).toBe(true)
    }).pipe(Effect.scoped, quiet)
  )

  it.effect("a deleted project accepts no new resources", () =>
    Effect.gen(function* () {
      const projects = yield* Projects
      const sql = yield* SqlClient.SqlClient
      const { org, project } = yield* account
      const insert = sql`
        insert into phone_numbers (org_id, project_id, number, country, type, monthly_cost_eur, telephony)
        values (${org.id}, ${project.id}, ${`+${project.id}`}, 'BE', 'local', 0, 'test')`
      const inserting = yield* Deferred.make<void>()
      const finish = yield* Deferred.make<void>()
      // An insert that began before the deletion delays it, and its hooks see the row.
      const seen = yield* Ref.make(0)
      yield* projects.onDelete("test", ({ id }) =>
        sql`select 1 from phone_numbers where project_id = ${id}`.pipe(
          Effect.flatMap((rows) => Ref.set(seen, rows.length)),
          Effect.orDie
        )
      )
      const before = yield* Effect.fork(
        sql.withTransaction(
          insert.pipe(Effect.zipRight(Deferred.succeed(inserting, undefined)), Effect.zipRight(Deferred.await(finish)))
        )
      )
      yield* Deferred.await(inserting)
      const removal = yield* Effect.fork(projects.remove(org.id, project.public_id))
      const waits = sql<{ waiting: boolean }>`
        select exists (select 1 from pg_locks l join pg_stat_activity a using (pid)
          where not l.granted and a.datname = current_database()) as waiting`
      yield* Effect.repeat(waits, { until: ([row]) => row?.waiting === true })
      yield* Deferred.succeed(finish, undefined)
      yield* Fiber.join(before)
      yield* Fiber.join(removal)
      expect(yield* Ref.get(seen)).toBe(1)
      expect(Exit.isFailure(yield* Effect.exit(insert))).toBe(true)
    }).pipe(Effect.scoped)
  )
})
