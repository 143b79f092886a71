import { Effect, Fiber, Option, type Scope, Stream } from "effect"
import { ObjectStore, ObjectStoreError, type ObjectWriter } from "../ObjectStore.ts"
import { bench, type Check, CheckFailed, type CheckOptions, must, noError } from "./Check.ts"
import { leavesNothing } from "./Leaks.ts"

type Service = typeof ObjectStore.Service

export interface ObjectStoreCheckOptions extends CheckOptions<ObjectStore> {
  /** Fetches a presigned URL: the bytes, or undefined when it is refused. Without it such URLs are not checked. */
  readonly fetch?: (url: string) => Effect.Effect<Uint8Array | undefined>
}

/** Bytes that tell where they belong. */
const bytesOf = (seed: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7 + (i >> 8)) & 255)

const joined = (parts: Iterable<Uint8Array>): Uint8Array => {
  const all = [...parts]
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of all) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])

let keys = 0
/** A key that nobody has used, whatever store we are let loose on. */
const newKey = (): string => `conformance/${crypto.randomUUID()}/${keys++}.bin`

/** What every object store must do. */
export const objectStoreChecks = (options: ObjectStoreCheckOptions): ReadonlyArray<Check> => {
  const tools = bench(ObjectStore, options)
  const { check, fault, quiet, within } = tools
  const steps = <A, R>(what: string, effect: Effect.Effect<A, ObjectStoreError | CheckFailed, R>) =>
    noError(what)(within(what, effect))

  const begin = (service: Service, key: string): Effect.Effect<ObjectWriter, CheckFailed, Scope.Scope> =>
    noError("write")(service.write(key, "application/octet-stream"))
  const append = (writer: ObjectWriter, bytes: Uint8Array) => steps("append", writer.append(bytes))
  const put = (service: Service, key: string, ...parts: ReadonlyArray<Uint8Array>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* begin(service, key)
        yield* Effect.forEach(parts, (part) => append(writer, part), { discard: true })
        yield* steps("finish", writer.finish)
      })
    )
  const get = (service: Service, key: string, range?: { readonly start: number; readonly end: number }) =>
    steps(
      "read",
      Effect.map(Stream.runCollect(service.read(key, range)), (parts) => joined(parts))
    )
  const sizeOf = (service: Service, key: string) => steps("size", service.size(key))

  /** Fails unless the object is there with these bytes. */
  const holds = (service: Service, key: string, bytes: Uint8Array) =>
    Effect.gen(function* () {
      const size = yield* sizeOf(service, key)
      yield* must(Option.isSome(size), "the object is not there")
      yield* must(
        Option.contains(size, bytes.length),
        `its size is ${Option.getOrNull(size)} instead of ${bytes.length}`
      )
      yield* must(same(yield* get(service, key), bytes), "other bytes are read than were written")
    })
  const isAbsent = (service: Service, key: string) =>
    Effect.gen(function* () {
      const size = yield* sizeOf(service, key)
      yield* must(Option.isNone(size), "it tells a size")
      yield* failsTyped("reading it", Stream.runDrain(service.read(key)))
    })
  const failsTyped = (what: string, effect: Effect.Effect<unknown, ObjectStoreError>) =>
    Effect.gen(function* () {
      const outcome = yield* Effect.either(within(what, effect))
      if (outcome._tag === "Right") return yield* new CheckFailed({ reason: `${what} completed as if it had worked` })
      if (outcome.left instanceof CheckFailed) return yield* outcome.left
      yield* must(outcome.left instanceof ObjectStoreError, `${what} failed with ${outcome.left}`)
    })
  const allFail = (service: Service) =>
    Effect.gen(function* () {
      const key = newKey()
      yield* failsTyped("size", service.size(key))
      yield* failsTyped("read", Stream.runDrain(service.read(key)))
      yield* failsTyped("remove", service.remove(key))
      yield* failsTyped(
        "writing",
        Effect.scoped(
          Effect.flatMap(service.write(key, "text/plain"), (writer) =>
            Effect.zipRight(writer.append(bytesOf(1, 1000)), writer.finish)
          )
        )
      )
    })

  return [
    check("is healthy", (service) =>
      Effect.gen(function* () {
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("keeps what was appended, in its order", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        const parts = [1, 2, 3, 4].map((n) => bytesOf(n, 1000 * n))
        yield* put(service, key, ...parts, new Uint8Array(0))
        yield* holds(service, key, joined(parts))
      })
    ),
    check("keeps an object of no bytes", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key)
        yield* holds(service, key, new Uint8Array(0))
      })
    ),
    check("keeps the bytes of an array that is used again after the append", (service) =>
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
    check("has no object before it is finished", (service) =>
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
    check("keeps the former object until the new one of its key is finished", (service) =>
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
    check("reads any part", (service) =>
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
            `bytes ${start} to ${end} are read as ${part.length} others`
          )
        }
      })
    ),
    check("tells of an unknown object that it is not there", (service) => isAbsent(service, newKey())),
    check("removes an object, and is not troubled by what is not there", (service) =>
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
    check("makes an object of what a writer has left that is gone, or has none", (service) =>
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
        yield* must(size.value <= 14_000, "there is more than was appended")
        yield* holds(service, key, joined(parts).subarray(0, size.value))
        const again = yield* steps("recover", service.recover(key))
        yield* must(Option.contains(again, size.value), "recovering it again gives another size")
      })
    ),
    check("recovers an object that was finished, and nothing where nothing is", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key, bytesOf(1, 300))
        const size = yield* steps("recover", service.recover(key))
        yield* must(Option.contains(size, 300), "a finished object has not its size")
        yield* holds(service, key, bytesOf(1, 300))
        const none = yield* steps("recover", service.recover(newKey()))
        yield* must(Option.isNone(none), "it recovers what never was")
      })
    ),
    check("removes what a writer has left", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* Effect.scoped(Effect.flatMap(begin(service, key), (writer) => append(writer, bytesOf(1, 100))))
        yield* steps("remove", service.remove(key))
        const left = yield* steps("recover", service.recover(key))
        yield* must(Option.isNone(left), "it can still be recovered")
      })
    ),
    check("keeps 50 objects that are written at once apart", (service) =>
      Effect.gen(function* () {
        const all = Array.from({ length: 50 }, (_, n) => ({ key: newKey(), n }))
        yield* Effect.forEach(all, ({ key, n }) => put(service, key, bytesOf(n, 400), bytesOf(n + 1, 400)), {
          concurrency: "unbounded",
          discard: true
        })
        yield* Effect.forEach(all, ({ key, n }) => holds(service, key, joined([bytesOf(n, 400), bytesOf(n + 1, 400)])))
      })
    ),
    check("refuses keys that are none with a typed error", (service) =>
      Effect.forEach(["", "/a", "a//b", "../a", "a/../b", "a/.b", "A b", "a\\b", "a\0b"], (key) =>
        Effect.gen(function* () {
          yield* failsTyped(`write of "${key}"`, Effect.scoped(service.write(key, "text/plain")))
          yield* failsTyped(`read of "${key}"`, Stream.runDrain(service.read(key)))
          yield* failsTyped(`remove of "${key}"`, service.remove(key))
        })
      )
    ),
    check("leaves nothing behind of objects that are read in part and writers that are given up", (service) =>
      Effect.gen(function* () {
        const key = newKey()
        yield* put(service, key, bytesOf(1, 200_000))
        yield* leavesNothing(
          tools,
          options,
          Effect.gen(function* () {
            yield* steps("read", Stream.runDrain(Stream.take(service.read(key), 1)))
            yield* Effect.scoped(Effect.flatMap(begin(service, `${key}.2`), (writer) => append(writer, bytesOf(1, 10))))
          })
        )
      })
    ),
    ...(options.fetch === undefined ? [] : presigning(options.fetch)),
    ...fault(options.faults?.refuses, "peer refuses: fails with typed errors", allFail),
    ...fault(options.faults?.closesEarly, "peer closes early: fails with typed errors", allFail),
    ...fault(options.faults?.sendsGarbage, "peer sends garbage: fails with typed errors", allFail),
    ...fault(options.faults?.hangs, "peer hangs: can be interrupted", (service) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkDaemon(service.size(newKey()))
        yield* quiet
        yield* within("interrupting size", Fiber.interrupt(fiber))
      })
    )
  ]

  function presigning(fetch: NonNullable<ObjectStoreCheckOptions["fetch"]>): ReadonlyArray<Check> {
    return [
      check("presigns URLs that give the object to anybody, and cannot be altered", (service) =>
        Effect.gen(function* () {
          if (service.presign === undefined) return yield* new CheckFailed({ reason: "it does not presign" })
          const [key, other] = [newKey(), newKey()]
          yield* put(service, key, bytesOf(1, 300))
          yield* put(service, other, bytesOf(2, 300))
          const url = yield* steps("presign", service.presign(key, 60))
          const got = yield* within("fetching", fetch(url))
          yield* must(got !== undefined && same(got, bytesOf(1, 300)), "the URL does not give the object")
          const foreign = yield* within("fetching", fetch(url.replace(key, other)))
          yield* must(foreign === undefined, "the URL of one object opens another")
        })
      )
    ]
  }
}
