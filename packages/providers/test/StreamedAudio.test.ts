import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { make } from "../src/StreamedAudio.ts"

/** A sink that notes what it gets; `room` says whether it has some after a write. */
const noting = (room: () => boolean = () => true) => {
  const notes: Array<string> = []
  const drained = Effect.unsafeMakeLatch()
  return {
    notes,
    drained,
    sink: {
      write: (samples: Int16Array) => {
        notes.push(`write ${samples.length}`)
        return room()
      },
      align: (characters: number, atSample: number) => void notes.push(`align ${characters} at ${atSample}`),
      drained: drained.await
    }
  }
}

describe("StreamedAudio", () => {
  it.scoped("reports positions after the audio that they speak of, in order, also those that come late", () =>
    Effect.gen(function* () {
      const { notes, sink } = noting()
      const audio = yield* make(sink)
      audio.align(5, 150)
      audio.align(3, 100)
      audio.push(new Int16Array(100))
      audio.push(new Int16Array(0))
      audio.push(new Int16Array(100))
      expect(audio.pushed()).toBe(200)
      yield* Effect.yieldNow()
      yield* Effect.yieldNow()
      audio.align(7, 180)
      // What was reported is not taken back.
      audio.align(4, 120)
      yield* audio.finish(9)
      expect(notes).toEqual([
        "write 100",
        "align 3 at 100",
        "write 100",
        "align 5 at 150",
        "align 7 at 180",
        "align 9 at 200"
      ])
    })
  )

  it.scoped("does not report more characters than the turn has, nor later than its audio ends", () =>
    Effect.gen(function* () {
      const { notes, sink } = noting()
      const audio = yield* make(sink)
      audio.push(new Int16Array(10))
      audio.align(99, 5000)
      yield* audio.finish(4)
      expect(notes).toEqual(["write 10", "align 4 at 10"])
    })
  )

  it.scoped("waits while the sink is full, and finishes only when all was written", () =>
    Effect.gen(function* () {
      const { drained, notes, sink } = noting(() => false)
      const audio = yield* make(sink)
      const finished = yield* Deferred.make<void>()
      for (let n = 1; n <= 2; n++) audio.push(new Int16Array(n))
      yield* Effect.fork(Effect.zipRight(audio.finish(1), Deferred.succeed(finished, undefined)))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      expect(notes).toEqual(["write 1"])
      expect(yield* Deferred.isDone(finished)).toBe(false)
      drained.unsafeOpen()
      yield* Deferred.await(finished)
      expect(notes).toEqual(["write 1", "write 2", "align 1 at 3"])
    })
  )

  it.scoped("writes nothing after it was stopped, and nothing without audio", () =>
    Effect.gen(function* () {
      const { drained, notes, sink } = noting(() => false)
      const audio = yield* make(sink)
      audio.push(new Int16Array(1))
      audio.push(new Int16Array(2))
      audio.align(1, 3)
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      audio.stop()
      audio.push(new Int16Array(3))
      audio.align(2, 1)
      drained.unsafeOpen()
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      expect(notes).toEqual(["write 1"])
      const silent = noting()
      yield* (yield* make(silent.sink)).finish(3)
      expect(silent.notes).toEqual([])
    })
  )
})
