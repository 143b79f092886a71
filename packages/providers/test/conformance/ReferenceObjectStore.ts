import { Effect, Layer, Option, Stream } from "effect"
import { healthy } from "../../src/Health.ts"
import { isObjectKey, ObjectStore, ObjectStoreError } from "../../src/ObjectStore.ts"

/** What a store can do wrong. */
export type ObjectStoreBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "reorders"
  | "keeps the caller's array"
  | "shows unfinished objects"
  | "drops the former object at once"
  | "ignores ranges"
  | "takes the end as the last byte"
  | "reads unknown objects as empty"
  | "removes too much"
  | "fails to remove what is not there"
  | "recovers garbage"
  | "recovers what never was"
  | "forgets finished objects when it recovers"
  | "keeps what was left when it removes"
  | "mixes objects"
  | "takes any key"
  | "leaks fibers"
  | "completes though the peer broke"

/** What the peer does. */
export type Peer = "well" | "refuses" | "hangs"

/** A store wholly in memory. */
export const referenceObjectStore = (bug?: ObjectStoreBug, peer: Peer = "well"): Layer.Layer<ObjectStore> => {
  const is = (...bugs: ReadonlyArray<ObjectStoreBug>) => bug !== undefined && bugs.includes(bug)
  const objects = new Map<string, Uint8Array>()
  const parts = new Map<string, Uint8Array>()
  const broken = new ObjectStoreError({ reason: "the peer broke", retryable: true })
  const missing = new ObjectStoreError({ reason: "no such object", retryable: false })

  /** A step that reaches the peer. */
  const step = <A>(key: string, work: () => A): Effect.Effect<A, ObjectStoreError> =>
    Effect.gen(function* () {
      if (is("dies")) return yield* Effect.die("x is undefined")
      if (is("hangs") || peer === "hangs") return yield* Effect.never
      if (is("fails")) return yield* broken
      if (peer === "refuses" && !is("completes though the peer broke")) return yield* broken
      if (!is("takes any key") && !isObjectKey(key)) return yield* missing
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
        if (is("drops the former object at once")) objects.delete(key)
        return {
          append: (bytes: Uint8Array) =>
            step(asked, () => {
              const own = is("keeps the caller's array") ? bytes : bytes.slice()
              if (is("reorders")) kept.unshift(own)
              else kept.push(own)
              parts.set(key, all())
              if (is("shows unfinished objects")) objects.set(key, all())
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
        if (left !== undefined) objects.set(key, is("recovers garbage") ? left.map((byte) => byte ^ 1) : left)
        else if (is("forgets finished objects when it recovers")) objects.delete(key)
        parts.delete(key)
        if (is("recovers what never was") && !objects.has(key)) objects.set(key, new Uint8Array(1))
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
            const end = is("takes the end as the last byte") ? range.end + 1 : range.end
            return Effect.succeed(Stream.make(bytes.subarray(range.start, end)))
          }
        )
      ),
    remove: (key) =>
      Effect.flatten(
        step(key, () => {
          if (!is("keeps what was left when it removes")) parts.delete(key)
          if (is("removes too much")) objects.clear()
          const was = objects.delete(key)
          return was || !is("fails to remove what is not there") ? Effect.void : Effect.fail(missing)
        })
      )
  })
}
