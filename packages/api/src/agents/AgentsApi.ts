import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentId, AnyId } from "../Ids.ts"
import { BadRequest, ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import { Agent, AgentHasActiveCalls, AgentNotFound, WebhookUrlRequired } from "./Agent.ts"
import { AgentClone, AgentCreate, AgentUpdate } from "./AgentBody.ts"
import { AuditLogPage, AuditLogQuery } from "./AuditLog.ts"

const agentId = Schema.Struct({ agentId: AnyId })

const One = Schema.Struct({ agent: Agent })

/** An agent that was just made, with its secrets, which are shown only now. Those of the webhook only when it has one. */
export const NewAgent = Schema.Struct({
  agent: Agent,
  server_secret: Schema.String,
  server_secret_note: Schema.String,
  webhook_secret: Schema.optional(Schema.String),
  webhook_secret_note: Schema.optional(Schema.String)
}).annotations({ identifier: "NewAgent" })
export type NewAgent = typeof NewAgent.Type

/** `/v1/agents`. See docs/reference/agents.md. */
export const AgentsApi = HttpApiGroup.make("agents")
  .annotateContext(
    OpenApi.annotations({
      title: "Agents",
      description: "Voice agents of a project: what they are called, how they speak, and which server answers for them."
    })
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/agents")
      .annotateContext(
        OpenApi.annotations({
          summary: "List agents",
          description:
            "Newest first. `after` is the public or numeric id of the last agent seen; `name` finds a part of the name, in any case."
        })
      )
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optionalWith(Limit(100), { default: () => 20 }),
          after: Schema.optional(Schema.String),
          name: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Schema.Struct({ agents: Schema.Array(Agent), next_cursor: Schema.NullOr(Schema.String) }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/agents")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create an agent",
          description:
            "`server_secret` signs the requests to `server_url`, `webhook_secret` the events to `webhook_url`; both are shown only here. Without `webhook_events` a webhook gets all events. A whole `max_duration` beyond 60 to 7200 seconds is moved to the nearer limit."
        })
      )
      .setPayload(AgentCreate)
      .addSuccess(NewAgent, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/agents/:agentId")
      .annotateContext(OpenApi.annotations({ summary: "Get an agent", description: "By public or numeric id." }))
      .setPath(agentId)
      .addSuccess(One)
      .addError(AgentNotFound.wire)
  )
  .add(
    HttpApiEndpoint.patch("update", "/v1/agents/:agentId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Change an agent",
          description:
            "Fields that are absent stay as they are. `webhook_url` set for the first time makes a secret, which is read by rotating it; null or empty removes the webhook with its secret. `webhook_url` or `webhook_events` also put a disabled webhook back to work. `knowledge_base_ids` replaces the list. Calls under way go on as they began."
        })
      )
      .setPath(agentId)
      .setPayload(AgentUpdate)
      .addSuccess(One)
      .addError(ValidationError.wire)
      .addError(BadRequest.wire)
      .addError(AgentNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", "/v1/agents/:agentId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete an agent",
          description:
            "Its phone numbers are left without an agent, its webhook is removed, its knowledge bases stay with the project. Its audit log can still be read. An agent with live calls is not deleted."
        })
      )
      .setPath(agentId)
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true), agent_id: AgentId }))
      .addError(AgentNotFound.wire)
      .addError(AgentHasActiveCalls.wire)
  )
  .add(
    HttpApiEndpoint.post("clone", "/v1/agents/:agentId/clone")
      .annotateContext(
        OpenApi.annotations({
          summary: "Clone an agent",
          description:
            "The copy has the configuration, the knowledge bases and the webhook of the source, and new secrets, shown only here. Phone numbers stay with the source."
        })
      )
      .setPath(agentId)
      .setPayload(AgentClone)
      .addSuccess(NewAgent, { status: 201 })
      .addError(ValidationError.wire)
      .addError(AgentNotFound.wire)
      .addError(AgentHasActiveCalls.wire)
  )
  .add(
    HttpApiEndpoint.post("rotateWebhookSecret", "/v1/agents/:agentId/rotate-webhook-secret")
      .annotateContext(
        OpenApi.annotations({
          summary: "Rotate the webhook secret",
          description: "The new secret is shown only here; the old one is invalid at once."
        })
      )
      .setPath(agentId)
      .addSuccess(Schema.Struct({ id: Schema.Int, webhook_secret: Schema.String, webhook_secret_note: Schema.String }))
      .addError(AgentNotFound.wire)
      .addError(WebhookUrlRequired.wire)
  )
  .add(
    HttpApiEndpoint.post("rotateServerSecret", "/v1/agents/:agentId/rotate-server-secret")
      .annotateContext(
        OpenApi.annotations({
          summary: "Rotate the server secret",
          description:
            "The new secret is shown only here. Calls that start from now on are signed with it; those under way keep the old one."
        })
      )
      .setPath(agentId)
      .addSuccess(Schema.Struct({ id: Schema.Int, server_secret: Schema.String, server_secret_note: Schema.String }))
      .addError(AgentNotFound.wire)
  )
  .add(
    HttpApiEndpoint.get("auditLog", "/v1/agents/:agentId/audit-log")
      .annotateContext(
        OpenApi.annotations({
          summary: "Read an agent's audit log",
          description:
            "Its changes, newest first, also after its deletion. `start_date` and `end_date` are UTC days, both included. Secrets are told by their hints only."
        })
      )
      .setPath(agentId)
      .setUrlParams(AuditLogQuery)
      .addSuccess(AuditLogPage)
      .addError(ValidationError.wire)
      .addError(AgentNotFound.wire)
  )
