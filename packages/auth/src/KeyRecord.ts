import { KeyScope, WorkspaceScope } from "@svc/api/accounts/ApiKey"
import { Schema } from "effect"

/** A stored key of any kind, without the raw key. Project keys have a `scope`, workspace keys `scopes`. */
export const KeyRecord = Schema.Struct({
  id: Schema.Int,
  kind: Schema.Literal("org", "project", "workspace"),
  org_id: Schema.Int,
  project_id: Schema.NullOr(Schema.Int),
  name: Schema.String,
  scope: Schema.NullOr(KeyScope),
  scopes: Schema.NullOr(Schema.Array(WorkspaceScope)),
  /** Three dots and the last 8 characters. */
  key_hint: Schema.String,
  created_at: Schema.DateFromSelf,
  last_used_at: Schema.NullOr(Schema.DateFromSelf),
  expires_at: Schema.NullOr(Schema.DateFromSelf),
  revoked_at: Schema.NullOr(Schema.DateFromSelf)
})
export type KeyRecord = typeof KeyRecord.Type
