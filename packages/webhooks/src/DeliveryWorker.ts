import { NodeLease } from "@svc/cluster/NodeLease"
import { Outbox } from "@svc/database/Outbox"
import { Cause, Effect, Layer, Option, Schedule } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"
import { Flights } from "./delivery/Flights.ts"
import { type Claimed, type Outcome, QueueRepo } from "./delivery/QueueRepo.ts"
import { Receivers } from "./delivery/Receivers.ts"
import { RetrySchedule } from "./delivery/RetrySchedule.ts"
import { tally } from "./delivery/Tally.ts"

/** Events that are turned into deliveries at a time, and outcomes that are written at a time. */
const batch = 500
/** How soon to look again when there was nothing, in milliseconds: an event that was just appended is soon committed. */
const pauses = [2, 3, 5, 10, 20, 40, 80, 160, 250] as const
const idleMs = 250
/** How long outcomes gather before they are written, in milliseconds. */
const gatherMs = 5
const sweepMs = 50
/** After an error, how long deliveries may turn up that were given to us in an answer that was lost, in milliseconds. */
const doubtMs = 60_000
/** How long the end of the process waits for requests under way: receivers should answer within 5 s (spec 6.5). */
const farewell = "5 seconds"
const databasePatience = "500 millis"
/**
 * No statement takes longer; the next may find a connection that works. One whose connection broke may never return, nor
 * let itself be interrupted: it is left behind.
 */
const promptly = <A, E>(statement: Effect.Effect<A, E>) =>
  statement.pipe(Effect.disconnect, Effect.timeout("5 seconds"))
const retries = Schedule.union(Schedule.exponential("50 millis"), Schedule.spaced("2 seconds"))
const pollUntilEmpty = Schedule.spaced("20 millis")

/**
 * Delivers events (spec 6.5, decisions §5, architecture §6): turns those of the outbox into deliveries, takes what is due,
 * sends it, and writes down what came of it. Every node does. A delivery that a node took is its as long as its lease
 * holds; when the lease is lost everything under way is ended, because others will do it again.
 */
export const DeliveryWorker: Layer.Layer<
  never,
  never,
  NodeLease | Outbox | QueueRepo | DeliveriesRepo | Receivers | RetrySchedule
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lease = yield* NodeLease
    const outbox = yield* Outbox
    const queue = yield* QueueRepo
    const deliveries = yield* DeliveriesRepo
    const receivers = yield* Receivers
    const schedule = yield* RetrySchedule
    const clock = yield* Effect.clock

    /** Events were appended; deliveries are due, or there is room for more. */
    const appended = Effect.unsafeMakeLatch()
    const due = Effect.unsafeMakeLatch()
    /** Requests are under way; some are over. */
    const airborne = Effect.unsafeMakeLatch()
    const landed = Effect.unsafeMakeLatch()
    /** Outcomes that are not written yet. */
    const done: Array<Unwritten> = []
    let writing = 0
    /** Webhooks with failures that a success is to clear. */
    const shaky = new Set<number>()
    /** How often in a row there was no event. */
    let idle = 0
    let node = ""
    let doubtUntil = Number.NEGATIVE_INFINITY

    const push = (outcome: Unwritten) => {
      done.push(outcome)
      landed.unsafeOpen()
    }
    const flights = new Flights({
      post: receivers.post,
      now: () => clock.unsafeCurrentTimeMillis(),
      landed: ({ at, delivery, reply }) => push({ delivery, node, at, ...reply }),
      roomAgain: () => void due.unsafeOpen()
    })
    yield* outbox.onAppend(() => {
      idle = 0
      appended.unsafeOpen()
    })
    yield* lease.onDeath("webhooks.deliveries", (nodes) => Effect.orDie(queue.release(nodes)))

    /** With the time of the next attempt, if there is one. */
    const outcomeOf = Effect.fnUntraced(function* (unwritten: Unwritten) {
      const { at, delivery, error, node, status_code } = unwritten
      const wait = at === null || error === null ? Option.none() : yield* schedule.afterMs(delivery.attempts + 1)
      const next_at = Option.match(wait, {
        onNone: () => null,
        onSome: (ms) => new Date(clock.unsafeCurrentTimeMillis() + ms)
      })
      return { delivery, node, at: at === null ? null : new Date(at), status_code, error, next_at } satisfies Outcome
    })

    /**
     * A node that cannot reach the database keeps what it has to tell, and tells it when it can. A connection that breaks
     * at the end of a transaction is a defect (of @effect/sql), so those are tried again too.
     */
    const insist = <A, E>(effect: Effect.Effect<A, E>, what: string): Effect.Effect<A> =>
      promptly(effect).pipe(
        Effect.sandbox,
        Effect.tapErrorCause((cause) => Effect.logWarning(`${what} could not be written; trying again`, cause)),
        Effect.retry({ schedule: retries }),
        Effect.orDie
      )

    const write = Effect.gen(function* () {
      const some = done.splice(0, batch)
      if (done.length === 0) landed.unsafeClose()
      writing = some.length
      const outcomes = yield* Effect.forEach(some, outcomeOf)
      yield* insist(queue.finish(outcomes), "Outcomes of deliveries")
      const counted = some.filter(({ at, delivery }) => at !== null && !delivery.is_resend)
      const tallies = tally(counted.map((one) => ({ ...one, webhook_id: one.delivery.webhook_id }))).filter((one) => {
        const matters = one.failures > 0 || shaky.has(one.webhook_id)
        if (one.trailing > 0) shaky.add(one.webhook_id)
        else shaky.delete(one.webhook_id)
        return matters
      })
      const disabled = yield* insist(queue.count(tallies), "Failures of webhooks")
      for (const id of disabled) {
        yield* insist(deliveries.bury(id), "Dead letters")
        yield* Effect.logWarning(`Webhook ${id} is disabled after failures`)
      }
      writing = 0
    })
    const writer = Effect.forever(landed.await.pipe(Effect.zipRight(Effect.sleep(gatherMs)), Effect.zipRight(write)))

    /** What must not be sent any more; the others. */
    const sort = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<Claimed> =>
      claimed.filter((delivery) => {
        if (delivery.consecutive_failures > 0) shaky.add(delivery.webhook_id)
        // Its webhook or its event is gone.
        const isVoid = delivery.url === "" || delivery.data === ""
        if (delivery.is_active && !isVoid) return true
        push({ delivery, node, at: null, status_code: null, error: isVoid ? null : "webhook disabled" })
        return false
      })

    /** Turns events into deliveries; whether there were any. */
    const fanOut = Effect.gen(function* () {
      const at = new Date(clock.unsafeCurrentTimeMillis() + schedule.firstMs)
      const events = yield* promptly(queue.fanOut(batch, at))
      if (events > 0) idle = 0
      if (events > 0) due.unsafeOpen()
      return events > 0
    })

    /** Takes what there is room for and sends it; whether there was anything. */
    const take = Effect.gen(function* () {
      const now = clock.unsafeCurrentTimeMillis()
      const { room, roomForOthers, roomLeft } = flights
      const known = now < doubtUntil ? [...flights.known, ...done.map(({ delivery }) => delivery.id)] : undefined
      // While outcomes are being written nobody knows whether their rows are still ours.
      if (room <= 0 || (known !== undefined && writing > 0)) return false
      const claimed = yield* promptly(queue.claim({ node, now: new Date(now), room, roomForOthers, roomLeft, known }))
      flights.start(sort(claimed))
      if (flights.size > 0) airborne.unsafeOpen()
      return claimed.length > 0
    })

    /** Does it again and again, at once while there is something to do, else after a pause or when it is woken. */
    const loop = <E>(work: Effect.Effect<boolean, E>, wake: Effect.Latch, pause: () => number) =>
      Effect.forever(
        // Before looking: what comes while we look is looked for again.
        Effect.zipRight(
          Effect.sync(() => wake.unsafeClose()),
          work
        ).pipe(
          Effect.flatMap((busy) => (busy ? Effect.yieldNow() : Effect.raceFirst(Effect.sleep(pause()), wake.await))),
          Effect.catchAllCause((cause) => {
            if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
            doubtUntil = clock.unsafeCurrentTimeMillis() + doubtMs
            return Effect.zipRight(
              Effect.logWarning("Deliveries of webhooks wait for the database", cause),
              Effect.sleep(databasePatience)
            )
          })
        )
      )
    const pump = Effect.all([loop(fanOut, appended, () => pauses[idle++] ?? idleMs), loop(take, due, () => idleMs)], {
      concurrency: "unbounded",
      discard: true
    })

    const sweeping = Effect.gen(function* () {
      yield* airborne.await
      yield* Effect.sleep(sweepMs)
      flights.sweep()
      if (flights.size === 0) airborne.unsafeClose()
    })

    /** Works under one lease until it is lost. What was under way then is sent again by whoever takes it over. */
    const session = Effect.gen(function* () {
      const { id, lost } = yield* lease.current
      // A lease is lost before there is a new one when the database is away.
      if (id === node) return yield* Effect.sleep("1 second")
      node = id
      idle = 0
      yield* Effect.raceFirst(pump, lost)
      flights.abandon()
    })

    yield* Effect.forkScoped(writer)
    yield* Effect.forkScoped(Effect.forever(sweeping))
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        const empty = Effect.suspend(() => (flights.size === 0 ? Effect.void : Effect.fail("not yet")))
        yield* Effect.retry(empty, pollUntilEmpty).pipe(Effect.timeoutOption(farewell), Effect.ignore)
        const left = flights.abandon()
        const written = Effect.suspend(() => (done.length + writing === 0 ? Effect.void : Effect.fail("not yet")))
        yield* Effect.retry(written, pollUntilEmpty).pipe(Effect.timeoutOption(farewell), Effect.ignore)
        if (left.length > 0) yield* Effect.ignoreLogged(Effect.timeout(queue.release([node], left), farewell))
      }).pipe(Effect.interruptible)
    )
    yield* Effect.forkScoped(Effect.forever(session))
  })
)

/** An outcome as it came; `at` is null when there was no attempt. */
interface Unwritten {
  readonly delivery: Claimed
  readonly node: string
  readonly at: number | null
  readonly status_code: number | null
  readonly error: string | null
}
