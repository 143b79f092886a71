import { SqlError } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { type Context, Deferred, Effect, Fiber, Logger, TestClock } from "effect"
import { ChatSlotsRepo } from "../src/ChatSlotsRepo.ts"
import { begin, orgOf, quick, server } from "./LimitsOfServer.ts"

describe("while the database does not answer", () => {
  const broken = new SqlError.SqlError({ message: "gone", cause: undefined })
  const noRelease = { release: () => Effect.void, releaseAllOf: () => Effect.void }

  it.scoped("each server counts its own completions, and says so once", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const org = yield* orgOf
      const { limits } = yield* server("node_a").pipe(
        Effect.provideService(ChatSlotsRepo, { take: () => broken, ...noRelease })
      )
      yield* Effect.gen(function* () {
        for (let running = 0; running < 5; running++) yield* begin(limits, org)
        expect((yield* Effect.flip(quick(limits, org))).code).toBe("AI_CONCURRENT_LIMIT_EXCEEDED")
      }).pipe(
        Effect.provide(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make(({ message }) => lines.push(message))
          )
        )
      )
      expect(lines).toHaveLength(1)
      expect(String(lines[0])).toMatch(/database does not answer \(gone\)/)
    })
  )

  it.scoped("a completion waits a second for its slot, and the slot that is taken late is released", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      const late = yield* Deferred.make<boolean>()
      const steps: Array<string> = []
      const { limits } = yield* server("node_a").pipe(
        Effect.provideService(ChatSlotsRepo, {
          ...noRelease,
          take: () => Effect.tap(Deferred.await(late), () => steps.push("taken")),
          release: () => Effect.sync(() => void steps.push("released"))
        })
      )
      const running = yield* Effect.fork(
        limits.within(org, "chatcmpl-late")(() => Effect.sync(() => steps.push("ran")))
      )
      yield* TestClock.adjust("999 millis")
      expect(steps).toEqual([])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(running)
      expect(steps).toEqual(["ran"])
      yield* Deferred.succeed(late, true)
      yield* Effect.yieldNow()
      yield* TestClock.adjust("1 second")
      expect(steps).toEqual(["ran", "taken", "released"])
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.scoped("a slot that cannot be released is released later", () =>
    Effect.gen(function* () {
      const org = yield* orgOf
      let attempts = 0
      const { limits } = yield* server("node_a").pipe(
        Effect.provideService(ChatSlotsRepo, {
          ...noRelease,
          take: () => Effect.succeed(true),
          release: () => Effect.suspend(() => (++attempts < 3 ? broken : Effect.void))
        })
      )
      const running = yield* Effect.fork(quick(limits, org))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(running)
      yield* TestClock.adjust("10 seconds")
      expect(attempts).toBe(3)
    })
  )
})

describe("a server that is alone", () => {
  /** A database that says what was asked of it. */
  const recorded = () => {
    const steps: Array<string> = []
    const service: Context.Tag.Service<ChatSlotsRepo> = {
      take: ({ node_id }) =>
        Effect.as(
          Effect.sync(() => steps.push(`take for ${node_id}`)),
          true
        ),
      release: (slots) => Effect.sync(() => void steps.push(`release ${slots.length}`)),
      releaseAllOf: (nodes) => Effect.sync(() => void steps.push(`release all of ${nodes.join(", ")}`))
    }
    return { steps, repo: Effect.provideService(ChatSlotsRepo, service) }
  }

  it.scoped("takes the slot of the completion before, without the database, until it was not used for 30 seconds", () =>
    Effect.gen(function* () {
      const { repo, steps } = recorded()
      const org = yield* orgOf
      const { limits } = yield* repo(server({ id: "node_a", others: 0 }))
      for (let round = 0; round < 3; round++) yield* quick(limits, org)
      yield* TestClock.adjust("29 seconds")
      yield* quick(limits, org)
      yield* TestClock.adjust("29 seconds")
      expect(steps).toEqual(["take for node_a"])
      yield* TestClock.adjust("1 second")
      yield* quick(limits, org)
      expect(steps).toEqual(["take for node_a", "release 1", "take for node_a"])
    })
  )

  it.scoped("gives kept slots back within a second after it has seen another server, and keeps none from then on", () =>
    Effect.gen(function* () {
      const { repo, steps } = recorded()
      const org = yield* orgOf
      const nodes = { id: "node_a", others: 0 }
      const { limits } = yield* repo(server(nodes))
      yield* quick(limits, org)
      nodes.others = 1
      yield* TestClock.adjust("1 second")
      yield* quick(limits, org)
      expect(steps).toEqual(["take for node_a", "release 1", "take for node_a", "release 1"])
    })
  )

  it.scoped("does not use a slot that it took under a lease that it has lost: other servers may have settled it", () =>
    Effect.gen(function* () {
      const { repo, steps } = recorded()
      const org = yield* orgOf
      const nodes = { id: "node_a", others: 0 }
      const { limits } = yield* repo(server(nodes))
      yield* quick(limits, org)
      nodes.id = "node_b"
      yield* quick(limits, org)
      expect(steps).toEqual(["take for node_a", "take for node_b"])
    })
  )

  it.effect("releases all its slots when it stops", () =>
    Effect.gen(function* () {
      const { repo, steps } = recorded()
      const org = yield* orgOf
      yield* Effect.scoped(
        Effect.flatMap(repo(server({ id: "node_a", others: 0 })), ({ limits }) => quick(limits, org))
      )
      expect(steps).toEqual(["take for node_a", "release all of node_a"])
    })
  )
})
