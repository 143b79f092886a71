import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"

/** What became of a wish to run a job's tick: it is ours, another node runs it, or it has been run. */
export type Claim = "ours" | "running" | "done"

/** The table of periodic jobs: one row each, with the newest tick that a node took. */
export class CronRepo extends Context.Tag("@svc/cluster/CronRepo")<
  CronRepo,
  {
    /**
     * Takes a tick for this node, unless a node has it or has run it. One that a node left unfinished when it died is
     * taken over; one that still runs keeps later ticks waiting.
     */
    readonly claim: (job: string, tick: Date, node: string) => Effect.Effect<Claim>
    /** Notes that this node has run the tick; nothing when it is not its any more. */
    readonly finish: (job: string, tick: Date, node: string) => Effect.Effect<void>
    /** Gives a tick back that this node could not run. */
    readonly release: (job: string, tick: Date, node: string) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<CronRepo, never, SqlClient.SqlClient> = Layer.effect(
    CronRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const held = (job: string, tick: Date, node: string) =>
        sql`job = ${job} and tick = ${tick} and node = ${node} and finished_at is null`

      return {
        claim: Effect.fn("CronRepo.claim")(function* (job: string, tick: Date, node: string) {
          const taken = yield* sql`
            insert into cron_jobs as known (job, tick, node) values (${job}, ${tick}, ${node})
            on conflict (job) do update
            set tick = excluded.tick, node = excluded.node, started_at = now(), finished_at = null
            where case
              when known.finished_at is null then not exists (
                select 1 from nodes where id = known.node and dead_at is null and expires_at > now()
              )
              else known.tick < excluded.tick
            end
            returning 1`
          if (taken.length > 0) return "ours"
          const done = yield* sql`select 1 from cron_jobs where job = ${job} and finished_at is not null`
          return done.length > 0 ? "done" : "running"
        }, Effect.orDie),
        finish: (job, tick, node) =>
          sql`update cron_jobs set finished_at = now() where ${held(job, tick, node)}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        release: (job, tick, node) =>
          sql`delete from cron_jobs where ${held(job, tick, node)}`.pipe(Effect.asVoid, Effect.orDie)
      }
    })
  )
}
