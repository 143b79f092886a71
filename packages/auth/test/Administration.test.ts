import { expect, layer } from "@effect/vitest"
import { WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { BigDecimal, Duration, Effect, Layer, Redacted, TestClock } from "effect"
import { Administration, type KeyRequest } from "../src/Administration.ts"
import { Keys } from "../src/Keys.ts"
import { Organizations } from "../src/Organizations.ts"
import { account, Services, Test } from "./Account.ts"

const read = "bookings.customers.read"

layer(Test)("Administration", (it) => {
  it.effect("an organization is created and listed, and GET /v1/org describes it", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const organizations = yield* Organizations
      const { organization: org } = yield* administration.createOrganization({
        name: "  Acme ",
        tier: "scale",
        credits: BigDecimal.unsafeFromString("12.34567")
      })
      expect((yield* administration.organizations).at(-1)).toEqual(org)
      expect(yield* organizations.info(org.id)).toEqual({
        id: org.id,
        public_id: expect.stringMatching(/^org_[0-9a-z]{24}$/),
        name: "Acme",
        tier: "scale",
        balance_eur: 12.3457,
        is_paused: false,
        concurrent_call_limit: 250,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/)
      })
      for (const name of ["", "  ", "x".repeat(201), "a\u0000b"]) {
        const error = yield* Effect.flip(
          administration.createOrganization({ name, tier: "payg", credits: BigDecimal.fromBigInt(0n) })
        )
        expect(Object.keys(error.details ?? {})).toEqual(["name"])
      }
    })
  )

  it.effect("a new organization has a project and a key of each kind that works", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const keys = yield* Keys
      const credits = BigDecimal.fromBigInt(1n)
      const {
        keys: made,
        organization,
        project
      } = yield* administration.createOrganization({ name: "x", tier: "payg", credits })
      expect(yield* administration.projects(organization.public_id)).toEqual([project])
      const raw = { org: Redacted.value(made.org), project: Redacted.value(made.project) }
      expect(yield* keys.authenticate(raw.org)).toMatchObject({ kind: "org", org: { id: organization.id } })
      expect(yield* keys.authenticate(raw.project)).toMatchObject({ scope: "full", project: { id: project.id } })
      const workspace = yield* keys.authenticateWorkspace(Redacted.value(made.workspace))
      expect(workspace).toMatchObject({ scopes: WorkspaceScope.literals })
    })
  )

  it.effect("a new project has a key that works; an invalid name or organization makes none", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const keys = yield* Keys
      const { org } = yield* account
      const before = yield* administration.projects(org.public_id)
      const { key, project } = yield* administration.createProject(String(org.id), " Support ")
      expect(project.name).toBe("Support")
      expect(yield* keys.authenticate(Redacted.value(key))).toMatchObject({
        kind: "project",
        project: { id: project.id }
      })
      expect((yield* Effect.flip(administration.createProject(org.public_id, "")))._tag).toBe("ValidationError")
      expect((yield* Effect.flip(administration.createProject("org_nope", "x")))._tag).toBe("OrganizationNotFound")
      expect(yield* administration.projects(org.public_id)).toEqual([project, ...before])
    })
  )

  it.effect.each([
    ["payg", 0n, true],
    ["payg", -1n, true],
    ["payg", 1n, false],
    ["enterprise", 0n, false],
    ["enterprise", -5n, false]
  ] as const)("an organization of tier %s with %d EUR is paused: %s", ([tier, credits, paused]) =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const organizations = yield* Organizations
      const { organization: org } = yield* administration.createOrganization({
        name: "x",
        tier,
        credits: BigDecimal.fromBigInt(credits)
      })
      expect((yield* organizations.info(org.id)).is_paused).toBe(paused)
    })
  )

  it.scoped("a new tier is effective at once on this node and within 2 s on others", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const keys = yield* Keys
      const { org } = yield* account
      const { key } = yield* administration.createKey({ kind: "org", org: org.public_id })
      const other = yield* Layer.build(Layer.fresh(Services))
      const tier = Effect.map(keys.authenticate(Redacted.value(key)), (principal) => principal.org.tier)
      const otherNode = yield* Effect.provide(Keys, other)
      const tierOnOtherNode = Effect.map(otherNode.authenticate(Redacted.value(key)), (principal) => principal.org.tier)
      expect([yield* tier, yield* tierOnOtherNode]).toEqual(["growth", "growth"])
      expect(yield* administration.setTier(String(org.id), "payg")).toMatchObject({ id: org.id, tier: "payg" })
      expect(yield* tier).toBe("payg")
      yield* TestClock.adjust(Duration.seconds(2))
      expect(yield* tierOnOtherNode).toBe("payg")
    })
  )

  it.effect("keys of each kind are created, listed and revoked by public and by numeric ids", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const { org, project } = yield* account
      for (const [orgId, projectId] of [
        [org.public_id, project.public_id],
        [String(org.id), String(project.id)]
      ] as const) {
        const requests: ReadonlyArray<KeyRequest> = [
          { kind: "org", org: orgId },
          { kind: "project", org: orgId, project: projectId, scope: "read", name: "ours" },
          { kind: "workspace", org: orgId, scopes: [read] }
        ]
        for (const request of requests) {
          const made = yield* administration.createKey(request)
          expect(made).toMatchObject({ kind: request.kind, name: request.name ?? "Default" })
          const ids = Effect.map(administration.keys(request), (rows) =>
            rows.filter((row) => row.revoked_at === null).map(({ id }) => id)
          )
          expect(yield* ids).toEqual([made.id])
          expect((yield* administration.revokeKey(String(made.id))).id).toBe(made.id)
          expect(yield* ids).toEqual([])
          expect((yield* Effect.flip(administration.revokeKey(String(made.id)))).code).toBe("API_KEY_NOT_FOUND")
        }
      }
    })
  )

  it.effect("an invalid combination of fields is refused with the name of the invalid field", () =>
    Effect.gen(function* () {
      const administration = yield* Administration
      const { org, project } = yield* account
      const outsider = yield* account
      const id = org.public_id
      const refused = (request: KeyRequest) =>
        Effect.map(Effect.flip(administration.createKey(request)), (error) => [
          error.code,
          ...("details" in error ? Object.keys(error.details ?? {}) : [])
        ])
      const invalid = "VALIDATION_ERROR"
      expect(yield* refused({ kind: "org", org: "org_unknown" })).toEqual(["ORGANIZATION_NOT_FOUND"])
      expect(yield* refused({ kind: "org", org: "0" })).toEqual(["ORGANIZATION_NOT_FOUND"])
      expect(yield* refused({ kind: "project", org: id })).toEqual([invalid, "project"])
      expect(yield* refused({ kind: "project", org: id, project: "7_" })).toEqual(["PROJECT_NOT_FOUND"])
      expect(yield* refused({ kind: "project", org: id, project: outsider.project.public_id })).toEqual([
        "PROJECT_NOT_FOUND"
      ])
      expect(yield* refused({ kind: "org", org: id, project: project.public_id })).toEqual([invalid, "project"])
      expect(yield* refused({ kind: "org", org: id, scope: "read" })).toEqual([invalid, "scope"])
      expect(yield* refused({ kind: "org", org: id, scopes: [read] })).toEqual([invalid, "scopes"])
      expect(yield* refused({ kind: "org", org: id, expires_at: new Date(1) })).toEqual([invalid, "expires_at"])
      expect(yield* refused({ kind: "workspace", org: id })).toEqual([invalid, "scopes"])
      expect(yield* refused({ kind: "workspace", org: id, scopes: [] })).toEqual([invalid, "scopes"])
      expect(yield* refused({ kind: "workspace", org: id, scopes: [read], expires_at: new Date(0) })).toEqual([
        invalid,
        "expires_at"
      ])
      expect(yield* refused({ kind: "org", org: id, name: " " })).toEqual([invalid, "name"])
      expect((yield* Effect.flip(administration.revokeKey("x"))).code).toBe("API_KEY_NOT_FOUND")
      expect((yield* Effect.flip(administration.setTier("org_x", "payg"))).code).toBe("ORGANIZATION_NOT_FOUND")
      expect((yield* Effect.flip(administration.keys({ kind: "org", org: "x" }))).code).toBe("ORGANIZATION_NOT_FOUND")
    })
  )
})
