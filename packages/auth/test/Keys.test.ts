import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { yieldThread } from "@svc/api/JsonLimits"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, Deferred, Duration, Effect, Either, Layer, Redacted, TestClock } from "effect"
import { Accounts } from "../src/Accounts.ts"
import { AccountsRepo } from "../src/AccountsRepo.ts"
import { Keys } from "../src/Keys.ts"
import { KeysRepo } from "../src/KeysRepo.ts"
import { KeyUse } from "../src/KeyUse.ts"

const Test = Keys.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, KeyUse.layer)),
  Layer.provideMerge(Layer.mergeAll(AccountsRepo.layer, KeysRepo.layer)),
  Layer.provideMerge(TestDatabase.layer)
)

/** A new organization with a project. */
const account = Effect.gen(function* () {
  const accounts = yield* Accounts
  const org = yield* accounts.createOrganization({
    name: "Acme",
    tier: "growth",
    balance_eur: BigDecimal.fromBigInt(0n)
  })
  const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
  return { org, project }
})

const projectKey = Effect.gen(function* () {
  const keys = yield* Keys
  const { org, project } = yield* account
  const issued = yield* keys.issue(
    { kind: "project", org_id: org.id, project_id: project.id, scope: "read" },
    { name: "Default" }
  )
  return { org, project, id: issued.id, raw: Redacted.value(issued.key), hint: issued.key_hint }
})

const rejected = (raw: string) =>
  Effect.flatMap(Keys, (keys) => Effect.map(Effect.flip(keys.authenticate(raw)), (error) => error.code))

layer(Test)("Keys", (it) => {
  it.effect("a project key authenticates with its organization, project and scope", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { hint, id, org, project, raw } = yield* projectKey
      expect(raw).toMatch(/^svc_live_[0-9a-f]{48}$/)
      expect(hint).toBe(`...${raw.slice(-8)}`)
      expect(yield* keys.authenticate(raw)).toEqual({
        kind: "project",
        key_id: id,
        scope: "read",
        org: { id: org.id, public_id: org.public_id, tier: "growth" },
        project: { id: project.id, public_id: project.public_id }
      })
    })
  )
  it.effect("an org key has full scope and no project", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { org } = yield* account
      const issued = yield* keys.issue({ kind: "org", org_id: org.id }, { name: "Default" })
      const principal = yield* keys.authenticate(Redacted.value(issued.key))
      expect(principal).toMatchObject({ kind: "org", scope: "full", project: null, org: { id: org.id } })
    })
  )
  it.effect("the raw key is not stored in the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id, raw } = yield* projectKey
      const rows = yield* sql<{ row: string }>`select k::text as row from api_keys k where id = ${id}`
      expect(rows[0]?.row).not.toContain(raw.slice(9, 40))
    })
  )

  const hex = "0123456789abcdef".repeat(3)
  it.effect.each([
    "",
    " ",
    "svc_live_",
    hex,
    `svc_live_${hex}`,
    `svc_org_${hex}`,
    `svc_live_${hex}0`,
    `svc_live_${hex.slice(1)}`,
    `svc_live_${hex.slice(1)}g`,
    ` svc_live_${hex}`,
    `svc_live_${hex}\n`,
    `SVC_LIVE_${hex}`,
    `sk_live_${hex}`,
    "svc_live_' or 1=1 --",
    `svc_live_${"\u0000".repeat(48)}`,
    "svc_live_".repeat(100_000)
  ])("an unknown or malformed key is refused (%#)", (raw) =>
    Effect.map(rejected(raw), (code) => expect(code).toBe("INVALID_API_KEY"))
  )
  it.effect("a workspace key is refused by the voice API", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { org } = yield* account
      const owner = { kind: "workspace", org_id: org.id, scopes: ["bookings.customers.read"] } as const
      const issued = yield* keys.issue(owner, { name: "Default" })
      expect(Redacted.value(issued.key)).toMatch(/^svc_wsp_live_[0-9a-f]{48}$/)
      expect(yield* rejected(Redacted.value(issued.key))).toBe("INVALID_API_KEY")
    })
  )

  it.effect("a revoked key is refused at once, although it was just used", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { id, org, project, raw } = yield* projectKey
      yield* keys.authenticate(raw)
      expect(yield* keys.revoke({ kind: "project", org_id: org.id, project_id: project.id }, id)).toBe(true)
      expect(yield* rejected(raw)).toBe("INVALID_API_KEY")
      expect(yield* keys.revoke({ kind: "project", org_id: org.id, project_id: project.id }, id)).toBe(false)
    })
  )
  it.effect("a key of another organization cannot be revoked", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { id, project, raw } = yield* projectKey
      const other = yield* account
      expect(yield* keys.revoke({ kind: "project", org_id: other.org.id, project_id: project.id }, id)).toBe(false)
      yield* keys.authenticate(raw)
    })
  )
  it.effect("a key revoked by another node is refused here within 2 s", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const { id, raw } = yield* projectKey
      yield* keys.authenticate(raw)
      yield* sql`update api_keys set revoked_at = now() where id = ${id}`
      yield* keys.authenticate(raw)
      yield* TestClock.adjust(Duration.seconds(2))
      expect(yield* rejected(raw)).toBe("INVALID_API_KEY")
    })
  )
  it.effect("a key in use is read again beside a request after 1 s, so that none waits for the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* KeysRepo
      const { id, raw } = yield* projectKey
      let reads = 0
      const slow = yield* Deferred.make<void>()
      const counted = {
        ...repo,
        findActive: (hash: string) =>
          Effect.suspend(() =>
            Effect.zipRight(reads++ === 0 ? Effect.void : Deferred.await(slow), repo.findActive(hash))
          )
      }
      yield* Effect.gen(function* () {
        const keys = yield* Keys
        yield* keys.authenticate(raw)
        yield* TestClock.adjust("999 millis")
        yield* keys.authenticate(raw)
        expect(reads).toBe(1)
        yield* TestClock.adjust("1 millis")
        yield* sql`update api_keys set revoked_at = now() where id = ${id}`
        yield* Effect.forEach([1, 2, 3], () => keys.authenticate(raw))
        // Not before the work of the request is done.
        expect(reads).toBe(1)
        yield* Effect.repeat(yieldThread, { until: () => reads > 1 })
        yield* Effect.zipRight(keys.authenticate(raw), yieldThread)
        expect(reads).toBe(2)
        yield* Deferred.succeed(slow, undefined)
        const refused = yield* Effect.repeat(Effect.either(keys.authenticate(raw)), { until: Either.isLeft })
        expect(refused).toMatchObject({ left: { code: "INVALID_API_KEY" } })
      }).pipe(Effect.provide(Layer.fresh(Keys.layer)), Effect.provideService(KeysRepo, counted))
    })
  )
  it.effect("the keys of a deleted project and expired keys are refused", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const first = yield* projectKey
      yield* sql`update projects set deleted_at = now() where id = ${first.project.id}`
      expect(yield* rejected(first.raw)).toBe("INVALID_API_KEY")
      const second = yield* projectKey
      yield* sql`update api_keys set expires_at = now() where id = ${second.id}`
      expect(yield* rejected(second.raw)).toBe("INVALID_API_KEY")
      yield* keys.clearCache
    })
  )
  it.effect("a key created by another node works at once, although it was refused before", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { org } = yield* account
      const raw = `svc_org_${"ab".repeat(24)}`
      expect(yield* rejected(raw)).toBe("INVALID_API_KEY")
      yield* keys.issue({ kind: "org", org_id: org.id }, { name: "Given", key: Redacted.make(raw) })
      expect((yield* keys.authenticate(raw)).org.id).toBe(org.id)
    })
  )

  it.effect("last_used_at of a key is written at most once a minute over all nodes", () =>
    Effect.gen(function* () {
      const repo = yield* KeysRepo
      const sql = yield* SqlClient.SqlClient
      const first = yield* projectKey
      const second = yield* projectKey
      const start = Date.UTC(2026, 10, 1, 12)
      const seen = Effect.map(
        sql<{ last_used_at: Date | null }>`
          select last_used_at from api_keys where id in (${first.id}, ${second.id}) order by id`,
        (rows) => rows.map((row) => (row.last_used_at === null ? null : row.last_used_at.getTime() - start))
      )
      yield* repo.recordUse([[first.id, start]])
      expect(yield* seen).toEqual([0, null])
      yield* repo.recordUse([
        [first.id, start + 59_999],
        [second.id, start + 59_999]
      ])
      expect(yield* seen).toEqual([0, 59_999])
      yield* repo.recordUse([
        [first.id, start + 60_000],
        [second.id, start - 5]
      ])
      expect(yield* seen).toEqual([60_000, 59_999])
    })
  )

  it.effect("a project is found by public and by numeric id, inside its organization only", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const mine = yield* account
      const other = yield* account
      const expected = { id: mine.project.id, public_id: mine.project.public_id }
      expect(yield* keys.projectOf(mine.org.id, mine.project.public_id)).toEqual(expected)
      expect(yield* keys.projectOf(mine.org.id, String(mine.project.id))).toEqual(expected)
      for (const id of [
        other.project.public_id,
        String(other.project.id),
        "",
        "0",
        "-1",
        "1.5",
        "999999999999999",
        "99999999999999999999",
        "proj_unknown",
        "\u0000",
        "' or 1=1"
      ]) {
        const error = yield* Effect.flip(keys.projectOf(mine.org.id, id))
        expect(error.code).toBe("PROJECT_NOT_FOUND")
      }
    })
  )
  it.effect("a deleted project is not found once the cached look-up is dropped", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const { org, project } = yield* account
      yield* keys.projectOf(org.id, project.public_id)
      yield* sql`update projects set deleted_at = now() where id = ${project.id}`
      yield* keys.clearCache
      expect((yield* Effect.flip(keys.projectOf(org.id, project.public_id)))._tag).toBe("ProjectNotFound")
    })
  )
})
