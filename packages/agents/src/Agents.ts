import { randomBytes } from "node:crypto"
import { type Agent, AgentNotFound } from "@svc/api/agents/Agent"
import type { AgentCreate } from "@svc/api/agents/AgentsApi"
import type { AgentId } from "@svc/api/Ids"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { ValidationError } from "@svc/api/VoiceError"
import { Context, Effect, Either, Layer, Option } from "effect"
import { type AgentRow, AgentsRepo } from "./AgentsRepo.ts"
import { UrlSafety } from "./UrlSafety.ts"
import { Voices } from "./Voices.ts"

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

/** Limits of `max_duration` in seconds; an integer beyond them is clamped (spec 4.2, decisions §3.3). */
const duration = { min: 60, max: 7200 }

const note =
  "Store server_secret now, it is shown only once. It signs the requests to server_url (header X-Svc-Signature)."

/** The wire form. Webhook and knowledge bases are empty until the agent can have them. */
const toAgent = (row: AgentRow): Agent => ({
  id: row.id,
  public_id: row.public_id,
  name: row.name,
  language: row.language,
  voice: row.voice,
  max_duration: row.max_duration,
  recording: row.recording,
  end_call_enabled: row.end_call_enabled,
  server_url: row.server_url,
  server_secret_hint: `...${row.server_secret.slice(-8)}`,
  webhook_url: null,
  webhook_secret_hint: null,
  webhook_events: null,
  knowledge_base_ids: [],
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString()
})

/** PostgreSQL cannot hold U+0000 in a text. */
const checkText = (text: string, field: string): Effect.Effect<string, ValidationError> =>
  text.includes("\u0000")
    ? Effect.fail(ValidationError.field(field, `${field} must not contain NUL characters`))
    : Effect.succeed(text)

/** One error out of those of several fields: with a single one its own message, else the general one (decisions §1.3). */
const together = (
  checks: ReadonlyArray<Effect.Effect<unknown, ValidationError>>
): Effect.Effect<void, ValidationError> =>
  Effect.flatMap(Effect.forEach(checks, Effect.either, { concurrency: "unbounded" }), (results) => {
    const errors = results.flatMap((result) => (Either.isLeft(result) ? [result.left] : []))
    const [first, second] = errors
    if (first === undefined) return Effect.void
    if (second === undefined) return Effect.fail(first)
    const details: Record<string, string> = {}
    for (const error of errors) Object.assign(details, error.details)
    return Effect.fail(new ValidationError({ details }))
  })

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
>() {
  static readonly layer: Layer.Layer<Agents, never, AgentsRepo | UrlSafety | Voices> = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const repo = yield* AgentsRepo
      const urls = yield* UrlSafety
      const voices = yield* Voices

      const found = (row: Option.Option<AgentRow>): Effect.Effect<AgentRow, AgentNotFound> =>
        Option.isSome(row) ? Effect.succeed(row.value) : Effect.fail(new AgentNotFound())

      return {
        list: Effect.fnUntraced(function* (project, query) {
          const name = query.name === undefined ? "" : yield* checkText(query.name, "name")
          let before: number | undefined
          if (query.after !== undefined) {
            const cursor = yield* repo.cursor(project.id, query.after)
            if (Option.isNone(cursor)) {
              return yield* ValidationError.field("after", "after must be the id of an agent of this project")
            }
            before = cursor.value
          }
          const rows = yield* repo.page({
            project_id: project.id,
            before,
            name: name === "" ? undefined : name,
            limit: query.limit + 1
          })
          const agents = rows.slice(0, query.limit).map(toAgent)
          const next_cursor = rows.length > query.limit ? (agents.at(-1)?.public_id ?? null) : null
          return { agents, next_cursor }
        }),
        create: Effect.fn("Agents.create")(function* (owner, body) {
          yield* together([
            checkText(body.name, "name"),
            body.server_url.trim() === ""
              ? Effect.fail(ValidationError.field("server_url", "server_url is required."))
              : urls.check(body.server_url, "server_url"),
            voices.isValid(body.voice, body.language)
              ? Effect.void
              : Effect.fail(ValidationError.field("voice", "voice not available for the selected language"))
          ])
          const row = yield* repo.insert({
            org_id: owner.org.id,
            project_id: owner.project.id,
            name: body.name,
            language: body.language,
            voice: body.voice,
            max_duration: Math.min(duration.max, Math.max(duration.min, body.max_duration)),
            recording: body.recording,
            end_call_enabled: body.end_call_enabled,
            server_url: body.server_url,
            server_secret: randomBytes(32).toString("hex")
          })
          return { agent: toAgent(row), server_secret: row.server_secret, server_secret_note: note }
        }),
        get: (project, id) => repo.find(project.id, id).pipe(Effect.flatMap(found), Effect.map(toAgent)),
        forCall: (agentId) => Effect.flatMap(repo.findById(agentId), found)
      }
    })
  )
}
