import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Either, Exit, Layer, Redacted, TestClock } from "effect"
import { KeyManagement } from "../src/KeyManagement.ts"
import type { KeyHolder } from "../src/KeyOwner.ts"
import { Keys } from "../src/Keys.ts"
import { account, Services, Test } from "./Account.ts"

const all = { limit: 100, offset: 0 }
const read = "bookings.customers.read"

/** Owners of the three kinds, all of one organization. */
const owners = Effect.map(account, ({ org, project }) => ({
  org: { kind: "org", org_id: org.id } as const,
  project: { kind: "project", org_id: org.id, project_id: project.id, scope: "read" } as const,
  workspace: { kind: "workspace", org_id: org.id, scopes: [read] } as const,
  of: org
}))

/** Authenticates with a raw key; returns the key's id. */
const enter = (raw: string) =>
  Effect.flatMap(Keys, (keys) =>
    raw.startsWith("svc_wsp_")
      ? Effect.map(keys.authenticateWorkspace(raw), ({ key_id }) => key_id)
      : Effect.map(keys.authenticate(raw), ({ key_id }) => key_id)
  )

/** Runs an effect at this time (ms). */
const at = (now: number) => Effect.withClock(Object.assign(Clock.make(), { currentTimeMillis: Effect.succeed(now) }))

layer(Test)("KeyManagement", (it) => {
  it.effect("keys are listed for their holder alone, newest first, without the raw key", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const { org, project, workspace } = yield* owners
      for (const owner of [org, project, workspace]) {
        const first = yield* management.create(owner, "first")
        yield* management.create(owner, "second")
        const rows = yield* management.list(owner, all)
        expect(rows.map(({ name }) => name)).toEqual(["second", "first"])
        expect(JSON.stringify(rows)).not.toContain(Redacted.value(first.key).slice(-20))
        expect(rows[1]).toMatchObject({ id: first.id, kind: owner.kind, key_hint: first.key_hint, last_used_at: null })
        expect(yield* management.list(owner, { limit: 1, offset: 1 })).toHaveLength(1)
        expect(yield* management.list(owner, { limit: 1, offset: 2 })).toEqual([])
      }
    })
  )

  it.effect("a revoked key of a project or workspace stays in the list, one of an organization does not", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const { org, project, workspace } = yield* owners
      const lengths: Array<number> = []
      for (const owner of [org, project, workspace]) {
        const { id } = yield* management.create(owner, "key")
        yield* management.revoke(owner, String(id))
        const rows = yield* management.list(owner, all)
        expect(rows.every((row) => row.revoked_at !== null)).toBe(true)
        lengths.push(rows.length)
      }
      expect(lengths).toEqual([0, 1, 1])
    })
  )

  it.scoped("a revoked key is refused at once on this node and within 2 s on others, also while in use", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const { org, project, workspace } = yield* owners
      const other = yield* Layer.build(Layer.fresh(Services))
      for (const owner of [org, project, workspace]) {
        const { id, key } = yield* management.create(owner, "key")
        const raw = Redacted.value(key)
        yield* enter(raw)
        yield* Effect.provide(enter(raw), other)
        yield* management.revoke(owner, String(id))
        expect((yield* Effect.flip(enter(raw))).code).toBe("INVALID_API_KEY")
        yield* TestClock.adjust(Duration.seconds(2))
        expect((yield* Effect.flip(Effect.provide(enter(raw), other))).code).toBe("INVALID_API_KEY")
      }
    })
  )

  it.effect("no request with a key in constant use is accepted after the revocation has been answered", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const { project } = yield* owners
      const { id, key } = yield* management.create(project, "key")
      const raw = Redacted.value(key)
      let revoked = false
      const use = Effect.gen(function* () {
        for (let round = 0; round < 50; round++) {
          const late = revoked
          const exit = yield* Effect.exit(enter(raw))
          if (late && Exit.isSuccess(exit)) return yield* Effect.dieMessage("a revoked key got in")
          yield* TestClock.adjust("100 millis")
        }
      })
      const revoke = Effect.tap(management.revoke(project, String(id)), () =>
        Effect.sync(() => {
          revoked = true
        })
      )
      yield* Effect.all([use, use, use, revoke], { concurrency: "unbounded" })
      expect((yield* Effect.flip(enter(raw))).code).toBe("INVALID_API_KEY")
    })
  )

  it.effect("a key of another holder or kind, or an unknown id, is not found and not revoked", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const mine = yield* owners
      const other = yield* owners
      const { id, key } = yield* management.create(mine.project, "key")
      const holders: ReadonlyArray<KeyHolder> = [
        other.project,
        other.org,
        mine.org,
        mine.workspace,
        { ...mine.project, project_id: other.project.project_id },
        { ...mine.project, org_id: other.org.org_id }
      ]
      for (const holder of holders) {
        expect((yield* Effect.flip(management.revoke(holder, String(id)))).code).toBe("API_KEY_NOT_FOUND")
      }
      for (const wrong of ["", "0", "-1", "1.5", "1e3", "abc", "\u0000", "9".repeat(30), ` ${id}`, String(id + 1000)]) {
        expect((yield* Effect.flip(management.revoke(mine.project, wrong))).code).toBe("API_KEY_NOT_FOUND")
      }
      yield* enter(Redacted.value(key))
    })
  )

  it.effect("a key cannot revoke itself; of concurrent revocations one succeeds", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const { org } = yield* owners
      const { id, key } = yield* management.create(org, "key")
      expect((yield* Effect.flip(management.revokeOther(org, String(id), id))).code).toBe("CANNOT_REVOKE_CURRENT_KEY")
      yield* enter(Redacted.value(key))
      const attempts = Array.from({ length: 4 }, () => Effect.exit(management.revoke(org, String(id))))
      const exits = yield* Effect.all(attempts, { concurrency: "unbounded" })
      expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
    })
  )

  it.effect("of keys that revoke each other at once one stays, and the others get INVALID_API_KEY", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      for (let round = 0; round < 10; round++) {
        const { org, project } = yield* owners
        for (const owner of [org, project]) {
          const made = yield* Effect.replicateEffect(management.create(owner, "key"), 3)
          const ids = made.map(({ id }) => id)
          // Each revokes the next one, the last one the first.
          const outcomes = yield* Effect.all(
            ids.map((id, i) => Effect.either(management.revokeOther(owner, String(ids[(i + 1) % 3]), id))),
            { concurrency: "unbounded" }
          )
          const left = (yield* management.list(owner, all)).filter(({ revoked_at }) => revoked_at === null)
          expect(left.length).toBeGreaterThan(0)
          expect(left.length).toBe(3 - outcomes.filter(Either.isRight).length)
          const refusals = outcomes.filter(Either.isLeft).map(({ left: { code } }) => code)
          expect(new Set(refusals)).toEqual(new Set(["INVALID_API_KEY"]))
        }
      }
    })
  )

  it.effect("a workspace key authenticates with its scopes and organization, and is refused by the voice API", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const management = yield* KeyManagement
      const { of, org, workspace } = yield* owners
      const { id, key } = yield* management.create(workspace, "key")
      expect(yield* keys.authenticateWorkspace(Redacted.value(key))).toEqual({
        kind: "workspace",
        key_id: id,
        scopes: [read],
        org: { id: of.id, public_id: of.public_id, tier: "growth" }
      })
      const voice = Redacted.value((yield* management.create(org, "key")).key)
      const hex = "ab".repeat(24)
      for (const raw of [
        voice,
        "",
        `svc_wsp_live_${hex}`,
        `svc_wsp_live_${hex}0`,
        voice.replace("svc_org_", "svc_wsp_live_")
      ]) {
        expect((yield* Effect.flip(keys.authenticateWorkspace(raw))).code).toBe("INVALID_API_KEY")
      }
    })
  )

  it.effect("a workspace key is refused from its expires_at on, to the millisecond", () =>
    Effect.gen(function* () {
      const management = yield* KeyManagement
      const sql = yield* SqlClient.SqlClient
      const { workspace } = yield* owners
      // The database uses the real time, so the keys must.
      const [row] = yield* sql<{ now: Date }>`select now() as now`
      const start = row?.now.getTime() ?? 0
      const { key } = yield* management.create({ ...workspace, expires_at: new Date(start + 600_000) }, "key")
      const raw = Redacted.value(key)
      // Cached one millisecond before its expiry, and still refused at it.
      yield* at(start + 599_999)(enter(raw))
      expect((yield* Effect.flip(at(start + 600_000)(enter(raw)))).code).toBe("INVALID_API_KEY")
      yield* sql`update api_keys set expires_at = now() where key_hint = ${`...${raw.slice(-8)}`}`
      yield* Effect.flatMap(Keys, (keys) => keys.clearCache)
      expect((yield* Effect.flip(at(start)(enter(raw)))).code).toBe("INVALID_API_KEY")
      const late = yield* Effect.flip(
        at(start)(management.create({ ...workspace, expires_at: new Date(start) }, "key"))
      )
      expect([late.code, late.details]).toEqual([
        "VALIDATION_ERROR",
        { expires_at: "expires_at must be in the future" }
      ])
    })
  )
})
