import { Schema } from "effect"
import { ProjectId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"
import { Name } from "./Name.ts"

/** A project as its own keys see it. */
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

// The rules stand around the union: inside, their messages would be lost among those of its members.
const Description = Schema.NullOr(Schema.String).pipe(
  Schema.filter((text) => text === null || text.length <= 2000, {
    message: () => "description must not exceed 2000 characters",
    jsonSchema: { maxLength: 2000 }
  }),
  Schema.filter((text) => text === null || !text.includes("\u0000"), {
    message: () => "description must not contain NUL characters"
  })
)

/** Body of `POST /v1/org/projects`. */
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
