import { expect, layer } from "@effect/vitest"
import { RecordingLinkInvalid, RecordingNotFound } from "@svc/api/calls/Call"
import { RecordingHttp } from "@svc/call-engine/recording/RecordingHttp"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import { ObjectStoreError } from "@svc/providers/ObjectStore"
import { Deferred, Effect, FiberId, Layer, Stream } from "effect"
import { HttpServer } from "../../src/http/listening/HttpServer.ts"
import { ask, exchange, json } from "../servers/Client.ts"
import { tinyLayer } from "../servers/TinyServer.ts"

const body = "MP3, and so on, and so on"
const broken = new ObjectStoreError({ reason: "the disk is gone: /secret", retryable: true })
/** Completes when the endless recording is being read, and when it no longer is. */
const begun = Deferred.unsafeMake<void>(FiberId.none)
const stopped = Deferred.unsafeMake<void>(FiberId.none)

const endless = Stream.repeatValue(new Uint8Array(64 * 1024)).pipe(
  Stream.tap(() => Deferred.succeed(begun, undefined)),
  Stream.ensuring(Deferred.succeed(stopped, undefined))
)

/** Recordings that fail by their names. */
const Fake = Layer.mock(Recordings, {
  open: (file, query) => {
    if (query.get("signature") !== "good") return Effect.fail(new RecordingLinkInvalid())
    switch (file) {
      case "gone.mp3":
        return Effect.fail(new RecordingNotFound())
      case "bug.mp3":
        return Effect.die(new Error("secret"))
      case "torn.mp3":
        return Effect.succeed({
          size: 1000,
          read: () => Stream.concat(Stream.make(Buffer.from("begin")), Stream.fail(broken))
        })
      case "endless.mp3":
        return Effect.succeed({ size: 1e12, read: () => endless })
      default:
        return Effect.succeed({
          size: body.length,
          read: (range) =>
            Stream.make(
              ...Buffer.from(body.slice(range?.start, range?.end))
                .toString()
                .split("")
                .map((c) => Buffer.from(c))
            )
        })
    }
  }
})

const get = (file: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  Effect.flatMap(HttpServer, ({ port }) =>
    ask(port, { path: `/v1/recordings/${file}`, headers, method }).pipe(Effect.timeout("10 seconds"))
  )

layer(tinyLayer({ plain: Layer.provide(RecordingHttp, Fake) }), {
  excludeTestServices: true
})("GET /v1/recordings/<call_id>.mp3", (it) => {
  it.effect("serves an uncacheable MP3 without a key", () =>
    Effect.gen(function* () {
      const answer = yield* get("call.mp3?signature=good")
      expect([answer.status, answer.text]).toEqual([200, body])
      expect(answer.headers).toMatchObject({
        "content-type": "audio/mpeg",
        "content-length": String(body.length),
        "accept-ranges": "bytes",
        "cache-control": "private, no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff"
      })
      expect(answer.headers["x-request-id"]).toMatch(/./)
    })
  )

  it.effect("serves a byte range, and the headers only to HEAD", () =>
    Effect.gen(function* () {
      const part = yield* get("call.mp3?signature=good", { range: "bytes=5-7" })
      expect([part.status, part.text, part.headers["content-range"]]).toEqual([206, "and", `bytes 5-7/${body.length}`])
      const last = yield* get("call.mp3?signature=good", { range: "bytes=-2" })
      expect([last.status, last.text, last.headers["content-length"]]).toEqual([206, "on", "2"])
      const beyond = yield* get("call.mp3?signature=good", { range: "bytes=1000-" })
      expect([beyond.status, beyond.text, beyond.headers["content-range"]]).toEqual([416, "", `bytes */${body.length}`])
      const head = yield* get("call.mp3?signature=good", {}, "HEAD")
      expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", String(body.length)])
    })
  )

  it.effect("answers an API error when the link is invalid or the recording is gone", () =>
    Effect.gen(function* () {
      const errors = yield* Effect.forEach(["call.mp3", "gone.mp3?signature=good", "bug.mp3?signature=good"], (file) =>
        Effect.map(get(file), (answer) => {
          expect(answer.text).not.toContain("secret")
          return [answer.status, json(answer)["code"]]
        })
      )
      expect(errors).toEqual([
        [403, "RECORDING_LINK_INVALID"],
        [404, "RECORDING_NOT_FOUND"],
        [500, "INTERNAL_ERROR"]
      ])
      expect((yield* get("call.mp3?signature=good", {}, "DELETE")).status).toBe(405)
      expect((yield* get("")).status).toBe(404)
    })
  )

  it.effect("cuts the connection when the recording cannot be read to its end", () =>
    Effect.gen(function* () {
      const { port } = yield* HttpServer
      const request = "GET /v1/recordings/torn.mp3?signature=good HTTP/1.1\r\nHost: svc\r\n\r\n"
      const [head, sent] = (yield* Effect.timeout(exchange(port, request), "5 seconds")).split("\r\n\r\n")
      expect(head).toContain("Content-Length: 1000")
      expect(sent).toBe("begin")
    })
  )

  it.effect("stops reading when the client disconnects, and reads no faster than the client", () =>
    Effect.gen(function* () {
      const client = yield* Effect.fork(get("endless.mp3?signature=good"))
      yield* Deferred.await(begun)
      yield* Effect.sync(() => client.unsafeInterruptAsFork(FiberId.none))
      yield* Effect.timeout(Deferred.await(stopped), "10 seconds")
    })
  )
})
