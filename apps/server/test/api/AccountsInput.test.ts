import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AccountsServer, customer, request } from "../servers/AccountsServer.ts"

/** The accounts endpoints: every kind of invalid input. */

const invalid = (details: { readonly [field: string]: string }) => {
  const [first, ...others] = Object.values(details)
  const message = others.length === 0 ? first : "Several fields are not valid"
  return [400, { code: "VALIDATION_ERROR", message, error: message, details }]
}
const refused = (status: number, code: string, message: string) => [status, { code, message, error: message }]

/** A body that is refused, and the fields that say why. */
type Bad = readonly [body: unknown, details: { readonly [field: string]: string }]

const long = "x".repeat(201)
const notText = [5, null, true, [], {}] as const

const badNames = (empty: string): ReadonlyArray<Bad> => [
  ...notText.map((name): Bad => [{ name }, { name: "name must be a string" }]),
  [{ name: "" }, { name: empty }],
  [{ name: " \n" }, { name: empty }],
  [{ name: long }, { name: "name must not exceed 200 characters" }],
  [{ name: "a\u0000b" }, { name: "name must not contain NUL characters" }]
]

const badDescriptions = (valid: object): ReadonlyArray<Bad> => [
  ...notText
    .filter((value) => value !== null)
    .map((description): Bad => [{ ...valid, description }, { description: "description must be a string or null" }]),
  [{ ...valid, description: "x".repeat(2001) }, { description: "description must not exceed 2000 characters" }],
  [{ ...valid, description: "\u0000" }, { description: "description must not contain NUL characters" }]
]

const badScopes: ReadonlyArray<Bad> = ["", "FULL", "write", 5, null, ["full"], {}].map((scope) => [
  { scope },
  { scope: "scope must be one of: full, read" }
])

const scopes = ["bookings.customers.read"]
const oneScope = "must be one of: bookings.customers.read, bookings.customers.write, bookings.customers.delete"

const badWorkspaceKeys: ReadonlyArray<Bad> = [
  [{}, { scopes: "scopes is required." }],
  ...[null, "bookings.customers.read", 5, {}].map(
    (value): Bad => [{ scopes: value }, { scopes: "scopes must be an array" }]
  ),
  [{ scopes: [] }, { scopes: "scopes must not be empty" }],
  [{ scopes: Array.from({ length: 101 }, () => scopes[0]) }, { scopes: "scopes must not exceed 100 entries" }],
  [{ scopes: ["bookings.customers.*"] }, { "scopes.0": `scopes.0 ${oneScope}` }],
  [{ scopes: [...scopes, null, 5] }, { "scopes.1": `scopes.1 ${oneScope}`, "scopes.2": `scopes.2 ${oneScope}` }],
  ...[5, true, [], {}].map(
    (expires_at): Bad => [{ scopes, expires_at }, { expires_at: "expires_at must be a string or null" }]
  ),
  ...[
    "",
    "tomorrow",
    "2999-01-01",
    "2999-02-30T00:00:00Z",
    "2999-13-01T00:00:00Z",
    "2999-01-01T00:00:00",
    "0000-01-01T00:00:00Z",
    "2999-01-01T25:00:00Z"
  ].map((expires_at): Bad => [{ scopes, expires_at }, { expires_at: "expires_at must be an ISO 8601 timestamp" }]),
  [{ scopes, expires_at: "2020-01-01T00:00:00Z" }, { expires_at: "expires_at must be in the future" }],
  [
    { name: 5, scopes: 5, expires_at: 5 },
    {
      name: "name must be a string",
      scopes: "scopes must be an array",
      expires_at: "expires_at must be a string or null"
    }
  ],
  ...badNames("name must not be empty").map(([body, details]): Bad => [{ scopes, ...(body as object) }, details])
]

const projectBodies: ReadonlyArray<Bad> = [
  [{}, { name: "name is required." }],
  [{ description: 5 }, { name: "name is required.", description: "description must be a string or null" }],
  ...badNames("name is required."),
  ...badDescriptions({ name: "x" })
]

const keyBodies: ReadonlyArray<Bad> = [
  ...badNames("name must not be empty"),
  ...badScopes,
  [
    { name: 1, scope: 1 },
    { name: "name must be a string", scope: "scope must be one of: full, read" }
  ]
]

/** Endpoints that take a body; `:id` is the project. */
const withBody: ReadonlyArray<{
  readonly method: string
  readonly path: string
  readonly bad: ReadonlyArray<Bad>
}> = [
  { method: "POST", path: "/v1/org/projects", bad: projectBodies },
  { method: "POST", path: "/v1/projects", bad: projectBodies },
  { method: "POST", path: "/v1/org/projects/:id/api-keys", bad: keyBodies },
  { method: "POST", path: "/v1/projects/:id/api-keys", bad: keyBodies },
  { method: "POST", path: "/v1/project/api-keys", bad: keyBodies },
  { method: "POST", path: "/v1/org/api-keys", bad: badNames("name must not be empty") },
  { method: "POST", path: "/v1/org/workspace-keys", bad: badWorkspaceKeys },
  { method: "PATCH", path: "/v1/project", bad: [...badNames("name must not be empty"), ...badDescriptions({})] }
]

const lists = [
  "/v1/org/projects",
  "/v1/projects",
  "/v1/org/projects/:id/api-keys",
  "/v1/projects/:id/api-keys",
  "/v1/project/api-keys",
  "/v1/org/api-keys",
  "/v1/org/workspace-keys"
]

const badQueries: ReadonlyArray<readonly [string, { readonly [field: string]: string }]> = [
  ...["", "abc", "1.5", "1e1", "0x10", "%201", "+1", "9999999999999999", "limit"].map(
    (value) => [`limit=${value}`, { limit: "limit must be an integer" }] as const
  ),
  ...["0", "-1", "101", "999999999999999"].map(
    (value) => [`limit=${value}`, { limit: "limit must be between 1 and 100" }] as const
  ),
  ...["", "abc", "1.5", "1e1", "9999999999999999"].map(
    (value) => [`offset=${value}`, { offset: "offset must be an integer" }] as const
  ),
  ["offset=-1", { offset: "offset must not be negative" }],
  ["limit=0&offset=x", { limit: "limit must be between 1 and 100", offset: "offset must be an integer" }],
  ["limit=1&limit=2", { limit: "limit was given 2 times: give it once" }]
]

/** The endpoints for org keys only. */
const orgOnly = [
  "GET /v1/org",
  "GET /v1/org/projects",
  "POST /v1/org/projects",
  "GET /v1/org/projects/:id",
  "DELETE /v1/org/projects/:id",
  "GET /v1/org/projects/:id/api-keys",
  "POST /v1/org/projects/:id/api-keys",
  "DELETE /v1/org/projects/:id/api-keys/1",
  "GET /v1/projects",
  "POST /v1/projects",
  "GET /v1/projects/:id",
  "DELETE /v1/projects/:id",
  "GET /v1/projects/:id/api-keys",
  "POST /v1/projects/:id/api-keys",
  "DELETE /v1/projects/:id/api-keys/1",
  "GET /v1/org/api-keys",
  "POST /v1/org/api-keys",
  "DELETE /v1/org/api-keys/1",
  "GET /v1/org/workspace-keys",
  "POST /v1/org/workspace-keys",
  "DELETE /v1/org/workspace-keys/1"
]

/** The endpoints on the caller's project. */
const onProject = [
  "GET /v1/project",
  "PATCH /v1/project",
  "GET /v1/project/api-keys",
  "POST /v1/project/api-keys",
  "DELETE /v1/project/api-keys/1"
]

const split = (route: string, project: string) => {
  const [method = "", path = ""] = route.split(" ")
  return { method, path: path.replace(":id", project) }
}

layer(AccountsServer, { excludeTestServices: true })("accounts refuse", (it) => {
  const onOwn = (path: string, project: string) =>
    path.startsWith("/v1/project/") || path === "/v1/project" ? { "x-project-id": project } : {}

  it.effect.each(withBody)("a bad body of $method $path, field by field", ({ bad, method, path }) =>
    Effect.gen(function* () {
      const { orgKey: key, project } = yield* customer()
      const to = path.replace(":id", project.public_id)
      const headers = onOwn(path, project.public_id)
      for (const [body, details] of bad) {
        const answer = yield* request(method, to, { key, headers, body })
        expect([answer.status, answer.json], JSON.stringify(body)).toEqual(invalid(details))
      }
      for (const body of [[], "null", "5", '"text"', "true"]) {
        const answer = yield* request(method, to, { key, headers, body })
        expect([answer.status, answer.json], JSON.stringify(body)).toEqual(invalid({ body: "body must be an object" }))
      }
      const broken = yield* request(method, to, { key, headers, body: '{"name":' })
      expect([broken.status, broken.json]).toEqual(refused(400, "INVALID_JSON", "The body is not valid JSON"))
      const huge = yield* request(method, to, { key, headers, body: `"${"x".repeat(1024 * 1024)}"` })
      expect([huge.status, huge.json]).toEqual(refused(413, "REQUEST_TOO_LARGE", "The request body is over 1 MB"))
    })
  )

  it.effect.each(lists)("a bad query of GET %s, and take what is at its limits", (path) =>
    Effect.gen(function* () {
      const { orgKey: key, project } = yield* customer()
      const to = path.replace(":id", project.public_id)
      const headers = onOwn(path, project.public_id)
      for (const [query, details] of badQueries) {
        const answer = yield* request("GET", `${to}?${query}`, { key, headers })
        expect([answer.status, answer.json], query).toEqual(invalid(details))
      }
      for (const [query, page] of [
        ["limit=1", { limit: 1, offset: 0 }],
        ["limit=100&offset=999999999999999", { limit: 100, offset: 999_999_999_999_999 }],
        ["limit=007&unknown=x", { limit: 7, offset: 0 }]
      ] as const) {
        const answer = yield* request("GET", `${to}?${query}`, { key, headers })
        expect([answer.status, answer.json], query).toEqual([200, expect.objectContaining(page)])
      }
    })
  )

  it.effect("project keys at every endpoint of the organization", () =>
    Effect.gen(function* () {
      const { fullKey, project, readKey } = yield* customer()
      for (const route of orgOnly) {
        const { method, path } = split(route, project.public_id)
        for (const key of [fullKey, readKey]) {
          const answer = yield* request(method, path, { key })
          expect([answer.status, answer.json], route).toEqual(
            refused(403, "ORG_KEY_REQUIRED", "An organization key is required")
          )
        }
      }
    })
  )

  it.effect("org keys without X-Project-Id, or with a foreign project, where a project is needed", () =>
    Effect.gen(function* () {
      const { orgKey: key } = yield* customer()
      const other = yield* customer()
      for (const route of onProject) {
        const { method, path } = split(route, "")
        expect((yield* request(method, path, { key })).json, route).toMatchObject({ code: "PROJECT_ID_REQUIRED" })
        for (const id of [other.project.public_id, "proj_unknown", "0"]) {
          const headers = { "x-project-id": id }
          expect((yield* request(method, path, { key, headers })).json, route).toMatchObject({
            code: "PROJECT_NOT_FOUND"
          })
        }
      }
    })
  )

  it.effect("requests with a missing, invalid or ambiguous key, and writes with a read key", () =>
    Effect.gen(function* () {
      const { fullKey, orgKey, project, readKey } = yield* customer()
      for (const route of [...orgOnly, ...onProject]) {
        const { method, path } = split(route, project.public_id)
        expect((yield* request(method, path)).json, route).toMatchObject({ code: "MISSING_API_KEY" })
        for (const options of [
          { key: "svc_org_x" },
          { key: orgKey.replace("svc_org_", "svc_wsp_live_") },
          { key: orgKey, headers: { "x-api-key": fullKey } }
        ]) {
          const answer = yield* request(method, path, options)
          expect([answer.status, answer.json], route).toEqual(refused(401, "INVALID_API_KEY", "API key is invalid"))
        }
      }
      for (const route of onProject.filter((one) => !one.startsWith("GET"))) {
        const { method, path } = split(route, "")
        expect((yield* request(method, path, { key: readKey })).json, route).toMatchObject({ code: "READ_ONLY_KEY" })
      }
    })
  )

  it.effect("an update without fields, unsupported methods, and malformed ids", () =>
    Effect.gen(function* () {
      const { fullKey, orgKey } = yield* customer()
      for (const body of [{}, { unknown: 1 }, { internal_id: 5 }]) {
        const answer = yield* request("PATCH", "/v1/project", { key: fullKey, body })
        expect([answer.status, answer.json]).toEqual(refused(400, "BAD_REQUEST", "No valid fields to update"))
      }
      for (const path of ["/v1/org", "/v1/project/api-keys", "/v1/org/projects/1"]) {
        expect((yield* request("PUT", path, { key: orgKey })).json).toMatchObject({ code: "METHOD_NOT_ALLOWED" })
      }
      for (const id of [
        "0",
        "-1",
        "1.5",
        "abc",
        "proj_",
        "PROJ_1",
        "%00",
        "%27%20or%201%3D1",
        "9".repeat(40),
        "%F0%9F%98%80"
      ]) {
        for (const base of ["/v1/org/projects", "/v1/projects"]) {
          const answer = yield* request("GET", `${base}/${id}`, { key: orgKey })
          expect([answer.status, answer.json], id).toEqual(refused(404, "PROJECT_NOT_FOUND", "project not found"))
        }
      }
    })
  )
})
