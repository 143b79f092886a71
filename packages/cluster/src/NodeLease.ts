import type { SqlClient } from "@effect/sql"
import { Database } from "@svc/database/Database"
import { Clock, Context, Deferred, Effect, Layer, Option, Ref, Schedule, type Scope } from "effect"
import { NodesRepo } from "./NodesRepo.ts"

/** Seconds for which a lease is good after each beat. */
const leaseSeconds = 5
const beatEvery = "1 second"
/** No beat takes longer; the next may find a connection that works. */
const beatTimeout = "2 seconds"
/** Settling is a few statements; one that hangs gives its locks back. */
const settleTimeout = "10 seconds"
/** Two beats further apart than this (milliseconds) are a gap. */
const gapMillis = 2_500
/** After a gap of our own this long (milliseconds) passes before we call others dead: they had the same gap. */
const settledMillis = (leaseSeconds + 1) * 1_000
/**
 * After this long (milliseconds) without a beat we count as lost although nobody told us. Longer than the lease, so that
 * the failover of a database does not hang up every call of every node.
 */
const blindMillis = 30_000

/** A time during which this process is known as a live node. */
export interface Lease {
  /** `node_…`; goes into the rows that this node answers for. */
  readonly id: string
  /**
   * Completes when the lease is lost: the others took us for dead, or we have not reached the database for 30 s. What
   * was begun under it is (or will be) settled by another node, and must end here. A new lease follows by itself.
   */
  readonly lost: Effect.Effect<void>
}

/**
 * Whether this process is alive in the eyes of the others, and whether they are in ours (architecture §7). Each server
 * process extends its row in the database every second; one that has not for 5 seconds is dead, and what it left
 * behind is settled by whichever node notices first.
 */
export class NodeLease extends Context.Tag("@svc/cluster/NodeLease")<
  NodeLease,
  {
    /** The lease that holds now: take it once for each piece of work, and end the work when it is lost. */
    readonly current: Effect.Effect<Lease>
    /**
     * How many other nodes are alive, as of our last beat: 0 tells that what nodes share need not be shared now. A node
     * that has just come is seen within a second, one that died without a word counts until its lease ends.
     */
    readonly others: Effect.Effect<number>
    /**
     * From now on, until the scope closes, settles what dead nodes left behind. `settle` gets the ids of leases and runs
     * inside a database transaction, which also notes that it was done: once for each dead lease over all nodes, and
     * again should it fail. So it may write to the database and must not call anybody else. Ids of nodes
     * that ended in good order come too; they have usually left nothing. Registrations are told apart by `name`,
     * which stays the same from release to release.
     */
    readonly onDeath: (
      name: string,
      settle: (ids: ReadonlyArray<string>) => Effect.Effect<void>
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
        const gone = yield* Deferred.make<void>()
        return { id, gone, lost: Deferred.await(gone) }
      })

      const held = yield* Ref.make(yield* Effect.orDie(begin))
      const others = yield* Ref.make(0)
      const started = yield* Clock.currentTimeMillis
      // Nobody else can be alive on a database that this process itself started: what was left behind is settled at once.
      const beats = yield* Ref.make({ last: started, unbrokenSince: exclusive ? Number.NEGATIVE_INFINITY : started })
      if (exclusive) yield* Effect.orDie(Effect.flatMap(Ref.get(held), ({ id }) => repo.expireOthers(id)))

      const beat = Effect.gen(function* () {
        const { gone, id } = yield* Ref.get(held)
        const extended = yield* repo.extend(id, leaseSeconds)
        const now = yield* Clock.currentTimeMillis
        yield* Ref.update(beats, ({ last, unbrokenSince }) => ({
          last: now,
          unbrokenSince: now - last > gapMillis ? now : unbrokenSince
        }))
        if (Option.isSome(extended)) yield* Ref.set(others, extended.value)
        if (Option.isSome(extended) && !(yield* Deferred.isDone(gone))) return
        yield* Effect.logWarning(`This node was taken for dead (${id}): its calls end, and it goes on as a new node`)
        yield* Deferred.succeed(gone, undefined)
        yield* repo.expire(id)
        yield* Ref.set(held, yield* begin)
      }).pipe(Effect.timeout(beatTimeout))

      const missed = Effect.gen(function* () {
        const silence = (yield* Clock.currentTimeMillis) - (yield* Ref.get(beats)).last
        const { gone, id } = yield* Ref.get(held)
        if (silence <= blindMillis || !(yield* Deferred.succeed(gone, undefined))) return
        yield* Effect.logError(`The database is away for ${Math.round(silence / 1_000)} s: the calls of ${id} end`)
      })

      // First registered, last run: the lease is given back when nothing extends it any more.
      yield* Effect.addFinalizer(() =>
        Effect.flatMap(Ref.get(held), ({ id }) => repo.expire(id)).pipe(
          Effect.interruptible,
          Effect.timeout(beatTimeout),
          Effect.ignore
        )
      )
      yield* beat.pipe(
        Effect.catchAll(() => missed),
        Effect.repeat(Schedule.spaced(beatEvery)),
        Effect.forkScoped
      )

      const onDeath = Effect.fn("NodeLease.onDeath")(function* (
        name: string,
        settle: (ids: ReadonlyArray<string>) => Effect.Effect<void>
      ) {
        const settleDead = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const { last, unbrokenSince } = yield* Ref.get(beats)
          if (now - last > gapMillis || now - unbrokenSince < settledMillis) return
          const { id } = yield* Ref.get(held)
          const settled = yield* repo.settleDead(id, name, settle)
          if (settled.length > 0) yield* Effect.logDebug(`Settled ${name} of ended nodes: ${settled.join(", ")}`)
        })
        yield* settleDead.pipe(
          Effect.timeout(settleTimeout),
          Effect.catchAllCause((cause) =>
            Effect.logWarning(`Settling ${name} of dead nodes failed; again soon`, cause)
          ),
          Effect.repeat(Schedule.spaced(beatEvery)),
          Effect.forkScoped
        )
      })

      const current = Effect.map(Ref.get(held), ({ id, lost }): Lease => ({ id, lost }))
      return { current, others: Ref.get(others), onDeath }
    })
  ).pipe(Layer.provide(NodesRepo.layer))
}
