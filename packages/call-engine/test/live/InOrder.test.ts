import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scheduler } from "effect"
import { inOrder } from "../../src/live/InOrder.ts"

/** Effects that begin when they may, and end when they are told to. */
const controlled = (most: number) => {
  const inTurn = inOrder(most)
  const begun: Array<number> = []
  const start = (id: number) =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<void>()
      const running = Effect.zipRight(
        Effect.sync(() => void begun.push(id)),
        Deferred.await(done)
      )
      const fiber = yield* Effect.fork(inTurn(running))
      yield* Effect.yieldNow()
      return { end: Deferred.succeed(done, undefined), fiber }
    })
  return { begun, start }
}

/** Counts what it runs. */
class CountingScheduler implements Scheduler.Scheduler {
  tasks = 0
  readonly #scheduler = new Scheduler.MixedScheduler(2048)
  shouldYield: Scheduler.Scheduler["shouldYield"] = (fiber) => this.#scheduler.shouldYield(fiber)
  scheduleTask: Scheduler.Scheduler["scheduleTask"] = (task, priority, fiber) => {
    this.tasks += 1
    this.#scheduler.scheduleTask(task, priority, fiber)
  }
}

/** Interrupts a fiber at one of its steps, at which the fiber also gives way to others. */
class InterruptingScheduler implements Scheduler.Scheduler {
  #steps = 0
  readonly #at: number
  constructor(at: number) {
    this.#at = at
  }
  get wasReached(): boolean {
    return this.#steps > this.#at
  }
  shouldYield: Scheduler.Scheduler["shouldYield"] = (fiber) => {
    if (this.#steps++ !== this.#at) return false
    fiber.unsafeInterruptAsFork(fiber.id())
    return 0
  }
  scheduleTask: Scheduler.Scheduler["scheduleTask"] = (task, priority, fiber) =>
    Scheduler.defaultScheduler.scheduleTask(task, priority, fiber)
}

describe("inOrder", () => {
  it.effect("runs so many at a time, and the others in the order in which they came", () =>
    Effect.gen(function* () {
      const { begun, start } = controlled(2)
      const started = yield* Effect.forEach([1, 2, 3, 4, 5], start)
      expect(begun).toEqual([1, 2])
      yield* started[1]?.end ?? Effect.void
      yield* Fiber.join(started[1]?.fiber ?? Fiber.void)
      yield* Effect.yieldNow()
      expect(begun).toEqual([1, 2, 3])
      yield* Effect.forEach(started, ({ end }) => end)
      yield* Fiber.joinAll(started.map(({ fiber }) => fiber))
      expect(begun).toEqual([1, 2, 3, 4, 5])
    })
  )

  it.effect("an effect that fails, dies or is interrupted lets the next one run", () =>
    Effect.gen(function* () {
      const inTurn = inOrder(1)
      const exits = [
        yield* Effect.exit(inTurn(Effect.fail("refused"))),
        yield* Effect.exit(inTurn(Effect.die(new Error("broken")))),
        yield* Effect.exit(inTurn(Effect.interrupt))
      ]
      expect(exits.map(Exit.isFailure)).toEqual([true, true, true])
      expect(yield* inTurn(Effect.succeed("next"))).toBe("next")
    })
  )

  it.effect("one that is interrupted while it waits is left out", () =>
    Effect.gen(function* () {
      const { begun, start } = controlled(1)
      const [first, second, third] = yield* Effect.all([start(1), start(2), start(3)])
      yield* Fiber.interrupt(second.fiber)
      yield* first.end
      yield* third.end
      yield* Fiber.joinAll([first.fiber, third.fiber])
      expect(begun).toEqual([1, 3])
    })
  )

  it.effect("one that is interrupted just as its turn comes passes the turn on", () =>
    Effect.gen(function* () {
      const inTurn = inOrder(1)
      const begun: Array<string> = []
      const first = yield* Deferred.make<void>()
      const running = yield* Effect.fork(inTurn(Deferred.await(first)))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(inTurn(Effect.sync(() => void begun.push("second"))))
      const third = yield* Effect.fork(inTurn(Effect.sync(() => void begun.push("third"))))
      yield* Effect.yieldNow()
      // Interrupts the second after it was told that its turn has come, and before it runs.
      running.addObserver(() => second.unsafeInterruptAsFork(second.id()))
      yield* Deferred.succeed(first, undefined)
      yield* Fiber.join(third)
      expect(Exit.isInterrupted(yield* Fiber.await(second))).toBe(true)
      expect(begun).toEqual(["third"])
      expect(yield* inTurn(Effect.succeed("free again"))).toBe("free again")
    })
  )

  it.effect("one that is interrupted at any step passes its turn on", () =>
    Effect.gen(function* () {
      let at = 0
      for (let wasReached = true; wasReached; at++) {
        const scheduler = new InterruptingScheduler(at)
        const inTurn = inOrder(1)
        const first = yield* Deferred.make<void>()
        yield* Effect.fork(inTurn(Deferred.await(first)))
        yield* Effect.yieldNow()
        const second = yield* Effect.fork(Effect.withScheduler(inTurn(Effect.void), scheduler))
        yield* Effect.yieldNow()
        yield* Deferred.succeed(first, undefined)
        yield* Fiber.await(second)
        const third = yield* Effect.fork(inTurn(Effect.void))
        for (let turns = 0; turns < 20; turns++) yield* Effect.yieldNow()
        expect([at, third.unsafePoll()]).toEqual([at, Exit.void])
        wasReached = scheduler.wasReached
      }
      expect(at).toBeGreaterThan(10)
    })
  )

  it.effect("its cost is linear in those that wait", () =>
    Effect.gen(function* () {
      const scheduler = new CountingScheduler()
      const tasksOf = (count: number) =>
        Effect.gen(function* () {
          const inTurn = inOrder(3)
          scheduler.tasks = 0
          yield* Effect.forEach(Array.from({ length: count }), () => inTurn(Effect.yieldNow()), {
            concurrency: "unbounded",
            discard: true
          })
          return scheduler.tasks
        }).pipe(Effect.withScheduler(scheduler))
      const [few, many] = [yield* tasksOf(100), yield* tasksOf(1000)]
      expect(many / few).toBeGreaterThan(8)
      expect(many / few).toBeLessThan(12)
    })
  )
})
