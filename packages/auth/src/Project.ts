import { Project as WireProject } from "@svc/api/accounts/Project"
import { ProjectId } from "@svc/api/Ids"
import { Schema } from "effect"

/** Separates environments or customers inside an organization. `id` is `internal_id` on the wire. */
export const Project = Schema.Struct({
  ...WireProject.fields,
  id: Schema.Int,
  public_id: ProjectId,
  org_id: Schema.Int,
  created_at: Schema.DateFromSelf,
  updated_at: Schema.DateFromSelf
})
export type Project = typeof Project.Type
