import { Schema } from "effect"
import { ProjectId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"
import { Label, Name } from "./Label.ts"

/** A project as its own keys see it (spec 2.2). */
export const Project = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Project" })
export type Project = typeof Project.Type

/** A project as its organization sees it: with its numeric id. */
export const OrgProject = Schema.Struct({ ...Project.fields, internal_id: Schema.Int }).annotations({
  identifier: "OrgProject"
})
export type OrgProject = typeof OrgProject.Type

const Description = Schema.NullOr(Label("description", 2000))

/** Body that makes a project (spec 4.1). */
export const ProjectCreate = Schema.Struct({
  name: Name("name is required."),
  description: Schema.optionalWith(Description, { default: () => null })
}).annotations({ identifier: "ProjectCreate" })
export type ProjectCreate = typeof ProjectCreate.Type

/** Body of `PATCH /v1/project`; null removes the description. */
export const ProjectUpdate = Schema.Struct({
  name: Schema.optional(Name("name must not be empty")),
  description: Schema.optional(Description)
}).annotations({ identifier: "ProjectUpdate" })
export type ProjectUpdate = typeof ProjectUpdate.Type
