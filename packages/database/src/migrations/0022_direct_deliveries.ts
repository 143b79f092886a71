import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Deliveries are now made in the statement that writes their event, so the table `outbox` is dropped, after deliveries were
 * made of its last events. The indexes on event id and call are unused.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into webhook_deliveries (webhook_id, event_seq, event_id, event, org_id, call_id, next_at)
    select h.id, e.seq, e.id, e.event, e.org_id, e.call_id, now()
    from outbox o join events e on e.seq = o.seq
    join webhooks h on h.org_id = e.org_id and h.is_active
    where (h.project_id is null or h.project_id = e.project_id)
      and (h.agent_id is null or h.agent_public_id = e.agent_id)
      and (e.event = any(h.events) or '*' = any(h.events))
      and not (h.is_agent_managed and e.event ~ '^(knowledge_base|address|booking_customer)[.]')
      and not (h.is_project_managed and e.event ~ '^booking_customer[.]')
    order by e.seq, h.id`
  yield* sql`drop table outbox`
  yield* sql`alter table events drop constraint events_id_key`
  yield* sql`drop index events_call`
})
