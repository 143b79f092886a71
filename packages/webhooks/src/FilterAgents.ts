import type { AgentId } from "@svc/api/Ids"
import { Context, type Effect, type Option } from "effect"

/**
 * Port: looks up the agents that a webhook can be limited to. Implemented by AgentsToFilter in the agents package, which
 * depends on this one.
 */
export class FilterAgents extends Context.Tag("@svc/webhooks/FilterAgents")<
  FilterAgents,
  {
    /** The public id of an existing agent of this organization and, unless it is null, of this project. */
    readonly find: (
      owner: { readonly org_id: number; readonly project_id: number | null },
      agentId: number
    ) => Effect.Effect<Option.Option<AgentId>>
  }
>() {}
