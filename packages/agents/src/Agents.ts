import type { Agent, AgentNotFound } from "@svc/api/agents/Agent"
import type { AgentCreate } from "@svc/api/agents/AgentsApi"
import type { AgentId } from "@svc/api/Ids"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import type { ValidationError } from "@svc/api/VoiceError"
import { Context, type Effect } from "effect"

/** What a call needs of its agent, as it is when the call starts. */
export interface CallAgent {
  readonly id: number
  readonly public_id: AgentId
  readonly org_id: number
  readonly project_id: number
  readonly name: string
  readonly language: string
  readonly voice: string
  /** Seconds, 60 to 7200. */
  readonly max_duration: number
  readonly recording: boolean
  readonly end_call_enabled: boolean
  readonly server_url: string
  /** 64 hex characters; signs the requests to `server_url` (decisions §3.2). */
  readonly server_secret: string
}

/** An agent as it was just made; the secret is not shown again. */
export interface CreatedAgent {
  readonly agent: Agent
  readonly server_secret: string
  readonly server_secret_note: string
}

/** Voice agents of a project (spec 2.4, 4.2; decisions §3). */
export class Agents extends Context.Tag("@svc/agents/Agents")<
  Agents,
  {
    /**
     * Newest first. `after`: public or numeric id of the last agent seen; one that the project does not have is a
     * validation error. `name`: part of the name, case-insensitive. `next_cursor` is null on the last page.
     */
    readonly list: (
      project: PrincipalProject,
      query: {
        readonly limit: number
        readonly after?: string | undefined
        readonly name?: string | undefined
      }
    ) => Effect.Effect<{ readonly agents: ReadonlyArray<Agent>; readonly next_cursor: string | null }, ValidationError>
    /** Makes an agent with a new server secret. A bad URL, voice or name is a validation error on that field. */
    readonly create: (owner: ProjectPrincipal, body: AgentCreate) => Effect.Effect<CreatedAgent, ValidationError>
    /** By public or numeric id; one of another project is not found. */
    readonly get: (project: PrincipalProject, id: string) => Effect.Effect<Agent, AgentNotFound>
    /** By numeric id, of any project: for the call engine, which knows it from the number that was dialled. */
    readonly forCall: (agentId: number) => Effect.Effect<CallAgent, AgentNotFound>
  }
>() {}
