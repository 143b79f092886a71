import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer, Ref, TestClock } from "effect"
import { KeysRepo } from "../src/KeysRepo.ts"
import { KeyUse } from "../src/KeyUse.ts"

type Batch = ReadonlyArray<readonly [number, number]>

/** A repository that records writes, and fails while `down`. */
const fixture = Effect.gen(function* () {
  const written = yield* Ref.make<ReadonlyArray<Batch>>([])
  const down = yield* Ref.make(false)
  const repo = Layer.succeed(KeysRepo, {
    findActive: () => Effect.die("not asked"),
    findWorkspace: () => Effect.die("not asked"),
    page: () => Effect.die("not asked"),
    find: () => Effect.die("not asked"),
    insert: () => Effect.die("not asked"),
    revoke: () => Effect.die("not asked"),
    revokeBy: () => Effect.die("not asked"),
    recordUse: (batch) =>
      Effect.flatMap(Ref.get(down), (isDown) =>
        isDown ? Effect.die(new Error("connection refused")) : Ref.update(written, (all) => [...all, batch])
      )
  })
  return { written, down, layer: Layer.provide(KeyUse.layer, repo) }
})

const recordUse = (id: number) =>
  Effect.flatMap(KeyUse, (use) => Effect.map(Clock.currentTimeMillis, (now) => use.record(id, now)))

describe("KeyUse", () => {
  it.effect("many requests cause one write per key and minute, outside the requests", () =>
    Effect.gen(function* () {
      const { layer, written } = yield* fixture
      yield* Effect.gen(function* () {
        for (let i = 0; i < 1000; i++) yield* recordUse(i % 2)
        expect(yield* Ref.get(written)).toEqual([])
        yield* TestClock.adjust(Duration.seconds(1))
        for (let i = 0; i < 58; i++) {
          yield* recordUse(0)
          yield* TestClock.adjust(Duration.seconds(1))
        }
        expect(yield* Ref.get(written)).toEqual([
          [
            [0, 0],
            [1, 0]
          ]
        ])
        yield* TestClock.adjust(Duration.seconds(1))
        yield* recordUse(0)
        yield* TestClock.adjust(Duration.seconds(1))
        expect((yield* Ref.get(written))[1]).toEqual([[0, 60_000]])
      }).pipe(Effect.provide(layer))
    })
  )
  it.effect("uses that could not be written are written when the database is back", () =>
    Effect.gen(function* () {
      const { down, layer, written } = yield* fixture
      yield* Effect.gen(function* () {
        yield* Ref.set(down, true)
        yield* recordUse(7)
        yield* TestClock.adjust(Duration.seconds(3))
        yield* Ref.set(down, false)
        yield* TestClock.adjust(Duration.seconds(3))
        expect(yield* Ref.get(written)).toEqual([[[7, 0]]])
      }).pipe(Effect.provide(layer))
    })
  )
  it.effect("the last uses are written when the layer closes", () =>
    Effect.gen(function* () {
      const { layer, written } = yield* fixture
      yield* Effect.provide(recordUse(3), layer)
      expect(yield* Ref.get(written)).toEqual([[[3, 0]]])
    })
  )
})
