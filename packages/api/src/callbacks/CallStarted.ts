import { Schema } from "effect"
import { SenderName } from "../sms/SmsLimits.ts"
import { E164, Json, JsonObject } from "../Wire.ts"
import { Fields, numberFrom, said, Text, wholeNumber } from "./AnswerValues.ts"
import { settingFields } from "./CallSettings.ts"

/** Requests to the agent's `server_url` and their answers. See docs/reference/agent-server.md. */

/**
 * Body of the `call.started` request. `gathered_…` and `gather_status` are null except in the second request, after a
 * pre_gather menu. `headers`: what the network of an incoming call passed on, with names in lower case.
 */
export const CallStartedRequest = Schema.Struct({
  event: Schema.Literal("call.started"),
  call_id: Schema.String,
  from: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String),
  agent_id: Schema.String,
  gathered_digit: Schema.NullOr(Schema.String),
  gathered_input: Schema.NullOr(Schema.String),
  gather_status: Schema.NullOr(Schema.Literal("valid", "timeout", "invalid")),
  headers: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { exact: true })
})
export type CallStartedRequest = typeof CallStartedRequest.Type

/** The timeout of a tool in seconds, and its default. */
export const TimeoutSeconds = numberFrom(0.1, 120)
export const defaultToolSeconds = 5

/** The longest text that the agent speaks, and the longest name, key or term, in characters. */
const maxSpoken = 10_000
const maxName = 200
/** The longest `transfer_announcement`, in characters: about half a minute. */
const maxAnnouncement = 500

/** A text that the agent speaks: about ten minutes at most. */
const Spoken = Text.pipe(Schema.maxLength(maxSpoken, { message: () => `must not exceed ${maxSpoken} characters` }))

const Name = Text.pipe(Schema.maxLength(maxName, { message: () => `must not exceed ${maxName} characters` }))

/** A tool that the model may call. */
export const ToolDefinition = Schema.Struct({
  name: Schema.String.pipe(Schema.pattern(/^[a-zA-Z0-9_-]{1,64}$/)).annotations(
    said("must be 1 to 64 letters, digits, _ or -")
  ),
  description: Schema.optionalWith(Text, { default: () => "" }),
  /** JSON Schema of the arguments. */
  parameters: Schema.optionalWith(Fields, { default: () => ({ type: "object", properties: {} }) }),
  /** Seconds; each tool is timed on its own. */
  timeout_seconds: Schema.optionalWith(TimeoutSeconds, { default: () => defaultToolSeconds }),
  usage_instructions: Schema.optional(Text)
})
export type ToolDefinition = typeof ToolDefinition.Type

/** The digit that ends keypad input; empty: none. */
const Terminator = Text.pipe(Schema.pattern(/^[0-9*#]?$/, { message: () => "terminator must be one key" }))

/** The `gather` of a tool: digits that the caller types before the tool is called. */
export const toolGatherFields = {
  prompt: Spoken,
  max_digits: wholeNumber(1, 20),
  /** Seconds without a digit. */
  timeout_seconds: wholeNumber(5, 60),
  terminator: Terminator,
  /** `female`, `male`, or a voice's name. */
  voice: Text,
  language: Text
} as const

/** The `pre_gather` of a first answer: a keypad menu before the conversation. */
export const preGatherFields = {
  prompt: Spoken.pipe(Schema.pattern(/\S/, { message: () => "prompt is required." })),
  digits: wholeNumber(1, 20),
  language: Text,
  voice: Schema.Literal("female", "male"),
  /** Seconds without a digit. */
  timeout: numberFrom(1, 60),
  max_retries: wholeNumber(0, 10),
  terminator: Terminator
} as const

/** The most entries of lists. A longer one is left out as a whole. */
const maxKeyterms = 100
const maxTools = 128
const maxDtmfActions = 12
export const maxDestinations = 100
/** The longest label of a transfer destination, in characters. */
export const maxLabel = maxName

/** `post_call.sms`: a message that is sent when the call has ended. */
export const postCallSmsFields = {
  to: Schema.Union(Schema.Literal("caller"), E164).annotations({
    message: () => ({ message: 'to must be "caller" or a valid E.164 phone number', override: true })
  }),
  /** Variables are replaced before its length is checked. */
  message: Text.pipe(Schema.pattern(/\S/, { message: () => "message is required." })),
  sender_name: Schema.compose(Text, SenderName)
} as const

/**
 * The configuration of one call, as the engine uses it. Each field of the response is decoded separately: an
 * invalid one is ignored and reported, and does not end the call.
 */
export const callStartedFields = {
  system_prompt: Text.pipe(Schema.minLength(1, { message: () => "must not be empty" })),
  system_prompt_append: Text,
  first_message: Spoken,
  end_session_message: Spoken,
  /** Extension: left with a voicemail that took an outbound call. */
  voicemail_message: Spoken,
  /** Extension: said to the destination of a transfer before the caller is joined. */
  transfer_announcement: Text.pipe(
    Schema.maxLength(maxAnnouncement, { message: () => `must not exceed ${maxAnnouncement} characters` })
  ),
  language: Text,
  voice: Text,
  max_duration: Schema.Int.annotations(said("must be a whole number of seconds")),
  recording_enabled: Schema.Boolean.annotations(said("must be true or false")),
  /** Seconds of caller silence after which the agent hangs up. */
  inactivity_timeout: Schema.Int.pipe(Schema.greaterThan(0)).annotations(
    said("must be a whole number of seconds above 0")
  ),
  stt_format: Schema.Literal("smart", "numerals", "raw"),
  /** Blank ones do not count. */
  stt_keyterms: Schema.Array(Name)
    .annotations({ message: () => "must be an array of strings" })
    .pipe(
      Schema.filter((terms) => terms.filter((term) => term.trim() !== "").length <= maxKeyterms, {
        message: () => `stt_keyterms cannot exceed ${maxKeyterms} terms`
      })
    ),
  tools: Schema.Array(Json)
    .annotations({ message: () => "must be an array" })
    .pipe(Schema.maxItems(maxTools, { message: () => `tools cannot exceed ${maxTools} entries` })),
  /** `auto`, or the text that the agent says while a tool runs. */
  speak_during_tool_call: Spoken,
  /** Field name to definition; its fields are decoded separately. */
  extraction_schema: Fields,
  dtmf_actions: Fields.pipe(
    Schema.filter((actions) => Object.keys(actions).length <= maxDtmfActions, {
      message: () => `dtmf_actions cannot exceed ${maxDtmfActions} entries`
    }),
    Schema.compose(Schema.Record({ key: Schema.String, value: Name }), { strict: false })
  ),
  metadata: Fields,
  ...settingFields
} as const

/** Body of a `tool.call` request. */
export const ToolCallRequest = Schema.Struct({
  event: Schema.Literal("tool.call"),
  tool_call_id: Schema.String,
  name: Schema.String,
  arguments: JsonObject,
  call_id: Schema.String,
  from: Schema.NullOr(Schema.String)
})
export type ToolCallRequest = typeof ToolCallRequest.Type

/** Answer to a `tool.call`: any JSON under `result`. */
export const ToolCallAnswer = Schema.Struct({ result: Json })

/** Body of a `transcript.updated` request; `timestamp` is seconds from the call's start. */
export const TranscriptUpdatedRequest = Schema.Struct({
  event: Schema.Literal("transcript.updated"),
  call_id: Schema.String,
  role: Schema.Literal("user", "assistant"),
  content: Schema.String,
  timestamp: Schema.Number
})
export type TranscriptUpdatedRequest = typeof TranscriptUpdatedRequest.Type
