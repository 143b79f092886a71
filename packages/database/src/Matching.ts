import type { SqlClient, Statement } from "@effect/sql"

/**
 * Whether the webhook `h` gets the event `e` (spec 6.1), both being names of a statement. A filter is no match for an event
 * that has no project, or no agent: so events of booking customers go to the organization's webhooks only, and those of
 * knowledge bases and addresses never to agents. The latter is said again, whatever agent such an event should name.
 */
export const matches = (sql: SqlClient.SqlClient): Statement.Fragment => sql`(
  h.org_id = e.org_id
  and (h.project_id is null or h.project_id = e.project_id)
  and (h.agent_id is null or h.agent_public_id = e.agent_id)
  and (e.event = any(h.events) or '*' = any(h.events))
  and not (h.is_agent_managed and e.event ~ '^(knowledge_base|address|booking_customer)[.]')
  and not (h.is_project_managed and e.event ~ '^booking_customer[.]')
)`
