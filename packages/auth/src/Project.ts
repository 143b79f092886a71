import { ProjectFields } from "@svc/api/accounts/ProjectFields"
import { variant } from "@svc/api/EntityFields"

/** Separates environments or customers inside an organization. `id` is `internal_id` on the wire. */
export const Project = variant(ProjectFields, "row")
export type Project = typeof Project.Type

/** The columns of a new project. */
export const NewProject = variant(ProjectFields, "insert")
export type NewProject = Omit<typeof NewProject.Type, "public_id">

/** The columns of a project to change; absent ones stay. */
export const ProjectChange = variant(ProjectFields, "change")
export type ProjectChange = typeof ProjectChange.Type
