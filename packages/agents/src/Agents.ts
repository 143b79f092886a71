import type { SqlClient } from "@effect/sql"
import { type Agent, type AgentHasActiveCalls, AgentNotFound, type WebhookUrlRequired } from "@svc/api/agents/Agent"
import type { AgentClone, AgentCreate, AgentUpdate } from "@svc/api/agents/AgentBody"
import type { NewAgent } from "@svc/api/agents/AgentsApi"
import type { AuditLogPage, AuditLogQuery } from "@svc/api/agents/AuditLog"
import type { AgentId } from "@svc/api/Ids"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { type BadRequest, ValidationError } from "@svc/api/VoiceError"
import type { UrlSafety } from "@svc/urls/UrlSafety"
import type { AgentWebhooks } from "@svc/webhooks/AgentWebhooks"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import { agentChanges } from "./AgentChanges.ts"
import { agentHooks } from "./AgentHooks.ts"
import { agentStates, toAgent } from "./AgentState.ts"
import { type AgentRow, AgentsRepo } from "./AgentsRepo.ts"
import { AuditLogRepo } from "./AuditLogRepo.ts"
import type { KnowledgeBasesRepo } from "./KnowledgeBasesRepo.ts"
import type { Voices } from "./Voices.ts"

/** The agent of a call, as of the start of the call. `server_secret` signs the requests to `server_url`. */
export type CallAgent = Omit<AgentRow, "has_webhook" | "created_at" | "updated_at">

/**
 * Voice agents of a project. Each change is one transaction with its entry in the
 * audit log. Agents are named by public or numeric id; one of another project is not found.
 *
 * Effects of a deletion:
 *
 * | resource | effect |
 * |---|---|
 * | live calls | the deletion is refused; a call that arrives during a deletion is rejected |
 * | phone numbers | stay, without an agent |
 * | knowledge bases | stay, unlinked |
 * | webhook | removed, with its secret |
 * | audit log | gets a last entry, and stays readable |
 * | call records, usage | stay |
 */
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
    readonly get: (project: PrincipalProject, id: string) => Effect.Effect<Agent, AgentNotFound>
    /** Creates an agent with a new server secret, and a webhook with a new secret when there is a `webhook_url`. */
    readonly create: (owner: ProjectPrincipal, body: AgentCreate) => Effect.Effect<NewAgent, ValidationError>
    /**
     * Changes the given fields. A change without a difference writes nothing. The voice is checked against the language
     * as of after the change. `managedWebhookChange` decides about the webhook.
     */
    readonly update: (
      owner: ProjectPrincipal,
      id: string,
      body: AgentUpdate
    ) => Effect.Effect<Agent, AgentNotFound | ValidationError | BadRequest>
    /** Deletes the agent (soft); see above. Of concurrent deletions one succeeds. Returns the public id. */
    readonly remove: (
      owner: ProjectPrincipal,
      id: string
    ) => Effect.Effect<AgentId, AgentNotFound | AgentHasActiveCalls>
    /**
     * A new agent with the source's configuration, knowledge bases and webhook, and its own secrets. The
     * name, when none is given, is `Copy of ` and the source's, cut to 200 characters. Its log begins with `cloned`,
     * with the source's public id as `cloned_from`; the source's log gets no entry.
     */
    readonly clone: (
      owner: ProjectPrincipal,
      id: string,
      body: AgentClone
    ) => Effect.Effect<NewAgent, AgentNotFound | AgentHasActiveCalls>
    /** The old secret is invalid at once. */
    readonly rotateWebhookSecret: (
      owner: ProjectPrincipal,
      id: string
    ) => Effect.Effect<
      { readonly id: number; readonly webhook_secret: string; readonly webhook_secret_note: string },
      AgentNotFound | WebhookUrlRequired
    >
    /** Calls in progress keep the secret with which they began. */
    readonly rotateServerSecret: (
      owner: ProjectPrincipal,
      id: string
    ) => Effect.Effect<
      { readonly id: number; readonly server_secret: string; readonly server_secret_note: string },
      AgentNotFound
    >
    /** Newest first. Also of a deleted agent. */
    readonly auditLog: (
      project: PrincipalProject,
      id: string,
      query: AuditLogQuery
    ) => Effect.Effect<AuditLogPage, AgentNotFound>
    /** By numeric id, of any project: for the call engine, which knows it from the number that was dialled. */
    readonly forCall: (agentId: number) => Effect.Effect<CallAgent, AgentNotFound>
    /**
     * For a transaction that links a row to the agent: prevents its deletion until the transaction ends. Waits for a
     * deletion in progress; false when the agent is deleted.
     */
    readonly pin: (agentId: number) => Effect.Effect<boolean>
    /** For the transaction that deletes a knowledge base (numeric id): no agent uses it any more. */
    readonly detachKnowledgeBase: (baseId: number) => Effect.Effect<void>
    /**
     * Runs inside the transaction of every deletion of an agent (not of its project), until the scope closes. Its
     * failure rolls the deletion back. It may write to the database and must not make remote calls.
     */
    readonly onDelete: (
      name: string,
      hook: (agentId: number) => Effect.Effect<void>
    ) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Registers a check, until the scope closes, whether an agent has live calls. It runs inside the transactions that
     * delete and clone agents. To start a call, pin the agent in the transaction that makes the call visible to the
     * check.
     */
    readonly activeWhen: (
      name: string,
      check: (agentId: number) => Effect.Effect<boolean>
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<
    Agents,
    never,
    AgentsRepo | AuditLogRepo | KnowledgeBasesRepo | AgentWebhooks | UrlSafety | Voices | SqlClient.SqlClient
  > = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const repo = yield* AgentsRepo
      const log = yield* AuditLogRepo
      const complete = yield* agentStates
      const hooks = agentHooks()
      const changes = yield* agentChanges(hooks)

      const orNotFound = <A>(row: Option.Option<A>): Effect.Effect<A, AgentNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new AgentNotFound())

      return {
        ...changes,
        list: Effect.fnUntraced(function* (project, query) {
          let before: number | undefined
          if (query.after !== undefined) {
            const cursor = yield* repo.known(project.id, query.after)
            if (Option.isNone(cursor)) {
              return yield* ValidationError.field("after", "after must be the id of an agent of this project")
            }
            before = cursor.value
          }
          const rows = yield* repo.page({
            project_id: project.id,
            before,
            name: query.name === "" ? undefined : query.name,
            limit: query.limit + 1
          })
          const page = rows.slice(0, query.limit)
          return {
            agents: (yield* complete(page)).map(toAgent),
            next_cursor: rows.length > query.limit ? (page.at(-1)?.public_id ?? null) : null
          }
        }),
        get: Effect.fn("Agents.get")(function* (project, id) {
          const [state] = yield* complete(Option.toArray(yield* repo.find(project.id, id)))
          return state === undefined ? yield* new AgentNotFound() : toAgent(state)
        }),
        auditLog: (project, id, query) =>
          Effect.flatMap(Effect.flatMap(repo.known(project.id, id), orNotFound), (agentId) => log.page(agentId, query)),
        forCall: (agentId) => Effect.flatMap(repo.findById(agentId), orNotFound),
        pin: repo.pin,
        detachKnowledgeBase: repo.unlink,
        onDelete: hooks.onDelete,
        activeWhen: hooks.activeWhen
      }
    })
  )
}
