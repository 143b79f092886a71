import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import * as DocumentedShapes from "../src/blackbox/DocumentedShapes.ts"
import * as Line from "../src/blackbox/Line.ts"
import { misfits } from "../src/blackbox/Shape.ts"

const { at } = ApiClient

/** Checks the shape of an error. See docs/reference/conventions.md. */
const expectError = (reply: ApiClient.Reply, status: number, code: string): void => {
  const { code: given, error, message, details: _, retryAfter: __, ...more } = reply.body
  expect([reply.status, given, more]).toEqual([status, code, {}])
  expect(typeof message === "string" && message !== "" && error === message).toBe(true)
  expect(reply.headers.get("content-type")).toMatch(/^application\/json/)
  expect(reply.headers.get("x-request-id")).toMatch(/^\S+$/)
  expect(reply.text).not.toMatch(/\bat \S+:\d+|node_modules|select |ParseError|Schema|undefined/i)
}

/** Checks a validation error of these fields; with a single one its message is also the error's. */
const expectInvalid = (reply: ApiClient.Reply, details: { readonly [field: string]: string | RegExp }): void => {
  expectError(reply, 400, "VALIDATION_ERROR")
  const expected = Object.entries(details).map(([field, message]) => [
    field,
    typeof message === "string" ? message : expect.stringMatching(message)
  ])
  expect(reply.body["details"]).toEqual(Object.fromEntries(expected))
  if (expected.length === 1) expect(reply.body["message"]).toEqual(expected[0]?.[1])
}

const unknownKey = (prefix: string) => `${prefix}${"0123456789ab".repeat(4)}`
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const server_url = "http://127.0.0.1:9/agent"

/** A second project of the organization, and a project of another organization; there is no endpoint for these yet. */
const otherProjects = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const id = (prefix: string, letter: string) => `${prefix}_${letter.repeat(24)}`
  const [own] = yield* sql<{ readonly id: string }>`
    insert into projects (public_id, org_id, name)
    select ${id("proj", "b")}, id, 'Second' from organizations on conflict do nothing returning public_id as id`
  const [org] = yield* sql<{ readonly id: number }>`
    insert into organizations (public_id, name, tier) values (${id("org", "c")}, 'Other', 'payg')
    on conflict do nothing returning id`
  yield* sql`insert into projects (public_id, org_id, name) values (${id("proj", "d")}, ${org?.id ?? 0}, 'Foreign')`
  return { own: own?.id ?? "", foreign: id("proj", "d") }
}).pipe(Effect.orDie)

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("The API", (it) => {
  it.effect("answers 401, 403 and 404 by key, header, scope and project", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* BlackBox
      const { foreign, own } = yield* otherProjects
      const project = Redacted.value(keys.project)
      const org = Redacted.value(keys.org)
      const ask = (headers: { readonly [name: string]: string }, path = "/v1/agents") =>
        ApiClient.call(`${url}${path}`, "GET", { headers })
      const refused: ReadonlyArray<readonly [{ readonly [name: string]: string }, number, string]> = [
        [{}, 401, "MISSING_API_KEY"],
        [{ authorization: "" }, 401, "MISSING_API_KEY"],
        [bearer("nonsense"), 401, "INVALID_API_KEY"],
        [bearer(`sk_${project.slice(9)}`), 401, "INVALID_API_KEY"],
        [bearer(unknownKey("svc_live_")), 401, "INVALID_API_KEY"],
        [bearer(unknownKey("svc_org_")), 401, "INVALID_API_KEY"],
        [bearer(Redacted.value(keys.workspace)), 401, "INVALID_API_KEY"],
        [bearer(project.slice(0, -1)), 401, "INVALID_API_KEY"],
        [{ authorization: `Basic ${project}` }, 401, "INVALID_API_KEY"],
        [{ "x-api-key": unknownKey("svc_live_") }, 401, "INVALID_API_KEY"],
        [{ ...bearer(project), "x-api-key": org }, 401, "INVALID_API_KEY"],
        [{ ...bearer(org), "x-api-key": project }, 401, "INVALID_API_KEY"],
        [bearer(org), 400, "PROJECT_ID_REQUIRED"],
        [{ ...bearer(org), "x-project-id": foreign }, 404, "PROJECT_NOT_FOUND"],
        [{ ...bearer(org), "x-project-id": "proj_000000000000000000000000" }, 404, "PROJECT_NOT_FOUND"],
        [{ ...bearer(org), "x-project-id": "99999999999999999999" }, 404, "PROJECT_NOT_FOUND"],
        [{ ...bearer(org), "x-project-id": "' or 1=1" }, 404, "PROJECT_NOT_FOUND"]
      ]
      for (const [headers, status, code] of refused) expectError(yield* ask(headers), status, code)

      const welcome = [
        bearer(project),
        { authorization: `bearer ${project}` },
        { "x-api-key": project },
        { ...bearer(project), "x-api-key": project },
        { ...bearer(org), "x-project-id": own },
        { "x-api-key": org, "x-project-id": own }
      ]
      for (const headers of welcome) expect([headers, (yield* ask(headers)).status]).toEqual([headers, 200])

      const health = yield* ask(bearer(org), "/v1/health")
      expect(health.body).toEqual({ status: "ok", tier: "enterprise", project_id: null, org_id: expect.any(Number) })
      const mine = yield* ask(bearer(project), "/v1/health")
      expect(mine.body).toEqual({ ...health.body, project_id: expect.any(Number) })
    })
  )

  it.effect("allows GET only to a read key, and answers 401 to a revoked key", () =>
    Effect.gen(function* () {
      const { url } = yield* BlackBox
      const sql = yield* SqlClient.SqlClient
      const keyOf = (letter: string, revoked: boolean) =>
        Effect.gen(function* () {
          const key = `svc_live_${letter.repeat(48)}`
          yield* sql`
            insert into api_keys (kind, org_id, project_id, name, scope, key_hash, key_hint, revoked_at)
            select 'project', org_id, id, 'Read', 'read', sha256(${key}::bytea), 'x',
              case when ${revoked} then now() end
            from projects order by id limit 1`
          return ApiClient.make(url, Redacted.make(key))
        }).pipe(Effect.orDie)
      const reader = yield* keyOf("a", false)
      expect((yield* reader.get("/v1/agents")).status).toBe(200)
      expectError(yield* reader.post("/v1/agents", { name: "A", server_url }), 403, "READ_ONLY_KEY")
      // The key is checked before the path and the body.
      expectError(yield* reader.post("/v1/agents", {}), 403, "READ_ONLY_KEY")
      expectError(yield* reader.patch("/v1/phone-numbers/1", { agent_id: null }), 403, "READ_ONLY_KEY")
      expectError(yield* reader.post("/v1/calls/nope/end"), 403, "READ_ONLY_KEY")
      const revoked = yield* keyOf("b", true)
      expectError(yield* revoked.get("/v1/agents"), 401, "INVALID_API_KEY")
    })
  )

  it.effect("answers 404 for agents, calls and phone numbers of another project", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const sql = yield* SqlClient.SqlClient
      const [second] = yield* Effect.orDie(sql<{ readonly id: string }>`
        insert into projects (public_id, org_id, name)
        select ${`proj_${"7".repeat(24)}`}, id, 'Third' from organizations order by id limit 1 returning public_id as id`)
      const theirs = ApiClient.make(url, keys.org, { "x-project-id": second?.id ?? "" })
      const agent = yield* api.post("/v1/agents", { name: "Mine", server_url })
      const agentId = ApiClient.textAt(agent.body, "agent.public_id")
      const numeric = ApiClient.textAt(agent.body, "agent.id")
      const imported = yield* api.post("/v1/phone-numbers/import", {
        number: Line.freshNumber(),
        telephony: "simulated"
      })
      const numberId = ApiClient.textAt(imported.body, "phone_number.id")
      const [call] = yield* Effect.orDie(sql<{ readonly id: number; readonly public_id: string }>`
        insert into calls (public_id, org_id, project_id, telephony, status, started_at, ended_at)
        select ${`call_${"a".repeat(24)}`}, org_id, id, 'simulated', 'failed', now(), now()
        from projects order by id limit 1 returning id, public_id`)
      const callId = call?.public_id ?? ""

      for (const id of [agentId, numeric]) {
        expect((yield* api.get(`/v1/agents/${id}`)).status).toBe(200)
        expectError(yield* theirs.get(`/v1/agents/${id}`), 404, "AGENT_NOT_FOUND")
        expectInvalid(yield* theirs.get(`/v1/calls?agent_id=${id}`), { agent_id: /./ })
        expectInvalid(yield* theirs.get(`/v1/agents?after=${id}`), { after: /./ })
      }
      for (const id of [callId, String(call?.id)]) {
        expect((yield* api.get(`/v1/calls/${id}`)).status).toBe(200)
        expectError(yield* theirs.get(`/v1/calls/${id}`), 404, "CALL_NOT_FOUND")
        expectError(yield* theirs.get(`/v1/calls/${id}/status`), 404, "CALL_NOT_FOUND")
        expectError(yield* theirs.post(`/v1/calls/${id}/end`), 404, "CALL_NOT_FOUND")
        expectInvalid(yield* theirs.get(`/v1/calls?after=${id}`), { after: /./ })
      }
      expectError(
        yield* theirs.patch(`/v1/phone-numbers/${numberId}`, { agent_id: null }),
        404,
        "PHONE_NUMBER_NOT_FOUND"
      )
      expectInvalid(yield* theirs.get(`/v1/phone-numbers?after=${numberId}`), { after: /./ })
      const ours = yield* theirs.post("/v1/agents", { name: "Theirs", server_url })
      const cross = yield* api.patch(`/v1/phone-numbers/${numberId}`, {
        agent_id: ApiClient.textAt(ours.body, "agent.public_id")
      })
      expectInvalid(cross, { agent_id: /./ })
      expect((yield* theirs.get("/v1/calls")).body).toEqual({ calls: [], next_cursor: null })
      expect((yield* theirs.get("/v1/phone-numbers")).body).toEqual({ phone_numbers: [], next_cursor: null })
      expect(at((yield* theirs.get("/v1/agents")).body, "agents.1")).toBeUndefined()
    })
  )

  it.effect("names the fields of a body that it ignores in X-Svc-Ignored-Fields, at most ten", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const body = { name: "Typo", server_url: "http://127.0.0.1:9/" }
      const ignored = (more: object) =>
        Effect.map(api.post("/v1/agents", { ...body, ...more }), ({ headers, status }) => [
          status,
          headers.get("x-svc-ignored-fields")
        ])
      expect(yield* ignored({})).toEqual([201, null])
      expect(yield* ignored({ lanugage: "de-DE", "a,b\r\n": 1, "\ud800é": 2 })).toEqual([
        201,
        "lanugage,a%2Cb%0D%0A,%EF%BF%BD%C3%A9"
      ])
      expect(yield* ignored({ name: 1, oops: 1 })).toEqual([400, "oops"])
      const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`extra_${n}`, n]))
      expect(String((yield* ignored(many))[1]).split(",")).toHaveLength(10)
      const entries = [{ question: "When?", answer: "Now.", source: "web" }]
      const base = yield* api.post("/v1/knowledge-bases", { name: "Nested", entries })
      expect([base.status, base.headers.get("x-svc-ignored-fields")]).toEqual([201, "entries.0.source"])
      // Free-form fields take everything.
      const call = yield* api.post("/v1/calls", { metadata: { any: { thing: 1 } } })
      expect(call.headers.get("x-svc-ignored-fields")).toBe(null)
    })
  )

  it.effect("answers 404, 405, 400 and 413 to unknown paths, wrong methods, malformed JSON and large bodies", () =>
    Effect.gen(function* () {
      const { api, url } = yield* BlackBox
      for (const path of ["/", "/v1", "/v1/nope", "/v2/agents", "/v1/agents/a/b/c", "/V1/agents"]) {
        expectError(yield* api.get(path), 404, "ROUTE_NOT_FOUND")
        expectError(yield* ApiClient.call(`${url}${path}`, "POST", { json: {} }), 404, "ROUTE_NOT_FOUND")
      }
      const wrong: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
        ["PUT", "/v1/agents", ["GET", "POST"]],
        ["DELETE", "/v1/calls", ["GET", "POST"]],
        ["GET", "/v1/phone-numbers/import", ["POST"]],
        ["DELETE", "/healthz", ["GET"]]
      ]
      for (const [method, path, allowed] of wrong) {
        const reply = yield* api.request(method, path)
        expectError(reply, 405, "METHOD_NOT_ALLOWED")
        expect((reply.headers.get("allow") ?? "").split(", ")).toEqual(expect.arrayContaining([...allowed]))
      }
      for (const raw of ["{", '{"name":', "nope", "{'name':1}", '{"a":1}}', "\u0000"]) {
        expectError(yield* api.request("POST", "/v1/agents", { raw }), 400, "INVALID_JSON")
        expectError(yield* api.request("PATCH", "/v1/phone-numbers/1", { raw }), 400, "INVALID_JSON")
      }
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
        const reply = yield* api.request("POST", "/v1/agents", { raw: "name=x", headers: { "content-type": type } })
        expectError(reply, 400, "BAD_REQUEST")
      }
      const large = { name: "x".repeat(1024 * 1024), server_url }
      expectError(yield* api.post("/v1/agents", large), 413, "REQUEST_TOO_LARGE")
      // The key is checked before the body.
      expectError(yield* ApiClient.call(`${url}/v1/agents`, "POST", { raw: "{" }), 401, "MISSING_API_KEY")
      for (const id of [
        "agent_x",
        "0",
        "-1",
        "1.5",
        "agent_000000000000000000000000",
        "999999999",
        "%00",
        "' or 1=1"
      ]) {
        const path = encodeURIComponent(id)
        expectError(yield* api.get(`/v1/agents/${path}`), 404, "AGENT_NOT_FOUND")
        expectError(yield* api.get(`/v1/calls/${path}`), 404, "CALL_NOT_FOUND")
        expectError(yield* api.post(`/v1/calls/${path}/end`), 404, "CALL_NOT_FOUND")
        expectError(yield* api.patch(`/v1/phone-numbers/${path}`, { agent_id: null }), 404, "PHONE_NUMBER_NOT_FOUND")
      }
    })
  )

  it.effect("sends X-Request-Id with every answer, and echoes a valid one of the client", () =>
    Effect.gen(function* () {
      const { api, url } = yield* BlackBox
      const ask = (path: string, id: string) => api.request("GET", path, { headers: { "x-request-id": id } })
      for (const path of ["/v1/agents", "/v1/health", "/v1/calls/nope", "/nope", "/healthz", "/readyz"]) {
        const own = `req-${path.length}.A_b`
        expect((yield* ask(path, own)).headers.get("x-request-id")).toBe(own)
        for (const bad of ["with space", "x".repeat(500), '"><script>']) {
          const given = (yield* ask(path, bad)).headers.get("x-request-id")
          expect([given === bad, given !== null && given.length > 8]).toEqual([false, true])
        }
      }
      const ids = yield* Effect.forEach(["/healthz", "/healthz", "/v1/agents"], (path) =>
        Effect.map(ApiClient.call(`${url}${path}`, "GET"), ({ headers }) => headers.get("x-request-id"))
      )
      expect(new Set(ids).size).toBe(3)
    })
  )

  it.effect("POST /v1/agents applies defaults, trims name, clamps max_duration and returns server_secret once", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const made = yield* api.post("/v1/agents", { name: "  Ann ", server_url, unknown_field: 1 })
      expect(made.status).toBe(201)
      const secret = ApiClient.textAt(made.body, "server_secret")
      expect(secret).toMatch(/^[0-9a-f]{64}$/)
      expect(Object.keys(made.body).sort()).toEqual(["agent", "server_secret", "server_secret_note"])
      expect(misfits(DocumentedShapes.agent, made.body["agent"])).toEqual([])
      expect(made.body["agent"]).toMatchObject({
        name: "Ann",
        server_url,
        language: "en-US",
        voice: "Sarah",
        max_duration: 1800,
        recording: false,
        end_call_enabled: false,
        server_secret_hint: `...${secret.slice(-8)}`,
        webhook_url: null,
        webhook_events: null,
        knowledge_base_ids: []
      })
      expect(at(made.body, "agent.public_id")).toMatch(/^agent_[0-9a-z]{24}$/)
      for (const id of [at(made.body, "agent.public_id"), at(made.body, "agent.id")]) {
        const got = yield* api.get(`/v1/agents/${id}`)
        expect([got.status, got.body]).toEqual([200, { agent: made.body["agent"] }])
      }
      for (const [given, kept] of [
        [1, 60],
        [60, 60],
        [7200, 7200],
        [99999, 7200],
        [-5, 60]
      ]) {
        const clamped = yield* api.post("/v1/agents", { name: "C", server_url, max_duration: given })
        expect([clamped.status, at(clamped.body, "agent.max_duration")]).toEqual([201, kept])
      }
    })
  )

  const urlRule = "server_url must be a valid public HTTPS URL"
  const badAgents: ReadonlyArray<readonly [string, unknown, { readonly [field: string]: string | RegExp }]> = [
    ["nothing at all", {}, { name: "name is required.", server_url: "server_url is required." }],
    ["no name", { server_url }, { name: "name is required." }],
    ["a blank name", { name: "  ", server_url }, { name: "name is required." }],
    ["a name that is not a string", { name: 5, server_url }, { name: /^name must be/ }],
    ["null for a name", { name: null, server_url }, { name: /name/ }],
    ["no server_url", { name: "A" }, { server_url: "server_url is required." }],
    ["null for a server_url", { name: "A", server_url: null }, { server_url: /server_url/ }],
    ["an empty server_url", { name: "A", server_url: "" }, { server_url: /^server_url (is required\.|must be)/ }],
    ["a server_url that is none", { name: "A", server_url: "nope" }, { server_url: urlRule }],
    ["a server_url of another scheme", { name: "A", server_url: "ftp://example.com/" }, { server_url: urlRule }],
    ["a file as server_url", { name: "A", server_url: "file:///etc/passwd" }, { server_url: urlRule }],
    ["a name that does not resolve", { name: "A", server_url: "https://nowhere.invalid/" }, { server_url: urlRule }],
    [
      "a cloud metadata address as server_url",
      { name: "A", server_url: "http://169.254.169.254/latest/" },
      { server_url: "server_url blocked by SSRF filter" }
    ],
    [
      "an unknown language",
      { name: "A", server_url, language: "xx-XX" },
      { language: "language must be a supported BCP-47 code" }
    ],
    [
      "a language that is not a string",
      { name: "A", server_url, language: 5 },
      { language: "language must be a supported BCP-47 code" }
    ],
    [
      "an unknown voice",
      { name: "A", server_url, voice: "Nobody" },
      { voice: "voice not available for the selected language" }
    ],
    [
      "a max_duration that is not an integer",
      { name: "A", server_url, max_duration: 90.5 },
      { max_duration: "max_duration must be between 60 and 7200" }
    ],
    [
      "a max_duration that is not a number",
      { name: "A", server_url, max_duration: "90" },
      { max_duration: "max_duration must be between 60 and 7200" }
    ],
    ["recording that is no boolean", { name: "A", server_url, recording: "yes" }, { recording: /^recording must be/ }],
    [
      "several invalid fields",
      { server_url, recording: 1, end_call_enabled: "no" },
      { name: "name is required.", recording: /./, end_call_enabled: /./ }
    ],
    ["a list in place of an object", [], { body: /./ }],
    ["a text in place of an object", "agent", { body: /./ }],
    ["null in place of an object", null, { body: /./ }]
  ]
  for (const [what, body, details] of badAgents) {
    it.effect(`refuses an agent with ${what}`, () =>
      Effect.gen(function* () {
        const { api } = yield* BlackBox
        expectInvalid(yield* api.post("/v1/agents", body), details)
      })
    )
  }

  const badQueries: ReadonlyArray<readonly [string, string]> = [
    ["/v1/agents?limit=0", "limit"],
    ["/v1/agents?limit=101", "limit"],
    ["/v1/agents?limit=-1", "limit"],
    ["/v1/agents?limit=1.5", "limit"],
    ["/v1/agents?limit=abc", "limit"],
    ["/v1/agents?limit=", "limit"],
    ["/v1/agents?limit=1e1", "limit"],
    ["/v1/agents?limit=0x10", "limit"],
    ["/v1/agents?limit=%2010", "limit"],
    ["/v1/agents?limit=1&limit=2", "limit"],
    ["/v1/agents?after=agent_000000000000000000000000", "after"],
    ["/v1/agents?after=nope", "after"],
    ["/v1/agents?after=0", "after"],
    ["/v1/agents?after=", "after"],
    ["/v1/calls?limit=101", "limit"],
    ["/v1/calls?limit=ten", "limit"],
    ["/v1/calls?after=call_000000000000000000000000", "after"],
    ["/v1/calls?after=12345678", "after"],
    ["/v1/calls?status=finished", "status"],
    ["/v1/calls?disposition=unknown", "disposition"],
    ["/v1/calls?from_date=yesterday", "from_date"],
    ["/v1/calls?from_date=2026-02-30", "from_date"],
    ["/v1/calls?from_date=2026-13-01", "from_date"],
    ["/v1/calls?from_date=0000-01-01", "from_date"],
    ["/v1/calls?to_date=2026-1-1", "to_date"],
    ["/v1/calls?to_date=2026-01-01T00:00:00Z", "to_date"],
    ["/v1/calls?agent_id=agent_000000000000000000000000", "agent_id"],
    ["/v1/calls?agent_id=x", "agent_id"],
    ["/v1/phone-numbers?limit=1000", "limit"],
    ["/v1/phone-numbers?after=x", "after"]
  ]
  for (const [path, field] of badQueries) {
    it.effect(`refuses GET ${path}`, () =>
      Effect.gen(function* () {
        const { api } = yield* BlackBox
        expectInvalid(yield* api.get(path), { [field]: /./ })
      })
    )
  }

  const e164 = "must be a valid E.164 phone number"
  const badImports: ReadonlyArray<readonly [string, unknown, { readonly [field: string]: string | RegExp }]> = [
    ["nothing", {}, { number: "number is required.", telephony: "telephony is required." }],
    ["no number", { telephony: "simulated" }, { number: "number is required." }],
    ["a number without its plus", { number: "15551234567", telephony: "simulated" }, { number: e164 }],
    ["a number with spaces", { number: "+1 555 123 4567", telephony: "simulated" }, { number: e164 }],
    ["a number that is too long", { number: "+1234567890123456", telephony: "simulated" }, { number: e164 }],
    ["a number that begins with 0", { number: "+0123456789", telephony: "simulated" }, { number: e164 }],
    ["an empty number", { number: "", telephony: "simulated" }, { number: e164 }],
    ["a number that is not a string", { number: 15551234567, telephony: "simulated" }, { number: /./ }],
    ["no telephony", { number: "+15551234567" }, { telephony: "telephony is required." }],
    ["an unknown telephony", { number: "+15551234567", telephony: "nope" }, { telephony: /./ }]
  ]
  for (const [what, body, details] of badImports) {
    it.effect(`refuses to import ${what}`, () =>
      Effect.gen(function* () {
        const { api } = yield* BlackBox
        expectInvalid(yield* api.post("/v1/phone-numbers/import", body), details)
      })
    )
  }

  it.effect("imports, assigns, unassigns and lists phone numbers through /v1/phone-numbers", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const number = Line.freshNumber()
      const imported = yield* api.post("/v1/phone-numbers/import", { number, telephony: "simulated" })
      expect(imported.status).toBe(201)
      expect(misfits(DocumentedShapes.phoneNumber, imported.body["phone_number"])).toEqual([])
      expect(imported.body["phone_number"]).toMatchObject({
        number,
        country: "US",
        agent_id: null,
        monthly_cost_eur: 0,
        telephony: "simulated",
        status: "active"
      })
      const twice = yield* api.post("/v1/phone-numbers/import", { number, telephony: "simulated" })
      expectError(twice, 409, "PHONE_NUMBER_IN_USE")
      const path = `/v1/phone-numbers/${at(imported.body, "phone_number.id")}`
      const agent = yield* api.post("/v1/agents", { name: "N", server_url })
      const agentId = at(agent.body, "agent.public_id")
      for (const id of [agentId, at(agent.body, "agent.id"), String(at(agent.body, "agent.id"))]) {
        const assigned = yield* api.patch(path, { agent_id: id })
        expect([assigned.status, assigned.body]).toEqual([
          200,
          { phone_number: { ...Object(imported.body["phone_number"]), agent_id: agentId } }
        ])
      }
      for (const bad of [{}, { agent_id: true }, { agent_id: "agent_000000000000000000000000" }, { agent_id: "" }]) {
        expectInvalid(yield* api.patch(path, bad), { agent_id: /agent_id/ })
      }
      const kept = yield* api.get("/v1/phone-numbers?limit=1")
      expect(at(kept.body, "phone_numbers.0.agent_id")).toBe(agentId)
      const freed = yield* api.patch(path, { agent_id: null })
      expect(freed.body).toEqual(imported.body)
    })
  )

  it.effect("pages through agents and phone numbers with after, newest first, and filters agents by name", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const made: Array<unknown> = []
      for (const name of ["Zebra one", "zebra two", "Zebra three"]) {
        made.unshift((yield* api.post("/v1/agents", { name, server_url })).body["agent"])
      }
      const first = yield* api.get("/v1/agents?name=ZEBRA&limit=2")
      expect(first.body).toEqual({ agents: made.slice(0, 2), next_cursor: at(made, "1.public_id") })
      for (const after of [at(made, "1.public_id"), at(made, "1.id")]) {
        const second = yield* api.get(`/v1/agents?name=zebra&limit=2&after=${after}`)
        expect(second.body).toEqual({ agents: made.slice(2), next_cursor: null })
      }
      const whole = yield* api.get("/v1/agents?name=zebra&limit=3")
      expect(whole.body).toEqual({ agents: made, next_cursor: null })
      const none = yield* api.get("/v1/agents?name=%25")
      expect(none.body).toEqual({ agents: [], next_cursor: null })
      const more = yield* api.get("/v1/agents?name=zebra&unknown=1&limit=100")
      expect(more.status).toBe(200)

      const numbers: Array<unknown> = []
      for (let n = 0; n < 3; n++) {
        const body = { number: Line.freshNumber(), telephony: "simulated" }
        numbers.unshift((yield* api.post("/v1/phone-numbers/import", body)).body["phone_number"])
      }
      const page = yield* api.get("/v1/phone-numbers?limit=2")
      expect(page.body["phone_numbers"]).toEqual(numbers.slice(0, 2))
      expect(String(page.body["next_cursor"])).toBe(String(at(numbers, "1.id")))
      const next = yield* api.get(`/v1/phone-numbers?limit=1&after=${page.body["next_cursor"]}`)
      expect(next.body["phone_numbers"]).toEqual(numbers.slice(2))
    })
  )

  it.effect("answers below 500 to texts that the database cannot store", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      for (const name of ["a\u0000b", "\ud800", "\u202eabc", "x".repeat(201), "' ; drop table agents; --", "😀"]) {
        const made = yield* api.post("/v1/agents", { name, server_url })
        expect([name, made.status === 201 || made.status === 400]).toEqual([name, true])
        const found = yield* api.get(`/v1/agents?name=${encodeURIComponent(name.toWellFormed())}`)
        expect([name, found.status === 200 || found.status === 400]).toEqual([name, true])
      }
      for (const text of ["a\u0000b", "\ud800"]) {
        const bodies = [
          ["/v1/agents", { name: "A", server_url, voice: text }],
          ["/v1/agents", { name: "A", server_url: `${server_url}/${text}` }],
          ["/v1/phone-numbers/import", { number: "+15551234567", telephony: text }]
        ] as const
        for (const [path, body] of bodies) {
          const reply = yield* api.post(path, body)
          expect([path, body, reply.status < 500]).toEqual([path, body, true])
        }
      }
    })
  )

  it.effect(
    "POST /v1/sms/send sends as many of 149 messages at once as the credits cover, and answers 402 to others",
    () =>
      Effect.gen(function* () {
        const { url } = yield* BlackBox
        const sql = yield* SqlClient.SqlClient
        const key = `svc_live_${"9".repeat(48)}`
        yield* sql`
        with org as (
          insert into organizations (public_id, name, tier, balance_eur)
          values (${`org_${"9".repeat(24)}`}, 'Few credits', 'payg', 0.2) returning id
        ), project as (
          insert into projects (public_id, org_id, name)
          select ${`proj_${"9".repeat(24)}`}, id, 'Default' from org returning id, org_id
        )
        insert into api_keys (kind, org_id, project_id, name, scope, key_hash, key_hint)
        select 'project', org_id, id, 'Full', 'full', sha256(${key}::bytea), 'x' from project`.pipe(Effect.orDie)
        const api = ApiClient.make(url, Redacted.make(key))
        const from_number = Line.freshNumber()
        yield* api.post("/v1/phone-numbers/import", { number: from_number, telephony: "simulated" })
        const send = api.post("/v1/sms/send", { from_number, to: "+31612345678", message: "Hi" })
        const replies = yield* Effect.replicateEffect(send, 149, { concurrency: "unbounded" })
        expect(replies.filter(({ status }) => status === 200)).toHaveLength(2)
        for (const reply of replies.filter(({ status }) => status !== 200)) {
          expectError(reply, 402, "INSUFFICIENT_CREDITS")
        }
        const credits = yield* api.get("/v1/credits")
        expect(credits.body).toMatchObject({ balance_eur: 0.02, is_paused: false })
      })
  )

  it.scoped("POST /v1/sms/send sends messages within the limits and answers 400 or 422 to others", () =>
    Effect.gen(function* () {
      const { api, url } = yield* BlackBox
      const number = Line.freshNumber()
      yield* api.post("/v1/phone-numbers/import", { number, telephony: "simulated" })
      const body = { from_number: number, to: "+31612345678", message: "x".repeat(160) }
      const sent = yield* api.post("/v1/sms/send", { ...body, sender_name: "Elevenchars" })
      expect([sent.status, sent.body]).toEqual([
        200,
        {
          message_id: expect.stringMatching(/^sms_/),
          status: "sent",
          from_number: null,
          sender_name: "Elevenchars",
          sender_type: "alphanumeric",
          to: body.to,
          cost_eur: 0,
          provider_message_id: expect.any(String)
        }
      ])
      const american = yield* api.post("/v1/sms/send", { ...body, to: "+12025550123", sender_name: "Shop" })
      expect(american.body).toMatchObject({ from_number: number, sender_name: null, sender_type: "number" })
      const kept = yield* ApiClient.call(`${url}/telephony/simulated/sms`, "GET")
      expect(kept.body["messages"]).toEqual(
        expect.arrayContaining([expect.objectContaining({ to: body.to, from: "Elevenchars", message: body.message })])
      )
      const send = (more: { readonly [field: string]: unknown }) => api.post("/v1/sms/send", { ...body, ...more })
      expectInvalid(yield* send({ message: "x".repeat(161) }), { message: "message must not exceed 160 characters" })
      expectInvalid(yield* send({ message: " " }), { message: "message is required." })
      expectInvalid(yield* send({ message: "a\u0000b" }), { message: "message must be text that can be sent" })
      expectInvalid(yield* send({ to: "0612345678" }), { to: "must be a valid E.164 phone number" })
      expectInvalid(yield* send({ sender_name: "Twelve chars" }), {
        sender_name: "sender_name must not exceed 11 characters"
      })
      expectInvalid(yield* send({ from_number: Line.freshNumber() }), {
        from_number: "from_number must be a phone number of this project"
      })
      expectInvalid(yield* api.post("/v1/sms/send", {}), {
        from_number: "from_number is required.",
        to: "to is required.",
        message: "message is required."
      })
      expectError(yield* send({ to: "+31612340000" }), 422, "SMS_FAILED")
      const usage = yield* api.get("/v1/usage")
      expect(at(usage.body, "totals.sms_count")).toBe(2)
    })
  )

  it.scoped("sends no request to server_url when an agent is created", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const customer = yield* CustomerServer.start(() => undefined)
      expect((yield* api.post("/v1/agents", { name: "Q", server_url: customer.url })).status).toBe(201)
      expect(customer.inbox.all).toEqual([])
    })
  )
})
