import { randomUUID } from "node:crypto"
import { type Health, healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { isObjectKey, ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { Clock, type Context, Deferred, Duration, Effect, Fiber, Option, type Scope, Stream } from "effect"
import type { Bucket } from "./Bucket.ts"
import type { S3Client, S3Failed } from "./S3Client.ts"
import type { Spool } from "./Spool.ts"
import { asStoreError, make as makeUploads } from "./Uploads.ts"

type Service = Context.Tag.Service<ObjectStore>

/** How long the start of the server waits to see whether the store works. */
const startWait = Duration.seconds(2)
const healthDeadline = Duration.millis(2500)
/** How long an answer of the store stands for its health. */
const freshFor = Duration.seconds(10)
/** How long bytes that nobody asks for stay in the spool. The server gives up a recording after a day. */
const keptFor = Duration.days(2)
const cleanEvery = Duration.hours(1)

const absent = new ObjectStoreError({ reason: "there is no such object", retryable: false })

const makeHealth = (
  bucket: Bucket,
  spool: Spool,
  host: Host
): Effect.Effect<{ readonly health: Effect.Effect<Health> }, never, Scope.Scope> =>
  Effect.gen(function* () {
    let logged: string | undefined
    const unhealthy = (reason: string): Health => {
      if (reason !== logged) host.log.error(`object store s3 does not work: ${reason}`)
      logged = reason
      return { healthy: false, reason }
    }
    const read: Effect.Effect<Health> = bucket.probe.pipe(
      Effect.timeoutOption(healthDeadline),
      Effect.map((answer): Health => {
        if (Option.isNone(answer)) return unhealthy("the server of SVC_S3_ENDPOINT does not answer")
        if (spool.isFull()) return unhealthy("the spool is full: see SVC_S3_SPOOL_MB")
        if (logged !== undefined) host.log.info("object store s3 works")
        logged = undefined
        return healthy
      }),
      Effect.catchAll(({ reason }) => Effect.sync(() => unhealthy(reason)))
    )
    const health = yield* Effect.cachedWithTTL(read, freshFor)
    const first = yield* Effect.forkScoped(health)
    yield* Effect.raceFirst(Fiber.await(first), Effect.sleep(startWait))
    return { health }
  })

/** The objects of a bucket. Bytes are gathered in the spool, and uploaded while they arrive. */
export const make = (options: {
  readonly bucket: Bucket
  readonly client: S3Client
  readonly spool: Spool
  readonly host: Host
}): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { bucket, client, host, spool } = options
    const scope = yield* Effect.scope
    const uploads = yield* makeUploads(bucket, spool, host)
    const { health } = yield* makeHealth(bucket, spool, host)

    const atStore = <A, R>(effect: Effect.Effect<A, S3Failed, R>) => Effect.mapError(effect, asStoreError)
    const checked = (key: string) =>
      isObjectKey(key)
        ? Effect.void
        : Effect.fail(new ObjectStoreError({ reason: "the key is not valid", retryable: false }))

    /** Some stores lack this, and some keys may not do it: then a rule of the bucket must delete unfinished uploads. */
    let isLogged = false
    const notDeleted = (failure: S3Failed) =>
      Effect.gen(function* () {
        const { reason, status } = failure
        if (status !== 403 && status !== 405 && status !== 501) return yield* asStoreError(failure)
        if (isLogged) return
        isLogged = true
        yield* Effect.logWarning(
          `unfinished uploads are not deleted (${reason}): set a lifecycle rule of the bucket that aborts them`
        )
      })
    const abort = (key: string, upload: string) => Effect.catchAll(bucket.abortUpload(key, upload), notDeleted)

    /** Deletes what an unfinished writer left here, and its upload. */
    const forget = (key: string) =>
      Effect.gen(function* () {
        yield* uploads.cancel(key)
        const left = yield* spool.load(key)
        const upload = Option.isSome(left) ? left.value.upload : undefined
        if (upload !== undefined) yield* abort(key, upload)
        yield* spool.remove(key)
      })

    const write: Service["write"] = (key, contentType) =>
      Effect.gen(function* () {
        yield* checked(key)
        yield* uploads.cancel(key)
        const left = yield* spool.load(key)
        if (Option.isSome(left) && left.value.upload !== undefined) {
          // The call does not wait for this.
          const line = "an unfinished upload could not be deleted"
          yield* abort(key, left.value.upload).pipe(
            Effect.catchAll(({ reason }) => Effect.logWarning(`${line}: ${reason}`)),
            Effect.forkIn(scope)
          )
        }
        const file = yield* spool.create(key, contentType, randomUUID())
        const grown = yield* Effect.makeLatch()
        const ended = yield* Deferred.make<void>()
        const follower = yield* Effect.forkScoped(uploads.follow(file.object, grown, ended))
        return {
          append: (bytes) => Effect.zipRight(file.append(bytes), grown.open),
          finish: file.sync.pipe(
            Effect.zipRight(Deferred.succeed(ended, undefined)),
            Effect.zipRight(Effect.suspend(() => uploads.complete(file.object, follower))),
            Effect.asVoid
          )
        }
      })

    const size: Service["size"] = (key) =>
      Effect.zipRight(
        checked(key),
        Effect.map(
          atStore(bucket.head(key)),
          Option.map((stored) => stored.size)
        )
      )

    const recover: Service["recover"] = (key) =>
      Effect.gen(function* () {
        yield* checked(key)
        const active = uploads.active(key)
        const left = active === undefined ? yield* spool.load(key) : Option.some(active)
        if (Option.isNone(left)) return yield* size(key)
        yield* spool.touch(key)
        return Option.some(yield* uploads.complete(left.value))
      })

    const read: Service["read"] = (key, range) =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          yield* checked(key)
          if (range !== undefined && range.end <= range.start) {
            return Option.isSome(yield* size(key)) ? Stream.empty : Stream.fail(absent)
          }
          const { next } = yield* bucket
            .get(key, range)
            .pipe(Effect.mapError((failure) => (failure.code === "NoSuchKey" ? absent : asStoreError(failure))))
          // Some stores send more than the range.
          let left = range === undefined ? Number.POSITIVE_INFINITY : range.end - range.start
          return Stream.unfoldEffect(undefined, () =>
            Effect.gen(function* () {
              if (left === 0) return Option.none()
              const bytes = yield* atStore(next)
              if (bytes !== null) {
                const wanted = bytes.subarray(0, left)
                left -= wanted.length
                return Option.some([wanted, undefined] as const)
              }
              if (range === undefined) return Option.none()
              return yield* new ObjectStoreError({ reason: "the object ended before the range", retryable: false })
            })
          )
        })
      )

    const remove: Service["remove"] = (key) =>
      Effect.gen(function* () {
        yield* checked(key)
        yield* forget(key)
        yield* atStore(bucket.remove(key))
        const others = yield* Effect.catchAll(bucket.uploads(key), (failure) => Effect.as(notDeleted(failure), []))
        yield* Effect.forEach(others, (upload) => abort(key, upload), { discard: true })
      })

    /** What no process of this machine completed, as after a restore of its disk. */
    const clean = Effect.gen(function* () {
      const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(keptFor)
      for (const key of yield* spool.abandoned(before)) {
        if (uploads.active(key) !== undefined) continue
        yield* Effect.logWarning(`${key} is deleted from the spool: nobody asked for it for two days`)
        yield* forget(key)
      }
    }).pipe(Effect.catchAll(({ reason }) => Effect.logWarning(`the spool could not be cleaned: ${reason}`)))
    yield* Effect.forkScoped(Effect.forever(Effect.delay(clean, cleanEvery)))

    const presign = (key: string, seconds: number) =>
      Effect.zipRight(checked(key), atStore(client.presign(key, seconds)))

    return ObjectStore.of({ id: "s3", health, write, recover, size, read, remove, presign })
  })
