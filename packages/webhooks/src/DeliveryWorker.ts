import { NodeLease } from "@svc/cluster/NodeLease"
import { Cause, Effect, Layer, Option, Schedule } from "effect"
import { DeliveriesRepo } from "./DeliveriesRepo.ts"
import { leases } from "./delivery/ClaimStatement.ts"
import { DeliveryFanOut } from "./delivery/DeliveryFanOut.ts"
import { Flights } from "./delivery/Flights.ts"
import { Owing } from "./delivery/Owing.ts"
import { type Claimed, type Outcome, QueueRepo } from "./delivery/QueueRepo.ts"
import { Receivers } from "./delivery/Receivers.ts"
import { RetrySchedule } from "./delivery/RetrySchedule.ts"
import { tally } from "./delivery/Tally.ts"

/** Outcomes that are written at a time. */
const batch = 500
/** How often to look at everything that is due, in milliseconds. */
const sweepMs = 250
/** How often to look also for what nobody knows to have, in milliseconds. */
const reckonMs = 2_000
/** How long to wait when more could be taken but not now, in milliseconds. */
const busyMs = 10
/** How long outcomes gather before they are written, in milliseconds. */
const gatherMs = 20
/** How often requests under way are looked at, in milliseconds. */
const watchMs = 50
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
 * Delivers events (spec 6.5, decisions §5, architecture §6): takes what is due, sends it, and writes down what came of
 * it. Every node does: it looks at once for what it wrote itself, and now and then for everything. A delivery that a node
 * took is its as long as its lease holds; when the lease is lost everything under way is ended, because others will do
 * it again.
 */
export const DeliveryWorker: Layer.Layer<
  never,
  never,
  NodeLease | DeliveryFanOut | QueueRepo | DeliveriesRepo | Receivers | RetrySchedule
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lease = yield* NodeLease
    const fanOut = yield* DeliveryFanOut
    const queue = yield* QueueRepo
    const deliveries = yield* DeliveriesRepo
    const receivers = yield* Receivers
    const schedule = yield* RetrySchedule
    const clock = yield* Effect.clock

    /** Deliveries that we know of. */
    const owing = new Owing(() => clock.unsafeCurrentTimeMillis())
    /** There is something to look for, or room for it. */
    const due = Effect.unsafeMakeLatch()
    const claiming = yield* Effect.makeSemaphore(1)
    /** Requests are under way; some are over. */
    const airborne = Effect.unsafeMakeLatch()
    const landed = Effect.unsafeMakeLatch()
    /** Outcomes that are not being written yet, and the deliveries of all that are not written yet. */
    const done: Array<Outcome> = []
    const unwritten = new Set<number>()
    let writes = false
    /** Webhooks with failures that a success is to clear. */
    const shaky = new Set<number>()
    let node = ""
    let reckonAt = Number.NEGATIVE_INFINITY

    const push = (outcome: Outcome) => {
      done.push(outcome)
      unwritten.add(outcome.delivery.id)
      landed.unsafeOpen()
    }
    const flights = new Flights({
      post: receivers.post,
      now: () => clock.unsafeCurrentTimeMillis(),
      landed: ({ at, delivery, reply: { error, status_code } }) =>
        push({ delivery, node, at, status_code, error, next_at: null }),
      roomAgain: () => void due.unsafeOpen()
    })
    yield* fanOut.onDeliveries((owed, isCommitted) => {
      // What is not due at once is found later.
      if (schedule.firstMs > 0) return
      owing.add(owed, isCommitted)
      due.unsafeOpen()
    })
    yield* lease.onDeath(leases, (nodes) => Effect.orDie(queue.release(nodes)))

    /** The time of the attempt that follows a failed one, if one does. */
    const nextAttempt = ({ delivery }: Outcome) =>
      Effect.map(schedule.afterMs(delivery.attempts + 1), (wait) =>
        Option.getOrNull(Option.map(wait, (ms) => new Date(clock.unsafeCurrentTimeMillis() + ms)))
      )

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

    /** What outcomes did to the webhooks to which that makes a difference. */
    const count = (outcomes: ReadonlyArray<Outcome>) =>
      tally(outcomes.filter(({ at, delivery }) => at !== null && !delivery.is_resend)).filter((one) => {
        const matters = one.failures > 0 || shaky.has(one.webhook_id)
        if (one.trailing > 0) shaky.add(one.webhook_id)
        else shaky.delete(one.webhook_id)
        return matters
      })

    const write = Effect.gen(function* () {
      const some = done.splice(0, batch)
      if (done.length === 0) landed.unsafeClose()
      writes = true
      const outcomes: Array<Outcome> = []
      for (const one of some) {
        outcomes.push(one.at === null || one.error === null ? one : { ...one, next_at: yield* nextAttempt(one) })
      }
      yield* insist(queue.finish(outcomes), "Outcomes of deliveries")
      for (const { delivery } of some) unwritten.delete(delivery.id)
      const tallies = shaky.size > 0 || some.some(({ error }) => error !== null) ? count(some) : []
      const disabled = tallies.length === 0 ? [] : yield* insist(queue.count(tallies), "Failures of webhooks")
      for (const id of disabled) {
        yield* insist(deliveries.bury(id), "Dead letters")
        yield* Effect.logWarning(`Webhook ${id} is disabled after failures`)
      }
      writes = false
    })
    const writer = Effect.forever(landed.await.pipe(Effect.zipRight(Effect.sleep(gatherMs)), Effect.zipRight(write)))

    /** What must not be sent any more; the others. */
    const sort = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<Claimed> =>
      claimed.filter((delivery) => {
        // A database that crashed has forgotten that we took it, and has given it to us once more.
        if (flights.has(delivery.id) || unwritten.has(delivery.id)) return false
        if (delivery.consecutive_failures > 0) shaky.add(delivery.webhook_id)
        // Its webhook or its event is gone.
        const isVoid = delivery.url === "" || delivery.data === ""
        if (delivery.is_active && !isVoid) return true
        push({ delivery, node, at: null, status_code: null, error: isVoid ? null : "webhook disabled", next_at: null })
        return false
      })

    /** Takes what there is room for and sends it: for these webhooks, or whatever is due. Whether it could look at all. */
    const claim = (only?: ReadonlyMap<number, number>) =>
      claiming.withPermits(1)(
        Effect.gen(function* () {
          const now = clock.unsafeCurrentTimeMillis()
          const { room, roomForOthers } = flights
          if (room <= 0) return false
          const reckons = only === undefined && now >= reckonAt
          if (reckons) reckonAt = now + reckonMs
          const claimed = yield* promptly(
            queue.claim({
              node,
              now: new Date(now),
              room,
              roomForOthers,
              roomLeft: only ?? flights.roomLeft,
              only: only && new Map(Array.from(only.keys(), (id) => [id, owing.floorOf(id)])),
              firstBefore: schedule.firstMs > 0 ? new Date(now - schedule.firstMs) : undefined,
              alone: (yield* lease.others) === 0,
              known: reckons ? [...flights.known, ...unwritten] : undefined
            })
          )
          const found = new Map(Array.from(only?.keys() ?? [], (id) => [id, { count: 0, newest: 0 }]))
          for (const { attempts, id, webhook_id } of claimed) {
            if (attempts === 0) found.set(webhook_id, { count: (found.get(webhook_id)?.count ?? 0) + 1, newest: id })
          }
          for (const [webhook, { count, newest }] of found) {
            owing.found(webhook, count, newest, Math.min(room, only?.get(webhook) ?? flights.roomOf(webhook)))
          }
          flights.start(sort(claimed))
          if (!flights.isIdle) airborne.unsafeOpen()
          return true
        })
      )

    const roomOf = (webhookId: number) => flights.roomOf(webhookId)
    /** Looks for what is known to be owed, until there is nothing, or no room, or it is not there yet; then waits. */
    const take = Effect.gen(function* () {
      // Before looking: what comes while we look is looked for again.
      due.unsafeClose()
      const open = owing.open(roomOf)
      if (open.size > 0) return (yield* claim(open)) ? yield* Effect.yieldNow() : yield* Effect.sleep(busyMs)
      yield* Effect.raceFirst(due.await, Effect.sleep(Math.min(owing.waitMs(roomOf), sweepMs)))
    })
    const sweep = Effect.zipRight(claim(), Effect.sleep(sweepMs))

    const loop = <E>(work: Effect.Effect<unknown, E>) =>
      Effect.forever(
        Effect.catchAllCause(work, (cause) => {
          if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
          // What an answer gave us that was lost.
          reckonAt = Number.NEGATIVE_INFINITY
          return Effect.zipRight(
            Effect.logWarning("Deliveries of webhooks wait for the database", cause),
            Effect.sleep(databasePatience)
          )
        })
      )
    const pump = Effect.all([loop(take), loop(sweep)], { concurrency: "unbounded", discard: true })

    const watch = Effect.gen(function* () {
      yield* airborne.await
      yield* Effect.sleep(watchMs)
      flights.sweep()
      if (flights.isIdle) airborne.unsafeClose()
    })

    /** Works under one lease until it is lost. What was under way then is sent again by whoever takes it over. */
    const session = Effect.gen(function* () {
      const { id, lost } = yield* lease.current
      // A lease is lost before there is a new one when the database is away.
      if (id === node) return yield* Effect.sleep("1 second")
      node = id
      yield* Effect.raceFirst(pump, lost)
      flights.abandon()
      owing.clear()
    })

    yield* Effect.forkScoped(writer)
    yield* Effect.forkScoped(Effect.forever(watch))
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        const empty = Effect.suspend(() => (flights.size === 0 ? Effect.void : Effect.fail("not yet")))
        yield* Effect.retry(empty, pollUntilEmpty).pipe(Effect.timeoutOption(farewell), Effect.ignore)
        const left = flights.abandon()
        const written = Effect.suspend(() => (done.length === 0 && !writes ? Effect.void : Effect.fail("not yet")))
        yield* Effect.retry(written, pollUntilEmpty).pipe(Effect.timeoutOption(farewell), Effect.ignore)
        if (left.length > 0) yield* Effect.ignoreLogged(Effect.timeout(queue.release([node], left), farewell))
      }).pipe(Effect.interruptible)
    )
    yield* Effect.forkScoped(Effect.forever(session))
  })
)
