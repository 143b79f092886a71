import { FilterAgents } from "@svc/webhooks/FilterAgents"
import { Effect, Layer, Option } from "effect"
import { AgentsRepo } from "./AgentsRepo.ts"

/** Agents as webhooks are limited to them. */
export const AgentsToFilter: Layer.Layer<FilterAgents, never, AgentsRepo> = Layer.effect(
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
