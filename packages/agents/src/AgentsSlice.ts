import type { SqlClient } from "@effect/sql"
import type { HandlerRegistry } from "@svc/api/Handlers"
import type { RouteRegistry } from "@svc/api/PlainRoutes"
import { Projects } from "@svc/auth/Projects"
import type { Providers } from "@svc/providers/Providers"
import type { PublicUrl } from "@svc/urls/PublicUrl"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import { AgentWebhooks } from "@svc/webhooks/AgentWebhooks"
import { FilterAgents } from "@svc/webhooks/FilterAgents"
import { Effect, Layer, Option } from "effect"
import { Agents } from "./Agents.ts"
import { AgentsHttp } from "./AgentsHttp.ts"
import { AgentsRepo } from "./AgentsRepo.ts"
import { AuditLogRepo } from "./AuditLogRepo.ts"
import { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import { VoicePreviews } from "./VoicePreviews.ts"
import { Voices } from "./Voices.ts"
import { VoicesHttp } from "./VoicesHttp.ts"

/**
 * Deletes the agents of a deleted project, and their webhooks, in the same transaction. Agents first: from then on no
 * other transaction can change one of them and give it a webhook.
 */
const deleteWithProject: Layer.Layer<never, never, Projects | AgentsRepo | AgentWebhooks> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const projects = yield* Projects
    const repo = yield* AgentsRepo
    const agentWebhooks = yield* AgentWebhooks
    yield* projects.onDelete("agents", (project) =>
      Effect.zipRight(repo.deleteAll(project.id), agentWebhooks.removeAllOfProject(project.id))
    )
  })
)

/** The port through which webhooks, which this slice imports, find the agents that they are limited to. */
const filterAgents: Layer.Layer<FilterAgents, never, AgentsRepo> = Layer.effect(
  FilterAgents,
  Effect.map(AgentsRepo, (repo) => ({
    find: ({ org_id, project_id }, agentId) =>
      Effect.map(
        repo.findById(agentId),
        Option.filterMap((row) =>
          row.org_id === org_id && (project_id === null || row.project_id === project_id)
            ? Option.some(row.public_id)
            : Option.none()
        )
      )
  }))
)

/** Agents and voices, with the repository that tests read. */
export const services: Layer.Layer<
  Agents | FilterAgents | Voices | AgentsRepo,
  never,
  Projects | Providers | AgentWebhooks | UrlSafety | SqlClient.SqlClient
> = Layer.mergeAll(Agents.layer, filterAgents, deleteWithProject).pipe(
  Layer.provideMerge(Layer.merge(AgentsRepo.layer, Voices.layer)),
  Layer.provide(Layer.merge(AuditLogRepo.layer, KnowledgeBasesRepo.layer))
)

/**
 * The slice in a server: {@link services}, voice previews and the handlers. Tests replace nothing of it.
 * `AgentWebhooks` comes from `WebhooksSlice.agentWebhooks`. Provide this below the numbers slice: a deletion of a
 * project locks its agents before its numbers, as the deletion of an agent does.
 */
export const layer: Layer.Layer<
  Agents | FilterAgents | VoicePreviews | Voices,
  never,
  (HandlerRegistry | Projects | Providers | PublicUrl | RouteRegistry | AgentWebhooks | UrlSafety) | SqlClient.SqlClient
> = Layer.mergeAll(AgentsHttp, VoicesHttp).pipe(Layer.provideMerge(VoicePreviews.layer), Layer.provideMerge(services))
