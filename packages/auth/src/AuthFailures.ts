import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { Clock, Config, type ConfigError, Context, Effect, Layer } from "effect"
import { AuthFailuresRepo, type CountedFailures } from "./AuthFailuresRepo.ts"

/** Length of an address's window in ms, from its first failure. */
const windowMillis = 15 * 60_000
/** Maximum number of addresses in memory; above it the one that failed longest ago is dropped. */
const capacity = 10_000
/** Maximum number of addresses written in one statement. */
const batchSize = 1_000

const shareInterval = "1 second"
const shareTimeout = "2 seconds"

/** Failures that one node counted in one window. */
interface Tally {
  failures: number
  /** End of the window, in ms. */
  until: number
}

interface AddressCounts {
  readonly own: Tally
  /** What other nodes counted, by node. */
  readonly others: Map<string, Tally>
}

/**
 * Failed authentications by client address: once an address has failed `SVC_LIMIT_AUTH_FAILURES` times (default 100)
 * within 15 minutes, all its requests are refused. The window is fixed and begins with the address's first failure;
 * each node has its own, and the sum over the running windows counts.
 *
 * Nodes share counts through the database: each writes its whole count of each address at most once a second, all
 * addresses in one statement, and reads those of other nodes while there are any. No failure is lost or counted twice
 * in the sum, which is at most a second old. Written counts survive a restart. While the database is unreachable each
 * node continues with the counts it has.
 */
export class AuthFailures extends Context.Tag("@svc/auth/AuthFailures")<
  AuthFailures,
  {
    /** Whole seconds that this address must wait, or undefined when it is not blocked. `now` in ms. */
    readonly blockedFor: (address: string, now: number) => number | undefined
    /**
     * Counts a failure. An address that is blocked by now is not counted: returns the whole seconds that it must wait,
     * which answer the request instead of the failure. So of many requests at once no more than the limit are told
     * that their key is wrong.
     */
    readonly record: (address: string, now: number) => number | undefined
    /** Number of addresses in memory. */
    readonly size: () => number
  }
>() {
  /** `SVC_LIMIT_AUTH_FAILURES` (100). */
  static readonly limit: Config.Config<number> = Config.string("SVC_LIMIT_AUTH_FAILURES").pipe(
    Config.validate({
      message: "must be a whole number from 1 to 999999999",
      validation: (text) => /^[1-9][0-9]{0,8}$/.test(text)
    }),
    Config.map(Number),
    Config.withDefault(100)
  )

  static readonly layer: Layer.Layer<AuthFailures, ConfigError.ConfigError, AuthFailuresRepo | NodeLease> =
    Layer.scoped(
      AuthFailures,
      Effect.gen(function* () {
        const limit = yield* AuthFailures.limit
        const repo = yield* AuthFailuresRepo
        const lease = yield* NodeLease
        const node = crypto.randomUUID()
        /** In the order of their last failures, the latest last. */
        const addresses = new Map<string, AddressCounts>()
        const unwritten = new Map<string, Tally>()
        let readUpTo = "-infinity"
        let cleanedAt = 0

        const countsOf = (address: string): AddressCounts => {
          const counts = addresses.get(address) ?? {
            own: { failures: 0, until: Number.NEGATIVE_INFINITY },
            others: new Map()
          }
          addresses.delete(address)
          addresses.set(address, counts)
          if (addresses.size > capacity) {
            const oldest = addresses.keys().next()
            if (oldest.done !== true) {
              addresses.delete(oldest.value)
              unwritten.delete(oldest.value)
            }
          }
          return counts
        }

        const blockedFor = (address: string, now: number): number | undefined => {
          const counts = addresses.get(address)
          if (counts === undefined) return undefined
          const running = [counts.own, ...counts.others.values()].filter(({ until }) => until > now)
          let sum = running.reduce((total, { failures }) => total + failures, 0)
          if (sum < limit) return undefined
          // An address that keeps trying is not evicted in favour of later ones.
          addresses.delete(address)
          addresses.set(address, counts)
          // Blocked until enough of the windows have ended.
          let until = now
          for (const tally of running.sort((a, b) => a.until - b.until)) {
            if (sum < limit) break
            sum -= tally.failures
            until = tally.until
          }
          return Math.ceil((until - now) / 1000)
        }

        const record = (address: string, now: number): number | undefined => {
          const wait = blockedFor(address, now)
          if (wait !== undefined) return wait
          const { own } = countsOf(address)
          if (own.until <= now) {
            own.failures = 0
            own.until = now + windowMillis
          }
          own.failures += 1
          unwritten.set(address, own)
          return undefined
        }

        /** Failures counted during the write stay unwritten, and all do when the write fails. */
        const write = Effect.suspend(() => {
          if (unwritten.size === 0) return Effect.void
          const batch: Array<CountedFailures> = []
          for (const [address, { failures, until }] of unwritten) {
            batch.push({ address, failures, until })
            if (batch.length === batchSize) break
          }
          return Effect.map(repo.write(node, batch), () => {
            for (const { address, failures, until } of batch) {
              const tally = unwritten.get(address)
              if (tally?.failures === failures && tally.until === until) unwritten.delete(address)
            }
          })
        })

        const read = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const rows = yield* repo.ofOthers(node, { since: readUpTo, now, limit: capacity })
          // Oldest first, so that the newest stay when there are too many.
          for (const row of rows.toReversed()) {
            countsOf(row.address).others.set(row.node, { failures: row.failures, until: row.until })
          }
          readUpTo = rows[0]?.changed_at ?? readUpTo
        })

        /** Once a minute: drops ended windows in memory and in the database. */
        const clean = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          if (now - cleanedAt < 60_000) return
          cleanedAt = now
          const before = addresses.size
          for (const [address, { others, own }] of addresses) {
            for (const [other, { until }] of others) if (until <= now) others.delete(other)
            if (own.until <= now && others.size === 0) addresses.delete(address)
          }
          if (before > 0) yield* repo.removeBefore(now)
        })

        const share = Effect.gen(function* () {
          yield* write
          if ((yield* lease.others) > 0) yield* read
          yield* clean
        })
        // Counts from before a restart, and those of other nodes.
        yield* Effect.orDie(read)
        yield* startPeriodicTask({
          every: shareInterval,
          timeout: shareTimeout,
          hasWork: Effect.map(lease.others, (others) => others > 0 || addresses.size > 0),
          run: share,
          failureMessage: "Counts of failed authentications cannot be shared with other nodes"
        })

        return { blockedFor, record, size: () => addresses.size }
      })
    )
}
