import { describe, expect, it } from "@effect/vitest"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { Chunk, Clock, Effect, TestClock } from "effect"

/** A timeout, and the names of the requests that it ended, in their order. */
const timeoutOf = (ms: number) =>
  Effect.map(SharedTimeout.make(ms), (timeout) => {
    const ended: Array<string> = []
    return {
      ended,
      now: timeout.now,
      watch: (name: string, lastActivity: () => number | null) =>
        timeout.watch(lastActivity, () => void ended.push(name))
    }
  })

const oneSecond = timeoutOf(1000)

describe("SharedTimeout", () => {
  it.effect("ends each request when nothing has happened in it for the whole time", () =>
    Effect.gen(function* () {
      const { ended, watch } = yield* oneSecond
      const started = yield* Clock.currentTimeMillis
      watch("first", () => started)
      yield* TestClock.adjust("600 millis")
      watch("second", () => started + 600)
      yield* TestClock.adjust("399 millis")
      expect(ended).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(ended).toEqual(["first"])
      yield* TestClock.adjust("600 millis")
      expect(ended).toEqual(["first", "second"])
      yield* TestClock.adjust("10 seconds")
      expect(ended).toEqual(["first", "second"])
    })
  )

  it.effect("counts from the last activity, and not at all while none is due", () =>
    Effect.gen(function* () {
      const { ended, watch } = yield* oneSecond
      let last: number | null = yield* Clock.currentTimeMillis
      watch("steady", () => last)
      yield* TestClock.adjust("900 millis")
      last = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("900 millis")
      expect(ended).toEqual([])
      last = null
      yield* TestClock.adjust("10 seconds")
      expect(ended).toEqual([])
      last = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("1 second")
      expect(ended).toEqual(["steady"])
    })
  )

  it.effect("does not end a request that is no longer watched, and goes on with the others", () =>
    Effect.gen(function* () {
      const { ended, watch } = yield* oneSecond
      const started = yield* Clock.currentTimeMillis
      const stop = watch("over", () => started)
      watch("running", () => started)
      stop()
      stop()
      yield* TestClock.adjust("1 second")
      expect(ended).toEqual(["running"])
    })
  )

  it.effect("watches again after all requests were over, or had timed out at once", () =>
    Effect.gen(function* () {
      const { ended, watch } = yield* oneSecond
      watch("over", () => 0)()
      yield* TestClock.adjust("5 seconds")
      watch("late", () => 0)
      expect(ended).toEqual(["late"])
      const started = yield* Clock.currentTimeMillis
      watch("next", () => started)
      yield* TestClock.adjust("1 second")
      expect(ended).toEqual(["late", "next"])
    })
  )

  it.effect("never ends a request whose watch another one has stopped", () =>
    Effect.gen(function* () {
      const timeout = yield* SharedTimeout.make(1000)
      const started = yield* Clock.currentTimeMillis
      let stopSecond = () => {}
      let ended = ""
      timeout.watch(
        () => started,
        () => {
          ended += "first "
          stopSecond()
        }
      )
      stopSecond = timeout.watch(
        () => started,
        () => {
          ended += "second "
        }
      )
      yield* TestClock.adjust("2 seconds")
      expect(ended).toBe("first ")
    })
  )

  it.effect("counts the same time when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        const { ended, now, watch } = yield* Effect.withClock(oneSecond, system.clock)
        const started = now()
        watch("waiting", () => started)
        yield* TestClock.adjust("400 millis")
        yield* system.step(step)
        watch("later", () => started + 400)
        yield* TestClock.adjust("599 millis")
        expect(ended).toEqual([])
        yield* TestClock.adjust("1 millis")
        expect(ended).toEqual(["waiting"])
        yield* TestClock.adjust("400 millis")
        expect(ended).toEqual(["waiting", "later"])
      }
    })
  )

  it.effect("sleeps once for all requests, and not at all a second after the last one", () =>
    Effect.gen(function* () {
      const sleeps = Effect.map(TestClock.sleeps(), Chunk.size)
      const { ended, watch } = yield* timeoutOf(20_000)
      const now = yield* Clock.currentTimeMillis
      const stops = [watch("one", () => now), watch("another", () => now)]
      expect(yield* sleeps).toBe(1)
      yield* TestClock.adjust("5 seconds")
      for (const stop of stops) stop()
      const stop = watch("the next", () => now + 5000)
      expect(yield* sleeps).toBe(1)
      stop()
      yield* TestClock.adjust("1 second")
      expect(yield* sleeps).toBe(0)
      watch("the last", () => now + 6000)
      yield* TestClock.adjust("19999 millis")
      expect(ended).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(ended).toEqual(["the last"])
      expect(yield* sleeps).toBe(0)
    })
  )

  it.effect("ends later requests after a function of one has thrown", () =>
    Effect.gen(function* () {
      const { ended, watch } = yield* oneSecond
      watch("faulty", () => {
        throw new Error("no time")
      })()
      watch("next", () => 0)
      yield* TestClock.adjust("1 second")
      expect(ended).toEqual(["next"])
    })
  )
})
