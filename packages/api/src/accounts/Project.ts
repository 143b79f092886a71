import { Schema } from "effect"
import { variant } from "../EntityFields.ts"
import { ProjectFields } from "./ProjectFields.ts"

/** A project as its own keys see it. */
export const Project = variant(ProjectFields, "wire").annotations({ identifier: "Project" })
export type Project = typeof Project.Type

/** A project as its organization sees it: with its numeric id. */
export const OrgProject = Schema.Struct({ ...Project.fields, internal_id: Schema.Int }).annotations({
  identifier: "OrgProject"
})
export type OrgProject = typeof OrgProject.Type

/** Body of `POST /v1/org/projects`. */
export const ProjectCreate = variant(ProjectFields, "create").annotations({ identifier: "ProjectCreate" })
export type ProjectCreate = typeof ProjectCreate.Type

/** Body of `PATCH /v1/project`; null removes the description. */
export const ProjectUpdate = variant(ProjectFields, "update").annotations({ identifier: "ProjectUpdate" })
export type ProjectUpdate = typeof ProjectUpdate.Type
