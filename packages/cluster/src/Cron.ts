import type { SqlClient } from "@effect/sql"
import { Cause, Clock, Context, Duration, Effect, Layer, type Scope } from "effect"
import { CronRepo } from "./CronRepo.ts"
import { NodeLease } from "./NodeLease.ts"

/** How often a node looks whether a job is due that another node may have left behind, or that failed. */
const lookEvery = Duration.seconds(30)

/** How long a node sleeps at most when nothing is due: timers know nothing of clocks that are set. */
const wakeEvery = Duration.hours(1)

/** A piece of work that is due again and again. */
export interface Job {
  /** Tells jobs apart; stays the same from release to release. */
  readonly name: string
  /** Time between two ticks, counted from the beginning of 1970 in UTC: with `1 day` each midnight. */
  readonly every: Duration.DurationInput
  /** How much later than that each tick is: `3 hours` makes a daily job one of three at night. None by default. */
  readonly at?: Duration.DurationInput
  /** How long the work may take; it is then interrupted, and tried again. An hour by default. */
  readonly within?: Duration.DurationInput
}

/**
 * Work that is done once per tick, on whichever node comes first (architecture §7). A tick is claimed by a row of the
 * database, so a node that joins or restarts does not repeat what was done. A tick that nobody was there for
 * is made up for, the newest only, as soon as a node starts. Work that fails, or whose node dies, is done again within half
 * a minute: it must bear being repeated. While it runs no later tick of the same job begins.
 */
export class Cron extends Context.Tag("@svc/cluster/Cron")<
  Cron,
  {
    /** From now on, until the scope closes, this node takes part in the job. */
    readonly schedule: (job: Job, work: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<Cron, never, NodeLease | SqlClient.SqlClient> = Layer.effect(
    Cron,
    Effect.gen(function* () {
      const repo = yield* CronRepo
      const lease = yield* NodeLease

      const schedule = ({ at = 0, every, name, within = "1 hour" }: Job, work: Effect.Effect<void>) => {
        const period = Duration.toMillis(every)
        const offset = Duration.toMillis(at)
        let doneUpTo = Number.NEGATIVE_INFINITY

        const run = Effect.fn("Cron.run")(function* (tick: number) {
          const { id, lost } = yield* lease.current
          const due = new Date(tick)
          const claim = yield* repo.claim(name, due, id)
          if (claim === "running") return
          if (claim === "ours") {
            // Another node begins anew when ours is taken for dead, so ours has to stop.
            yield* work.pipe(
              Effect.raceFirst(Effect.zipRight(lost, Effect.dieMessage("this node was taken for dead"))),
              Effect.timeoutFailCause({
                duration: within,
                onTimeout: () => Cause.die(new Cause.TimeoutException("too long"))
              }),
              Effect.onError(() => repo.release(name, due, id).pipe(Effect.timeout("5 seconds"), Effect.ignoreLogged))
            )
            yield* repo.finish(name, due, id)
          }
          doneUpTo = tick
        })

        /** Runs the newest tick that is due, and tells how long to wait before looking again. */
        const look = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const tick = Math.floor((now - offset) / period) * period + offset
          if (tick > doneUpTo) {
            yield* run(tick).pipe(
              Effect.catchAllCause((cause) => Effect.logError(`The job ${name} failed; again soon`, cause))
            )
          }
          return Duration.min(Duration.millis(tick + period - now), doneUpTo >= tick ? wakeEvery : lookEvery)
        })

        return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.flatMap(look, Effect.sleep))))
      }

      return { schedule }
    })
  ).pipe(Layer.provide(CronRepo.layer))
}
