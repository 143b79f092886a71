import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AccountsServer, customer, request } from "../servers/AccountsServer.ts"

/** The accounts endpoints: successful requests, and access. */

const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
const projectId = expect.stringMatching(/^proj_[0-9a-z]{24}$/)
const hint = expect.stringMatching(/^\.\.\.[0-9a-f]{8}$/)
const secret = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}[0-9a-f]{48}$`))
const number = expect.any(Number)

const idOf = (answer: { readonly json: unknown }): number =>
  typeof answer.json === "object" && answer.json !== null && "id" in answer.json ? Number(answer.json.id) : Number.NaN

const keyOf = (answer: { readonly json: unknown }): string =>
  typeof answer.json === "object" && answer.json !== null && "key" in answer.json ? String(answer.json.key) : ""

const code = (answer: { readonly status: number; readonly json: unknown }) => [
  answer.status,
  typeof answer.json === "object" && answer.json !== null && "code" in answer.json ? answer.json.code : null
]

layer(AccountsServer, { excludeTestServices: true })("accounts", (it) => {
  it.effect.each(["/v1/org/projects", "/v1/projects"])("projects are made, listed, read and deleted at %s", (base) =>
    Effect.gen(function* () {
      const { orgKey: key, project } = yield* customer()
      const made = yield* request("POST", base, { key, body: { name: " Shop ", description: "Ours" } })
      const shop = {
        id: projectId,
        internal_id: number,
        name: "Shop",
        description: "Ours",
        created_at: time,
        updated_at: time
      }
      expect([made.status, made.json]).toEqual([201, shop])
      const first = { ...shop, id: project.public_id, internal_id: project.id, name: "Default", description: null }
      const list = yield* request("GET", base, { key })
      expect([list.status, list.json]).toEqual([200, { projects: [made.json, first], limit: 50, offset: 0 }])
      const page = yield* request("GET", `${base}?limit=1&offset=1`, { key })
      expect(page.json).toEqual({ projects: [first], limit: 1, offset: 1 })
      for (const id of [project.public_id, project.id]) {
        expect((yield* request("GET", `${base}/${id}`, { key })).json).toEqual(first)
      }
      const gone = yield* request("DELETE", `${base}/${project.public_id}`, { key })
      expect([gone.status, gone.text]).toEqual([204, ""])
      for (const [method, path] of [
        ["GET", ""],
        ["DELETE", ""],
        ["GET", "/api-keys"],
        ["POST", "/api-keys"],
        ["DELETE", "/api-keys/1"]
      ] as const) {
        const answer = yield* request(method, `${base}/${project.public_id}${path}`, { key })
        expect(code(answer)).toEqual([404, "PROJECT_NOT_FOUND"])
      }
      expect((yield* request("GET", base, { key })).json).toMatchObject({ projects: [made.json] })
    })
  )

  it.effect.each(["/v1/org/projects/:id/api-keys", "/v1/projects/:id/api-keys", "/v1/project/api-keys"])(
    "keys of a project are made, listed and revoked at %s",
    (template) =>
      Effect.gen(function* () {
        const { orgKey: key, project } = yield* customer()
        const base = template.replace(":id", project.public_id)
        const headers = template.includes(":id") ? {} : { "x-project-id": project.public_id }
        const made = yield* request("POST", base, { key, headers, body: {} })
        const { key: raw, ...rest } = {
          id: number,
          name: "Default",
          scope: "full",
          key: secret("svc_live_"),
          key_hint: hint,
          created_at: time
        }
        expect([made.status, made.json]).toEqual([201, { ...rest, key: raw }])
        const reader = yield* request("POST", base, { key, headers, body: { name: "Reader", scope: "read" } })
        expect(reader.json).toMatchObject({ name: "Reader", scope: "read" })
        const one = { ...rest, last_used_at: null, revoked_at: null }
        const list = yield* request("GET", `${base}?limit=2`, { key, headers })
        expect(list.json).toEqual({
          api_keys: [
            { ...one, name: "Reader", scope: "read", id: idOf(reader) },
            { ...one, id: idOf(made) }
          ],
          limit: 2,
          offset: 0
        })
        expect((yield* request("GET", "/v1/project", { key: keyOf(made) })).status).toBe(200)
        expect(code(yield* request("PATCH", "/v1/project", { key: keyOf(reader), body: { name: "x" } }))).toEqual([
          403,
          "READ_ONLY_KEY"
        ])
        expect((yield* request("DELETE", `${base}/${idOf(made)}`, { key, headers })).status).toBe(204)
        expect(code(yield* request("DELETE", `${base}/${idOf(made)}`, { key, headers }))).toEqual([
          404,
          "API_KEY_NOT_FOUND"
        ])
        expect(code(yield* request("GET", "/v1/project", { key: keyOf(made) }))).toEqual([401, "INVALID_API_KEY"])
        const after = yield* request("GET", `${base}?limit=2`, { key, headers })
        expect(after.json).toMatchObject({ api_keys: [{ revoked_at: null }, { id: idOf(made), revoked_at: time }] })
      })
  )

  it.effect("org keys are created, listed and revoked; the key of the request cannot revoke itself", () =>
    Effect.gen(function* () {
      const { orgKey: key, orgKeyId } = yield* customer()
      const path = "/v1/org/api-keys"
      const made = yield* request("POST", path, { key, body: { name: "Second" } })
      const second = { id: number, name: "Second", key_hint: hint, created_at: time }
      expect([made.status, made.json]).toEqual([201, { ...second, key: secret("svc_org_") }])
      const list = yield* request("GET", path, { key })
      // The one that asks may have been noted as used by now.
      const current = { ...second, id: orgKeyId, name: "Default", last_used_at: expect.toSatisfy(() => true) }
      expect(list.json).toEqual({ api_keys: [{ ...second, last_used_at: null }, current], limit: 50, offset: 0 })
      expect(code(yield* request("DELETE", `${path}/${orgKeyId}`, { key }))).toEqual([400, "CANNOT_REVOKE_CURRENT_KEY"])
      expect((yield* request("DELETE", `${path}/${idOf(made)}`, { key })).status).toBe(204)
      expect(code(yield* request("GET", "/v1/org", { key: keyOf(made) }))).toEqual([401, "INVALID_API_KEY"])
      expect((yield* request("GET", `${path}?limit=1`, { key })).json).toMatchObject({ api_keys: [{ id: orgKeyId }] })
    })
  )

  it.effect("workspace keys are created with scopes and expires_at, listed and revoked", () =>
    Effect.gen(function* () {
      const { orgKey: key } = yield* customer()
      const path = "/v1/org/workspace-keys"
      const read = "bookings.customers.read"
      const made = yield* request("POST", path, {
        key,
        body: { scopes: [read, read], expires_at: "2999-12-31T23:00:00+01:00" }
      })
      const record = {
        id: number,
        name: "Default",
        scopes: [read],
        key_hint: hint,
        expires_at: "2999-12-31T22:00:00.000Z",
        created_at: time
      }
      expect([made.status, made.json]).toEqual([201, { ...record, key: secret("svc_wsp_live_") }])
      const lasting = yield* request("POST", path, { key, body: { scopes: [read], expires_at: null, name: "L" } })
      expect(lasting.json).toMatchObject({ expires_at: null, name: "L" })
      expect((yield* request("DELETE", `${path}/${idOf(lasting)}`, { key })).status).toBe(204)
      expect((yield* request("GET", path, { key })).json).toEqual({
        workspace_keys: [
          { ...record, id: idOf(lasting), name: "L", expires_at: null, last_used_at: null, revoked_at: time },
          { ...record, id: idOf(made), last_used_at: null, revoked_at: null }
        ],
        limit: 50,
        offset: 0
      })
      expect(code(yield* request("GET", "/v1/project", { key: keyOf(made) }))).toEqual([401, "INVALID_API_KEY"])
    })
  )

  it.effect("a project key reads and updates its project, whose numeric id is not shown", () =>
    Effect.gen(function* () {
      const { fullKey: key, fullKeyId, org, orgKey, project, readKey } = yield* customer()
      const own = { id: project.public_id, name: "Default", description: null, created_at: time, updated_at: time }
      expect((yield* request("GET", "/v1/project", { key })).json).toEqual(own)
      const headers = { "x-project-id": String(project.id) }
      expect((yield* request("GET", "/v1/project", { key: orgKey, headers })).json).toEqual(own)
      const changed = yield* request("PATCH", "/v1/project", { key, body: { name: " New ", description: "x" } })
      expect([changed.status, changed.json]).toEqual([200, { ...own, name: "New", description: "x" }])
      const cleared = yield* request("PATCH", "/v1/project", { key, body: { description: null, id: "proj_other" } })
      expect(cleared.json).toEqual({ ...own, name: "New" })
      const [refused, listed, byOrg] = [
        yield* request("GET", "/v1/project/api-keys", { key: readKey }),
        yield* request("GET", "/v1/project/api-keys", { key }),
        yield* request("GET", "/v1/project/api-keys", { key: orgKey, headers })
      ]
      expect(code(refused)).toEqual([403, "READ_ONLY_KEY"])
      expect(refused.text).not.toContain("...")
      expect([listed.status, byOrg.json]).toEqual([200, listed.json])
      expect(code(yield* request("DELETE", `/v1/project/api-keys/${fullKeyId}`, { key }))).toEqual([
        400,
        "CANNOT_REVOKE_CURRENT_KEY"
      ])
      expect((yield* request("GET", "/v1/org", { key: orgKey })).json).toEqual({
        id: org.id,
        public_id: org.public_id,
        name: "Acme",
        tier: "enterprise",
        balance_eur: 0,
        is_paused: false,
        concurrent_call_limit: 1000,
        created_at: time,
        updated_at: time
      })
    })
  )

  it.effect("resources of another organization are not found and not changed", () =>
    Effect.gen(function* () {
      const mine = yield* customer()
      const other = yield* customer()
      const key = mine.orgKey
      const theirs = other.project.public_id
      for (const base of ["/v1/org/projects", "/v1/projects"]) {
        for (const [method, path] of [
          ["GET", `/${theirs}`],
          ["DELETE", `/${theirs}`],
          ["DELETE", `/${other.project.id}`],
          ["GET", `/${theirs}/api-keys`],
          ["POST", `/${theirs}/api-keys`],
          ["DELETE", `/${theirs}/api-keys/${other.fullKeyId}`]
        ] as const) {
          expect(code(yield* request(method, base + path, { key }))).toEqual([404, "PROJECT_NOT_FOUND"])
        }
        expect(
          code(yield* request("DELETE", `${base}/${mine.project.id}/api-keys/${other.fullKeyId}`, { key }))
        ).toEqual([404, "API_KEY_NOT_FOUND"])
      }
      for (const path of [
        `/v1/org/api-keys/${other.orgKeyId}`,
        `/v1/org/api-keys/${mine.fullKeyId}`,
        `/v1/org/workspace-keys/${other.orgKeyId}`,
        `/v1/org/workspace-keys/${mine.orgKeyId}`,
        "/v1/org/api-keys/0",
        "/v1/org/api-keys/abc",
        "/v1/org/api-keys/%00"
      ]) {
        expect(code(yield* request("DELETE", path, { key }))).toEqual([404, "API_KEY_NOT_FOUND"])
      }
      const headers = { "x-project-id": theirs }
      expect(code(yield* request("GET", "/v1/project", { key, headers }))).toEqual([404, "PROJECT_NOT_FOUND"])
      // An org key is none of a project's keys, not even when it asks itself.
      const own = { "x-project-id": mine.project.public_id }
      const itself = yield* request("DELETE", `/v1/project/api-keys/${mine.orgKeyId}`, { key, headers: own })
      expect(code(itself)).toEqual([404, "API_KEY_NOT_FOUND"])
      expect((yield* request("GET", "/v1/project", { key: other.fullKey })).status).toBe(200)
      expect((yield* request("GET", "/v1/org", { key: other.orgKey })).status).toBe(200)
    })
  )

  it.effect("the key of a deleted project is refused; a failed deletion changes nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { fullKey, orgKey: key, project } = yield* customer()
      yield* sql`
        alter table projects add constraint broken check (id <> ${sql.literal(String(project.id))} or deleted_at is null)`
      const failed = yield* request("DELETE", `/v1/projects/${project.public_id}`, { key })
      expect(code(failed)).toEqual([500, "INTERNAL_ERROR"])
      expect(failed.text).not.toMatch(/constraint|broken/)
      expect((yield* request("GET", "/v1/project", { key: fullKey })).status).toBe(200)
      yield* sql`alter table projects drop constraint broken`
      const attempts = Array.from({ length: 3 }, () => request("DELETE", `/v1/projects/${project.public_id}`, { key }))
      const statuses = (yield* Effect.all(attempts, { concurrency: "unbounded" })).map(({ status }) => status)
      expect(statuses.sort()).toEqual([204, 404, 404])
      expect(code(yield* request("GET", "/v1/project", { key: fullKey }))).toEqual([401, "INVALID_API_KEY"])
      const headers = { "x-project-id": project.public_id }
      expect(code(yield* request("GET", "/v1/project", { key, headers }))).toEqual([404, "PROJECT_NOT_FOUND"])
    })
  )

  it.effect("an account without credits can read and revoke keys, and makes no other writes", () =>
    Effect.gen(function* () {
      const { fullKey, orgKey: key, project } = yield* customer({ tier: "payg", balance: 0 })
      const { fullKey: solvent } = yield* customer({ tier: "payg", balance: 0.01 })
      expect((yield* request("GET", "/v1/org", { key })).json).toMatchObject({ is_paused: true, balance_eur: 0 })
      const id = project.public_id
      const scopes = ["bookings.customers.read"]
      for (const [method, path, body] of [
        ["POST", "/v1/org/projects", { name: "x" }],
        ["POST", "/v1/projects", { name: "x" }],
        ["DELETE", `/v1/projects/${id}`, undefined],
        ["POST", `/v1/projects/${id}/api-keys`, {}],
        ["POST", "/v1/org/api-keys", {}],
        ["POST", "/v1/org/workspace-keys", { scopes }]
      ] as const) {
        expect(code(yield* request(method, path, { key, body }))).toEqual([402, "INSUFFICIENT_CREDITS"])
      }
      const body = { name: "x" }
      expect(code(yield* request("PATCH", "/v1/project", { key: fullKey, body }))).toEqual([
        402,
        "INSUFFICIENT_CREDITS"
      ])
      expect((yield* request("PATCH", "/v1/project", { key: solvent, body })).status).toBe(200)
      for (const path of [
        `/v1/org/projects/${id}/api-keys/1`,
        `/v1/projects/${id}/api-keys/1`,
        "/v1/org/api-keys/1",
        "/v1/org/workspace-keys/1"
      ]) {
        expect(code(yield* request("DELETE", path, { key }))).toEqual([404, "API_KEY_NOT_FOUND"])
      }
      expect(code(yield* request("DELETE", "/v1/project/api-keys/1", { key: fullKey }))).toEqual([
        404,
        "API_KEY_NOT_FOUND"
      ])
    })
  )
})
