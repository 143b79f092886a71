import { Schema } from "effect"

/** Where a call to one of our numbers goes. */
export const NumberRoute = Schema.Struct({
  id: Schema.Int,
  /** E.164. */
  number: Schema.String,
  org_id: Schema.Int,
  project_id: Schema.Int,
  /** Numeric id of the agent that answers; null when none is assigned. */
  agent_id: Schema.NullOr(Schema.Int)
})
export type NumberRoute = typeof NumberRoute.Type
