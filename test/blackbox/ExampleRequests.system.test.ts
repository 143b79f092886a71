import { execFile } from "node:child_process"
import { expect, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { at, call, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"

const Operation = Schema.Struct({
  operationId: Schema.String,
  requestBody: Schema.optional(
    Schema.Struct({
      content: Schema.Struct({
        "application/json": Schema.Struct({ example: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
      })
    })
  ),
  "x-codeSamples": Schema.Array(Schema.Struct({ source: Schema.String }))
})
const Contract = Schema.Struct({
  paths: Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Operation }) })
})

/** The code of an error of either API. */
const codeOf = (body: unknown): unknown => at(body, "code") ?? at(body, "error.code")

/** What says that the example itself is wrong. */
const faults =
  /^(VALIDATION_ERROR|INVALID_JSON|BAD_REQUEST|INTERNAL_ERROR|INTERNAL|ROUTE_NOT_FOUND|METHOD_NOT_ALLOWED)$/

/** Runs a program of the reference with Node, and returns what it prints. */
const run = (source: string, key: string) =>
  Effect.async<string, Error>((resume) => {
    const child = execFile(
      process.execPath,
      ["--input-type=module", "-e", source],
      { env: { ...process.env, SVC_KEY: key } },
      (error, out) => resume(error === null ? Effect.succeed(out) : Effect.fail(error))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

layer(BlackBox.layer, { excludeTestServices: true, timeout: "60 seconds" })("the examples of the references", (it) => {
  it.effect("are accepted by the server, with ids that exist where it has them", () =>
    Effect.gen(function* () {
      const { api, keys, url } = yield* BlackBox
      const agent = yield* api.post("/v1/agents", { name: "Example", server_url: "http://127.0.0.1:9/" })
      const agentId = textAt(agent.body, "agent.public_id")
      yield* api.post("/v1/phone-numbers/import", { number: "+15550100100", telephony: "simulated" })
      const real = (text: string) =>
        text
          .replaceAll("agent_0123456789abcdefghijklmn", agentId)
          .replaceAll("https://example.com", "http://127.0.0.1:9")
      const documents = [
        ["/openapi.json", "", keys.project],
        ["/openapi.workspace.json", "/api/workspace/v1", keys.workspace]
      ] as const
      for (const [document, base, key] of documents) {
        const { paths } = yield* Schema.decodeUnknown(Contract)((yield* api.get(document)).body)
        const refused: Array<unknown> = []
        let sent = 0
        for (const [path, item] of Object.entries(paths)) {
          for (const [method, { operationId, requestBody }] of Object.entries(item)) {
            if (requestBody === undefined) continue
            const { example } = requestBody.content["application/json"]
            const own = /^\/v1\/(org|projects)\b/.test(path) ? keys.org : key
            const concrete = path.replace("{agentId}", agentId).replace(/[{]\w+[}]/g, "1")
            const answer = yield* call(url + base + concrete, method.toUpperCase(), {
              raw: real(JSON.stringify(example)),
              headers: { authorization: `Bearer ${Redacted.value(own)}` }
            })
            sent++
            const code = codeOf(answer.body)
            if (answer.status >= 300 && faults.test(String(code))) refused.push([operationId, answer.text])
          }
        }
        expect(refused).toEqual([])
        expect(sent).toBeGreaterThan(2)
        if (base !== "") continue
        const create = paths["/v1/agents"]?.["post"]?.["x-codeSamples"][0]?.source ?? ""
        expect(create).toContain("http://")
        const printed = yield* run(
          real(create).replace(/http:\/\/[^/"]+\/v1/, `${url}/v1`),
          Redacted.value(keys.project)
        )
        expect(printed).toContain("server_secret")
      }
    })
  )
})
