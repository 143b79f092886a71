import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, Layer } from "effect"
import { KeyManagement } from "./KeyManagement.ts"
import { createdProjectKey, projectKey } from "./KeyWire.ts"
import { Projects } from "./Projects.ts"
import { toOrgProject } from "./ProjectWire.ts"

/** One set of handlers for both paths. */
const handlers = Effect.gen(function* () {
  const projects = yield* Projects
  const management = yield* KeyManagement

  const orgId = Effect.map(CurrentPrincipal, ({ org }) => org.id)
  const holderOf = (projectId: string) =>
    Effect.gen(function* () {
      const project = yield* projects.get(yield* orgId, projectId)
      return { kind: "project", org_id: project.org_id, project_id: project.id } as const
    })

  const both: Handlers.GroupHandlers<typeof VoiceApi, "orgProjects"> = {
    list: ({ urlParams }) =>
      Effect.map(
        Effect.flatMap(orgId, (org) => projects.list(org, urlParams)),
        (rows) => ({ projects: rows.map(toOrgProject), ...urlParams })
      ),
    create: ({ payload }) =>
      Effect.map(
        Effect.flatMap(orgId, (org) => projects.create(org, payload)),
        toOrgProject
      ),
    get: ({ path }) =>
      Effect.map(
        Effect.flatMap(orgId, (org) => projects.get(org, path.projectId)),
        toOrgProject
      ),
    remove: ({ path }) => Effect.flatMap(orgId, (org) => projects.remove(org, path.projectId)),
    listKeys: ({ path, urlParams }) =>
      Effect.map(
        Effect.flatMap(holderOf(path.projectId), (holder) => management.list(holder, urlParams)),
        (keys) => ({ api_keys: keys.map(projectKey), ...urlParams })
      ),
    createKey: ({ path, payload }) =>
      Effect.map(
        Effect.flatMap(holderOf(path.projectId), (holder) =>
          management.create({ ...holder, scope: payload.scope }, payload.name)
        ),
        createdProjectKey
      ),
    revokeKey: ({ path }) => Effect.flatMap(holderOf(path.projectId), (holder) => management.revoke(holder, path.keyId))
  }
  return both
})

/** Handlers of `/v1/org/projects` and `/v1/projects`. */
export const ProjectsHttp: Layer.Layer<never, never, Projects | KeyManagement | Handlers.HandlerRegistry> =
  Layer.mergeAll(Handlers.group(VoiceApi, "orgProjects", handlers), Handlers.group(VoiceApi, "projects", handlers))
