import { Effect, Option, type Scope, Stream } from "effect"
import { ObjectStore, ObjectStoreError, type ObjectWriter } from "../ObjectStore.ts"
import { type CheckFailed, type CheckOptions, type Harness, makeHarness, must, mustSucceed } from "./Check.ts"

type Service = typeof ObjectStore.Service

export interface ObjectStoreCheckOptions extends CheckOptions<ObjectStore> {
  /** Downloads a presigned URL: the bytes, or undefined when it is refused. Without it `presign` is not checked. */
  readonly fetch?: (url: string) => Effect.Effect<Uint8Array | undefined>
}

/** Bytes that identify their object and position. */
export const bytesOf = (seed: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7 + (i >> 8)) & 255)

/** Joins parts to one array. */
export const joined = (parts: Iterable<Uint8Array>): Uint8Array => {
  const all = [...parts]
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of all) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Whether two arrays have the same bytes. */
export const same = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

let keys = 0
/** A key that is not yet used in the store. */
export const newKey = (): string => `conformance/${crypto.randomUUID()}/${keys++}.bin`

/** The tools of the object store checks. */
export const objectStoreHarness = (options: ObjectStoreCheckOptions) => {
  const harness: Harness<ObjectStore, Service> = makeHarness(ObjectStore, options)
  const { mustFail, within } = harness
  const steps = <A, R>(what: string, effect: Effect.Effect<A, ObjectStoreError | CheckFailed, R>) =>
    mustSucceed(what)(within(what, effect))

  const begin = (service: Service, key: string): Effect.Effect<ObjectWriter, CheckFailed, Scope.Scope> =>
    mustSucceed("write")(service.write(key, "application/octet-stream"))
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

  /** Fails unless the object exists with these bytes. */
  const holds = (service: Service, key: string, bytes: Uint8Array) =>
    Effect.gen(function* () {
      const size = yield* sizeOf(service, key)
      yield* must(Option.isSome(size), "the object does not exist")
      yield* must(
        Option.contains(size, bytes.length),
        `its size is ${Option.getOrNull(size)} instead of ${bytes.length}`
      )
      yield* must(
        same(yield* get(service, key), bytes),
        "the bytes that were read differ from the bytes that were written"
      )
    })
  const isAbsent = (service: Service, key: string) =>
    Effect.gen(function* () {
      const size = yield* sizeOf(service, key)
      yield* must(Option.isNone(size), "size returned a size")
      yield* failsTyped("reading it", Stream.runDrain(service.read(key)))
    })
  const failsTyped = (what: string, effect: Effect.Effect<unknown, ObjectStoreError>) =>
    mustFail(what, effect, (error) => error instanceof ObjectStoreError)
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

  return { ...harness, steps, begin, append, put, get, holds, isAbsent, failsTyped, allFail }
}
