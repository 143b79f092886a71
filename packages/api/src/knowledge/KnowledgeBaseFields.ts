import { Schema } from "effect"
import { Name } from "../accounts/Name.ts"
import { Field, Fields } from "../EntityFields.ts"
import { KnowledgeBaseId } from "../Ids.ts"
import { optionalText } from "../ValueRules.ts"
import { isLongerThan, Timestamp } from "../Wire.ts"

/** What a knowledge base is made from. */
export const SourceType = Schema.Literal("text", "url", "qa")
export type SourceType = typeof SourceType.Type

/** `refreshing`: its source is being read. `failed`: the last refresh failed; the passages of the one before stay. */
export const KnowledgeBaseStatus = Schema.Literal("ready", "refreshing", "failed")
export type KnowledgeBaseStatus = typeof KnowledgeBaseStatus.Type

/** Most characters of a base's text. */
export const maxContentLength = 500_000
/** Most question-answer pairs of a base. */
export const maxEntries = 1000

/** A text that is stored as it is, and has something to read in it. */
const bodyText = (field: string, max: number) =>
  Schema.String.pipe(
    Schema.filter(
      (text) => {
        if (isLongerThan(max, text)) return `${field} must not exceed ${max} characters`
        if (text.includes("\u0000")) return `${field} must not contain NUL characters`
        return /\S/.test(text) ? undefined : `${field} is required.`
      },
      { jsonSchema: { type: "string", maxLength: max, pattern: "\\S" } }
    )
  )

/** A question and its answer. */
export const KnowledgeEntry = Schema.Struct({
  question: Schema.String.annotations({ examples: ["When are you open?"] }),
  answer: Schema.String.annotations({ examples: ["From Monday to Friday, 9 to 17 hours."] })
}).annotations({ identifier: "KnowledgeEntry" })
export type KnowledgeEntry = typeof KnowledgeEntry.Type

const EntriesBody = Schema.Array(
  Schema.Struct({
    question: bodyText("question", 1000).annotations({ examples: ["When are you open?"] }),
    answer: bodyText("answer", 10_000).annotations({ examples: ["From Monday to Friday, 9 to 17 hours."] })
  })
).pipe(
  Schema.minItems(1, { message: () => "entries must have at least one entry" }),
  Schema.maxItems(maxEntries, { message: () => `entries cannot exceed ${maxEntries} entries` })
)

const content = Schema.optional(
  Schema.String.annotations({ description: "The text; not in lists, and only with `source_type` `text`" })
)
const contentBody = Schema.optional(
  bodyText("content", maxContentLength).annotations({
    description: "Plain text or Markdown, at most 500,000 characters",
    examples: ["# Opening hours\n\nWe are open from Monday to Friday, 9 to 17 hours."]
  })
)
const entries = Schema.optional(
  Schema.Array(KnowledgeEntry).annotations({
    description: "The question-answer pairs; not in lists, and only with `source_type` `qa`"
  })
)
const entriesBody = Schema.optional(
  EntriesBody.annotations({ description: "Question-answer pairs, at most 1000, in place of `content`" })
)

const sourceUrlBody = Schema.optional(
  Schema.String.annotations({
    description: "Public HTTPS URL of a page or a sitemap with at most 200 pages, in place of `content`",
    examples: ["https://example.com/faq"]
  })
)

/** Most hours between two automatic refreshes: a year. */
const maxHours = 8760
const autoRefreshBody = Schema.NullOr(Schema.Int).pipe(
  Schema.filter((hours) => hours === null || (hours >= 1 && hours <= maxHours), {
    message: () => `auto_refresh_hours must be between 1 and ${maxHours}, or null`,
    jsonSchema: { minimum: 1, maximum: maxHours }
  }),
  Schema.annotations({ description: "Hours between two automatic refreshes of a `source_url`; null: none" })
)

const nullableText = Schema.NullOr(Schema.String)
const descriptionBody = optionalText("description", {
  max: 2000,
  jsonSchema: { examples: ["For callers who want to visit us"] }
})
const whole = Schema.NonNegativeInt

/** Every field of a knowledge base. `content` and `entries` are columns that only single bases are read with. */
export const KnowledgeBaseFields = Fields({
  id: Field({ wire: Schema.Int, row: Schema.Int }),
  public_id: Field({ wire: KnowledgeBaseId, row: KnowledgeBaseId, insert: KnowledgeBaseId }),
  org_id: Field({ row: Schema.Int, insert: Schema.Int }),
  project_id: Field({ row: Schema.Int, insert: Schema.Int }),
  name: Field({
    wire: Schema.String.annotations({ examples: ["Opening hours"] }),
    create: Name("name is required.").annotations({ examples: ["Opening hours"] }),
    update: Schema.optional(Name("name must not be empty")),
    row: Schema.String,
    insert: Schema.String,
    change: Schema.String
  }),
  description: Field({
    wire: nullableText,
    create: Schema.optionalWith(descriptionBody, { default: () => null }),
    update: Schema.optional(descriptionBody),
    row: nullableText,
    insert: nullableText,
    change: nullableText
  }),
  source_type: Field({ wire: SourceType, row: SourceType, insert: SourceType, change: SourceType }),
  source_url: Field({
    wire: nullableText.annotations({ description: "The page or sitemap that the base is read from; null otherwise" }),
    create: sourceUrlBody,
    update: sourceUrlBody,
    row: nullableText,
    insert: nullableText,
    change: nullableText
  }),
  content: Field({ wire: content, create: contentBody, update: contentBody }),
  entries: Field({ wire: entries, create: entriesBody, update: entriesBody }),
  entry_count: Field({
    wire: whole.annotations({ description: "Passages that the base was cut into, which agents search" }),
    row: whole,
    insert: whole,
    change: whole
  }),
  entries_truncated: Field({
    wire: whole.annotations({ description: "Passages beyond the first 2,000, which were cut off" }),
    row: whole,
    insert: whole,
    change: whole
  }),
  status: Field({
    wire: KnowledgeBaseStatus,
    row: KnowledgeBaseStatus,
    insert: KnowledgeBaseStatus,
    change: KnowledgeBaseStatus
  }),
  auto_refresh_hours: Field({
    wire: Schema.NullOr(Schema.Int),
    create: Schema.optionalWith(autoRefreshBody, { default: () => null }),
    update: Schema.optional(autoRefreshBody),
    row: Schema.NullOr(Schema.Int),
    insert: Schema.NullOr(Schema.Int),
    change: Schema.NullOr(Schema.Int)
  }),
  last_refreshed_at: Field({
    wire: Schema.NullOr(Timestamp),
    row: Schema.NullOr(Schema.DateFromSelf),
    change: Schema.NullOr(Schema.DateFromSelf)
  }),
  last_error: Field({
    wire: nullableText.annotations({
      description: "Why the last refresh failed, or which pages it could not read; null otherwise"
    }),
    row: nullableText,
    change: nullableText
  }),
  consecutive_failures: Field({ wire: whole, row: whole, change: whole }),
  created_at: Field({ wire: Timestamp, row: Schema.DateFromSelf }),
  updated_at: Field({ wire: Timestamp, row: Schema.DateFromSelf })
})
