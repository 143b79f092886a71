import { expect, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"

/** Segments that are no text, or text that PostgreSQL refuses, and ids longer than any. */
const hostile = [
  "%00",
  "agent_%00",
  "%ff",
  "%c0%80",
  "%c3%28",
  "%ed%a0%80",
  "%ed%b0%80",
  "%e2%82",
  "%f5%80%80%80",
  "99999999999999999999999999",
  "x".repeat(6000)
]

const Operation = Schema.Struct({
  parameters: Schema.optionalWith(Schema.Array(Schema.Struct({ name: Schema.String, in: Schema.String })), {
    default: () => []
  })
})
const readDocument = Schema.decodeUnknown(
  Schema.Struct({
    paths: Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Operation }) })
  })
)

/** The endpoints of both contracts, from the documents that the server gives, and a way to ask them. */
const contracts = Effect.gen(function* () {
  const { keys, url } = yield* BlackBox
  const groups = yield* Effect.forEach(["/openapi.json", "/openapi.workspace.json"], (path) =>
    Effect.flatMap(ApiClient.call(url + path, "GET"), ({ body }) => readDocument(body))
  )
  const endpoints = groups.flatMap(({ paths }) =>
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters }]) => ({
        method: method.toUpperCase(),
        path,
        names: (place: string) => parameters.filter((each) => each.in === place).map(({ name }) => name)
      }))
    )
  )
  /** Asks with a key that may use the path. */
  const ask = (method: string, target: string) => {
    const key = target.startsWith("/api/workspace/")
      ? keys.workspace
      : /^\/v1\/(org|projects)\b/.test(target)
        ? keys.org
        : keys.project
    return ApiClient.call(url + target, method, {
      headers: { authorization: `Bearer ${Redacted.value(key)}` },
      ...(method === "GET" || method === "DELETE" ? {} : { json: {} })
    })
  }
  return { endpoints, ask }
})

const placeholder = /\{(\w+)\}/g

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })(
  "Parameters that are no valid text",
  (it) => {
    it.effect("are unknown ids in every path parameter of both APIs", () =>
      Effect.gen(function* () {
        const { ask, endpoints } = yield* contracts
        const others: Array<unknown> = []
        let asked = 0
        for (const { method, names, path } of endpoints) {
          for (const name of names("path")) {
            for (const bad of hostile) {
              const target = path.replace(placeholder, (_, each) => (each === name ? bad : "1"))
              const { body, status } = yield* ask(method, target)
              // The empty body of a write may be refused first.
              const isFine = status === 404 || (status === 400 && method !== "GET" && method !== "DELETE")
              if (!isFine) others.push([method, target.slice(0, 90), status, body])
              asked += 1
            }
          }
        }
        expect(others).toEqual([])
        expect(asked).toBeGreaterThan(400)
      })
    )

    it.effect("are no server error in any query parameter of both APIs; NUL is refused", () =>
      Effect.gen(function* () {
        const { ask, endpoints } = yield* contracts
        const others: Array<unknown> = []
        let asked = 0
        for (const { method, names, path } of endpoints) {
          for (const name of names("query")) {
            for (const bad of hostile) {
              const target = `${path.replace(placeholder, "1")}?${name}=${bad}`
              const { body, status } = yield* ask(method, target)
              // A cursor of a list that is empty is not looked up.
              const isRefused = status === 400 || status === 404 || name === "after"
              if (status >= 500 || (bad.includes("%00") && !isRefused)) others.push([target.slice(0, 90), status, body])
              asked += 1
            }
          }
        }
        expect(others).toEqual([])
        expect(asked).toBeGreaterThan(200)
      })
    )

    it.effect("are unknown tokens of pages and files", () =>
      Effect.gen(function* () {
        const { url } = yield* BlackBox
        for (const bad of hostile) {
          for (const path of [
            `/debug/calls/${bad}`,
            `/debug/calls/${bad}/live`,
            `/debug/calls/${bad}/recording.mp3`,
            `/v1/voices/${bad}/preview`
          ]) {
            const { status } = yield* ApiClient.call(url + path, "GET")
            expect([path.slice(0, 90), status]).toEqual([path.slice(0, 90), 404])
          }
          const { status } = yield* ApiClient.call(`${url}/v1/recordings/${bad}?expires=%00&signature=%ff`, "GET")
          expect([bad.slice(0, 40), status]).toEqual([bad.slice(0, 40), 403])
        }
      })
    )
  }
)
