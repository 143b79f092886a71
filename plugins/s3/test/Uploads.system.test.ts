import { readdir } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Schedule, Stream } from "effect"
import { cut, type EmulatedS3, emulatedS3, type Fault, type Faults, hang, s3Error } from "./EmulatedS3.ts"
import { mega, settingsAt, soundOf, storeIn, temporaryFolder } from "./Provided.ts"
import { realServer } from "./RealServer.ts"

const key = "recordings/call_1.mp3"

const until = (condition: () => boolean) =>
  Effect.void.pipe(
    Effect.repeat({ until: condition, schedule: Schedule.spaced("5 millis") }),
    Effect.timeout("20 seconds")
  )

/** A store with a spool of its own at a server, of which a further one can be made: as after a restart. */
const setUp = Effect.gen(function* () {
  const server = yield* emulatedS3
  const folder = yield* temporaryFolder
  const open = storeIn(folder, settingsAt(server.url))
  return { server, folder, open, ...(yield* open) }
})
type Store = Effect.Effect.Success<typeof setUp>["store"]

const append = (store: Store, bytes: Buffer) =>
  Effect.gen(function* () {
    const writer = yield* store.write(key, "audio/mpeg")
    for (let at = 0; at < bytes.length; at += mega) yield* writer.append(bytes.subarray(at, at + mega))
    return writer
  })
const record = (store: Store, bytes: Buffer) =>
  Effect.scoped(Effect.flatMap(append(store, bytes), (writer) => writer.finish))

const holds = (server: EmulatedS3, bytes: Buffer): boolean => server.objects.get(key)?.bytes.equals(bytes) === true
const spooled = (folder: string) => Effect.promise(() => readdir(folder))
const count = (server: EmulatedS3, request: string): number =>
  server.log.filter((one) => one.startsWith(request)).length
const put = `PUT ${key}`

/** The first `times` requests that begin so go wrong. */
const first = (request: RegExp, fault: Fault, times = 1, at: "head" | "body" | "done" = "body"): Faults => {
  let left = times
  return ({ key, method, query }, phase) => {
    if (phase !== at || !request.test(`${method} ${key} ${query}`) || left === 0) return undefined
    left--
    return fault
  }
}

describe("a recording", () => {
  it.live("of a short call is one PUT, and nothing stays in the spool", () =>
    Effect.gen(function* () {
      const { folder, server, store } = yield* setUp
      const bytes = soundOf(mega)
      yield* record(store, bytes)
      expect(holds(server, bytes)).toBe(true)
      expect(server.log.filter((one) => !one.startsWith("GET"))).toEqual([put])
      expect(yield* spooled(folder)).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("of a long call is uploaded in parts of 5 MB while the call runs, of which the last is smaller", () =>
    Effect.gen(function* () {
      const { folder, server, store } = yield* setUp
      const bytes = soundOf(11 * mega)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const writer = yield* append(store, bytes)
          yield* until(() => [...server.uploads.values()][0]?.parts.size === 2)
          expect(server.objects.has(key)).toBe(false)
          yield* writer.finish
        })
      )
      expect(holds(server, bytes)).toBe(true)
      expect(server.uploads.size).toBe(0)
      expect([1, 2, 3, 4].map((number) => count(server, `${put} partNumber=${number}`))).toEqual([1, 1, 1, 0])
      expect(yield* spooled(folder)).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("of a long call is stored, read, linked and deleted in s3rver", () =>
    Effect.gen(function* () {
      const { store } = yield* storeIn(yield* temporaryFolder, yield* realServer)
      const bytes = soundOf(11 * mega)
      yield* record(store, bytes)
      expect(yield* store.size(key)).toEqual(Option.some(bytes.length))
      const read = Buffer.concat([...(yield* Stream.runCollect(store.read(key)))])
      expect(read.equals(bytes)).toBe(true)
      const url = yield* store.presign?.(key, 60) ?? Effect.die("no links")
      const linked = yield* Effect.promise(() => fetch(url).then((answer) => answer.arrayBuffer()))
      expect(Buffer.from(linked).equals(bytes)).toBe(true)
      yield* store.remove(key)
      expect(yield* store.size(key)).toEqual(Option.none())
    }).pipe(Effect.scoped)
  )

  const passing: ReadonlyArray<readonly [string, Faults]> = [
    [
      "503 SlowDown with Retry-After",
      first(/PUT .*partNumber=2/, s3Error(503, "SlowDown", "", { "retry-after": "0.1" }))
    ],
    ["a 500 when the upload is created", first(/POST .*uploads=/, s3Error(500, "InternalError"))],
    ["a connection that is cut in mid-part", first(/PUT .*partNumber=1/, cut, 1, "head")],
    ["an answer to a part that is lost", first(/PUT .*partNumber=1/, cut, 1, "done")],
    [
      "an ETag that does not match",
      first(/PUT .*partNumber=2/, (response) => response.writeHead(200, { etag: `"${"0".repeat(32)}"` }).end())
    ],
    [
      "a completion that answers 200 with an error",
      first(/POST .*uploadId/, (response) =>
        response
          .writeHead(200)
          .end('\n<?xml version="1.0"?><Error><Code>InternalError</Code><Message>We failed</Message></Error>')
      )
    ],
    ["an answer to the completion that is lost", first(/POST .*uploadId/, cut, 1, "done")],
    ["an upload that a rule of the bucket aborted", first(/POST .*uploadId/, s3Error(404, "NoSuchUpload"))],
    ["a part that the store lost", first(/POST .*uploadId/, s3Error(400, "InvalidPart"))]
  ]
  for (const [name, faults] of passing) {
    it.live(`is whole after ${name}`, () =>
      Effect.gen(function* () {
        const { folder, open, server, store } = yield* setUp
        const bytes = soundOf(11 * mega)
        server.misbehave(faults)
        yield* Effect.catchAll(record(store, bytes), () => until(() => holds(server, bytes)))
        yield* until(() => server.uploads.size === 0)
        expect(holds(server, bytes)).toBe(true)
        expect(server.objects.size).toBe(1)
        expect(yield* (yield* open).store.recover(key)).toEqual(Option.some(bytes.length))
        yield* Effect.repeat(spooled(folder), { until: (names) => names.length === 0 }).pipe(
          Effect.timeout("5 seconds")
        )
      }).pipe(Effect.scoped)
    )
  }

  it.live("does not wait for a store that hangs, and stays in the spool until the store works", () =>
    Effect.gen(function* () {
      const { server, store } = yield* setUp
      const bytes = soundOf(7 * mega)
      server.misbehave(({ method }) => (method === "GET" ? undefined : hang))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const writer = yield* append(store, bytes)
          yield* until(() => count(server, `POST ${key}`) > 0)
          yield* writer.append(Buffer.alloc(mega))
          server.misbehave(() => undefined)
          server.hangUp()
          yield* writer.finish
        })
      )
      expect(holds(server, Buffer.concat([bytes, Buffer.alloc(mega)]))).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("fails typed while the store refuses, and is stored by itself when the store works again", () =>
    Effect.gen(function* () {
      const { server, store } = yield* setUp
      const bytes = soundOf(mega)
      server.misbehave(() => s3Error(403, "SignatureDoesNotMatch"))
      const error = yield* Effect.flip(record(store, bytes))
      expect(error).toMatchObject({ _tag: "ObjectStoreError", retryable: true })
      expect(error.reason).toContain("SVC_S3_SECRET_ACCESS_KEY was refused")
      expect((yield* Effect.flip(store.recover(key))).reason).toContain("SVC_S3_SECRET_ACCESS_KEY")
      server.misbehave(() => undefined)
      yield* until(() => holds(server, bytes))
      expect(yield* store.recover(key)).toEqual(Option.some(bytes.length))
    }).pipe(Effect.scoped)
  )

  it.live("ends with a reason when the spool is full, and what was spooled is kept", () =>
    Effect.gen(function* () {
      const server = yield* emulatedS3
      const settings = { ...settingsAt(server.url), spoolMb: "10" }
      const { store } = yield* storeIn(yield* temporaryFolder, settings)
      server.misbehave(() => s3Error(503, "SlowDown"))
      const bytes = soundOf(11 * mega)
      const error = yield* Effect.flip(record(store, bytes))
      expect(error.reason).toContain("the spool is full")
      expect(error.reason).toContain("SVC_S3_SPOOL_MB")
      server.misbehave(() => undefined)
      yield* Effect.retry(store.recover(key), { schedule: Schedule.spaced("20 millis"), times: 500 })
      expect(holds(server, bytes.subarray(0, 10 * mega))).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("is replaced by a later one of its key, whose unfinished upload is deleted", () =>
    Effect.gen(function* () {
      const { server, store } = yield* setUp
      yield* Effect.scoped(
        Effect.zipRight(
          append(store, soundOf(6 * mega)),
          until(() => [...server.uploads.values()][0]?.parts.size === 1)
        )
      )
      const bytes = soundOf(1000)
      yield* record(store, bytes)
      expect(holds(server, bytes)).toBe(true)
      yield* until(() => server.uploads.size === 0)
    }).pipe(Effect.scoped)
  )
})

describe("retention", () => {
  it.live("deletes the object, what is in the spool, and unfinished uploads, also those of another server", () =>
    Effect.gen(function* () {
      const { folder, server, store } = yield* setUp
      const other = yield* storeIn(yield* temporaryFolder, settingsAt(server.url))
      yield* record(store, soundOf(1000))
      for (const one of [store, other.store]) {
        const before = server.uploads.size
        yield* Effect.scoped(
          Effect.zipRight(
            append(one, soundOf(6 * mega)),
            until(() => [...server.uploads.values()].filter(({ parts }) => parts.size === 1).length === before + 1)
          )
        )
      }
      expect(server.uploads.size).toBe(2)
      yield* store.remove(key)
      expect([server.uploads.size, server.objects.size, (yield* spooled(folder)).length]).toEqual([0, 0, 0])
    }).pipe(Effect.scoped)
  )

  it.live("fails when the store refuses, so that it is tried again", () =>
    Effect.gen(function* () {
      const { server, store } = yield* setUp
      yield* record(store, soundOf(1000))
      server.misbehave(() => s3Error(403, "AccessDenied"))
      expect((yield* Effect.flip(store.remove(key))).reason).toContain("lacks a permission")
      server.misbehave(({ query }) => (query.has("uploads") ? s3Error(403, "AccessDenied") : undefined))
      yield* store.remove(key)
      expect(server.objects.size).toBe(0)
    }).pipe(Effect.scoped)
  )
})
