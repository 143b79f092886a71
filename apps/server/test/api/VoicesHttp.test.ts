import { expect, layer } from "@effect/vitest"
import { languages } from "@svc/api/agents/Language"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ConfigProvider, Effect, Layer, Logger, Redacted, Schema } from "effect"
import { HttpServer } from "../../src/http/listening/HttpServer.ts"
import { Server } from "../../src/Server.ts"
import { ask, json } from "../servers/Client.ts"

const key = `svc_live_${"a".repeat(48)}`
const orgKey = `svc_org_${"b".repeat(48)}`

const List = Schema.Struct({
  voices: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      language: Schema.String,
      gender: Schema.String,
      preview_url: Schema.String
    })
  )
})

/** The whole server, on a database of its own and with the simulated voices. */
const WholeServer = Layer.unwrapScoped(
  Effect.map(TestDatabase.freshUrl, (url) => {
    const settings = new Map([
      ["SVC_DATABASE_URL", Redacted.value(url)],
      ["SVC_PORT", "0"],
      ["SVC_BASE_URL", "https://voice.example.com/"],
      ["SVC_PLUGINS", "@svc/plugin-simulated"],
      ["SVC_STRICT_RESPONSES", "true"],
      ["SVC_BOOTSTRAP_PROJECT_KEY", key],
      ["SVC_BOOTSTRAP_ORG_KEY", orgKey],
      ["SVC_BOOTSTRAP_WORKSPACE_KEY", `svc_wsp_live_${"c".repeat(48)}`]
    ])
    return Layer.provide(Server, Layer.setConfigProvider(ConfigProvider.fromMap(settings)))
  })
).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))

const get = (path: string, withKey?: string) =>
  Effect.flatMap(HttpServer, ({ port }) => ask(port, { path, ...(withKey === undefined ? {} : { key: withKey }) }))

const list = (query = "") =>
  Effect.flatMap(get(`/v1/voices${query}`, key), (answer) => Schema.decodeUnknown(List)(json(answer)))

layer(WholeServer, { timeout: "60 seconds", excludeTestServices: true })("GET /v1/voices", (it) => {
  it.effect("lists each voice of the plugins once per language, with its preview_url", () =>
    Effect.gen(function* () {
      const { voices } = yield* list()
      expect(voices.filter(({ name }) => name === "Sarah").map(({ language }) => language)).toEqual(languages)
      expect(voices).toContainEqual({
        name: "Lotte",
        language: "nl-NL",
        gender: "female",
        preview_url: "https://voice.example.com/v1/voices/Lotte/preview?language=nl-NL"
      })
    })
  )
  it.effect("filters by language", () =>
    Effect.gen(function* () {
      const { voices } = yield* list("?language=nl-NL")
      expect(voices.map(({ language, name }) => [name, language])).toEqual([
        ["Sarah", "nl-NL"],
        ["Lotte", "nl-NL"],
        ["Daan", "nl-NL"]
      ])
      for (const query of ["?language=xx", "?language=", "?language=nl-nl", "?language=nl-NL&language=de-DE"]) {
        const answer = yield* get(`/v1/voices${query}`, key)
        const message = "language must be a supported BCP-47 code"
        expect([query, answer.status, json(answer)]).toEqual([
          query,
          400,
          { code: "VALIDATION_ERROR", message, error: message, details: { language: message } }
        ])
      }
    })
  )
  it.effect("accepts an org key without X-Project-Id, and refuses a request without a key", () =>
    Effect.gen(function* () {
      expect((yield* get("/v1/voices", orgKey)).status).toBe(200)
      expect((yield* get("/v1/voices")).status).toBe(401)
    })
  )
  it.effect("has a preview_url that plays without a key, for each voice and language", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpServer
      const { voices } = yield* list()
      expect(voices.length).toBeGreaterThan(20)
      for (const { preview_url } of voices) {
        const { pathname, search } = new URL(preview_url)
        const [response, bytes] = yield* Effect.promise(() =>
          fetch(`http://127.0.0.1:${port}${pathname}${search}`).then((response) =>
            response.arrayBuffer().then((bytes) => [response, Buffer.from(bytes)] as const)
          )
        )
        expect([preview_url, response.status, response.headers.get("content-type")]).toEqual([
          preview_url,
          200,
          "audio/wav"
        ])
        expect([bytes.toString("latin1", 0, 4), bytes.toString("latin1", 8, 12)]).toEqual(["RIFF", "WAVE"])
        const rate = bytes.readUInt32LE(24)
        const samples = Array.from({ length: bytes.readUInt32LE(40) / 2 }, (_, n) => bytes.readInt16LE(44 + 2 * n))
        const level = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)
        expect(samples.length / rate).toBeGreaterThan(2)
        expect(level).toBeGreaterThan(1000)
      }
    })
  )
  it.effect("lists only voices that agents may have", () =>
    Effect.gen(function* () {
      const { voices } = yield* list("?language=pl-PL")
      expect(voices.map(({ name }) => name)).toContain("Zofia")
      const error = yield* get("/v1/voices/Zofia/preview?language=de-DE")
      expect([error.status, json(error)["message"]]).toEqual([400, "voice not available for the selected language"])
      const unknown = yield* get("/v1/voices/Nobody/preview")
      expect([unknown.status, json(unknown)["code"]]).toEqual([404, "VOICE_NOT_FOUND"])
    })
  )
})
