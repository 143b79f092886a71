import * as Http from "node:http"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Schema } from "effect"
import { ask, exchange, json } from "../../servers/Client.ts"
import { handlersOf, project, signals, startTiny, tinyLayer } from "../../servers/TinyServer.ts"

const key = "full"
const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))
const mb = 1024 * 1024

describe("routing", () => {
  it.scopedLive("an unknown path is a JSON 404, with or without a key", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/nothing" })
      expect(answer.status).toBe(404)
      expect(answer.headers["content-type"]).toBe("application/json")
      expect(json(answer)).toEqual({ code: "ROUTE_NOT_FOUND", message: "No such route", error: "No such route" })
      expect((yield* ask(port, { path: "/" })).status).toBe(404)
    })
  )

  it.scopedLive("a wrong method names those that are allowed", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/items", method: "PUT", key })
      expect(answer.status).toBe(405)
      expect(answer.headers.allow).toBe("GET, HEAD, POST")
      expect(json(answer)["code"]).toBe("METHOD_NOT_ALLOWED")
      expect((yield* ask(port, { path: "/v1/items", method: "OPTIONS" })).status).toBe(405)
    })
  )

  it.scopedLive("HEAD answers like GET, without the body", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/items/x", method: "HEAD", key })
      expect(answer.status).toBe(200)
      expect(answer.text).toBe("")
      expect(answer.headers["content-length"]).toBe(String('{"item":"x"}'.length))
    })
  )

  it.scopedLive("a URL that does not decode gets a JSON 400, one that is too long a JSON 414", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const bad = yield* ask(port, { path: "/v1/items/%zz", key })
      expect([bad.status, json(bad)["code"]]).toEqual([400, "BAD_REQUEST"])
      const long = yield* ask(port, { path: `/v1/items/${"x".repeat(9000)}`, key })
      expect([long.status, json(long)["code"]]).toEqual([414, "BAD_REQUEST"])
      const huge = yield* exchange(port, `GET /v1/items/${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
      expect(huge).toMatch(/^HTTP\/1.1 431 /)
      expect(huge).toMatch(/"code":"BAD_REQUEST"/)
      expect(yield* exchange(port, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*X-Request-Id: req_/)
    })
  )

  it.scopedLive("path parameters that are no text without NUL stay as they were sent", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      for (const item of ["%00", "a%00b", "%ff", "%c0%80", "%C3%28", "%ed%a0%80", "%e2%82"]) {
        expect(json(yield* ask(port, { path: `/v1/items/${item}`, key }))).toEqual({ item })
        expect((yield* ask(port, { path: `/nothing/${item}`, key })).status).toBe(404)
      }
    })
  )

  it.scopedLive("NUL in a declared query parameter is a VALIDATION_ERROR of it; others are ignored", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      for (const query of ["name=%00", "name=a%00b&limit=5", "limit=%00", "name=a&name=%00"]) {
        const answer = yield* ask(port, { path: `/v1/items?${query}`, key })
        const field = query.startsWith("limit") ? "limit" : "name"
        expect([query, answer.status, json(answer)["details"]]).toEqual([
          query,
          400,
          { [field]: `${field} must not contain NUL characters` }
        ])
      }
      expect((yield* ask(port, { path: "/v1/items?other=%00&name=%2500", key })).status).toBe(200)
    })
  )

  it.scopedLive("path parameters are decoded, and a trailing slash is accepted", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      expect(json(yield* ask(port, { path: "/v1/items/a%2Fb%20c", key }))).toEqual({ item: "a/b c" })
      expect(json(yield* ask(port, { path: "/v1/items/a/", key }))).toEqual({ item: "a" })
    })
  )

  it.scopedLive("a success without a body is a 204 with none", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/items/x", method: "DELETE", key })
      expect([answer.status, answer.text]).toEqual([204, ""])
    })
  )

  it.scopedLive("every response has X-Request-Id: the client's if it is valid, else a new one", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      for (const path of ["/v1/items/x", "/nothing", "/v1/teapot", "/healthz", "/v1/items/%zz"]) {
        expect((yield* ask(port, { path, key })).headers["x-request-id"]).toMatch(/^req_[0-9a-f]{32}$/)
      }
      const own = { "x-request-id": "my-Trace_1:2.3" }
      expect((yield* ask(port, { path: "/v1/items/x", key, headers: own })).headers["x-request-id"]).toBe(
        "my-Trace_1:2.3"
      )
      expect((yield* ask(port, { path: "/nothing", headers: own })).headers["x-request-id"]).toBe("my-Trace_1:2.3")
      for (const bad of ["a b", "x".repeat(129), "<script>"]) {
        const answer = yield* ask(port, { path: "/v1/items/x", key, headers: { "x-request-id": bad } })
        expect(answer.headers["x-request-id"]).toMatch(/^req_/)
      }
    })
  )

  it.scopedLive("100 concurrent requests on keep-alive connections each get their own response", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const agent = new Http.Agent({ keepAlive: true, maxSockets: 10 })
      const ids = Array.from({ length: 100 }, (_, index) => `n${index}`)
      const answers = yield* Effect.forEach(ids, (id) => ask(port, { path: `/v1/items/${id}`, key, agent }), {
        concurrency: "unbounded"
      })
      expect(answers.map((answer) => json(answer)["item"])).toEqual(ids)
      agent.destroy()
    })
  )
})

describe("bodies", () => {
  const post = (port: number, body: string, headers: Record<string, string> = { "content-type": "application/json" }) =>
    ask(port, { path: "/v1/items", key, body, headers })

  it.scopedLive("a valid body reaches the handler without its unknown fields", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* post(port, '{"name":"é","more":1}')
      expect([answer.status, json(answer)]).toEqual([201, { got: { name: "é" } }])
    })
  )

  it.scopedLive("malformed JSON, invalid UTF-8, another Content-Type and a Content-Encoding get different errors", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const codeOf = (answer: { readonly status: number; readonly text: string }) => [
        answer.status,
        JSON.parse(answer.text).code
      ]
      expect(codeOf(yield* post(port, '{"name":'))).toEqual([400, "INVALID_JSON"])
      const latin = yield* ask(port, { path: "/v1/items", key, body: Buffer.from('{"name":"\xe9"}', "latin1") })
      expect(codeOf(latin)).toEqual([400, "INVALID_JSON"])
      // Both are refused before they are parsed, which would take long: neither is JSON.
      expect((yield* post(port, "[".repeat(1_000_000))).text).toContain("nested more than 100 levels deep")
      expect((yield* post(port, `[${"0,".repeat(500_000)}`)).text).toContain("more than 10000 values")
      expect(codeOf(yield* post(port, "name=x", { "content-type": "application/x-www-form-urlencoded" }))).toEqual([
        400,
        "BAD_REQUEST"
      ])
      expect(codeOf(yield* post(port, "{}", { "content-encoding": "gzip" }))).toEqual([400, "BAD_REQUEST"])
      expect((yield* post(port, '{"name":"x"}', {})).status).toBe(201)
      expect((yield* post(port, '{"name":"x"}', { "content-type": "application/json; charset=utf-8" })).status).toBe(
        201
      )
    })
  )

  it.scopedLive("an empty body counts as an empty object, so the missing field is named", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/items", method: "POST", key })
      expect([answer.status, json(answer)]).toEqual([
        400,
        {
          code: "VALIDATION_ERROR",
          message: "name is required.",
          error: "name is required.",
          details: { name: "name is required." }
        }
      ])
    })
  )

  it.scopedLive("details has a message for every invalid field, by its path", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* post(port, '{"name":"","size":1.5,"tags":["a",2]}')
      expect(json(answer)["details"]).toEqual({
        name: "name is required.",
        size: "size must be an integer",
        "tags.1": "tags.1 must be a string"
      })
      expect(answer.text).not.toContain("InternalNameOfBody")
      const list = yield* post(port, "[]")
      expect(json(list)["details"]).toEqual({ body: "body must be an object" })
      expect(list.text).not.toContain("InternalNameOfBody")
    })
  )

  it.scopedLive("details names a query parameter that is not an integer or is out of range", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const messageOf = (query: string) =>
        Effect.map(ask(port, { path: `/v1/items?${query}`, key }), (answer) => json(answer)["details"])
      expect(yield* messageOf("limit=101")).toEqual({ limit: "limit must be between 1 and 100" })
      expect(yield* messageOf("limit=1.5")).toEqual({ limit: "limit must be an integer" })
      expect(yield* messageOf("limit=abc")).toHaveProperty("limit")
      expect(yield* messageOf("limit=1&limit=2")).toHaveProperty("limit")
      expect(json(yield* ask(port, { path: "/v1/items?limit=2&other=1", key }))).toEqual({ query: { limit: 2 } })
    })
  )

  it.scopedLive("a body of exactly 1 MB is read", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const body = `{"name":"${"x".repeat(mb - 11)}"}`
      expect(body.length).toBe(mb)
      expect((yield* post(port, body)).status).toBe(201)
    })
  )

  it.scopedLive("a body over 1 MB is refused while it is sent, with and without Content-Length", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const big = "x".repeat(3 * mb)
      const declared = yield* post(port, big)
      expect([declared.status, json(declared)["code"], declared.headers.connection]).toEqual([
        413,
        "REQUEST_TOO_LARGE",
        "close"
      ])
      const chunked = yield* post(port, big, { "transfer-encoding": "chunked" })
      expect([chunked.status, json(chunked)["code"]]).toEqual([413, "REQUEST_TOO_LARGE"])
      expect(chunked.headers["x-request-id"]).toMatch(/^req_/)
    })
  )

  it.scopedLive("a body whose Content-Length is over 1 MB is refused before it is sent", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const head = `POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nContent-Length: ${50 * mb}\r\n\r\n`
      expect(yield* exchange(port, head)).toMatch(/^HTTP\/1.1 413 /)
      expect(yield* exchange(port, head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"))).toMatch(
        /^HTTP\/1.1 413 /
      )
    })
  )

  it.scopedLive("the connection of a client that sends without end is cut", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const head =
        "POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nTransfer-Encoding: chunked\r\n\r\n"
      const chunk = `100000\r\n${"x".repeat(mb)}\r\n`
      const outcome = yield* Effect.either(exchange(port, [head, ...Array.from({ length: 30 }, () => chunk)]))
      // Depending on who is faster, the client sees the answer and then the end, or the end alone.
      expect(["Left", "Right"]).toContain(outcome._tag)
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )

  it.scopedLive("100 Continue is sent only to requests with a valid key", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const head = (bearer: string) =>
        `POST /v1/items HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${bearer}\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n`
      expect(yield* exchange(port, head("wrong"))).toMatch(/^HTTP\/1.1 401 /)
      expect(yield* exchange(port, [head("full"), '{"name":"x"}'])).toMatch(
        /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /
      )
    })
  )
})

describe("authentication and authorization", () => {
  const read = (port: number, headers: Record<string, string>, path = "/v1/items/x") =>
    Effect.map(ask(port, { path, headers }), (answer) => [answer.status, json(answer)["code"]])

  it.scopedLive("a key is accepted in Authorization, in X-Api-Key, or equal in both", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      expect(yield* read(port, { authorization: "Bearer full" })).toEqual([200, undefined])
      expect(yield* read(port, { authorization: "bearer full" })).toEqual([200, undefined])
      expect(yield* read(port, { "x-api-key": "full" })).toEqual([200, undefined])
      expect(yield* read(port, { authorization: "Bearer full", "x-api-key": "full" })).toEqual([200, undefined])
      expect(yield* read(port, { authorization: "Bearer full", "x-api-key": "read" })).toEqual([401, "INVALID_API_KEY"])
    })
  )

  it.scopedLive("a missing key, a wrong key and another scheme are refused", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      expect(yield* read(port, {})).toEqual([401, "MISSING_API_KEY"])
      expect(yield* read(port, { authorization: "Bearer nobody" })).toEqual([401, "INVALID_API_KEY"])
      expect(yield* read(port, { authorization: "Basic full" })).toEqual([401, "INVALID_API_KEY"])
      expect(yield* read(port, { authorization: "full" })).toEqual([401, "INVALID_API_KEY"])
      expect((yield* ask(port, { path: "/v1/items/x" })).headers["www-authenticate"]).toBe("Bearer")
    })
  )

  it.scopedLive(
    "an org key needs X-Project-Id where the endpoint needs a project, and only its own projects are found",
    () =>
      Effect.gen(function* () {
        const { port } = yield* startTiny()
        const org = { authorization: "Bearer org" }
        expect(yield* read(port, org)).toEqual([400, "PROJECT_ID_REQUIRED"])
        expect(yield* read(port, { ...org, "x-project-id": "7" })).toEqual([200, undefined])
        expect(yield* read(port, { ...org, "x-project-id": project.public_id })).toEqual([200, undefined])
        expect(yield* read(port, { ...org, "x-project-id": "8" })).toEqual([404, "PROJECT_NOT_FOUND"])
        expect(yield* read(port, org, "/v1/org")).toEqual([200, undefined])
        expect(json(yield* ask(port, { path: "/v1/whoami", headers: org }))).toEqual({ project: null })
        expect(json(yield* ask(port, { path: "/v1/whoami", headers: { ...org, "x-project-id": "7" } }))).toEqual({
          project: 7
        })
      })
  )

  it.scopedLive("a project key cannot use org endpoints or another project", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const full = { authorization: "Bearer full" }
      expect(yield* read(port, full, "/v1/org")).toEqual([403, "ORG_KEY_REQUIRED"])
      expect(yield* read(port, { ...full, "x-project-id": "8" })).toEqual([404, "PROJECT_NOT_FOUND"])
      expect(yield* read(port, { ...full, "x-project-id": "7" })).toEqual([200, undefined])
    })
  )

  it.scopedLive("a read-only key can read, and its writes are refused before the body is read", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      expect(yield* read(port, { authorization: "Bearer read" })).toEqual([200, undefined])
      expect((yield* ask(port, { path: "/v1/items/x", method: "HEAD", key: "read" })).status).toBe(200)
      const write = yield* ask(port, { path: "/v1/items", key: "read", body: "{" })
      expect([write.status, json(write)["code"]]).toEqual([403, "READ_ONLY_KEY"])
      const stranger = yield* ask(port, { path: "/v1/items", key: "nobody", body: "{" })
      expect([stranger.status, json(stranger)["code"]]).toEqual([401, "INVALID_API_KEY"])
    })
  )
})

describe("handlers that fail", () => {
  it.scopedLive("an API error is sent unchanged", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      const answer = yield* ask(port, { path: "/v1/teapot", key })
      expect([answer.status, json(answer)]).toEqual([
        418,
        { code: "TEAPOT", message: "short and stout", error: "short and stout" }
      ])
    })
  )

  it.scopedLive(
    "a defect, an exception and a value without JSON are a 500 without details, logged with the request's id",
    () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const capture = Logger.replace(
          Logger.defaultLogger,
          Logger.map(Logger.logfmtLogger, (text) => void logged.push(text))
        )
        const { port } = yield* Effect.provide(startTiny(), capture)
        for (const path of ["/v1/dies", "/v1/throws", "/v1/circular"]) {
          const answer = yield* ask(port, { path, key, headers: { "x-request-id": `of-${path.slice(4)}` } })
          expect(answer.status).toBe(500)
          expect(json(answer)["code"]).toBe("INTERNAL_ERROR")
          expect(answer.text).not.toContain("password")
          expect(logged.join("\n")).toContain(`request_id=of-${path.slice(4)}`)
        }
        expect(logged.join("\n")).toContain("select password")
      })
  )

  it.scopedLive("a read is interrupted when the client disconnects", () =>
    Effect.gen(function* () {
      const s = yield* signals
      const { port } = yield* startTiny({ signals: s })
      const client = yield* Effect.fork(ask(port, { path: "/v1/hangs", key }))
      yield* Deferred.await(s.begun)
      yield* Fiber.interrupt(client)
      yield* Deferred.await(s.interrupted)
    })
  )

  it.scopedLive("a write that has begun completes when the client disconnects", () =>
    Effect.gen(function* () {
      const s = yield* signals
      const { port } = yield* startTiny({ signals: s })
      const client = yield* Effect.fork(ask(port, { path: "/v1/slow", method: "POST", key }))
      yield* Deferred.await(s.begun)
      yield* Fiber.interrupt(client)
      yield* Deferred.succeed(s.go, undefined)
      yield* Deferred.await(s.finished)
    })
  )

  it.scopedLive("with SVC_STRICT_RESPONSES a response that does not match its schema is a 500", () =>
    Effect.gen(function* () {
      const { port } = yield* quiet(startTiny({ strict: true }))
      const answer = yield* ask(port, { path: "/v1/lies", key })
      expect([answer.status, json(answer)["code"]]).toEqual([500, "INTERNAL_ERROR"])
      expect((yield* ask(port, { path: "/v1/items/x", key })).status).toBe(200)
    })
  )

  it.scopedLive("without SVC_STRICT_RESPONSES a response is not checked", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny()
      expect((yield* ask(port, { path: "/v1/lies", key })).status).toBe(200)
    })
  )
})

describe("a contract that does not match its handlers", () => {
  const failure = (options: Parameters<typeof tinyLayer>[0]) =>
    Effect.map(Effect.flip(Effect.scoped(Layer.build(tinyLayer(options)))), (error) =>
      "message" in error ? error.message : String(error)
    )

  it.live("stops the start with one line that names every problem", () =>
    Effect.gen(function* () {
      const { handlers } = handlersOf(yield* signals)
      const { item: _, ...rest } = handlers
      const message = yield* failure({
        groups: [
          { group: "tiny", handlers: { ...rest, extra: () => Effect.void } },
          { group: "tiny", handlers: { list: () => Effect.void } }
        ]
      })
      expect(message).toBe(
        "the handler tiny.list is registered twice; the endpoint tiny.item has no handler; the handler tiny.extra has no endpoint"
      )
    })
  )

  it.live("stops the start when the dispatcher cannot serve an endpoint, or a route exists twice", () =>
    Effect.gen(function* () {
      const group = HttpApiGroup.make("odd")
      const twice = HttpApi.make("odd").add(
        group.add(HttpApiEndpoint.get("a", "/x")).add(HttpApiEndpoint.get("b", "/x"))
      )
      const handlers = { a: () => Effect.void, b: () => Effect.void }
      expect(yield* failure({ api: twice, groups: [{ group: "odd", handlers }] })).toBe(
        "the route GET /x is there twice"
      )
      const two = HttpApi.make("odd").add(
        group.add(HttpApiEndpoint.get("a", "/x").addSuccess(Schema.String).addSuccess(Schema.Number, { status: 201 }))
      )
      expect(yield* failure({ api: two, groups: [{ group: "odd", handlers: { a: () => Effect.void } }] })).toContain(
        "odd.a"
      )
    })
  )
})
