import { Schema, Struct } from "effect"
import { Name } from "../accounts/Name.ts"
import { Field, Fields } from "../EntityFields.ts"
import { WebhookEvents } from "../events/WebhookEvents.ts"
import { AgentId, KnowledgeBaseId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"
import { Language } from "./Language.ts"

/** A knowledge base that an agent uses. */
export const KnowledgeBaseRef = Schema.Struct({ id: Schema.Int, public_id: KnowledgeBaseId })
export type KnowledgeBaseRef = typeof KnowledgeBaseRef.Type

/** A setting: a value that clients set, a column keeps, and responses and the audit log show as it is. */
const setting = <Value extends Schema.Schema.Any, Body extends Schema.Schema.Any>(value: Value, body: Body) =>
  Field({
    wire: value,
    create: body,
    update: Schema.optional(body),
    row: value,
    insert: value,
    change: value,
    audit: value
  })

/** A setting with a default for new agents. */
const settingWithDefault = <Value extends Schema.Schema.Any, Body extends Schema.Schema.Any>(
  value: Value,
  body: Body,
  initial: () => Schema.Schema.Type<Body>
) => Field({ ...setting(value, body).schemas, create: Schema.optionalWith(body, { default: initial }) })

/** A column that the service fills and responses do not show. */
const internal = <Value extends Schema.Schema.Any>(value: Value) => Field({ row: value, insert: value, change: value })

/** Seconds, 60 to 7200. A whole number outside these limits is clamped. */
const Duration = Schema.transform(
  Schema.Int.annotations({
    description: "Seconds; a number below 60 or above 7200 becomes 60 or 7200",
    examples: [1800],
    message: () => ({ message: "max_duration must be between 60 and 7200", override: true })
  }),
  Schema.Int,
  { strict: true, decode: (seconds) => Math.min(7200, Math.max(60, seconds)), encode: (seconds) => seconds }
)

const settings = {
  name: setting(
    Schema.String.annotations({ examples: ["Reception"] }),
    Name("name is required.").annotations({ examples: ["Reception"] })
  ),
  language: settingWithDefault(Schema.String.annotations({ examples: ["en-US"] }), Language, () => "en-US" as const),
  voice: settingWithDefault(Schema.String.annotations({ examples: ["Sarah"] }), Schema.String, () => "Sarah"),
  max_duration: settingWithDefault(
    Schema.Int.annotations({ description: "Seconds, 60 to 7200", examples: [1800] }),
    Duration,
    () => 1800
  ),
  recording: settingWithDefault(Schema.Boolean, Schema.Boolean, () => false),
  end_call_enabled: settingWithDefault(Schema.Boolean, Schema.Boolean, () => false),
  server_url: setting(
    Schema.String.annotations({ examples: ["https://example.com/voice"] }),
    Schema.String.annotations({
      description: "Public HTTPS URL of your server, which is asked what a call is to do",
      examples: ["https://example.com/voice"]
    })
  )
}

/** The names of the settings. */
export const agentSettings = Struct.keys(settings)

const secretHint = Schema.String.annotations({
  description: "Three dots and the last 8 characters of the secret",
  examples: ["...0123abcd"]
})

const webhookSecretHint = Schema.NullOr(Schema.String).annotations({ examples: ["...89abcdef"] })

const webhook_url = Schema.NullOr(Schema.String).annotations({ examples: ["https://example.com/events"] })
const webhookUrlBody = Schema.optional(
  webhook_url.annotations({
    description: "Public HTTPS URL that gets the events of the agent's calls; null or empty for none"
  })
)

const webhook_events = Schema.NullOr(Schema.Array(Schema.String)).annotations({
  description: "Null when there is no webhook, or when it was disabled because deliveries kept failing",
  examples: [["call.started", "call.ended"]]
})

const knowledgeBasesBody = Schema.optional(
  Schema.Array(Schema.Union(Schema.String, Schema.Int))
    .pipe(Schema.maxItems(20, { message: () => "knowledge_base_ids cannot exceed 20 entries" }))
    .annotations({ description: "Public or numeric ids, at most 20; [] for none", examples: [[]] })
)

/**
 * Every field of an agent. A new setting is one line in `settings` and a column in a migration. Rules that need more
 * than the value itself are the service's. The audit log shows secrets as hints, under the names of the secrets.
 */
export const AgentFields = Fields({
  id: Field({ wire: Schema.Int, row: Schema.Int }),
  public_id: Field({ wire: AgentId, row: AgentId, insert: AgentId }),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  project_id: Field({ row: Schema.Int, insert: Schema.Int }),
  ...settings,
  server_secret: Field({ ...internal(Schema.String).schemas, audit: secretHint }),
  server_secret_hint: Field({ wire: secretHint }),
  webhook_url: Field({ wire: webhook_url, create: webhookUrlBody, update: webhookUrlBody, audit: webhook_url }),
  webhook_secret: Field({ audit: webhookSecretHint }),
  webhook_secret_hint: Field({ wire: webhookSecretHint }),
  webhook_events: Field({
    wire: webhook_events,
    create: Schema.optional(WebhookEvents),
    update: Schema.optional(WebhookEvents),
    audit: webhook_events
  }),
  knowledge_base_ids: Field({
    wire: Schema.Array(KnowledgeBaseRef),
    create: knowledgeBasesBody,
    update: knowledgeBasesBody,
    audit: Schema.Array(KnowledgeBaseRef)
  }),
  /** Whether there is a webhook to look up. */
  has_webhook: internal(Schema.Boolean),
  /** Whether knowledge bases were linked; they may have been deleted since. */
  has_knowledge_bases: internal(Schema.Boolean),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})
