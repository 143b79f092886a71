import { expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { type ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { Chunk, type Context, Effect, Exit, Fiber, Option, Scope, Stream, TestClock } from "effect"
import { describe } from "vitest"
import { fencedObjectStore } from "../../src/fence/FencedObjectStore.ts"
import { invalid } from "../fixtures/Invalid.ts"

type Store = Context.Tag.Service<ObjectStore>

const working: Store = {
  id: "store",
  health: Effect.succeed(healthy),
  write: () => Effect.succeed({ append: () => Effect.void, finish: Effect.void }),
  recover: () => Effect.succeed(Option.some(3)),
  size: () => Effect.succeed(Option.some(3)),
  read: () => Stream.make(Uint8Array.of(1, 2), Uint8Array.of(3)),
  remove: () => Effect.void,
  presign: (key, seconds) => Effect.succeed(`https://store.test/${key}?${seconds}`)
}

const fenced = (parts: Partial<Store>) => fencedObjectStore({ ...working, ...parts })

const boom = (): never => {
  throw new Error("boom")
}

/** Every operation of a store, on an object `a`. */
const operations = (store: Store): Readonly<Record<string, Effect.Effect<unknown, ObjectStoreError>>> => ({
  write: Effect.scoped(store.write("a", "text/plain")),
  append: Effect.scoped(Effect.flatMap(store.write("a", "text/plain"), ({ append }) => append(Uint8Array.of(1)))),
  finish: Effect.scoped(Effect.flatMap(store.write("a", "text/plain"), ({ finish }) => finish)),
  recover: store.recover("a"),
  size: store.size("a"),
  read: Stream.runDrain(store.read("a")),
  remove: store.remove("a"),
  presign: store.presign?.("a", 60) ?? Effect.dieMessage("it has no presign")
})

/** A store each of whose operations is this. */
const broken = (one: () => Effect.Effect<never, ObjectStoreError>): Partial<Store> => ({
  write: one,
  recover: one,
  size: one,
  read: () => Stream.fromEffect(Effect.suspend(one)),
  remove: one,
  presign: one
})
const brokenWriter = (one: () => Effect.Effect<never, ObjectStoreError>): Partial<Store> => ({
  write: () => Effect.succeed({ append: one, finish: Effect.suspend(one) })
})

describe("a fenced object store", () => {
  it.effect("passes operations and their answers on", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const store = yield* fenced({
        read: (key, range) => {
          asked.push([key, range])
          return Stream.make(Uint8Array.of(2))
        }
      })
      for (const operation of Object.values(operations(store))) yield* operation
      expect(yield* store.size("a/b.mp3")).toEqual(Option.some(3))
      expect(yield* store.presign?.("a", 60) ?? Effect.void).toBe("https://store.test/a?60")
      const read = yield* Stream.runCollect(store.read("a", { start: 1, end: 2 }))
      expect(Chunk.toReadonlyArray(read)).toEqual([Uint8Array.of(2)])
      expect(asked.at(-1)).toEqual(["a", { start: 1, end: 2 }])
      const { presign, ...without } = working
      expect(yield* fencedObjectStore(without)).not.toHaveProperty("presign")
      expect(presign).toBeDefined()
    })
  )

  it.effect("that throws, dies or fails with something else fails with ObjectStoreError, in every operation", () =>
    Effect.gen(function* () {
      const kinds = [boom, () => Effect.die(new Error("boom")), () => Effect.fail(invalid<ObjectStoreError>(5))]
      for (const one of kinds) {
        for (const parts of [broken(one), brokenWriter(one)]) {
          const store = yield* fenced(parts)
          const names = parts.read === undefined ? ["append", "finish"] : Object.keys(operations(store))
          for (const name of names) {
            const error = yield* Effect.flip(operations(store)[name] ?? Effect.dieMessage(name))
            expect(error, name).toBeInstanceOf(ObjectStoreError)
            expect(error.reason, name).toMatch(/^store: crashed: /)
          }
        }
      }
    })
  )

  it.effect("passes on the ObjectStoreError of the store, with retryable", () =>
    Effect.gen(function* () {
      const error = new ObjectStoreError({ reason: "no such object", retryable: false })
      const store = yield* fenced(broken(() => Effect.fail(error)))
      for (const [name, operation] of Object.entries(operations(store))) {
        expect(yield* Effect.flip(operation), name).toBe(error)
      }
    })
  )

  it.effect("that hangs fails after 30 seconds, in every operation, also when it cannot be interrupted", () =>
    Effect.gen(function* () {
      const hang = () => Effect.uninterruptible(Effect.never)
      for (const parts of [broken(hang), brokenWriter(hang)]) {
        const store = yield* fenced(parts)
        const names = parts.read === undefined ? ["append", "finish"] : Object.keys(operations(store))
        for (const name of names) {
          const fiber = yield* Effect.fork(Effect.flip(operations(store)[name] ?? Effect.dieMessage(name)))
          // Another 5 seconds are for the release of a reader that hangs too.
          yield* TestClock.adjust("30 seconds")
          yield* TestClock.adjust("5 seconds")
          expect((yield* Fiber.join(fiber)).reason, name).toMatch(/^store: \w+ took longer than 30s$/)
        }
      }
    })
  )

  it.effect("that answers something invalid fails with what is wrong", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [keyof ReturnType<typeof operations>, Partial<Store>, string]> = [
        ["size", { size: () => Effect.succeed(invalid(3)) }, "size gave something invalid: a size must be an Option"],
        ["size", { size: () => Effect.succeed(Option.some(1.5)) }, "a size must be a whole number of bytes"],
        ["recover", { recover: () => Effect.succeed(Option.some(-1)) }, "a size must be a whole number of bytes"],
        ["presign", { presign: () => Effect.succeed("file:///etc/passwd") }, "must begin with http:// or https://"],
        ["write", { write: () => Effect.succeed(invalid({})) }, "a writer.append must be a function"],
        ["read", { read: () => Stream.make(invalid<Uint8Array>("abc")) }, "something else than a Uint8Array"]
      ]
      for (const [name, parts, reason] of wrong) {
        const store = yield* fenced(parts)
        const error = yield* Effect.flip(operations(store)[name] ?? Effect.dieMessage(name))
        expect(error.reason).toContain(reason)
      }
      const store = yield* fenced({})
      const tooMuch = yield* Effect.flip(Stream.runDrain(store.read("a", { start: 0, end: 2 })))
      expect(tooMuch.reason).toBe("store: read gave more bytes than were asked for")
    })
  )

  it.effect("is not asked for an invalid key", () =>
    Effect.gen(function* () {
      const store = yield* fenced(broken(boom))
      const error = yield* Effect.flip(store.size("../a"))
      expect(error).toMatchObject({ reason: "store: the key is not valid", retryable: false })
    })
  )

  it.effect("is tried again at once after any number of failures: what is to be stored exists only once", () =>
    Effect.gen(function* () {
      let asked = 0
      const store = yield* fenced({
        size: () => {
          asked++
          return Effect.fail(new ObjectStoreError({ reason: "503", retryable: true }))
        }
      })
      yield* Effect.repeatN(Effect.ignore(store.size("a")), 19)
      expect(asked).toBe(20)
    })
  )

  it.effect("closes the writer with its scope, waits at most 5 seconds for that, and appends nothing afterwards", () =>
    Effect.gen(function* () {
      const appended: Array<number> = []
      const store = yield* fenced({
        write: () =>
          Effect.as(
            Effect.addFinalizer(() => Effect.never),
            {
              append: (bytes: Uint8Array) => Effect.sync(() => void appended.push(bytes.length)),
              finish: Effect.void
            }
          )
      })
      const scope = yield* Scope.make()
      const writer = yield* Scope.extend(store.write("a", "text/plain"), scope)
      yield* writer.append(Uint8Array.of(1))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("4999 millis")
      expect(closing.unsafePoll()).toBeNull()
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      expect((yield* Effect.flip(writer.append(Uint8Array.of(1)))).reason).toContain("after the writer was closed")
      expect(appended).toEqual([1])
    })
  )

  it.effect("that lacks a method is refused", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(fencedObjectStore({ ...working, remove: invalid(undefined) }))
      expect(String(exit)).toContain("an object store.remove must be a function")
    })
  )
})
