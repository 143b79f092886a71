import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import { Agent, AgentNotFound, Language } from "./Agent.ts"

/** Body of `POST /v1/agents` (spec 4.2). Rules that need more than the value itself are the service's. */
export const AgentCreate = Schema.Struct({
  name: Schema.Trim.pipe(
    Schema.minLength(1, { message: () => "name is required." }),
    Schema.maxLength(200, { message: () => "name must not exceed 200 characters" })
  ).annotations({ examples: ["Reception"] }),
  server_url: Schema.String.annotations({
    description: "Public HTTPS URL of your server, which is asked what a call is to do",
    examples: ["https://example.com/voice"]
  }),
  language: Schema.optionalWith(Language, { default: () => "en-US" as const }),
  voice: Schema.optionalWith(Schema.String, { default: () => "Sarah" }),
  max_duration: Schema.optionalWith(
    Schema.Int.annotations({
      message: () => ({ message: "max_duration must be between 60 and 7200", override: true })
    }),
    { default: () => 1800 }
  ),
  recording: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  end_call_enabled: Schema.optionalWith(Schema.Boolean, { default: () => false })
}).annotations({ identifier: "AgentCreate" })
export type AgentCreate = typeof AgentCreate.Type

const agentId = { agentId: AnyId }

/** `/v1/agents` (spec 4.2). */
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
            "`server_secret` signs the requests to `server_url` and is shown only here. A whole `max_duration` beyond 60 to 7200 seconds is moved to the nearer limit."
        })
      )
      .setPayload(AgentCreate)
      .addSuccess(Schema.Struct({ agent: Agent, server_secret: Schema.String, server_secret_note: Schema.String }), {
        status: 201
      })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/agents/:agentId")
      .annotateContext(OpenApi.annotations({ summary: "Get an agent", description: "By public or numeric id." }))
      .setPath(Schema.Struct(agentId))
      .addSuccess(Schema.Struct({ agent: Agent }))
      .addError(AgentNotFound.wire)
  )
