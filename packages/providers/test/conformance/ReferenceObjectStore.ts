import { Effect, Layer, Option, Stream } from "effect"
import { healthy } from "../../src/Health.ts"
import { isObjectKey, ObjectStore, ObjectStoreError } from "../../src/ObjectStore.ts"

/** Faults of an object store. */
export type ObjectStoreBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "reorders appended bytes"
  | "keeps a reference to appended arrays"
  | "exposes unfinished objects"
  | "deletes the existing object before finish"
  | "ignores ranges"
  | "treats the end of a range as inclusive"
  | "reads unknown objects as empty"
  | "removes all objects"
  | "fails to remove an unknown object"
  | "recovers other bytes"
  | "recovers unknown objects"
  | "recover deletes finished objects"
  | "remove keeps the bytes of an unfinished writer"
  | "mixes objects"
  | "accepts any key"
  | "leaks fibers"
  | "completes although the peer refused"

/** The behaviour of the peer. */
export type Peer = "works" | "refuses" | "hangs"

/** A store in memory. */
export const referenceObjectStore = (bug?: ObjectStoreBug, peer: Peer = "works"): Layer.Layer<ObjectStore> => {
  const is = (...bugs: ReadonlyArray<ObjectStoreBug>) => bug !== undefined && bugs.includes(bug)
  const objects = new Map<string, Uint8Array>()
  const parts = new Map<string, Uint8Array>()
  const broken = new ObjectStoreError({ reason: "the peer failed", retryable: true })
  const missing = new ObjectStoreError({ reason: "no such object", retryable: false })

  /** A step that needs the peer. */
  const step = <A>(key: string, work: () => A): Effect.Effect<A, ObjectStoreError> =>
    Effect.gen(function* () {
      if (is("dies")) return yield* Effect.die("x is undefined")
      if (is("hangs") || peer === "hangs") return yield* Effect.never
      if (is("fails")) return yield* broken
      if (peer === "refuses" && !is("completes although the peer refused")) return yield* broken
      if (!is("accepts any key") && !isObjectKey(key)) return yield* missing
      if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
      yield* Effect.sleep(1)
      return work()
    })
  const joined = (a: Uint8Array, b: Uint8Array) => Uint8Array.from([...a, ...b])

  return Layer.succeed(ObjectStore, {
    id: "reference",
    health: Effect.succeed(healthy),
    write: (asked) => {
      if (is("throws")) throw new Error("no such key")
      const key = is("mixes objects") ? "one" : asked
      const kept: Array<Uint8Array> = []
      const all = () => kept.reduce(joined, new Uint8Array(0))
      return step(asked, () => {
        parts.delete(key)
        if (is("deletes the existing object before finish")) objects.delete(key)
        return {
          append: (bytes: Uint8Array) =>
            step(asked, () => {
              const own = is("keeps a reference to appended arrays") ? bytes : bytes.slice()
              if (is("reorders appended bytes")) kept.unshift(own)
              else kept.push(own)
              parts.set(key, all())
              if (is("exposes unfinished objects")) objects.set(key, all())
            }),
          finish: step(asked, () => {
            parts.delete(key)
            objects.set(asked, is("mixes objects") ? (objects.get(key) ?? all()) : all())
            if (is("mixes objects")) objects.set(key, all())
          })
        }
      })
    },
    recover: (key) =>
      step(key, () => {
        const left = parts.get(key)
        if (left !== undefined) objects.set(key, is("recovers other bytes") ? left.map((byte) => byte ^ 1) : left)
        else if (is("recover deletes finished objects")) objects.delete(key)
        parts.delete(key)
        if (is("recovers unknown objects") && !objects.has(key)) objects.set(key, new Uint8Array(1))
        return Option.fromNullable(objects.get(key)?.length)
      }),
    size: (key) => step(key, () => Option.fromNullable(objects.get(key)?.length)),
    read: (key, range) =>
      Stream.unwrap(
        Effect.flatMap(
          step(key, () => objects.get(key)),
          (bytes) => {
            if (bytes === undefined) {
              return is("reads unknown objects as empty") || peer === "refuses"
                ? Effect.succeed(Stream.empty)
                : Effect.fail(missing)
            }
            if (range === undefined || is("ignores ranges")) return Effect.succeed(Stream.make(bytes))
            const end = is("treats the end of a range as inclusive") ? range.end + 1 : range.end
            return Effect.succeed(Stream.make(bytes.subarray(range.start, end)))
          }
        )
      ),
    remove: (key) =>
      Effect.flatten(
        step(key, () => {
          if (!is("remove keeps the bytes of an unfinished writer")) parts.delete(key)
          if (is("removes all objects")) objects.clear()
          const was = objects.delete(key)
          return was || !is("fails to remove an unknown object") ? Effect.void : Effect.fail(missing)
        })
      )
  })
}
