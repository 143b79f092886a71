import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"

/** The result of claiming a tick: claimed by this node, running on another one, or done. */
export type Claim = "claimed" | "running" | "done"

/** Table `cron_jobs`: a row per job, with the newest tick that was claimed. */
export class CronRepo extends Context.Tag("@svc/cluster/CronRepo")<
  CronRepo,
  {
    /**
     * Claims a tick for this node, unless another node runs the job or the tick was done. Takes over a tick that a dead
     * node left unfinished.
     */
    readonly claim: (job: string, tick: Date, node: string) => Effect.Effect<Claim>
    /** Marks the tick as done, if this node still has the claim. */
    readonly finish: (job: string, tick: Date, node: string) => Effect.Effect<void>
    /** Releases the claim of a tick that failed. */
    readonly release: (job: string, tick: Date, node: string) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<CronRepo, never, SqlClient.SqlClient> = Layer.effect(
    CronRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isClaimedBy = (job: string, tick: Date, node: string) =>
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
          if (taken.length > 0) return "claimed"
          const done = yield* sql`select 1 from cron_jobs where job = ${job} and finished_at is not null`
          return done.length > 0 ? "done" : "running"
        }, Effect.orDie),
        finish: (job, tick, node) =>
          sql`update cron_jobs set finished_at = now() where ${isClaimedBy(job, tick, node)}`.pipe(
            Effect.asVoid,
            Effect.orDie
          ),
        release: (job, tick, node) =>
          sql`delete from cron_jobs where ${isClaimedBy(job, tick, node)}`.pipe(Effect.asVoid, Effect.orDie)
      }
    })
  )
}
