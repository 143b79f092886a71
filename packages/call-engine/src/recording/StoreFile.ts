import { type ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { type Context, Deferred, Effect, FiberId } from "effect"

/** Bytes that may wait for the store: a few minutes of MP3. */
const maxWaiting = 1024 * 1024
/** Time limit of one operation of the store. */
const timeout = "30 seconds"

/** An object that is written while its bytes arrive, by one fiber. */
export interface StoreFile {
  /** False when too much waits already: these bytes are dropped, and further ones are useless. */
  readonly add: (bytes: Uint8Array) => boolean
  /** No more bytes follow. */
  readonly end: () => void
  /** Writes until the end. An object without bytes is deleted. */
  readonly write: Effect.Effect<void, ObjectStoreError>
  /** Completes with `write`: whether the whole object is in the store and not empty. */
  readonly stored: Effect.Effect<boolean>
}

export const storeFile = (store: Context.Tag.Service<ObjectStore>, key: string): StoreFile => {
  const arrived = Effect.unsafeMakeLatch()
  const stored = Deferred.unsafeMake<boolean>(FiberId.none)
  let waiting: Array<Uint8Array> = []
  let size = 0
  let total = 0
  let ended = false

  const withTimeout = <A, R>(what: string, effect: Effect.Effect<A, ObjectStoreError, R>) =>
    Effect.timeoutFail(effect, {
      duration: timeout,
      onTimeout: () => new ObjectStoreError({ reason: `${what} took longer than ${timeout}`, retryable: true })
    })

  const write = Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* withTimeout("creating the object", store.write(key, "audio/mpeg"))
      while (!ended || waiting.length > 0) {
        yield* arrived.await
        const bytes = Buffer.concat(waiting)
        waiting = []
        size = 0
        if (!ended) arrived.unsafeClose()
        if (bytes.length > 0) yield* withTimeout("writing", writer.append(bytes))
      }
      if (total > 0) yield* withTimeout("completing the object", writer.finish)
    })
  ).pipe(
    Effect.zipRight(Effect.suspend(() => (total > 0 ? Effect.void : withTimeout("deleting", store.remove(key))))),
    Effect.onExit((exit) => Deferred.succeed(stored, exit._tag === "Success" && total > 0))
  )

  return {
    add: (bytes) => {
      if (ended || size + bytes.length > maxWaiting) return false
      waiting.push(bytes)
      size += bytes.length
      total += bytes.length
      arrived.unsafeOpen()
      return true
    },
    end: () => {
      ended = true
      arrived.unsafeOpen()
    },
    write,
    stored: Deferred.await(stored)
  }
}
