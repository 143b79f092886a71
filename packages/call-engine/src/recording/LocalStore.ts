import * as fs from "node:fs/promises"
import * as path from "node:path"
import { dataDir } from "@svc/database/Database"
import { makeFolder } from "@svc/database/Folders"
import { healthy } from "@svc/providers/Health"
import { isObjectKey, ObjectStore, ObjectStoreError, type ObjectWriter } from "@svc/providers/ObjectStore"
import { Clock, Config, type ConfigError, Effect, Layer, Option, Stream } from "effect"

/** The longest audio that a crash of the machine may lose, in milliseconds; a crash of the process loses none. */
const syncEvery = 15_000
/** Bytes per read. */
const chunk = 64 * 1024
/** The file of an object that is being written. */
const unfinished = (file: string): string => `${file}.part`

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "")

/** Runs one file operation. Errors do not show paths. */
const disk = <A>(what: string, operation: () => Promise<A>): Effect.Effect<A, LocalError> =>
  Effect.tryPromise({
    try: operation,
    catch: (error) =>
      new LocalError({
        reason: `${what} failed: ${codeOf(error) || String(error)}`,
        retryable: codeOf(error) !== "ENOENT",
        code: codeOf(error)
      })
  })

class LocalError extends ObjectStoreError {
  readonly code: string
  constructor(fields: { readonly reason: string; readonly retryable: boolean; readonly code: string }) {
    super(fields)
    this.code = fields.code
  }
}

const absent = (error: LocalError): boolean => error.code === "ENOENT" || error.code === "ENOTDIR"

const sizeOf = (file: string): Effect.Effect<Option.Option<number>, LocalError> =>
  disk("reading the size of a file", () => fs.stat(file)).pipe(
    Effect.map((stat) => (stat.isFile() ? Option.some(stat.size) : Option.none())),
    Effect.catchIf(absent, () => Effect.succeed(Option.none()))
  )

/** Syncs the entries of a folder, which makes a rename durable. */
const syncFolder = (folder: string): Effect.Effect<void, LocalError> =>
  Effect.acquireUseRelease(
    disk("opening a folder", () => fs.open(folder, "r")),
    (handle) => disk("syncing a folder", () => handle.sync()),
    (handle) => Effect.promise(() => handle.close())
  )

/**
 * Objects as files of one folder, readable by their owner only. Appended bytes survive a crash of the process at once,
 * and a crash of the machine after at most 15 seconds.
 */
export const make = (root: string): Effect.Effect<typeof ObjectStore.Service> =>
  Effect.sync(() => {
    const fileOf = (key: string): Effect.Effect<string, ObjectStoreError> =>
      isObjectKey(key)
        ? Effect.succeed(path.join(root, key))
        : Effect.fail(new ObjectStoreError({ reason: "the key is not valid", retryable: false }))

    /** Renames the unfinished file to the object's. */
    const complete = (file: string): Effect.Effect<void, LocalError> =>
      disk("renaming a file", () => fs.rename(unfinished(file), file)).pipe(
        Effect.zipRight(syncFolder(path.dirname(file)))
      )

    const write = Effect.fn("LocalStore.write")(function* (key: string) {
      const file = yield* fileOf(key)
      yield* disk("creating a folder", () => makeFolder(path.dirname(file), 0o700))
      const handle = yield* Effect.acquireRelease(
        disk("creating a file", () => fs.open(unfinished(file), "w", 0o600)),
        (open) => Effect.ignoreLogged(disk("closing a file", () => open.close()))
      )
      let syncedAt = yield* Clock.currentTimeMillis
      const append = (bytes: Uint8Array) =>
        disk("writing a file", () => handle.writeFile(bytes)).pipe(
          Effect.zipRight(Clock.currentTimeMillis),
          Effect.flatMap((now) => {
            if (now - syncedAt < syncEvery) return Effect.void
            syncedAt = now
            return disk("syncing a file", () => handle.datasync())
          })
        )
      const finish = Effect.zipRight(
        disk("syncing a file", () => handle.sync()),
        complete(file)
      )
      return { append, finish } satisfies ObjectWriter
    })

    const size = (key: string) => Effect.flatMap(fileOf(key), sizeOf)

    const recover = Effect.fn("LocalStore.recover")(function* (key: string) {
      const file = yield* fileOf(key)
      const unfinishedSize = yield* sizeOf(unfinished(file))
      if (Option.getOrElse(unfinishedSize, () => 0) > 0) yield* complete(file)
      return yield* sizeOf(file)
    })

    const read = (key: string, range?: { readonly start: number; readonly end: number }) =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          const file = yield* fileOf(key)
          const handle = yield* Effect.acquireRelease(
            disk("opening a file", () => fs.open(file, "r")),
            (open) => Effect.ignoreLogged(disk("closing a file", () => open.close()))
          )
          const end = range?.end ?? Number.POSITIVE_INFINITY
          return Stream.unfoldEffect(range?.start ?? 0, (at) =>
            at >= end
              ? Effect.succeed(Option.none())
              : Effect.map(
                  disk("reading a file", () =>
                    handle.read(new Uint8Array(Math.min(chunk, end - at)), { position: at })
                  ),
                  ({ buffer, bytesRead }) =>
                    bytesRead === 0
                      ? Option.none()
                      : Option.some([buffer.subarray(0, bytesRead), at + bytesRead] as const)
                )
          )
        })
      )

    const remove = Effect.fn("LocalStore.remove")(function* (key: string) {
      const file = yield* fileOf(key)
      yield* disk("deleting a file", () => fs.rm(unfinished(file), { force: true }))
      yield* disk("deleting a file", () => fs.rm(file, { force: true }))
    })

    return { id: "local", health: Effect.succeed(healthy), write, recover, size, read, remove }
  })

/** `SVC_RECORDINGS_DIR`; by default the folder `recordings` of `SVC_DATA_DIR`. */
export const folder: Effect.Effect<string, ConfigError.ConfigError> = Effect.flatMap(dataDir, (data) =>
  Config.nonEmptyString("SVC_RECORDINGS_DIR").pipe(
    Config.withDefault(path.join(data, "recordings")),
    Config.map((given) => path.resolve(given))
  )
)

/** The store in `SVC_RECORDINGS_DIR`; by default the folder `recordings` of `SVC_DATA_DIR` (`.svc`). */
export const layer: Layer.Layer<ObjectStore, ConfigError.ConfigError> = Layer.effect(
  ObjectStore,
  Effect.flatMap(folder, make)
)
