import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Agents } from "./Agents.ts"

/** Handlers of `/v1/agents`. */
export const AgentsHttp: Layer.Layer<never, never, Agents | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "agents",
  Effect.gen(function* () {
    const agents = yield* Agents
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => agents.list(project, urlParams)),
      create: ({ payload }) =>
        Effect.gen(function* () {
          const principal = yield* CurrentPrincipal
          const project = yield* CurrentProject
          return yield* agents.create({ ...principal, project }, payload)
        }),
      get: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(agents.get(project, path.agentId), (agent) => ({ agent }))
        )
    }
  })
)
