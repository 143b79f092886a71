import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Jobs that one node runs per tick. See Cron of the cluster package. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table cron_jobs (
      job text primary key,
      tick timestamptz not null,
      node text not null,
      started_at timestamptz not null default now(),
      finished_at timestamptz
    )`
})
