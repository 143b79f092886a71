import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentNotFound } from "../agents/Agent.ts"
import { AnyId } from "../Ids.ts"
import { Unavailable, ValidationError } from "../VoiceError.ts"
import { E164, JsonObject, Timestamp } from "../Wire.ts"

/** A whole number within limits, with its default. */
const integer = (name: string, min: number, max: number, defaultValue: number, description: string) => {
  const message = () => ({ message: `${name} must be between ${min} and ${max}`, override: true })
  const schema = Schema.Int.pipe(Schema.between(min, max)).annotations({
    message,
    description,
    examples: [defaultValue]
  })
  return Schema.optionalWith(schema, { default: () => defaultValue })
}

/** Body of `POST /v1/agents/<agentId>/browser-calls`. */
export const BrowserCallRequest = Schema.Struct({
  from: Schema.optional(E164.annotations({ description: "The caller's number in the calls of this link" })),
  metadata: Schema.optional(
    JsonObject.annotations({
      description:
        "Stored on each call of the link; what the agent's server answers is added. At most 65,536 bytes and 5 levels"
    })
  ),
  expires_in: integer("expires_in", 60, 86_400, 3600, "Seconds until the link expires"),
  max_calls: integer("max_calls", 1, 1000, 1, "How many calls can start with the link")
}).annotations({ identifier: "BrowserCallRequest" })
export type BrowserCallRequest = typeof BrowserCallRequest.Type

/** A link to a page on which a person talks to an agent. The token is shown only here. */
export const BrowserCallLink = Schema.Struct({
  url: Schema.String,
  token: Schema.String,
  expires_at: Timestamp
}).annotations({ identifier: "BrowserCallLink" })
export type BrowserCallLink = typeof BrowserCallLink.Type

/** `/v1/agents/<agentId>/browser-calls`. See docs/browser.md. */
export const BrowserCallsApi = HttpApiGroup.make("browserCalls")
  .annotateContext(
    OpenApi.annotations({
      title: "Browser calls",
      description: "Links to a web page on which people talk to an agent."
    })
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/agents/:agentId/browser-calls")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a link for browser calls",
          description:
            "A link to a page with microphone and loudspeaker (extension). Who has it can call the agent without a key, until it expires, `max_calls` calls have started, or the agent is deleted. In `call.started` and in the record, `from` is that of the link and `to` the agent's first number, or null. 503 when the plugin `browser` is not loaded."
        })
      )
      .setPath(Schema.Struct({ agentId: AnyId }))
      .setPayload(BrowserCallRequest)
      .addSuccess(BrowserCallLink, { status: 201 })
      .addError(ValidationError.wire)
      .addError(AgentNotFound.wire)
      .addError(Unavailable.wire)
  )
