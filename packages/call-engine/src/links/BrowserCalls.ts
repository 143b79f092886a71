import { randomBytes } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { Agents } from "@svc/agents/Agents"
import { AgentNotFound } from "@svc/api/agents/Agent"
import type { BrowserCallLink, BrowserCallRequest } from "@svc/api/calls/BrowserCalls"
import type { PrincipalProject, ProjectPrincipal } from "@svc/api/Principal"
import { Unavailable, ValidationError } from "@svc/api/VoiceError"
import { metadataProblem } from "@svc/conversation/answers/MetadataLimits"
import { Providers } from "@svc/providers/Providers"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { Context, Effect, Layer } from "effect"
import { CallLinksRepo } from "./CallLinksRepo.ts"

/** The id of the telephony plugin that serves the page of a link. */
const telephonyId = "browser"

/**
 * Links with which people call an agent from a web page, without a key. The link is a row that counts its calls; only
 * the hash of its token is stored.
 */
export class BrowserCalls extends Context.Tag("@svc/call-engine/BrowserCalls")<
  BrowserCalls,
  {
    readonly create: (
      owner: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
      agentId: string,
      request: BrowserCallRequest
    ) => Effect.Effect<BrowserCallLink, AgentNotFound | ValidationError | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<
    BrowserCalls,
    never,
    Agents | CallLinksRepo | Providers | PublicUrl | SqlClient.SqlClient
  > = Layer.effect(
    BrowserCalls,
    Effect.gen(function* () {
      const agents = yield* Agents
      const repo = yield* CallLinksRepo
      const sql = yield* SqlClient.SqlClient
      const { telephony } = yield* Providers
      const { base } = yield* PublicUrl
      const isLoaded = telephony.some(({ id }) => id === telephonyId)

      const create = Effect.fn("BrowserCalls.create")(
        function* (
          { org, project }: Pick<ProjectPrincipal, "org"> & { readonly project: PrincipalProject },
          agentId: string,
          { expires_in, from, max_calls, metadata = {} }: BrowserCallRequest
        ) {
          const agent = yield* agents.get(project, agentId)
          const problem = metadataProblem(metadata)
          if (problem !== null) return yield* ValidationError.field("metadata", problem)
          if (!isLoaded) {
            return yield* new Unavailable({
              message: "Browser calls need the plugin browser: add @svc/plugin-browser to SVC_PLUGINS"
            })
          }
          const token = randomBytes(24).toString("base64url")
          const link = {
            token,
            org_id: org.id,
            project_id: project.id,
            agent_id: agent.id,
            from_number: from ?? null,
            metadata,
            max_calls,
            expires_in
          }
          // The agent's deletion deletes the link, or comes first.
          const expiry = yield* sql.withTransaction(
            Effect.flatMap(agents.pin(agent.id), (exists) =>
              exists ? repo.insert(link) : Effect.fail(new AgentNotFound())
            )
          )
          return { url: `${base}/telephony/${telephonyId}/${token}`, token, expires_at: expiry.toISOString() }
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      return { create }
    })
  )
}
