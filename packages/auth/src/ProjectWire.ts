import type { OrgProject, Project as WireProject } from "@svc/api/accounts/Project"
import type { Project } from "./Project.ts"

/** A project in answers to its own keys. */
export const toProject = (project: Project): WireProject => ({
  id: project.public_id,
  name: project.name,
  description: project.description,
  created_at: project.created_at.toISOString(),
  updated_at: project.updated_at.toISOString()
})

/** A project in answers to keys of its organization. */
export const toOrgProject = (project: Project): OrgProject => ({ ...toProject(project), internal_id: project.id })
