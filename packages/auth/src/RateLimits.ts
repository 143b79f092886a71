import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Clock, Context, Effect, Layer } from "effect"
import { type BucketCount, RateLimitsRepo } from "./RateLimitsRepo.ts"

const minuteMillis = 60_000

/** How nodes tell each other. A round that takes longer than this is given up; the next one tells the same again. */
const shareEvery = "1 second"
const shareTimeout = "2 seconds"

/** What a bucket has left in the minute that runs. */
export interface Allowance {
  /** False: the limit is reached, and the request was not counted. */
  readonly admitted: boolean
  /** Null: no limit. */
  readonly limit: number | null
  /** Requests that are left after this one. Null: no limit. */
  readonly remaining: number | null
  /** Unix second at which the window ends. */
  readonly resetAt: number
  /** Whole seconds until then, from 1 to 60. */
  readonly resetIn: number
}

interface Counter {
  /** Requests that this node let through. */
  own: number
  /** How much of that the others were told. */
  told: number
  /** What the others told us. */
  others: number
}

/**
 * Requests per minute, in fixed windows aligned to the minute of the nodes' clocks (decisions §2.4). A bucket is whatever
 * has a limit of its own: `voice:<org>`. Counting is a look-up in memory, and needs no database while this
 * node is alone. With others, each tells its counts and reads theirs once a second in one statement, so together they
 * let through at most what comes within that second beyond the limit. While the database is away each node
 * counts on by itself with what it last heard: limits fail open, never closed.
 *
 * Only requests that are let through count, so one that is refused takes nothing from the limit. Counters of a minute
 * that has passed are dropped: memory is bounded by the buckets that are used within a minute.
 */
export class RateLimits extends Context.Tag("@svc/auth/RateLimits")<
  RateLimits,
  {
    /** Counts a request of `bucket` at `now` (ms) unless `limit` is reached. A null limit counts nothing. */
    readonly consume: (bucket: string, limit: number | null, now: number) => Allowance
    /** The same without counting: for answers that tell the limits. `admitted` says whether `take` would let one through. */
    readonly peek: (bucket: string, limit: number | null, now: number) => Allowance
    /** How many counters are held. */
    readonly size: () => number
  }
>() {
  static readonly layer: Layer.Layer<RateLimits, never, RateLimitsRepo | NodeLease> = Layer.scoped(
    RateLimits,
    Effect.gen(function* () {
      const repo = yield* RateLimitsRepo
      const lease = yield* NodeLease
      const node = crypto.randomUUID()
      let minute = -1
      let counters = new Map<string, Counter>()
      let removedBefore = 0

      /** The counters of the minute that `now` is in; also when a clock was set back. */
      const countersAt = (now: number): Map<string, Counter> => {
        const current = Math.floor(now / minuteMillis)
        if (current !== minute) {
          minute = current
          counters = new Map()
        }
        return counters
      }

      const allowance = (now: number, limit: number | null, left: number, admitted: boolean): Allowance => {
        const end = (Math.floor(now / minuteMillis) + 1) * minuteMillis
        return {
          admitted,
          limit,
          remaining: limit === null ? null : Math.max(0, left),
          resetAt: end / 1000,
          resetIn: Math.ceil((end - now) / 1000)
        }
      }

      /** Tells and reads; what was counted meanwhile is told in the next round. */
      const exchange = (at: number, held: Map<string, Counter>) => {
        const counts: Array<BucketCount> = []
        for (const [bucket, { own, told }] of held) if (own > told) counts.push([bucket, own])
        return Effect.map(repo.exchange({ node, minute: at, counts, buckets: [...held.keys()] }), (others) => {
          for (const [bucket, own] of counts) {
            const counter = held.get(bucket)
            if (counter !== undefined) counter.told = own
          }
          for (const [bucket, requests] of others) {
            const counter = held.get(bucket)
            if (counter !== undefined) counter.others = requests
          }
        })
      }

      const share = Effect.gen(function* () {
        const held = countersAt(yield* Clock.currentTimeMillis)
        const at = minute
        if (held.size === 0 || (yield* lease.others) === 0) return
        yield* exchange(at, held)
        // The minute before may still be told by a node whose clock is late.
        if (removedBefore < at - 1) {
          yield* repo.removeBefore(at - 1)
          removedBefore = at - 1
        }
      })
      yield* startPeriodicTask({
        every: shareEvery,
        timeout: shareTimeout,
        run: share,
        failureMessage: "Rate limits are not shared with other nodes now; each counts by itself"
      })

      return {
        consume: (bucket, limit, now) => {
          if (limit === null) return allowance(now, null, 0, true)
          const held = countersAt(now)
          let counter = held.get(bucket)
          if (counter === undefined) {
            counter = { own: 0, told: 0, others: 0 }
            held.set(bucket, counter)
          }
          const left = limit - counter.own - counter.others
          if (left <= 0) return allowance(now, limit, 0, false)
          counter.own += 1
          return allowance(now, limit, left - 1, true)
        },
        peek: (bucket, limit, now) => {
          if (limit === null) return allowance(now, null, 0, true)
          const counter = countersAt(now).get(bucket)
          const left = counter === undefined ? limit : limit - counter.own - counter.others
          return allowance(now, limit, left, left > 0)
        },
        size: () => counters.size
      }
    })
  )
}
