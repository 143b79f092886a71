import { expect, layer } from "@effect/vitest"
import { VoicePreviews } from "@svc/agents/VoicePreviews"
import { previewPath, previewRoute } from "@svc/agents/VoicesHttp"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { VoiceNotFound } from "@svc/api/voices/VoicesApi"
import { Effect, Layer } from "effect"
import { HttpServer } from "../../src/http/listening/HttpServer.ts"
import { ask, json } from "../servers/Client.ts"
import { tinyLayer } from "../servers/TinyServer.ts"

const body = "RIFF, and so on"
const etag = '"the-tag"'
const asked: Array<readonly [voice: string, language: string | undefined]> = []

/** Voices that fail by their names. */
const Previews = Layer.succeed(VoicePreviews, {
  get: (voice, language) => {
    asked.push([voice, language])
    switch (voice) {
      case "Nobody":
        return Effect.fail(new VoiceNotFound())
      case "Ill":
        return Effect.fail(new Unavailable({ message: "The voice does not work right now", retryAfter: 40 }))
      case "Dutch":
        return Effect.fail(ValidationError.field("language", "voice not available for the selected language"))
      case "Bug":
        return Effect.die(new Error("secret"))
      case "Stopping":
        return Effect.interrupt
      default:
        return Effect.succeed({ bytes: Buffer.from(body), etag })
    }
  }
})

const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  Effect.flatMap(HttpServer, ({ port }) => ask(port, { path, headers, method }))

const sarah = previewPath("Sarah", "en-US")

layer(tinyLayer({ plain: Layer.provide(previewRoute, Previews) }))("GET /v1/voices/<name>/preview", (it) => {
  it.effect("serves cacheable WAV audio without a key to pages of any origin", () =>
    Effect.gen(function* () {
      const answer = yield* get(sarah)
      expect([answer.status, answer.text]).toEqual([200, body])
      expect(answer.headers).toMatchObject({
        "content-type": "audio/wav",
        "content-length": String(body.length),
        "accept-ranges": "bytes",
        "cache-control": "public, max-age=86400",
        "access-control-allow-origin": "*",
        "cross-origin-resource-policy": "cross-origin",
        "x-content-type-options": "nosniff",
        etag
      })
      expect(answer.headers["x-request-id"]).toMatch(/./)
    })
  )
  it.effect("answers HEAD with the headers only", () =>
    Effect.gen(function* () {
      const answer = yield* get(sarah, { range: "bytes=0-3" }, "HEAD")
      expect([answer.status, answer.text]).toEqual([200, ""])
      expect(answer.headers).toMatchObject({ "content-length": String(body.length), etag })
    })
  )
  it.effect("serves a single byte range", () =>
    Effect.gen(function* () {
      const size = body.length
      const part = yield* get(sarah, { range: "bytes=4-7" })
      expect([part.status, part.text]).toEqual([206, body.slice(4, 8)])
      expect(part.headers).toMatchObject({ "content-range": `bytes 4-7/${size}`, "content-length": "4", etag })
      const all = yield* get(sarah, { range: "bytes=0-" })
      expect([all.status, all.text, all.headers["content-range"]]).toEqual([206, body, `bytes 0-${size - 1}/${size}`])
      const beyond = yield* get(sarah, { range: "bytes=1000-" })
      expect([beyond.status, beyond.text, beyond.headers["content-range"]]).toEqual([416, "", `bytes */${size}`])
      const several = yield* get(sarah, { range: "bytes=0-1,3-4" })
      expect([several.status, several.text]).toEqual([200, body])
    })
  )
  it.effect("serves the whole file when If-Range does not match", () =>
    Effect.gen(function* () {
      expect((yield* get(sarah, { range: "bytes=4-7", "if-range": '"other"' })).status).toBe(200)
      expect((yield* get(sarah, { range: "bytes=4-7", "if-range": `W/${etag}` })).status).toBe(200)
      expect((yield* get(sarah, { range: "bytes=4-7", "if-range": etag })).status).toBe(206)
    })
  )
  it.effect("answers 304 when If-None-Match has the entity tag", () =>
    Effect.gen(function* () {
      for (const tags of [etag, `W/${etag}`, `"a", ${etag}`, "*"]) {
        const answer = yield* get(sarah, { "if-none-match": tags, range: "bytes=0-" })
        expect([answer.status, answer.text, answer.headers.etag]).toEqual([304, "", etag])
      }
      expect((yield* get(sarah, { "if-none-match": '"a"' })).status).toBe(200)
    })
  )
  it.effect("passes the voice's name, with any characters, and the language on", () =>
    Effect.gen(function* () {
      asked.length = 0
      const names = ["Sarah", "Zoë", "a/b", "a b", "50%", "?x=1", "../Sarah", "#"]
      for (const name of names) expect((yield* get(previewPath(name, "fi-FI"))).status).toBe(200)
      yield* get("/v1/voices/Sarah/preview")
      expect(asked).toEqual([...names.map((name) => [name, "fi-FI"]), ["Sarah", undefined]])
    })
  )
  it.effect("refuses an unsupported language", () =>
    Effect.gen(function* () {
      asked.length = 0
      for (const query of ["language=", "language=xx", "language=en-us", "language=en-US&language=de-DE", "language"]) {
        const answer = yield* get(`/v1/voices/Sarah/preview?${query}`)
        const message = "language must be a supported BCP-47 code"
        expect([query, answer.status, json(answer)["details"]]).toEqual([query, 400, { language: message }])
      }
      expect(asked).toEqual([])
    })
  )
  it.effect("answers a failure with an uncacheable API error", () =>
    Effect.gen(function* () {
      const errors = yield* Effect.forEach(["Nobody", "Dutch", "Ill", "Bug", "Stopping"], (name) =>
        Effect.map(get(previewPath(name, "en-US")), (answer) => {
          expect(answer.headers["cache-control"]).toBeUndefined()
          expect(answer.headers.etag).toBeUndefined()
          expect(answer.text).not.toContain("secret")
          return [answer.status, json(answer)["code"], answer.headers["retry-after"]]
        })
      )
      expect(errors).toEqual([
        [404, "VOICE_NOT_FOUND", undefined],
        [400, "VALIDATION_ERROR", undefined],
        [503, "UNAVAILABLE", "40"],
        [500, "INTERNAL_ERROR", undefined],
        [503, "UNAVAILABLE", undefined]
      ])
    })
  )
  it.effect("answers 405 to other methods than GET and HEAD", () =>
    Effect.gen(function* () {
      const answer = yield* get(sarah, {}, "DELETE")
      expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"])
      expect((yield* get("/v1/voices/Sarah")).status).toBe(404)
    })
  )
})
