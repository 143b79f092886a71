import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Deliveries, attempts and dead letters keep whom their webhook belonged to when the delivery was made: a project, or with
 * null the organization. Project keys see only what belongs to their project.
 *
 * Of earlier rows it is unknown whether the webhook belonged to another project before. They are given to the webhook's
 * project only where they are of an event of that project, or the project or an agent of it manages the webhook.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of ["webhook_deliveries", "webhook_attempts", "webhook_dead_letters"]) {
    yield* sql`alter table ${sql(table)} add column owner_project_id bigint`
    yield* sql`
      update ${sql(table)} d set owner_project_id = h.project_id from webhooks h
      where h.id = d.webhook_id and h.project_id is not null and (
        h.is_project_managed or h.is_agent_managed
        or exists (select 1 from events e where e.seq = d.event_seq and e.project_id = h.project_id)
      )`
  }
  // For the lists of project keys. Partial, so that rows of webhooks of the organization cost nothing.
  yield* sql`
    create index webhook_attempts_owner on webhook_attempts (webhook_id, owner_project_id, id)
    where owner_project_id is not null`
  yield* sql`
    create index webhook_dead_letters_owner on webhook_dead_letters (webhook_id, owner_project_id, id)
    where owner_project_id is not null`
})
