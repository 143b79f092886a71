import { Effect, Fiber, Option, Stream } from "effect"
import { type Check, CheckFailed, must } from "./Check.ts"
import { mustNotLeak } from "./Leaks.ts"
import {
  bytesOf,
  joined,
  newKey,
  type ObjectStoreCheckOptions,
  objectStoreHarness,
  same
} from "./ObjectStoreHarness.ts"

/** The requirements on an object store. */
export const objectStoreChecks = (options: ObjectStoreCheckOptions): ReadonlyArray<Check> => {
  const harness = objectStoreHarness(options)
  const { allFail, append, begin, check, failsTyped, fault, get, holds, isAbsent, put, quiet, steps, within } = harness

  return [
    check("is healthy", (service) =>
      Effect.gen(function* () {
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("stores the appended bytes in order", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        const parts = [1, 2, 3, 4].map((n) => bytesOf(n, 1000 * n))
        yield* put(service, key, ...parts, new Uint8Array(0))
        yield* holds(service, key, joined(parts))
      })
    ),
    check("stores an empty object", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key)
        yield* holds(service, key, new Uint8Array(0))
      })
    ),
    check("append does not keep a reference to the array", (service) =>
      Effect.scoped(
        Effect.gen(function* () {
          const key = newKey()
          const writer = yield* begin(service, key)
          const array = bytesOf(1, 500)
          yield* append(writer, array)
          array.fill(0)
          yield* steps("finish", writer.finish)
          yield* holds(service, key, bytesOf(1, 500))
        })
      )
    ),
    check("an object does not exist before finish", (service) =>
      Effect.scoped(
        Effect.gen(function* () {
          const key = newKey()
          const writer = yield* begin(service, key)
          yield* append(writer, bytesOf(1, 5000))
          yield* isAbsent(service, key)
          yield* steps("finish", writer.finish)
          yield* holds(service, key, bytesOf(1, 5000))
        })
      )
    ),
    check("an existing object is replaced only by finish", (service) =>
      Effect.scoped(
        Effect.gen(function* () {
          const key = newKey()
          yield* put(service, key, bytesOf(1, 3000))
          const writer = yield* begin(service, key)
          yield* append(writer, bytesOf(2, 200))
          yield* holds(service, key, bytesOf(1, 3000))
          yield* steps("finish", writer.finish)
          yield* holds(service, key, bytesOf(2, 200))
        })
      )
    ),
    check("read returns exactly the requested range", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        const bytes = bytesOf(5, 200_000)
        yield* put(service, key, bytes)
        for (const [start, end] of [
          [0, 1],
          [0, 200_000],
          [1, 2],
          [65_535, 131_073],
          [199_999, 200_000],
          [100, 100]
        ] as const) {
          const part = yield* get(service, key, { start, end })
          yield* must(
            same(part, bytes.subarray(start, end)),
            `reading the bytes from ${start} to ${end} returned ${part.length} other bytes`
          )
        }
      })
    ),
    check("size returns none and read fails for an unknown object", (service) => isAbsent(service, newKey())),
    check("remove deletes one object and succeeds for an unknown one", (service) =>
      Effect.gen(function* () {
        const [key, other] = [newKey(), newKey()]
        yield* put(service, key, bytesOf(1, 100))
        yield* put(service, other, bytesOf(2, 100))
        yield* steps("remove", service.remove(key))
        yield* isAbsent(service, key)
        yield* steps("remove", service.remove(key))
        yield* holds(service, other, bytesOf(2, 100))
      })
    ),
    check("recover makes an object of a prefix of what an unfinished writer appended, or returns none", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        const parts = [bytesOf(1, 7000), bytesOf(2, 7000)]
        yield* Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* begin(service, key)
            yield* Effect.forEach(parts, (part) => append(writer, part), { discard: true })
          })
        )
        yield* isAbsent(service, key)
        const size = yield* steps("recover", service.recover(key))
        if (Option.isNone(size)) return yield* isAbsent(service, key)
        yield* must(size.value <= 14_000, "the object is longer than what was appended")
        yield* holds(service, key, joined(parts).subarray(0, size.value))
        const again = yield* steps("recover", service.recover(key))
        yield* must(Option.contains(again, size.value), "a second recover returned another size")
      })
    ),
    check("recover returns the size of a finished object and none for an unknown one", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key, bytesOf(1, 300))
        const size = yield* steps("recover", service.recover(key))
        yield* must(Option.contains(size, 300), "recover did not return the size of a finished object")
        yield* holds(service, key, bytesOf(1, 300))
        const none = yield* steps("recover", service.recover(newKey()))
        yield* must(Option.isNone(none), "recover returned a size for an unknown object")
      })
    ),
    check("remove deletes what an unfinished writer appended", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* Effect.scoped(Effect.flatMap(begin(service, key), (writer) => append(writer, bytesOf(1, 100))))
        yield* steps("remove", service.remove(key))
        const left = yield* steps("recover", service.recover(key))
        yield* must(Option.isNone(left), "it can still be recovered after remove")
      })
    ),
    check("keeps 50 concurrently written objects separate", (service) =>
      Effect.gen(function* () {
        const all = Array.from({ length: 50 }, (_, n) => ({ key: newKey(), n }))
        yield* Effect.forEach(all, ({ key, n }) => put(service, key, bytesOf(n, 400), bytesOf(n + 1, 400)), {
          concurrency: "unbounded",
          discard: true
        })
        yield* Effect.forEach(all, ({ key, n }) => holds(service, key, joined([bytesOf(n, 400), bytesOf(n + 1, 400)])))
      })
    ),
    check("write, read and remove fail with ObjectStoreError for an invalid key", (service) =>
      Effect.forEach(["", "/a", "a//b", "../a", "a/../b", "a/.b", "A b", "a\\b", "a\0b"], (key) =>
        Effect.gen(function* () {
          yield* failsTyped(`write of "${key}"`, Effect.scoped(service.write(key, "text/plain")))
          yield* failsTyped(`read of "${key}"`, Stream.runDrain(service.read(key)))
          yield* failsTyped(`remove of "${key}"`, service.remove(key))
        })
      )
    ),
    check("many partial reads and unfinished writers leave no fibers, timers or sockets behind", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key, bytesOf(1, 200_000))
        yield* mustNotLeak(
          harness,
          options,
          Effect.gen(function* () {
            yield* steps("read", Stream.runDrain(Stream.take(service.read(key), 1)))
            yield* Effect.scoped(Effect.flatMap(begin(service, `${key}.2`), (writer) => append(writer, bytesOf(1, 10))))
          })
        )
      })
    ),
    ...(options.fetch === undefined ? [] : presigning(options.fetch)),
    ...fault(options.faults?.refuses, "all methods fail with ObjectStoreError when the peer refuses", allFail),
    ...fault(
      options.faults?.closesEarly,
      "all methods fail with ObjectStoreError when the peer closes the connection early",
      allFail
    ),
    ...fault(
      options.faults?.sendsGarbage,
      "all methods fail with ObjectStoreError when the peer sends malformed data",
      allFail
    ),
    ...fault(options.faults?.hangs, "size can be interrupted when the peer hangs", (service) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkDaemon(service.size(newKey()))
        yield* quiet
        yield* within("interrupting size", Fiber.interrupt(fiber))
      })
    )
  ]

  function presigning(fetch: NonNullable<ObjectStoreCheckOptions["fetch"]>): ReadonlyArray<Check> {
    return [
      check("presign returns a URL that downloads its object and no other", (service) =>
        Effect.gen(function* () {
          if (service.presign === undefined) return yield* new CheckFailed({ reason: "it has no presign" })
          const [key, other] = [newKey(), newKey()]
          yield* put(service, key, bytesOf(1, 300))
          yield* put(service, other, bytesOf(2, 300))
          const url = yield* steps("presign", service.presign(key, 60))
          const got = yield* within("fetching", fetch(url))
          yield* must(got !== undefined && same(got, bytesOf(1, 300)), "the URL does not return the object")
          const foreign = yield* within("fetching", fetch(url.replace(key, other)))
          yield* must(foreign === undefined, "a URL that was changed to another key returns that object")
        })
      )
    ]
  }
}
