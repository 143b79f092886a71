import { SqlError, Statement } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { DueCheck, makeDueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { type Clock, Effect, Layer, Logger, Option, TestClock } from "effect"
import { makeClaimLoop } from "../src/delivery/ClaimLoop.ts"
import { InFlight } from "../src/delivery/InFlight.ts"
import type { OutcomeRecorder } from "../src/delivery/OutcomeRecorder.ts"
import { type ClaimedDelivery, QueueRepo } from "../src/delivery/QueueRepo.ts"
import { RetrySchedule } from "../src/delivery/RetrySchedule.ts"

const delivery = (id: number): ClaimedDelivery => ({
  id,
  webhook_id: 1,
  call_id: null,
  is_replay: false,
  is_resend: false,
  attempts: 0,
  url: "https://receiver.example.com",
  secret: "secret",
  secret_error: null,
  is_active: true,
  may_receive: true,
  consecutive_failures: 0,
  event_id: `evt_${id}`,
  event: "call.started",
  api_version: "1",
  timestamp: "2026-11-01T09:30:00.000Z",
  org_id: 1,
  project_id: 1,
  agent_id: null,
  data: "{}"
})

const noOutcomes: OutcomeRecorder = {
  add: () => undefined,
  has: () => false,
  ids: () => [],
  isEmpty: () => true,
  markFailing: () => undefined,
  run: Effect.never
}

const withoutLog = Effect.provide(Logger.remove(Logger.defaultLogger))

/** A running loop on a queue in memory. Its rows have the times at which they are due; a claim takes those that are. */
const started = (others = 0) =>
  Effect.gen(function* () {
    const testClock = yield* Effect.clock
    let offset = 0
    const now = () => testClock.unsafeCurrentTimeMillis() + offset
    const clock: Clock.Clock = {
      ...testClock,
      unsafeCurrentTimeMillis: now,
      currentTimeMillis: Effect.sync(now),
      // Timers do not notice that the clock was set.
      sleep: (duration) => testClock.sleep(duration)
    }
    const setClockBy = (ms: number) => {
      offset = ms
    }
    const rows = new Map<number, number>()
    const log: Array<readonly [what: "look" | "claim", at: number]> = []
    const sent: Array<readonly [id: number, at: number]> = []
    const nodes = { others }
    const faults = { isDown: false }
    /** Runs once, after the next look has read the queue and before its result arrives. */
    const during = { look: () => {} }
    const answer = <A>(what: "look" | "claim", read: () => A) =>
      Effect.suspend(() => {
        log.push([what, now()])
        return faults.isDown
          ? Effect.fail(new SqlError.SqlError({ cause: new Error("down"), message: "down" }))
          : Effect.succeed(read())
      })
    const untilDue = (at: Date) =>
      answer("look", () => {
        const first = Math.min(Number.POSITIVE_INFINITY, ...rows.values())
        during.look()
        during.look = () => {}
        return first - at.getTime()
      })
    /** What the due check asks the queue. */
    let asked: Effect.Effect<number | null, SqlError.SqlError> = Effect.succeed(null)
    const queue = Layer.mock(QueueRepo, {
      untilDue,
      untilDueIf: (isWaiting, at) => {
        asked = isWaiting ? untilDue(at) : Effect.succeed(null)
        return Statement.unsafeFragment("")
      },
      claim: ({ now: at }) =>
        answer("claim", () => {
          const due = [...rows].filter(([, time]) => time <= at.getTime())
          for (const [id] of due) rows.delete(id)
          return due.map(([id]) => delivery(id))
        })
    })
    const lease = Layer.mock(NodeLease, { others: Effect.sync(() => nodes.others) })
    const check = makeDueCheck({
      values: () => Effect.map(asked, (value) => ({ "webhooks.deliveries": value })),
      answers: Effect.suspend(() => (faults.isDown ? Effect.fail("down") : Effect.void))
    })
    const services = Layer.mergeAll(
      queue,
      lease,
      Layer.scoped(DueCheck, check).pipe(Layer.provide(lease)),
      Layer.succeed(RetrySchedule, { firstMs: 0, afterMs: () => Effect.succeed(Option.none()) })
    )
    const inFlight = new InFlight({ post: () => () => undefined, now, onCompleted: () => {}, onRoom: () => {} })
    const context = yield* Layer.build(services).pipe(Effect.withClock(clock), withoutLog)
    const loop = yield* makeClaimLoop(inFlight, noOutcomes, (claimed) =>
      Effect.sync(() => {
        for (const { id } of claimed) sent.push([id, now()])
      })
    ).pipe(Effect.provide(context), Effect.withClock(clock))
    yield* Effect.forkScoped(loop.run("node_a").pipe(Effect.withClock(clock), withoutLog))
    yield* TestClock.adjust(0)
    return { during, faults, log, loop, nodes, rows, sent, setClockBy, times: () => log.splice(0) }
  })

describe("ClaimLoop", () => {
  it.scoped("of a node that is alone and has nothing to do looks every 2 seconds, and claims nothing", () =>
    Effect.gen(function* () {
      const { times } = yield* started()
      yield* TestClock.adjust("6 seconds")
      expect(times()).toEqual([
        ["look", 0],
        ["look", 2_000],
        ["look", 4_000],
        ["look", 6_000]
      ])
    })
  )

  it.scoped("claims a retry at the time at which it is due", () =>
    Effect.gen(function* () {
      const { rows, sent } = yield* started()
      rows.set(1, 5_300)
      yield* TestClock.adjust("5299 millis")
      expect(sent).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(sent).toEqual([[1, 5_300]])
    })
  )

  it.scoped("claims a retry on time that is due less than 2 seconds after it has claimed", () =>
    Effect.gen(function* () {
      const { rows, sent } = yield* started()
      rows.set(1, 2_700)
      rows.set(2, 3_400)
      yield* TestClock.adjust("3400 millis")
      expect(sent).toEqual([
        [1, 2_700],
        [2, 3_400]
      ])
    })
  )

  it.scoped("with other nodes claims four times a second, and does so once one has joined", () =>
    Effect.gen(function* () {
      const { nodes, rows, sent, times } = yield* started(1)
      yield* TestClock.adjust("1 second")
      expect(times()).toEqual([0, 250, 500, 750, 1_000].map((at) => ["claim", at]))
      rows.set(1, 0)
      yield* TestClock.adjust("250 millis")
      expect(sent).toEqual([[1, 1_250]])
      nodes.others = 0
      yield* TestClock.adjust("4 seconds")
      times()
      nodes.others = 1
      yield* TestClock.adjust("2 seconds")
      rows.set(2, 0)
      yield* TestClock.adjust("250 millis")
      expect(sent).toHaveLength(2)
    })
  )

  it.scoped("claims at once what this process queued, and for 10 seconds what it commits late", () =>
    Effect.gen(function* () {
      const { loop, rows, sent } = yield* started()
      yield* TestClock.adjust("700 millis")
      rows.set(1, 0)
      loop.queued()
      yield* TestClock.adjust(0)
      expect(sent).toEqual([[1, 700]])
      // An event of a transaction that commits after 9 seconds.
      loop.announce(new Map([[1, 1]]), false)
      yield* TestClock.adjust("9 seconds")
      rows.set(2, 0)
      yield* TestClock.adjust("250 millis")
      expect(sent.map(([id]) => id)).toEqual([1, 2])
    })
  )

  it.scoped("loses no delivery that is queued between its look and its wait", () =>
    Effect.gen(function* () {
      const { during, loop, rows, sent } = yield* started()
      during.look = () => {
        rows.set(1, 0)
        loop.queued()
      }
      yield* TestClock.adjust("2 seconds")
      expect(sent).toEqual([[1, 2_000]])
    })
  )

  it.scoped("finds within 2 seconds a delivery that was not announced", () =>
    Effect.gen(function* () {
      const { during, rows, sent } = yield* started()
      during.look = () => void rows.set(1, 0)
      yield* TestClock.adjust("3999 millis")
      expect(sent).toEqual([])
      yield* TestClock.adjust("1 millis")
      expect(sent).toEqual([[1, 4_000]])
    })
  )

  it.scoped("claims within half a second what became due while the database failed", () =>
    Effect.gen(function* () {
      const { faults, rows, sent, times } = yield* started()
      faults.isDown = true
      rows.set(1, 2_500)
      yield* TestClock.adjust("3400 millis")
      expect(times()).toEqual([0, 2_000].map((at) => ["look", at]))
      faults.isDown = false
      yield* TestClock.adjust("100 millis")
      expect(sent).toEqual([[1, 3_500]])
    })
  )

  it.scoped(
    "claims within 2 seconds what is due after the clock was set forward, and goes on after it was set back",
    () =>
      Effect.gen(function* () {
        const { loop, rows, sent, setClockBy } = yield* started()
        rows.set(1, 3_600_000)
        yield* TestClock.adjust("3 seconds")
        setClockBy(3_600_000)
        yield* TestClock.adjust("1 second")
        expect(sent.map(([id]) => id)).toEqual([1])
        setClockBy(-3_600_000)
        rows.set(2, -3_600_000)
        yield* TestClock.adjust("2 seconds")
        loop.queued()
        setClockBy(-7_200_000)
        rows.set(3, -7_200_000)
        yield* TestClock.adjust("250 millis")
        expect(sent.map(([id]) => id)).toEqual([1, 2, 3])
      })
  )
})
