import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Clock, Context, Effect, Layer } from "effect"
import { type BucketCount, RateLimitsRepo } from "./RateLimitsRepo.ts"

const minuteMillis = 60_000

/** How often nodes share counts. A round that exceeds the timeout is abandoned; the next one sends the same again. */
const shareInterval = "1 second"
const shareTimeout = "2 seconds"

/** The state of a bucket in the current minute. */
export interface Allowance {
  /** False: the limit is reached, and the request was not counted. */
  readonly admitted: boolean
  /** Null: no limit. */
  readonly limit: number | null
  /** Requests left after this one. Null: no limit. */
  readonly remaining: number | null
  /** Unix second at which the window ends. */
  readonly resetAt: number
  /** Whole seconds until then, from 1 to 60. */
  readonly resetIn: number
}

interface Counter {
  /** Requests admitted by this node. */
  own: number
  /** How many of those are written to the database. */
  written: number
  /** Requests admitted by other nodes, as last read. */
  others: number
}

/**
 * Requests per minute, in fixed windows aligned to the minute of the nodes' clocks. A bucket is a key with its own
 * limit, such as `voice:<org>`. Counting is a look-up in memory, and needs no database while this node is alone. With
 * other nodes, each writes its counts and reads theirs once a second in one statement, so together they exceed the
 * limit by at most the requests of that second. While the database is unreachable each node continues with the counts
 * it last read: limits fail open, never closed.
 *
 * Only admitted requests count: a refused one takes nothing from the limit. Counters of past minutes are dropped, so
 * memory is bounded by the buckets used within a minute.
 */
export class RateLimits extends Context.Tag("@svc/auth/RateLimits")<
  RateLimits,
  {
    /** Counts a request of `bucket` at `now` (ms) unless `limit` is reached. A null limit counts nothing. */
    readonly consume: (bucket: string, limit: number | null, now: number) => Allowance
    /**
     * The same without counting, for answers with limit headers. `admitted`: whether `consume` would admit a request.
     */
    readonly peek: (bucket: string, limit: number | null, now: number) => Allowance
    /** Number of counters in memory. */
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

      /** The counters of the minute of `now`, also after a clock was set back. */
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

      /** Writes and reads counts. Requests counted meanwhile are written in the next round. */
      const exchange = (at: number, bucketCounters: Map<string, Counter>) => {
        const counts: Array<BucketCount> = []
        for (const [bucket, { own, written }] of bucketCounters) if (own > written) counts.push([bucket, own])
        return Effect.map(
          repo.exchange({ node, minute: at, counts, buckets: [...bucketCounters.keys()] }),
          (others) => {
            for (const [bucket, own] of counts) {
              const counter = bucketCounters.get(bucket)
              if (counter !== undefined) counter.written = own
            }
            for (const [bucket, requests] of others) {
              const counter = bucketCounters.get(bucket)
              if (counter !== undefined) counter.others = requests
            }
          }
        )
      }

      const share = Effect.gen(function* () {
        const bucketCounters = countersAt(yield* Clock.currentTimeMillis)
        const at = minute
        if (bucketCounters.size === 0 || (yield* lease.others) === 0) return
        yield* exchange(at, bucketCounters)
        // The previous minute may still be written by a node whose clock is late.
        if (removedBefore < at - 1) {
          yield* repo.removeBefore(at - 1)
          removedBefore = at - 1
        }
      })
      yield* startPeriodicTask({
        every: shareInterval,
        timeout: shareTimeout,
        hasWork: Effect.sync(() => counters.size > 0),
        run: share,
        failureMessage:
          "Request counts cannot be shared with other nodes; each node enforces rate limits with its own counts"
      })

      return {
        consume: (bucket, limit, now) => {
          if (limit === null) return allowance(now, null, 0, true)
          const bucketCounters = countersAt(now)
          let counter = bucketCounters.get(bucket)
          if (counter === undefined) {
            counter = { own: 0, written: 0, others: 0 }
            bucketCounters.set(bucket, counter)
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
