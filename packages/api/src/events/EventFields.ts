import { Schema } from "effect"
import { AgentId, CallId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"

/** Fields that the data of many events share. */

/** When it happened; ISO 8601 in UTC. */
export const when = Timestamp.pipe(
  Schema.pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/, { message: () => "not an ISO 8601 time in UTC" })
)

/** The call and its agent; the agent is null when the call has none. */
export const call = { call_id: CallId, agent_id: Schema.NullOr(AgentId) }

/** The caller, when the number is known. */
export const from = { from: Schema.NullOr(Schema.String) }

/** Both numbers, as far as they are known. */
export const parties = { ...from, to: Schema.NullOr(Schema.String) }
