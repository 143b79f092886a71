import type { SqlClient } from "@effect/sql"
import { Database } from "@svc/database/Database"
import { Clock, Context, Deferred, Effect, Layer, Option, Ref, Schedule, type Scope } from "effect"
import { NodesRepo } from "./NodesRepo.ts"

/** Seconds after a heartbeat at which the lease ends. */
const leaseSeconds = 5
const beatInterval = "1 second"
/** After this a heartbeat is abandoned; the next may get a connection that works. */
const beatTimeout = "2 seconds"
/** Settling is a few statements; one that hangs must release its locks. */
const settleTimeout = "10 seconds"
/** Heartbeats further apart than this (milliseconds) have a gap between them. */
const gapMillis = 2_500
/** After a gap a node waits this long (milliseconds) before it settles others: they may have had the same gap. */
const settleDelayMillis = (leaseSeconds + 1) * 1_000
/**
 * After this long (milliseconds) without a heartbeat a node gives up its lease itself. Longer than the lease, so that a
 * failover of the database does not end all calls of all nodes.
 */
const maxSilenceMillis = 30_000

/** A period during which this process is known as a live node. */
export interface Lease {
  /** `node_…`; stored in the rows that belong to this node. */
  readonly id: string
  /**
   * Completes when the lease is lost: other nodes declared this one dead, or it has not reached the database for 30 s.
   * Another node settles what was begun under the lease, so it must end here. The node then gets a new lease.
   */
  readonly lost: Effect.Effect<void>
}

/** A registration under `name` that waits for a dead node; `due` completes when there is one. */
interface Waiting {
  readonly name: string
  readonly due: Deferred.Deferred<void>
}

/**
 * Detects dead nodes. Each node extends its lease, a row in the database, every second. A node whose lease ended 5
 * seconds after its last heartbeat is dead, and the first node that notices settles what it left behind.
 */
export class NodeLease extends Context.Tag("@svc/cluster/NodeLease")<
  NodeLease,
  {
    /** The current lease. Read it once for each piece of work, and end the work when the lease is lost. */
    readonly current: Effect.Effect<Lease>
    /**
     * Number of other live nodes at the last heartbeat. A new node is counted within a second; a killed one counts
     * until its lease ends.
     */
    readonly others: Effect.Effect<number>
    /**
     * Settles what dead nodes left behind, until the scope closes. `settle` gets the ids of their leases. It runs in a
     * database transaction that also marks them as settled: once per dead lease over all nodes, and again if it fails.
     * So it may write to the database, but not call other services. It also gets the ids of nodes that shut down; they
     * usually left nothing. `name` identifies the registration and must not change between releases. `afterwards` runs
     * on this node once the transaction is committed; it does not when the node dies before.
     */
    readonly onDeath: (
      name: string,
      settle: (ids: ReadonlyArray<string>) => Effect.Effect<void>,
      afterwards?: Effect.Effect<void>
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<NodeLease, never, Database | SqlClient.SqlClient> = Layer.scoped(
    NodeLease,
    Effect.gen(function* () {
      const repo = yield* NodesRepo
      const { exclusive } = yield* Database

      const begin = Effect.gen(function* () {
        const id = `node_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`
        yield* repo.begin(id, leaseSeconds)
        const isLost = yield* Deferred.make<void>()
        return { id, isLost, lost: Deferred.await(isLost) }
      })

      const currentLease = yield* Ref.make(yield* Effect.orDie(begin))
      const others = yield* Ref.make(0)
      const started = yield* Clock.currentTimeMillis
      // On a database that this process started no other node can be alive: their leftovers are settled at once.
      const beats = yield* Ref.make({ last: started, unbrokenSince: exclusive ? Number.NEGATIVE_INFINITY : started })
      if (exclusive) yield* Effect.orDie(Effect.flatMap(Ref.get(currentLease), ({ id }) => repo.expireOthers(id)))

      /** The registrations that wait for a dead node. One that settles at the moment is not among them. */
      const waiting = yield* Ref.make<ReadonlyArray<Waiting>>([])

      /** Whether this node's leases have gone on long enough to declare others dead. */
      const maySettle = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const { last, unbrokenSince } = yield* Ref.get(beats)
        return now - last <= gapMillis && now - unbrokenSince >= settleDelayMillis
      })

      // One query for all registrations, with the heartbeat: a dead node is rare.
      const beat = Effect.gen(function* () {
        const { isLost, id } = yield* Ref.get(currentLease)
        const registered = yield* Ref.get(waiting)
        const extended = yield* repo.extend(
          id,
          leaseSeconds,
          registered.map(({ name }) => name)
        )
        const now = yield* Clock.currentTimeMillis
        yield* Ref.update(beats, ({ last, unbrokenSince }) => ({
          last: now,
          unbrokenSince: now - last > gapMillis ? now : unbrokenSince
        }))
        if (Option.isSome(extended)) yield* Ref.set(others, extended.value.others)
        if (Option.isSome(extended) && !(yield* Deferred.isDone(isLost))) {
          const { unsettled } = extended.value
          if (unsettled.length === 0 || !(yield* maySettle)) return
          for (const { due, name } of registered) if (unsettled.includes(name)) yield* Deferred.succeed(due, undefined)
          return
        }
        yield* Effect.logWarning(`This node lost its lease (${id}): its calls end, and it continues as a new node`)
        yield* Deferred.succeed(isLost, undefined)
        yield* repo.expire(id)
        yield* Ref.set(currentLease, yield* begin)
      }).pipe(Effect.timeout(beatTimeout))

      const onMissedBeat = Effect.gen(function* () {
        const silence = (yield* Clock.currentTimeMillis) - (yield* Ref.get(beats)).last
        const { isLost, id } = yield* Ref.get(currentLease)
        if (silence <= maxSilenceMillis || !(yield* Deferred.succeed(isLost, undefined))) return
        yield* Effect.logError(
          `The database has not answered for ${Math.round(silence / 1_000)} s: the calls of ${id} end`
        )
      })

      // Registered first, so it runs last: the lease ends when nothing extends it any more.
      yield* Effect.addFinalizer(() =>
        Effect.flatMap(Ref.get(currentLease), ({ id }) => repo.expire(id)).pipe(
          Effect.interruptible,
          Effect.timeout(beatTimeout),
          Effect.ignore
        )
      )
      yield* beat.pipe(
        Effect.catchAll(() => onMissedBeat),
        Effect.repeat(Schedule.spaced(beatInterval)),
        Effect.forkScoped
      )

      // In turn: the transaction of one locks the rows of dead nodes, and the others would have to look again.
      const turn = yield* Effect.makeSemaphore(1)
      const settleDead = (
        name: string,
        settle: (ids: ReadonlyArray<string>) => Effect.Effect<void>,
        afterwards: Effect.Effect<void>
      ) =>
        Effect.gen(function* () {
          if (!(yield* maySettle)) return
          const { id } = yield* Ref.get(currentLease)
          const settled = yield* repo.settleDead(id, name, settle)
          if (settled.length === 0) return
          yield* Effect.logDebug(`Settled ${name} of ended nodes: ${settled.join(", ")}`)
          yield* afterwards
        }).pipe(
          Effect.timeout(settleTimeout),
          Effect.catchAllCause((cause) =>
            Effect.logWarning(`Settling ${name} of dead nodes failed; trying again`, cause)
          ),
          turn.withPermits(1)
        )

      const onDeath = Effect.fn("NodeLease.onDeath")(function* (
        name: string,
        settle: (ids: ReadonlyArray<string>) => Effect.Effect<void>,
        afterwards: Effect.Effect<void> = Effect.void
      ) {
        // Settles in this fiber, so that the look-up goes on for others.
        const awaitDeath = Effect.acquireUseRelease(
          Effect.tap(Deferred.make<void>(), (due) => Ref.update(waiting, (all) => [...all, { name, due }])),
          Deferred.await,
          (due) => Ref.update(waiting, (all) => all.filter((other) => other.due !== due))
        )
        yield* settleDead(name, settle, afterwards).pipe(Effect.zipRight(awaitDeath), Effect.forever, Effect.forkScoped)
      })

      const current = Effect.map(Ref.get(currentLease), ({ id, lost }): Lease => ({ id, lost }))
      return { current, others: Ref.get(others), onDeath }
    })
  ).pipe(Layer.provide(NodesRepo.layer))
}
