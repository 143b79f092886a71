import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { CallNotFound } from "@svc/api/calls/Call"
import { CallId, ProjectId } from "@svc/api/Ids"
import { Projects } from "@svc/auth/Projects"
import { migrations } from "@svc/database/Migrations"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Layer, Queue, Schema } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { DebugLinks } from "../../src/record/DebugLinks.ts"
import { DebugLinksRepo } from "../../src/record/DebugLinksRepo.ts"
import { RecordingsRepo } from "../../src/recording/RecordingsRepo.ts"

const project = { id: 7, public_id: Schema.decodeSync(ProjectId)(`proj_${"p".repeat(24)}`) }
const callId = Schema.decodeSync(CallId)
const deleted = new Set<number>()

const Test = DebugLinks.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(DebugLinksRepo.layer, RecordingsRepo.layer)),
  Layer.provide(
    Layer.mergeAll(
      Layer.mock(Projects, { deletedAmong: (ids) => Effect.succeed(ids.filter((id) => deleted.has(id))) }),
      Layer.mock(Calls, {
        state: (_, id) =>
          id === "unknown"
            ? new CallNotFound()
            : Effect.succeed({
                call_id: callId(id),
                status: "completed",
                disposition: null,
                ended_reason: null,
                duration_seconds: 0,
                started_at: "2026-11-01T09:30:00.000Z",
                ended_at: null
              })
      })
    )
  ),
  Layer.provideMerge(TestDatabase.layer)
)

let made = 0
/** A call that started `days` ago in this project. */
const newCall = (days = 0, projectId = project.id) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = callId(`call_${String(++made).padStart(24, "0")}`)
    yield* sql`
      insert into calls (public_id, org_id, project_id, telephony, status, started_at)
      values (${id}, 1, ${projectId}, 'simulated', 'ringing', now() - make_interval(days => ${days}::int))`
    return id
  })

layer(Test, { excludeTestServices: true })("links to debug pages", (it) => {
  it.effect("are the same for keys of one scope, also when two ask at once, and lead to their call", () =>
    Effect.gen(function* () {
      const links = yield* DebugLinks
      const call = yield* newCall()
      const ask = (scope: "full" | "read") => links.of(project, call, scope)
      const [full, again, read] = yield* Effect.all([ask("full"), ask("full"), ask("read")], { concurrency: 3 })
      expect(again).toEqual(full)
      expect(full.url).toBe(`/debug/calls/${full.debug_token}`)
      expect(full.debug_token).toMatch(/^[0-9a-f]{64}$/)
      expect(read.debug_token).not.toBe(full.debug_token)
      expect(yield* links.find(full.debug_token)).toMatchObject({ scope: "full", call: { public_id: call } })
      expect(yield* links.find(read.debug_token)).toMatchObject({ scope: "read", call: { public_id: call } })
      expect((yield* links.of(project, yield* newCall(), "full")).debug_token).not.toBe(full.debug_token)
    })
  )

  it.effect("all end when they are revoked; the next ones are new", () =>
    Effect.gen(function* () {
      const links = yield* DebugLinks
      const [call, other] = [yield* newCall(), yield* newCall()]
      const revocations = yield* links.revocations
      const full = yield* links.of(project, call, "full")
      const read = yield* links.of(project, call, "read")
      const kept = yield* links.of(project, other, "full")
      const found = yield* links.find(full.debug_token)
      expect((yield* links.openLinks(found.call)).size).toBe(2)
      expect(yield* links.revoke(project, call)).toEqual({ revoked: 2 })
      expect(yield* Queue.take(revocations)).toBe(found.call.id)
      for (const { debug_token } of [full, read]) {
        expect((yield* Effect.flip(links.find(debug_token))).code).toBe("DEBUG_TOKEN_NOT_FOUND")
      }
      expect((yield* links.openLinks(found.call)).size).toBe(0)
      expect(yield* links.revoke(project, call)).toEqual({ revoked: 0 })
      const next = yield* links.of(project, call, "full")
      expect(next.debug_token).not.toBe(full.debug_token)
      yield* links.find(next.debug_token)
      yield* links.find(kept.debug_token)
      expect((yield* Effect.flip(links.revoke(project, "unknown"))).code).toBe("CALL_NOT_FOUND")
    }).pipe(Effect.scoped)
  )

  it.effect("end when recordings expire, and when the project is deleted", () =>
    Effect.gen(function* () {
      const links = yield* DebugLinks
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCall(89)
      const { debug_token } = yield* links.of(project, call, "full")
      const link = yield* links.find(debug_token)
      yield* sql`update calls set started_at = now() - interval '91 days' where public_id = ${call}`
      expect((yield* Effect.flip(links.find(debug_token))).code).toBe("DEBUG_TOKEN_NOT_FOUND")
      expect((yield* Effect.flip(links.of(project, call, "full"))).code).toBe("DEBUG_TOKEN_NOT_FOUND")
      expect((yield* links.openLinks(link.call)).size).toBe(0)
      const short = yield* links.of(project, yield* newCall(0, 8), "full")
      const before = yield* links.find(short.debug_token)
      deleted.add(8)
      expect((yield* Effect.flip(links.find(short.debug_token))).code).toBe("DEBUG_TOKEN_NOT_FOUND")
      expect((yield* links.openLinks(before.call)).size).toBe(0)
    })
  )

  it.effect("are stored as hashes", () =>
    Effect.gen(function* () {
      const links = yield* DebugLinks
      const sql = yield* SqlClient.SqlClient
      const { debug_token } = yield* links.of(project, yield* newCall(), "full")
      const rows = yield* sql`select *, encode(token_hash, 'hex') as hash from debug_links`
      expect(JSON.stringify(rows)).not.toContain(debug_token)
    })
  )

  it.effect("of an earlier release go on working with all content, until they are revoked", () =>
    Effect.gen(function* () {
      const links = yield* DebugLinks
      const sql = yield* SqlClient.SqlClient
      const call = yield* newCall()
      yield* sql`drop table debug_links`
      yield* sql`alter table calls add column debug_token text`
      yield* sql`create unique index calls_debug_token on calls (debug_token)`
      yield* sql`update calls set debug_token = 'an earlier token' where public_id = ${call}`
      yield* migrations["0026_debug_links"] ?? Effect.dieMessage("no such migration")
      expect(yield* links.find("an earlier token")).toMatchObject({ scope: "full", call: { public_id: call } })
      yield* links.find((yield* links.of(project, call, "full")).debug_token)
      expect(yield* links.revoke(project, call)).toEqual({ revoked: 2 })
      expect((yield* Effect.flip(links.find("an earlier token"))).code).toBe("DEBUG_TOKEN_NOT_FOUND")
    })
  )
})
