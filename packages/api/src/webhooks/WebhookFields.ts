import { Schema, Struct } from "effect"
import { Field, Fields } from "../EntityFields.ts"
import { apiVersion } from "../events/Event.ts"
import { OrganizationEvents } from "../events/WebhookEvents.ts"
import { AgentId } from "../Ids.ts"
import { Timestamp } from "../Wire.ts"

/** Limits a webhook of the organization to the events of an agent or a project (numeric ids); empty: all events. */
export const WebhookFilters = Schema.Struct({
  agent_id: Schema.optional(Schema.Int),
  project_id: Schema.optional(Schema.Int)
}).annotations({ identifier: "WebhookFilters" })
export type WebhookFilters = typeof WebhookFilters.Type

/** A public HTTPS URL in a body; the services check where it leads. */
export const webhookUrl = Schema.String.annotations({
  description: "Public HTTPS URL that gets the events",
  examples: ["https://example.com/events"]
})

const numericId = (key: string) =>
  Schema.Int.annotations({ message: () => ({ message: `filters.${key} must be a numeric id`, override: true }) })

// An unknown key is refused and not ignored: who misspells a filter would get everybody's events.
const filtersBody = Schema.Struct({
  agent_id: Schema.optional(numericId("agent_id")),
  project_id: Schema.optional(numericId("project_id"))
}).annotations({
  description: "Only events of this agent, of this project (numeric ids)",
  parseOptions: { onExcessProperty: "error" },
  examples: [{}]
})

/** A column whose value a new row has unless the insert names another. */
const withInitial = <Value extends Schema.Schema.Any>(value: Value, initial: () => Schema.Schema.Type<Value>) =>
  Schema.propertySignature(value).pipe(Schema.withConstructorDefault(initial))

/** A setting: a value that clients set, a column keeps, and responses show. */
const setting = <Value extends Schema.Schema.Any, Body extends Schema.Schema.Any>(value: Value, body: Body) =>
  Field({
    wire: value,
    create: body,
    update: Schema.optional(body),
    row: value,
    insert: value,
    change: Schema.optional(value)
  })

/** A column that follows from `filters`; null without that filter. */
const limit = <Value extends Schema.Schema.Any>(value: Value) => {
  const column = Schema.NullOr(value)
  return { insert: withInitial(column, () => null), change: Schema.optional(column) }
}

/** Whether an agent or a project manages the webhook; fixed when it is made. */
const managed = (description: string) => {
  const wire = Schema.Boolean.annotations({ description })
  return Field({ wire, row: wire, insert: withInitial(Schema.Boolean, () => false) })
}

/** A value that the service keeps, and responses show as the column has it. */
const kept = <Value extends Schema.Schema.Any>(value: Value) => Field({ wire: value, row: value })

const numeric = Schema.NullOr(Schema.Int)
// In SQL a JSON column takes text.
const filtersColumn = Schema.parseJson(WebhookFilters)

const settings = {
  url: setting(Schema.String.annotations({ examples: ["https://example.com/events"] }), webhookUrl),
  events: setting(
    Schema.Array(Schema.String).annotations({
      description: "Names of events; `*` means all",
      examples: [["call.started", "call.ended"]]
    }),
    OrganizationEvents
  ),
  filters: Field({
    wire: WebhookFilters,
    create: Schema.optionalWith(filtersBody, { default: () => ({}) }),
    update: Schema.optional(filtersBody),
    row: WebhookFilters,
    insert: withInitial(filtersColumn, () => ({})),
    change: Schema.optional(filtersColumn)
  }),
  is_active: Field({
    wire: Schema.Boolean,
    update: Schema.optional(
      Schema.Boolean.annotations({ description: "True also puts back to work what was disabled by failures" })
    ),
    row: Schema.Boolean,
    change: Schema.optional(Schema.Boolean)
  })
}

/** The names of the settings. */
export const webhookSettings = Struct.keys(settings)

/**
 * Every field of a webhook. A new setting is one line in `settings` and a column in a migration. The columns that follow
 * from `filters` are the service's to fill, and rules that need more than the value itself are its to check.
 */
export const WebhookFields = Fields({
  id: kept(Schema.Int),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  ...settings,
  agent_id: Field({ wire: numeric, row: numeric, ...limit(Schema.Int) }),
  /** The id by which events name the agent. */
  agent_public_id: Field(limit(AgentId)),
  project_id: Field({ wire: numeric, row: numeric, ...limit(Schema.Int) }),
  is_agent_managed: managed("Is changed through its agent only"),
  is_project_managed: managed("Is changed through `/v1/project/webhook` only"),
  /** 64 hex characters; signs the deliveries. */
  secret: Field({ row: Schema.String, insert: Schema.String }),
  failure_count: kept(Schema.Int.annotations({ description: "Attempts that failed, ever" })),
  consecutive_failures: kept(Schema.Int.annotations({ description: "Attempts that failed since the last success" })),
  disabled_reason: kept(Schema.NullOr(Schema.String).annotations({ examples: ["10 consecutive failures"] })),
  last_failure_at: Field({ wire: Schema.NullOr(Timestamp), row: Schema.NullOr(Schema.DateFromSelf) }),
  api_version: Field({
    wire: Schema.String,
    row: Schema.String,
    insert: withInitial(Schema.String, () => apiVersion)
  }),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})
