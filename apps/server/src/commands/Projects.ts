import { Administration } from "@svc/auth/Administration"
import type { Project } from "@svc/auth/Project"
import { toOrgProject } from "@svc/auth/ProjectWire"
import { Console, Effect, Redacted } from "effect"
import { CommandServices } from "./CommandServices.ts"
import { namesWhatIsNotFound } from "./NotFound.ts"
import { table } from "./Table.ts"

const row = (project: Project) => ({
  id: project.id,
  public_id: project.public_id,
  name: project.name,
  created_at: project.created_at.toISOString()
})

/** `svc project list --org <id>` */
export const list = (options: { readonly org: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const projects = yield* Effect.flatMap(Administration, (admin) => admin.projects(options.org))
    yield* Console.log(
      options.json ? JSON.stringify({ projects: projects.map(toOrgProject) }) : table(projects.map(row))
    )
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))

/** `svc project create <name> --org <id>`: prints the project's first key, which cannot be shown again. */
export const create = (options: { readonly name: string; readonly org: string; readonly json: boolean }) =>
  Effect.gen(function* () {
    const admin = yield* Administration
    const { key, project } = yield* admin.createProject(options.org, options.name)
    yield* Console.log(
      options.json
        ? JSON.stringify({ project: toOrgProject(project), key: Redacted.value(key) })
        : `Project ${project.public_id}. Its key; note it now, it is not shown again:\n\n  ${Redacted.value(key)}`
    )
  }).pipe(namesWhatIsNotFound({ org: options.org }), Effect.provide(CommandServices))
