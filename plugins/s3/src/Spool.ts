import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { ObjectStoreError } from "@svc/providers/ObjectStore"
import { Clock, Effect, Option, Schema, type Scope, Stream } from "effect"
import { BodyHash, type StoredPart } from "./Bucket.ts"
import type { RequestBody } from "./S3Client.ts"

/** The longest audio that a crash of the machine may lose, in milliseconds; a crash of the process loses none. */
const syncEvery = 15_000

/** What is known about an object whose bytes are in the spool. */
export interface SpooledObject {
  readonly key: string
  readonly contentType: string
  /** Identifies its bytes in the store: `x-amz-meta-svc-writer`. */
  readonly writer: string
  /** Bytes in the spool: the object from its first byte. */
  size: number
  /** Its multipart upload. */
  upload: string | undefined
  /** The store may have further uploads of the key, whose ids are not known. */
  mayHaveOthers: boolean
  /** The parts that the store confirmed, by number. */
  readonly parts: Map<number, StoredPart>
}

/** A spooled object that grows. */
export interface SpoolFile {
  readonly object: SpooledObject
  /** Adds bytes, which survive a crash of the process at once, and of the machine after at most 15 seconds. */
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, ObjectStoreError>
  readonly sync: Effect.Effect<void, ObjectStoreError>
}

/**
 * The bytes of objects that are not complete in the store, as files of one folder, readable by their owner only. Each
 * object has a folder with its bytes (`data`) and a journal of its multipart upload, one JSON value a line. The bytes are
 * kept until the store has the whole object, so that an upload can begin anew.
 */
export interface Spool {
  /** Starts an object; an older one of the same key is deleted. */
  readonly create: (
    key: string,
    contentType: string,
    writer: string
  ) => Effect.Effect<SpoolFile, ObjectStoreError, Scope.Scope>
  /** The object of a key that was left here, if it has bytes. One without bytes is deleted. */
  readonly load: (key: string) => Effect.Effect<Option.Option<SpooledObject>, ObjectStoreError>
  /** Notes the upload of an object; undefined: it has none any more. */
  readonly setUpload: (object: SpooledObject, upload: string | undefined) => Effect.Effect<void, ObjectStoreError>
  readonly addPart: (object: SpooledObject, part: StoredPart) => Effect.Effect<void, ObjectStoreError>
  /** Bytes of an object as the body of a request. */
  readonly body: (object: SpooledObject, start: number, end: number) => Effect.Effect<RequestBody, ObjectStoreError>
  /** Notes that the object is still wanted. */
  readonly touch: (key: string) => Effect.Effect<void, ObjectStoreError>
  readonly remove: (key: string) => Effect.Effect<void, ObjectStoreError>
  /** The keys of objects of which nothing was written, and for which nobody asked, since `before`. Counts the bytes anew. */
  readonly abandoned: (before: number) => Effect.Effect<ReadonlyArray<string>, ObjectStoreError>
  readonly isFull: () => boolean
}

const Line = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ key: Schema.String, content_type: Schema.String, writer: Schema.String }),
    Schema.Struct({ upload: Schema.NullOr(Schema.String) }),
    Schema.Struct({ part: Schema.Int, etag: Schema.String })
  )
)
type Line = typeof Line.Type
const encodeLine = (line: Line): string => `${JSON.stringify(line)}\n`
const decodeLine = Schema.decodeUnknownOption(Line)

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "")

/** Runs one file operation. Errors do not show paths. */
const disk = <A>(what: string, operation: () => Promise<A>): Effect.Effect<A, ObjectStoreError> =>
  Effect.tryPromise({
    try: operation,
    catch: (error) =>
      new ObjectStoreError({ reason: `spool: ${what} failed: ${codeOf(error) || String(error)}`, retryable: true })
  })

/** The journal's lines. The last one is torn when the process died while it was written. */
const linesOf = (text: string): ReadonlyArray<Line> =>
  text.split("\n").flatMap((line) => (line === "" ? [] : Option.toArray(decodeLine(line))))

const objectOf = (lines: ReadonlyArray<Line>, size: number): SpooledObject | undefined => {
  const [first, ...rest] = lines
  if (first === undefined || !("key" in first)) return undefined
  const { content_type: contentType, key, writer } = first
  const object: SpooledObject = {
    key,
    contentType,
    writer,
    size,
    upload: undefined,
    mayHaveOthers: false,
    parts: new Map()
  }
  for (const line of rest) {
    if ("part" in line) object.parts.set(line.part, { number: line.part, etag: line.etag })
    else if ("upload" in line) {
      object.upload = line.upload ?? undefined
      object.parts.clear()
    }
  }
  return object
}

const absent = (error: unknown): undefined => {
  if (codeOf(error) === "ENOENT") return undefined
  throw error
}

/** A spool in a folder, which is made when it is needed, of at most `limit` bytes. */
export const make = (root: string, limit: number): Effect.Effect<Spool, ObjectStoreError> =>
  Effect.gen(function* () {
    const folderOf = (key: string): string => path.join(root, createHash("sha256").update(key).digest("hex"))
    const dataOf = (key: string): string => path.join(folderOf(key), "data")
    const journalOf = (key: string): string => path.join(folderOf(key), "journal")
    /** Size and time of a file; zeros when there is none. */
    const statOf = (file: string) =>
      disk("reading the size of a file", () =>
        fs.stat(file).then(
          ({ mtimeMs, size }) => ({ mtimeMs, size }),
          (error) => absent(error) ?? { mtimeMs: 0, size: 0 }
        )
      )
    const folders = disk("reading the folder", () => fs.readdir(root).catch((error) => absent(error) ?? [])).pipe(
      Effect.map((names) => names.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => path.join(root, name)))
    )
    const read = (folder: string) =>
      disk("reading a journal", () =>
        fs.readFile(path.join(folder, "journal"), "utf8").then(linesOf, (error) => absent(error) ?? [])
      )

    const sizes = yield* Effect.forEach(yield* folders, (folder) => statOf(path.join(folder, "data")))
    let used = sizes.reduce((sum, { size }) => sum + size, 0)

    const remove = (key: string) =>
      Effect.gen(function* () {
        const { size } = yield* statOf(dataOf(key))
        // The journal first: bytes without it are nothing.
        yield* disk("deleting a file", () => fs.rm(journalOf(key), { force: true }))
        yield* disk("deleting a folder", () => fs.rm(folderOf(key), { recursive: true, force: true }))
        used -= size
      })

    const note = (key: string, line: Line) =>
      disk("writing a journal", () => fs.appendFile(journalOf(key), encodeLine(line), { mode: 0o600 }))

    const create: Spool["create"] = (key, contentType, writer) =>
      Effect.gen(function* () {
        yield* remove(key)
        yield* disk("creating a folder", () => fs.mkdir(folderOf(key), { recursive: true, mode: 0o700 }))
        yield* note(key, { key, content_type: contentType, writer })
        const handle = yield* Effect.acquireRelease(
          disk("creating a file", () => fs.open(dataOf(key), "a", 0o600)),
          (open) => Effect.ignoreLogged(disk("closing a file", () => open.close()))
        )
        const object: SpooledObject = {
          key,
          contentType,
          writer,
          size: 0,
          upload: undefined,
          mayHaveOthers: false,
          parts: new Map()
        }
        const clock = yield* Effect.clock
        let syncedAt = monotonicMillis(clock)
        const sync = disk("syncing a file", () => handle.datasync())
        return {
          object,
          sync,
          append: (bytes) =>
            Effect.gen(function* () {
              if (used + bytes.length > limit) {
                const reason = `the spool is full: the store does not take its ${used} bytes. See SVC_S3_SPOOL_MB`
                return yield* new ObjectStoreError({ reason, retryable: true })
              }
              used += bytes.length
              // An interruption does not end the write, whose bytes then count.
              yield* Effect.uninterruptible(disk("writing a file", () => handle.writeFile(bytes)))
              object.size += bytes.length
              const now = monotonicMillis(clock)
              if (now - syncedAt < syncEvery) return
              syncedAt = now
              yield* sync
            })
        }
      })

    const load: Spool["load"] = (key) =>
      Effect.gen(function* () {
        const lines = yield* read(folderOf(key))
        const { size } = yield* statOf(dataOf(key))
        const object = objectOf(lines, size)
        if (object !== undefined && size > 0) return Option.some(object)
        yield* remove(key)
        return Option.none()
      })

    return {
      create,
      load,
      setUpload: (object, upload) =>
        Effect.map(note(object.key, { upload: upload ?? null }), () => {
          object.upload = upload
          object.parts.clear()
        }),
      addPart: (object, part) =>
        Effect.map(note(object.key, { part: part.number, etag: part.etag }), () => {
          object.parts.set(part.number, part)
        }),
      body: ({ key }, start, end) => {
        // An empty range cannot be read from a file.
        const open = () => (end > start ? createReadStream(dataOf(key), { start, end: end - 1 }) : "")
        const hash = new BodyHash()
        const bytes = Stream.fromAsyncIterable(
          createReadStream(dataOf(key), { start, end: Math.max(start, end - 1) }),
          (error) => new ObjectStoreError({ reason: `spool: reading a file failed: ${codeOf(error)}`, retryable: true })
        )
        return (
          end > start ? Stream.runForEach(bytes, (chunk) => Effect.sync(() => hash.add(chunk))) : Effect.void
        ).pipe(
          Effect.map((): RequestBody => ({ ...hash.end(), open })),
          Effect.filterOrFail(
            ({ size }) => size === end - start,
            () => new ObjectStoreError({ reason: "spool: a file is shorter than what was written", retryable: false })
          )
        )
      },
      touch: (key) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          disk("touching a journal", () =>
            fs.utimes(journalOf(key), now / 1000, now / 1000).catch((error) => absent(error))
          )
        ),
      remove,
      abandoned: (before) =>
        Effect.gen(function* () {
          const keys: Array<string> = []
          let size = 0
          for (const folder of yield* folders) {
            const files = yield* Effect.forEach(["data", "journal"], (name) => statOf(path.join(folder, name)))
            const key = objectOf(yield* read(folder), 0)?.key
            size += files.reduce((sum, file) => sum + file.size, 0)
            if (key !== undefined && files.every(({ mtimeMs }) => mtimeMs < before)) keys.push(key)
          }
          // Another process with this folder may have added or deleted objects.
          used = size
          return keys
        }),
      isFull: () => used >= limit
    }
  })
