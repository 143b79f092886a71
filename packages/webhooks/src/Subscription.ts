import { Schema } from "effect"

/** A row of `webhooks`: who gets which events, and where (spec 2.7). */
export const Subscription = Schema.Struct({
  id: Schema.Number,
  org_id: Schema.Number,
  /** Whose it is: null is the organization's. */
  project_id: Schema.NullOr(Schema.Number),
  agent_id: Schema.NullOr(Schema.Number),
  url: Schema.String,
  /** Names of spec 2.4, or `*` for all. */
  events: Schema.Array(Schema.String),
  /** 64 hex characters; signs the deliveries. */
  secret: Schema.String,
  /** False when it was disabled: nothing is delivered then. */
  is_active: Schema.Boolean,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Subscription = typeof Subscription.Type
