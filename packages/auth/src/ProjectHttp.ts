import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { KeyManagement } from "./KeyManagement.ts"
import { createdProjectKey, projectKey } from "./KeyWire.ts"
import { Projects } from "./Projects.ts"
import { toProject } from "./ProjectWire.ts"

/** Handlers of `/v1/project`. */
export const ProjectHttp: Layer.Layer<never, never, Projects | KeyManagement | Handlers.HandlerRegistry> =
  Handlers.group(
    VoiceApi,
    "project",
    Effect.gen(function* () {
      const projects = yield* Projects
      const management = yield* KeyManagement

      const currentHolder = Effect.gen(function* () {
        const { org } = yield* CurrentPrincipal
        const project = yield* CurrentProject
        return { kind: "project", org_id: org.id, project_id: project.id } as const
      })

      return {
        get: () =>
          Effect.map(
            Effect.flatMap(currentHolder, (holder) => projects.get(holder.org_id, String(holder.project_id))),
            toProject
          ),
        update: ({ payload }) =>
          Effect.map(
            Effect.flatMap(CurrentProject, ({ id }) => projects.update(id, payload)),
            toProject
          ),
        listKeys: ({ urlParams }) =>
          Effect.map(
            Effect.flatMap(currentHolder, (holder) => management.list(holder, urlParams)),
            (keys) => ({ api_keys: keys.map(projectKey), ...urlParams })
          ),
        createKey: ({ payload }) =>
          Effect.map(
            Effect.flatMap(currentHolder, (holder) =>
              management.create({ ...holder, scope: payload.scope }, payload.name)
            ),
            createdProjectKey
          ),
        revokeKey: ({ path }) =>
          Effect.gen(function* () {
            const { key_id, kind } = yield* CurrentPrincipal
            // An org key is not one of the project's keys.
            const holder = yield* currentHolder
            yield* kind === "project"
              ? management.revokeOther(holder, path.keyId, key_id)
              : management.revoke(holder, path.keyId)
          })
      }
    })
  )
