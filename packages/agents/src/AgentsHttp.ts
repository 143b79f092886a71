import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal, CurrentProject, type ProjectPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { Agents } from "./Agents.ts"

/** The principal of a change. */
const currentOwner: Effect.Effect<ProjectPrincipal, never, CurrentPrincipal | CurrentProject> = Effect.gen(
  function* () {
    const principal = yield* CurrentPrincipal
    return { ...principal, project: yield* CurrentProject }
  }
)

/** Handlers of `/v1/agents`. */
export const AgentsHttp: Layer.Layer<never, never, Agents | Handlers.HandlerRegistry> = Handlers.group(
  VoiceApi,
  "agents",
  Effect.gen(function* () {
    const agents = yield* Agents
    return {
      list: ({ urlParams }) => Effect.flatMap(CurrentProject, (project) => agents.list(project, urlParams)),
      create: ({ payload }) => Effect.flatMap(currentOwner, (owner) => agents.create(owner, payload)),
      get: ({ path }) =>
        Effect.flatMap(CurrentProject, (project) =>
          Effect.map(agents.get(project, path.agentId), (agent) => ({ agent }))
        ),
      update: ({ path, payload }) =>
        Effect.flatMap(currentOwner, (owner) =>
          Effect.map(agents.update(owner, path.agentId, payload), (agent) => ({ agent }))
        ),
      remove: ({ path }) =>
        Effect.flatMap(currentOwner, (owner) =>
          Effect.map(agents.remove(owner, path.agentId), (agent_id) => ({ deleted: true as const, agent_id }))
        ),
      clone: ({ path, payload }) => Effect.flatMap(currentOwner, (owner) => agents.clone(owner, path.agentId, payload)),
      rotateWebhookSecret: ({ path }) =>
        Effect.flatMap(currentOwner, (owner) => agents.rotateWebhookSecret(owner, path.agentId)),
      rotateServerSecret: ({ path }) =>
        Effect.flatMap(currentOwner, (owner) => agents.rotateServerSecret(owner, path.agentId)),
      auditLog: ({ path, urlParams }) =>
        Effect.flatMap(CurrentProject, (project) => agents.auditLog(project, path.agentId, urlParams))
    }
  })
)
