import { Schema } from "effect"
import { Name } from "../accounts/Name.ts"
import { WebhookEvents } from "../events/WebhookEvents.ts"
import { Language } from "./Agent.ts"

/** What an agent is made of and changed by (spec 4.2). Rules that need more than the value itself are the service's. */

const name = Name("name is required.").annotations({ examples: ["Reception"] })

const server_url = Schema.String.annotations({
  description: "Public HTTPS URL of your server, which is asked what a call is to do",
  examples: ["https://example.com/voice"]
})

const max_duration = Schema.Int.annotations({
  message: () => ({ message: "max_duration must be between 60 and 7200", override: true })
})

const webhook_url = Schema.NullOr(Schema.String).annotations({
  description: "Public HTTPS URL that gets the events of the agent's calls; null or empty for none",
  examples: ["https://example.com/events"]
})

const knowledge_base_ids = Schema.Array(Schema.Union(Schema.String, Schema.Int))
  .pipe(Schema.maxItems(20, { message: () => "knowledge_base_ids cannot exceed 20 entries" }))
  .annotations({ description: "Public or numeric ids, at most 20; [] for none", examples: [[]] })

/** Fields that both bodies may leave out, and of which absence means the same. */
const optional = {
  webhook_url: Schema.optional(webhook_url),
  webhook_events: Schema.optional(WebhookEvents),
  knowledge_base_ids: Schema.optional(knowledge_base_ids)
}

/** Body of `POST /v1/agents`. */
export const AgentCreate = Schema.Struct({
  name,
  server_url,
  language: Schema.optionalWith(Language, { default: () => "en-US" as const }),
  voice: Schema.optionalWith(Schema.String, { default: () => "Sarah" }),
  max_duration: Schema.optionalWith(max_duration, { default: () => 1800 }),
  recording: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  end_call_enabled: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  ...optional
}).annotations({ identifier: "AgentCreate" })
export type AgentCreate = typeof AgentCreate.Type

/** Body of `PATCH /v1/agents/<id>`: what is absent stays. */
export const AgentUpdate = Schema.Struct({
  name: Schema.optional(name),
  server_url: Schema.optional(server_url),
  language: Schema.optional(Language),
  voice: Schema.optional(Schema.String),
  max_duration: Schema.optional(max_duration),
  recording: Schema.optional(Schema.Boolean),
  end_call_enabled: Schema.optional(Schema.Boolean),
  ...optional
}).annotations({ identifier: "AgentUpdate" })
export type AgentUpdate = typeof AgentUpdate.Type

/** Body of `POST /v1/agents/<id>/clone`. */
export const AgentClone = Schema.Struct({
  name: Schema.optional(
    Name("name must not be empty").annotations({
      description: "Default: `Copy of ` and the name of the source",
      examples: ["Reception at night"]
    })
  )
}).annotations({ identifier: "AgentClone" })
export type AgentClone = typeof AgentClone.Type
