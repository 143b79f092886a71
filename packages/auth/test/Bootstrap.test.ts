import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Effect, Exit, Layer, Redacted } from "effect"
import { Accounts } from "../src/Accounts.ts"
import { AccountsRepo } from "../src/AccountsRepo.ts"
import { Bootstrap } from "../src/Bootstrap.ts"
import { Keys } from "../src/Keys.ts"
import { KeysRepo } from "../src/KeysRepo.ts"
import { KeyUse } from "../src/KeyUse.ts"

const server = (environment: { readonly [name: string]: string }) =>
  Bootstrap.layer.pipe(
    Layer.provideMerge(Keys.layer),
    Layer.provide(Layer.mergeAll(Accounts.layer, KeyUse.layer)),
    Layer.provide(Layer.mergeAll(AccountsRepo.layer, KeysRepo.layer)),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(environment)))))
  )

const hex = "00112233445566778899aabbccddeeff".repeat(2).slice(0, 48)
const given = {
  SVC_BOOTSTRAP_ORG_KEY: `svc_org_${hex}`,
  SVC_BOOTSTRAP_PROJECT_KEY: `svc_live_${hex}`,
  SVC_BOOTSTRAP_WORKSPACE_KEY: `svc_wsp_live_${hex}`
}

const run = Effect.flatMap(Bootstrap, (bootstrap) => bootstrap.run)

describe.concurrent("Bootstrap", () => {
  it.effect("creates an organization, a project and valid keys in an empty database", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const result = yield* run
      if (!result.created) return expect.fail("nothing was created")
      const org = yield* keys.authenticate(Redacted.value(result.keys.org.key))
      const project = yield* keys.authenticate(Redacted.value(result.keys.project.key))
      expect(org).toMatchObject({ kind: "org", org: { id: result.org.id, tier: "enterprise" } })
      expect(project).toMatchObject({ kind: "project", scope: "full", project: result.project })
      expect(Redacted.value(result.keys.workspace.key)).toMatch(/^svc_wsp_live_[0-9a-f]{48}$/)
      expect([result.keys.org, result.keys.project, result.keys.workspace].every((key) => key.generated)).toBe(true)
      expect(yield* sql`select balance_eur from organizations`).toEqual([{ balance_eur: "0" }])
      expect(yield* sql`select scopes from api_keys where kind = 'workspace'`).toEqual([
        { scopes: ["bookings.customers.read", "bookings.customers.write", "bookings.customers.delete"] }
      ])
      expect(yield* run).toEqual({ created: false })
    }).pipe(Effect.provide(server({ SVC_BOOTSTRAP_ORG_KEY: "" })), Effect.provide(TestDatabase.layer))
  )
  it.effect("takes keys, tier and balance from SVC_BOOTSTRAP_… variables", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const result = yield* run
      expect(result).toMatchObject({ created: true, keys: { org: { generated: false } } })
      expect((yield* keys.authenticate(given.SVC_BOOTSTRAP_ORG_KEY)).org.tier).toBe("payg")
      expect((yield* keys.authenticate(given.SVC_BOOTSTRAP_PROJECT_KEY)).kind).toBe("project")
      expect(yield* sql`select balance_eur from organizations`).toEqual([{ balance_eur: "12.3456" }])
    }).pipe(
      Effect.provide(server({ ...given, SVC_BOOTSTRAP_TIER: "payg", SVC_BOOTSTRAP_CREDITS: "12.3456" })),
      Effect.provide(TestDatabase.layer)
    )
  )
  it.effect("creates once when several servers start at the same time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const starts = Array.from({ length: 4 }, () => Effect.provide(run, server(given)))
      const results = yield* Effect.all(starts, { concurrency: "unbounded" })
      expect(results.filter((result) => result.created)).toHaveLength(1)
      expect(yield* sql`select count(*) from api_keys`).toEqual([{ count: 3 }])
    }).pipe(Effect.provide(TestDatabase.layer))
  )
  it.effect("rolls everything back when it fails halfway", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`alter table api_keys add constraint broken check (kind <> 'workspace')`
      expect(Exit.isFailure(yield* Effect.exit(Effect.provide(run, server(given))))).toBe(true)
      expect(yield* sql`select 1 from organizations`).toEqual([])
      yield* sql`alter table api_keys drop constraint broken`
      expect(yield* Effect.provide(run, server(given))).toMatchObject({ created: true })
    }).pipe(Effect.provide(TestDatabase.layer))
  )

  it.effect.each([
    ["SVC_BOOTSTRAP_ORG_KEY", `svc_live_${hex}`],
    ["SVC_BOOTSTRAP_ORG_KEY", `svc_org_${hex.slice(1)}`],
    ["SVC_BOOTSTRAP_PROJECT_KEY", `svc_live_${hex}00`],
    ["SVC_BOOTSTRAP_PROJECT_KEY", "secret"],
    ["SVC_BOOTSTRAP_WORKSPACE_KEY", `svc_wsp_live_${hex.slice(2)}zz`],
    ["SVC_BOOTSTRAP_TIER", "gold"],
    ["SVC_BOOTSTRAP_CREDITS", "-1"],
    ["SVC_BOOTSTRAP_CREDITS", "1.23456"],
    ["SVC_BOOTSTRAP_CREDITS", "lots"]
  ])("a wrong %s stops the start with a message that names it, and not its value", ([name = "", value = ""]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.provide(run, server({ [name]: value })))
      expect(String(error)).toContain(name)
      if (name.endsWith("_KEY")) expect(String(error)).not.toContain(value)
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
