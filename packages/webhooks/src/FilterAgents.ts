import type { AgentId } from "@svc/api/Ids"
import { Context, type Effect, type Option } from "effect"

/**
 * The agents that a webhook can be limited to. What webhooks need of agents, who stand above them and give them this: see
 * AgentsToFilter in the agents package.
 */
export class FilterAgents extends Context.Tag("@svc/webhooks/FilterAgents")<
  FilterAgents,
  {
    /** The public id of an agent that is not deleted, of this organization and, when it is given, of this project. */
    readonly find: (
      owner: { readonly org_id: number; readonly project_id: number | null },
      agentId: number
    ) => Effect.Effect<Option.Option<AgentId>>
  }
>() {}
