import type { SqlClient, Statement } from "@effect/sql"

/**
 * SQL condition: webhook `h` gets event `e`, both being aliases in the statement. A webhook that is limited to a project or an
 * agent gets no event without one. So events of booking customers reach only webhooks of the organization, and events of
 * knowledge bases and addresses never reach agents; the last two lines enforce that even if such an event had an agent.
 */
export const matches = (sql: SqlClient.SqlClient): Statement.Fragment => sql`(
  h.org_id = e.org_id
  and (h.project_id is null or h.project_id = e.project_id)
  and (h.agent_id is null or h.agent_public_id = e.agent_id)
  and (e.event = any(h.events) or '*' = any(h.events))
  and not (h.is_agent_managed and e.event ~ '^(knowledge_base|address|booking_customer)[.]')
  and not (h.is_project_managed and e.event ~ '^booking_customer[.]')
)`

/**
 * SQL condition: webhook `h` may be sent event `e`, for which a delivery was made before. A webhook that was limited to a
 * project since gets no other project's events any more: keys of its project can change its URL.
 */
export const mayReceive = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`coalesce(h.project_id = e.project_id, h.project_id is null)`
