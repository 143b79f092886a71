import { ProjectId } from "@svc/api/Ids"
import { Schema } from "effect"

/** What separates environments or customers inside an organization (spec 2.2). `id` is spec's `internal_id`. */
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
