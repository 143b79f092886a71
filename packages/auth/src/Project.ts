import { ProjectId } from "@svc/api/Ids"
import { Schema } from "effect"

/** Separates environments or customers inside an organization. `id` is `internal_id` on the wire. */
export const Project = Schema.Struct({
  id: Schema.Int,
  public_id: ProjectId,
  org_id: Schema.Int,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Project = typeof Project.Type
