import { type ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { type Context, Deferred, Effect, FiberId } from "effect"

/** Bytes that may wait for the store: some minutes of MP3. */
const maxWaiting = 1024 * 1024
/** Longest time for one step of the store. */
const patience = "30 seconds"

/** An object that is written while its bytes come in, by one fiber that has little to do. */
export interface StoreFile {
  /** False when too much waits already: these bytes are left out, and there is no use in more. */
  readonly add: (bytes: Uint8Array) => boolean
  /** Nothing more comes. */
  readonly end: () => void
  /** Writes until the end. An object without bytes is none. */
  readonly write: Effect.Effect<void, ObjectStoreError>
  /** Completes when `write` has: whether all of it, and anything at all, is in the store. */
  readonly stored: Effect.Effect<boolean>
}

export const storeFile = (store: Context.Tag.Service<ObjectStore>, key: string): StoreFile => {
  const news = Effect.unsafeMakeLatch()
  const stored = Deferred.unsafeMake<boolean>(FiberId.none)
  let waiting: Array<Uint8Array> = []
  let size = 0
  let total = 0
  let ended = false

  const timely = <A, R>(what: string, effect: Effect.Effect<A, ObjectStoreError, R>) =>
    Effect.timeoutFail(effect, {
      duration: patience,
      onTimeout: () => new ObjectStoreError({ reason: `${what} took longer than ${patience}`, retryable: true })
    })

  const write = Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* timely("making the object", store.write(key, "audio/mpeg"))
      while (!ended || waiting.length > 0) {
        yield* news.await
        const bytes = Buffer.concat(waiting)
        waiting = []
        size = 0
        if (!ended) news.unsafeClose()
        if (bytes.length > 0) yield* timely("writing", writer.append(bytes))
      }
      if (total > 0) yield* timely("completing the object", writer.finish)
    })
  ).pipe(
    Effect.zipRight(Effect.suspend(() => (total > 0 ? Effect.void : timely("deleting", store.remove(key))))),
    Effect.onExit((exit) => Deferred.succeed(stored, exit._tag === "Success" && total > 0))
  )

  return {
    add: (bytes) => {
      if (ended || size + bytes.length > maxWaiting) return false
      waiting.push(bytes)
      size += bytes.length
      total += bytes.length
      news.unsafeOpen()
      return true
    },
    end: () => {
      ended = true
      news.unsafeOpen()
    },
    write,
    stored: Deferred.await(stored)
  }
}
