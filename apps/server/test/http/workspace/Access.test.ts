import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { Keys } from "@svc/auth/Keys"
import { Effect } from "effect"
import { HttpServer } from "../../../src/http/listening/HttpServer.ts"
import { exchange } from "../../servers/Client.ts"
import {
  base,
  made,
  organization,
  read,
  remove,
  request,
  requestAt,
  workspaceServer,
  write
} from "../../servers/WorkspaceServer.ts"

/** Access to the workspace API, and what every response has. */

const unknown = `bcus_${"0".repeat(24)}`
const scopes = [read, write, remove]

/** Every endpoint, the one scope that opens it, and what it answers to a key that has it. */
const endpoints = [
  { method: "GET", path: () => "", scope: read, status: 200 },
  { method: "POST", path: () => "", scope: write, status: 201, body: { name: "Bo", phone: "0612345678" } },
  { method: "GET", path: (id: string) => `/${id}`, scope: read, status: 200 },
  { method: "PATCH", path: (id: string) => `/${id}`, scope: write, status: 200, body: { city: "Gouda" } },
  { method: "DELETE", path: (id: string) => `/${id}`, scope: remove, status: 200 },
  { method: "POST", path: (id: string) => `/${id}/restore`, scope: remove, status: 422 },
  { method: "POST", path: (id: string) => `/${id}/anonymize`, scope: remove, status: 200 },
  { method: "POST", path: () => "/bulk-delete", scope: remove, status: 200, body: { ids: [unknown] } }
]

layer(workspaceServer(), { excludeTestServices: true })("access to the workspace API", (it) => {
  it.effect("each endpoint requires exactly its own scope", () =>
    Effect.gen(function* () {
      const { key: all, keyWith } = yield* organization()
      for (const { body, method, path, scope, status } of endpoints) {
        const customer = yield* made(all)
        const others = scopes.filter((other) => other !== scope)
        for (const wrong of [[], ...others.map((other) => [other]), others]) {
          const { key } = yield* keyWith(wrong)
          const refused = yield* request(method, path(customer.id), { key, body })
          expect([method, path(""), wrong, refused.code]).toEqual([method, path(""), wrong, "SCOPE_INSUFFICIENT"])
        }
        const { key } = yield* keyWith([scope])
        const answer = yield* request(method, path(customer.id), { key, body })
        expect([method, path(""), answer.status]).toEqual([method, path(""), status])
      }
    })
  )

  it.effect("the scope is checked before the body is read and the customer is looked up", () =>
    Effect.gen(function* () {
      const { keyWith } = yield* organization()
      const { key } = yield* keyWith([read])
      expect((yield* request("POST", "", { key, body: "{" })).code).toBe("SCOPE_INSUFFICIENT")
      expect((yield* request("DELETE", `/${unknown}`, { key })).code).toBe("SCOPE_INSUFFICIENT")
    })
  )

  it.effect("a missing key and every kind of invalid key get the same 401", () =>
    Effect.gen(function* () {
      const { key, keyWith, org } = yield* organization()
      const keys = yield* Keys
      const expired = yield* keyWith(scopes, new Date(0))
      const revoked = yield* keyWith(scopes)
      expect((yield* request("GET", "", { key: revoked.key })).status).toBe(200)
      yield* keys.revoke({ kind: "workspace", org_id: org.id }, revoked.id)
      const random = "0123456789abcdef".repeat(3)
      const headers = [
        {},
        { authorization: "" },
        { authorization: "Bearer" },
        { authorization: `Basic ${key}` },
        { authorization: key },
        { authorization: `Bearer ${key}x` },
        { authorization: `Bearer ${key.replace("svc_wsp_live_", "svc_live_")}` },
        { authorization: `Bearer svc_wsp_live_${random}` },
        { authorization: `Bearer svc_live_${random}` },
        { authorization: `Bearer svc_org_${random}` },
        { authorization: `Bearer ${expired.key}` },
        { authorization: `Bearer ${revoked.key}` },
        { "x-api-key": key }
      ]
      for (const sent of headers) {
        const answer = yield* request("GET", "", { headers: sent })
        expect([sent, answer.code]).toEqual([sent, "INVALID_API_KEY"])
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/)
      }
    })
  )

  it.effect("a key works until its expires_at", () =>
    Effect.gen(function* () {
      const { keyWith } = yield* organization()
      const sql = yield* SqlClient.SqlClient
      const { id, key } = yield* keyWith(scopes, new Date(8_000_000_000_000))
      expect((yield* request("GET", "", { key })).status).toBe(200)
      const keys = yield* Keys
      yield* sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`
      yield* keys.clearCache
      expect((yield* request("GET", "", { key })).code).toBe("INVALID_API_KEY")
    })
  )

  it.effect("a valid X-Request-Id of the client is returned on successes and errors; an invalid one is replaced", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      for (const path of ["", `/${unknown}`, "?limit=0", "/a/b/c"]) {
        const id = "6f1c2a9e-client.1"
        const answer = yield* request("GET", path, { key, headers: { "x-request-id": id } })
        expect(answer.body.meta.request_id).toBe(id)
      }
      const odd = yield* request("GET", "", { key, headers: { "x-request-id": "a b\u00e9" } })
      expect(odd.body.meta.request_id).not.toBe("a b\u00e9")
      const [first, second] = yield* Effect.all([request("GET", "", { key }), request("GET", "", { key })])
      expect(first.body.meta.request_id).not.toBe(second.body.meta.request_id)
    })
  )

  it.effect("an unknown path below the API's is a 404 in the envelope", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const paths = ["", "/", "/bookings", "/bookings/customer", "/contacts", "/bookings/customers/a/b", "?x=1"]
      for (const path of paths) {
        expect([path, (yield* requestAt("GET", base + path, { key })).code]).toEqual([path, "RESOURCE_NOT_FOUND"])
      }
      expect((yield* requestAt("POST", `${base}/bookings/customers/${unknown}/erase`, { key })).code).toBe(
        "RESOURCE_NOT_FOUND"
      )
    })
  )

  it.effect("an unsupported method is a 405 whose Allow names the supported ones", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const cases = [
        ["PUT", "", ["GET", "POST"]],
        ["DELETE", "", ["GET", "POST"]],
        ["POST", `/${unknown}`, ["GET", "PATCH", "DELETE"]],
        ["OPTIONS", `/${unknown}`, ["GET", "PATCH", "DELETE"]],
        ["GET", `/${unknown}/restore`, ["POST"]],
        ["DELETE", `/${unknown}/anonymize`, ["POST"]],
        ["PUT", "/bulk-delete", ["POST"]]
      ] as const
      for (const [method, path, methods] of cases) {
        const answer = yield* request(method, path, { key })
        expect([method, path, answer.code]).toEqual([method, path, "METHOD_NOT_ALLOWED"])
        const allowed = String(answer.headers.allow).split(/, */)
        for (const name of methods) expect(allowed).toContain(name)
        expect(allowed).not.toContain(method)
      }
    })
  )

  it.effect("a body of 1 MB is accepted and a larger one refused, with and without Content-Length", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const bodyOf = (bytes: number) => {
        const [start, end] = ['{"name":"Bo","email":"bo@example.com","filler":"', '"}']
        return start + "x".repeat(bytes - start.length - end.length) + end
      }
      const chunked = { "transfer-encoding": "chunked" }
      expect((yield* request("POST", "", { key, body: bodyOf(1_000_000) })).status).toBe(201)
      expect((yield* request("POST", "", { key, body: bodyOf(1_000_000), headers: chunked })).status).toBe(201)
      const tooLarge = bodyOf(1024 * 1024 + 1)
      for (const headers of [{}, chunked]) {
        for (const once of [{}, { once: "large" }]) {
          expect((yield* request("POST", "", { key, body: tooLarge, headers, ...once })).code).toBe("REQUEST_TOO_LARGE")
        }
      }
      const list = yield* request("GET", "", { key })
      expect(list.customers).toHaveLength(2)
    })
  )

  it.effect("a body that is not JSON, or not an object, is a validation error", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      for (const body of [
        "{",
        '{"name":',
        "nonsense",
        "[]",
        '"text"',
        "5",
        "null",
        "true",
        '{"name":"A",}',
        "\u00e9"
      ]) {
        expect([body, (yield* request("POST", "", { key, body })).code]).toEqual([body, "VALIDATION_ERROR"])
        expect([body, (yield* request("PATCH", `/${id}`, { key, body })).code]).toEqual([body, "VALIDATION_ERROR"])
        expect([body, (yield* request("POST", "/bulk-delete", { key, body })).code]).toEqual([body, "VALIDATION_ERROR"])
      }
      const xml = yield* request("POST", "", { key, body: "<a/>", headers: { "content-type": "application/xml" } })
      expect(xml.code).toBe("VALIDATION_ERROR")
    })
  )

  it.effect("a URL that does not decode is answered in the envelope", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      expect((yield* request("GET", "/%zz", { key })).body.error).toBeDefined()
      expect((yield* request("GET", "/%00", { key })).code).toBe("RESOURCE_NOT_FOUND")
    })
  )

  it.effect("HEAD gets the headers of GET", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { port } = yield* HttpServer
      const head = [`HEAD ${base}/bookings/customers HTTP/1.1`, "Host: x", `Authorization: Bearer ${key}`]
      const received = yield* exchange(
        port,
        `${[...head, "X-Request-Id: mine", "Connection: close"].join("\r\n")}\r\n\r\n`
      )
      expect(received).toMatch(/^HTTP\/1\.1 200 /)
      expect(received).toMatch(/x-request-id: mine/i)
      expect(received.endsWith("\r\n\r\n")).toBe(true)
    })
  )
})
