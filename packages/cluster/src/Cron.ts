import type { SqlClient } from "@effect/sql"
import { Cause, Clock, Context, Duration, Effect, Layer, type Scope } from "effect"
import { CronRepo } from "./CronRepo.ts"
import { NodeLease } from "./NodeLease.ts"

/** How often a node checks for a due job that failed or that another node may have left unfinished. */
const retryInterval = Duration.seconds(30)

/** Longest sleep when nothing is due, because timers do not notice that the clock was set. */
const maxSleep = Duration.hours(1)

/** A periodic job. */
export interface Job {
  /** Identifies the job; must not change between releases. */
  readonly name: string
  /** Time between two ticks, counted from 1970-01-01 UTC: `1 day` is each midnight. */
  readonly every: Duration.DurationInput
  /** Offset of each tick: with `3 hours` a daily job runs at 3:00 UTC. None by default. */
  readonly at?: Duration.DurationInput
  /** Timeout, after which the work is interrupted and retried. An hour by default. */
  readonly timeout?: Duration.DurationInput
}

/**
 * Runs a job once per tick, on the first node that claims it. The claim is a row in the database, so a node that joins
 * or restarts does not repeat a tick. Of the ticks missed while no node ran, the newest one is run when a node starts.
 * Work that fails, or whose node dies, is retried within 30 seconds, so it must be idempotent. A tick does not start
 * while an earlier one of the same job runs.
 */
export class Cron extends Context.Tag("@svc/cluster/Cron")<
  Cron,
  {
    /** Lets this node run the job until the scope closes. */
    readonly schedule: (job: Job, work: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<Cron, never, NodeLease | SqlClient.SqlClient> = Layer.effect(
    Cron,
    Effect.gen(function* () {
      const repo = yield* CronRepo
      const lease = yield* NodeLease

      const schedule = ({ at = 0, every, name, timeout = "1 hour" }: Job, work: Effect.Effect<void>) => {
        const period = Duration.toMillis(every)
        const offset = Duration.toMillis(at)
        let completedTick = Number.NEGATIVE_INFINITY

        const run = Effect.fn("Cron.run")(function* (tick: number) {
          const { id, lost } = yield* lease.current
          const due = new Date(tick)
          const claim = yield* repo.claim(name, due, id)
          if (claim === "running") return
          if (claim === "claimed") {
            // When this node loses its lease another one starts the work again, so it must stop here.
            yield* work.pipe(
              Effect.raceFirst(Effect.zipRight(lost, Effect.dieMessage("this node lost its lease"))),
              Effect.timeoutFailCause({
                duration: timeout,
                onTimeout: () => Cause.die(new Cause.TimeoutException("the job timed out"))
              }),
              Effect.onError(() => repo.release(name, due, id).pipe(Effect.timeout("5 seconds"), Effect.ignoreLogged))
            )
            yield* repo.finish(name, due, id)
          }
          completedTick = tick
        })

        /** Runs the newest due tick, and returns the time to wait before the next check. */
        const check = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const tick = Math.floor((now - offset) / period) * period + offset
          if (tick > completedTick) {
            yield* run(tick).pipe(
              Effect.catchAllCause((cause) => Effect.logError(`The job ${name} failed; trying again soon`, cause))
            )
          }
          return Duration.min(Duration.millis(tick + period - now), completedTick >= tick ? maxSleep : retryInterval)
        })

        return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.flatMap(check, Effect.sleep))))
      }

      return { schedule }
    })
  ).pipe(Layer.provide(CronRepo.layer))
}
