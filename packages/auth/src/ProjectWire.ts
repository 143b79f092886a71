import { type OrgProject, Project as WireProject } from "@svc/api/accounts/Project"
import { pick } from "@svc/api/EntityFields"
import { Struct } from "effect"
import type { Project } from "./Project.ts"

const wireKeys = Struct.keys(WireProject.fields)

/** A project in answers to its own keys. */
export const toProject = (project: Project): WireProject => {
  const [created_at, updated_at] = [project.created_at.toISOString(), project.updated_at.toISOString()]
  return pick({ ...project, id: project.public_id, created_at, updated_at }, wireKeys)
}

/** A project in answers to keys of its organization. */
export const toOrgProject = (project: Project): OrgProject => ({ ...toProject(project), internal_id: project.id })
