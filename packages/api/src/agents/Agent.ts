import { Schema } from "effect"
import { AgentId, KnowledgeBaseId } from "../Ids.ts"
import { define } from "../VoiceError.ts"
import { Timestamp } from "../Wire.ts"

/** The languages an agent can speak (spec 2.4). */
export const languages = [
  "en-US",
  "en-GB",
  "es-ES",
  "nl-NL",
  "de-DE",
  "fr-FR",
  "it-IT",
  "pt-PT",
  "pl-PL",
  "sv-SE",
  "da-DK",
  "nb-NO",
  "fi-FI"
] as const
export const Language = Schema.Literal(...languages).annotations({
  message: () => ({ message: "language must be a supported BCP-47 code", override: true })
})
export type Language = typeof Language.Type

/** A knowledge base that an agent uses. */
export const KnowledgeBaseRef = Schema.Struct({ id: Schema.Int, public_id: KnowledgeBaseId })
export type KnowledgeBaseRef = typeof KnowledgeBaseRef.Type

/** An agent (spec 2.4, decisions §3.1). */
export const Agent = Schema.Struct({
  id: Schema.Int,
  public_id: AgentId,
  name: Schema.String.annotations({ examples: ["Reception"] }),
  language: Schema.String.annotations({ examples: ["en-US"] }),
  voice: Schema.String.annotations({ examples: ["Sarah"] }),
  max_duration: Schema.Int.annotations({ description: "Seconds, 60 to 7200", examples: [1800] }),
  recording: Schema.Boolean,
  end_call_enabled: Schema.Boolean,
  server_url: Schema.String.annotations({ examples: ["https://example.com/voice"] }),
  server_secret_hint: Schema.String.annotations({
    description: "Three dots and the last 8 characters of the secret",
    examples: ["...0123abcd"]
  }),
  webhook_url: Schema.NullOr(Schema.String).annotations({ examples: ["https://example.com/events"] }),
  webhook_secret_hint: Schema.NullOr(Schema.String).annotations({ examples: ["...89abcdef"] }),
  webhook_events: Schema.NullOr(Schema.Array(Schema.String)).annotations({
    description: "Null when there is no webhook, or when it was disabled because deliveries kept failing",
    examples: [["call.started", "call.ended"]]
  }),
  knowledge_base_ids: Schema.Array(KnowledgeBaseRef),
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Agent" })
export type Agent = typeof Agent.Type

export class AgentNotFound extends define("AgentNotFound", "AGENT_NOT_FOUND", 404, "agent not found") {}
export class AgentHasActiveCalls extends define(
  "AgentHasActiveCalls",
  "AGENT_HAS_ACTIVE_CALLS",
  409,
  "agent has active calls"
) {}
export class WebhookUrlRequired extends define(
  "WebhookUrlRequired",
  "WEBHOOK_URL_REQUIRED",
  400,
  "there is no webhook_url: set it first"
) {}
