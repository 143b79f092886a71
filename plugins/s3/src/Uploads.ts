import type { Host } from "@svc/providers/Host"
import { ObjectStoreError } from "@svc/providers/ObjectStore"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { Bucket } from "./Bucket.ts"
import type { S3Failed } from "./S3Client.ts"
import type { Spool, SpooledObject } from "./Spool.ts"

/** Bytes of every part but the last: the least that S3 allows. Some stores want parts of one size. */
export const partSize = 5 * 1024 * 1024
/** Uploads at a time. */
const concurrency = 8
/** How long a finished object waits for its store before `finish` and `recover` give up; the upload goes on. */
const patience = Duration.seconds(25)
const firstPause = Duration.seconds(1)
const longestPause = Duration.minutes(1)

export const asStoreError = ({ reason, retryable }: S3Failed): ObjectStoreError =>
  new ObjectStoreError({ reason, retryable })

/** Brings spooled objects into the store. */
export interface Uploads {
  /**
   * Uploads the parts of a growing object as they become whole. `grown` is opened when it grew; with `ended` this returns
   * after the part that is being uploaded.
   */
  readonly follow: (object: SpooledObject, grown: Effect.Latch, ended: Deferred.Deferred<void>) => Effect.Effect<void>
  /**
   * Makes an object of all bytes that are in the spool, deletes them there, and returns their number. Fails when an
   * attempt fails, or takes longer than 25 seconds; further attempts follow in the background until `cancel`. The first
   * one begins when `follower` has ended. Without it, the object was left by a process that may have uploaded any of it.
   */
  readonly complete: (
    object: SpooledObject,
    follower?: Fiber.RuntimeFiber<void>
  ) => Effect.Effect<number, ObjectStoreError>
  /** The object of this key that is being completed. */
  readonly active: (key: string) => SpooledObject | undefined
  /** Ends the completion of this key's object. */
  readonly cancel: (key: string) => Effect.Effect<void>
}

/** An object that is being completed. */
interface Job {
  readonly object: SpooledObject
  fiber: Fiber.RuntimeFiber<void> | undefined
  /** The attempt that runs, or the next one. */
  attempt: Deferred.Deferred<void, ObjectStoreError>
  /** Why the last attempt failed, while the next one is not yet due. */
  failure: ObjectStoreError | undefined
}

type Failure = S3Failed | ObjectStoreError

/** The upload has ended, or the store lost a part of it: all parts must be uploaded again. */
const isGone = (error: Failure): boolean =>
  error._tag === "S3Failed" &&
  ["NoSuchUpload", "InvalidPart", "InvalidPartOrder", "EntityTooSmall"].includes(error.code ?? "")

/** The number of the first part that is whole and not uploaded. */
const nextWhole = (object: SpooledObject): number | undefined => {
  const whole = Math.floor(object.size / partSize)
  for (let number = 1; number <= whole; number++) if (!object.parts.has(number)) return number
  return undefined
}

/** Attempts end with the scope; what is in the spool stays there. */
export const make = (bucket: Bucket, spool: Spool, host: Host): Effect.Effect<Uploads, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const slots = yield* Effect.makeSemaphore(concurrency)
    const jobs = new Map<string, Job>()
    const uploaded = host.metrics.counter("uploaded_bytes", { description: "Bytes that the store confirmed" })

    const uploadPart = (object: SpooledObject, number: number) =>
      Effect.gen(function* () {
        const { contentType, key, writer } = object
        if (object.upload === undefined) {
          object.mayHaveOthers = true
          yield* spool.setUpload(object, yield* bucket.createUpload(key, contentType, writer))
        }
        const start = (number - 1) * partSize
        const body = yield* spool.body(object, start, Math.min(start + partSize, object.size))
        yield* spool.addPart(object, yield* bucket.uploadPart(key, object.upload ?? "", number, body))
        uploaded.add(body.size)
      })

    /** Forgets an upload, so that the next attempt begins anew. */
    const restart = (object: SpooledObject) => {
      object.mayHaveOthers = true
      return spool.setUpload(object, undefined)
    }

    const follow: Uploads["follow"] = (object, grown, ended) => {
      let pause = firstPause
      let logged = false
      const failed = (error: Failure) =>
        Effect.gen(function* () {
          if (!logged) yield* Effect.logWarning(`${object.key} waits in the spool for the store: ${error.reason}`)
          logged = true
          if (isGone(error)) yield* Effect.ignoreLogged(restart(object))
          yield* Effect.raceFirst(Effect.sleep(pause), Deferred.await(ended))
          pause = Duration.min(Duration.times(pause, 2), longestPause)
        })
      const step = Effect.suspend(() => {
        const number = nextWhole(object)
        if (number === undefined) return Effect.raceFirst(grown.await, Deferred.await(ended))
        return Effect.matchEffect(slots.withPermits(1)(uploadPart(object, number)), {
          onFailure: failed,
          onSuccess: () =>
            Effect.sync(() => {
              pause = firstPause
            })
        })
      })
      return Effect.repeat(Effect.zipRight(grown.close, step), { until: () => Deferred.isDone(ended) })
    }

    /** Whether the store has all bytes of this object. Stores that keep no metadata do not say whose they are. */
    const isStored = ({ key, size, writer }: SpooledObject, mustBeNamed: boolean) =>
      Effect.map(
        bucket.head(key),
        Option.exists(
          (one) => one.size === size && (one.writer === writer || (!mustBeNamed && one.writer === undefined))
        )
      )

    const store = (object: SpooledObject): Effect.Effect<void, Failure> =>
      Effect.gen(function* () {
        const { contentType, key, size, writer } = object
        if (object.upload === undefined && size <= partSize) {
          const body = yield* spool.body(object, 0, size)
          yield* bucket.put(key, contentType, writer, body)
          uploaded.add(size)
          return
        }
        const numbers = Array.from({ length: Math.max(1, Math.ceil(size / partSize)) }, (_, index) => index + 1)
        for (const number of numbers) if (!object.parts.has(number)) yield* uploadPart(object, number)
        const parts = numbers.flatMap((number) => object.parts.get(number) ?? [])
        yield* bucket.completeUpload(key, object.upload ?? "", parts)
        if (yield* isStored(object, false)) return
        yield* restart(object)
        return yield* new ObjectStoreError({
          reason: "the store has another object than was uploaded",
          retryable: true
        })
      })

    /** Aborts uploads of a key that no journal knows: the process ended before it noted them. */
    const abortOthers = (key: string) =>
      Effect.flatMap(bucket.uploads(key), (ids) =>
        Effect.forEach(ids, (id) => bucket.abortUpload(key, id), { discard: true })
      ).pipe(
        Effect.catchAll(({ reason }) =>
          Effect.logDebug(`further unfinished uploads of ${key} could not be deleted: ${reason}`)
        )
      )

    const attempt = (object: SpooledObject, isLeft: boolean) =>
      Effect.gen(function* () {
        const isDone = isLeft && (yield* isStored(object, true))
        if (!isDone) {
          yield* store(object).pipe(
            Effect.catchIf(isGone, () =>
              // An answer that was lost may have completed it; a rule of the bucket may have aborted it.
              Effect.flatMap(isStored(object, true), (stored) =>
                stored ? Effect.void : Effect.zipRight(restart(object), store(object))
              )
            )
          )
        }
        if (isLeft || object.mayHaveOthers) yield* abortOthers(object.key)
        yield* spool.remove(object.key)
      }).pipe(
        Effect.mapError((error) => (error._tag === "S3Failed" ? asStoreError(error) : error)),
        slots.withPermits(1)
      )

    /** Attempts until one succeeds. */
    const run = (job: Job, follower: Fiber.RuntimeFiber<void> | undefined): Effect.Effect<void> =>
      Effect.gen(function* () {
        const isLeft = follower === undefined
        if (follower !== undefined) yield* Fiber.await(follower)
        const { object } = job
        let pause = firstPause
        for (let first = true; ; first = false) {
          const exit = yield* Effect.exit(attempt(object, isLeft || !first))
          const { attempt: ended } = job
          if (Exit.isSuccess(exit)) {
            if (!first) yield* Effect.logInfo(`${object.key} is in the store now`)
            jobs.delete(object.key)
            yield* Deferred.succeed(ended, undefined)
            return
          }
          const failure = Option.getOrElse(
            Cause.failureOption(exit.cause),
            () => new ObjectStoreError({ reason: String(Cause.squash(exit.cause)), retryable: true })
          )
          if (first) yield* Effect.logWarning(`${object.key} waits in the spool for the store: ${failure.reason}`)
          job.attempt = yield* Deferred.make<void, ObjectStoreError>()
          job.failure = failure
          yield* Deferred.fail(ended, failure)
          yield* Effect.sleep(pause)
          pause = Duration.min(Duration.times(pause, 2), longestPause)
          job.failure = undefined
        }
      })

    const start = (object: SpooledObject, follower: Fiber.RuntimeFiber<void> | undefined) =>
      Effect.gen(function* () {
        const attempt = yield* Deferred.make<void, ObjectStoreError>()
        const job: Job = { object, fiber: undefined, failure: undefined, attempt }
        jobs.set(object.key, job)
        job.fiber = yield* Effect.forkIn(run(job, follower), scope)
        return job
      })

    const complete: Uploads["complete"] = (object, follower) =>
      Effect.gen(function* () {
        const job = jobs.get(object.key) ?? (yield* start(object, follower))
        if (job.failure !== undefined) return yield* job.failure
        yield* Deferred.await(job.attempt).pipe(
          Effect.timeoutFail({
            duration: patience,
            onTimeout: () =>
              new ObjectStoreError({
                reason: "the store is slow; the upload goes on in the background",
                retryable: true
              })
          })
        )
        return job.object.size
      })

    const cancel: Uploads["cancel"] = (key) =>
      Effect.suspend(() => {
        const job = jobs.get(key)
        jobs.delete(key)
        return job?.fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(job.fiber))
      })

    return { follow, complete, active: (key) => jobs.get(key)?.object, cancel }
  })
