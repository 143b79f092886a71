import { Option, Schema } from "effect"

/**
 * The events of a transcription session of OpenAI's Realtime API that this plugin reads
 * (developers.openai.com/api/reference/resources/realtime/server-events).
 */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const Problem = Schema.Struct({
  message: optional(Schema.String),
  type: optional(Schema.String),
  code: optional(Schema.String),
  /** The field that was refused, as `session.audio.input.format`. */
  param: optional(Schema.String),
  /** Of the client's event that caused the error. */
  event_id: optional(Schema.String)
})
export type Problem = typeof Problem.Type

const Event = Schema.Union(
  /** The session has the configuration that was sent. */
  Schema.Struct({ type: Schema.Literal("session.updated") }),
  /** The audio that was sent until a commit is an item now. */
  Schema.Struct({ type: Schema.Literal("input_audio_buffer.committed"), item_id: Schema.String }),
  /** More text of an item, which may not be committed yet. */
  Schema.Struct({
    type: Schema.Literal("conversation.item.input_audio_transcription.delta"),
    item_id: Schema.String,
    delta: optional(Schema.String)
  }),
  /** The whole text of an item. Those of several items come in any order. */
  Schema.Struct({
    type: Schema.Literal("conversation.item.input_audio_transcription.completed"),
    item_id: Schema.String,
    transcript: Schema.String,
    usage: Schema.optional(Schema.Unknown),
    languages: optional(Schema.Array(Schema.Struct({ code: Schema.String })))
  }),
  Schema.Struct({
    type: Schema.Literal("conversation.item.input_audio_transcription.failed"),
    item_id: Schema.String,
    error: optional(Problem)
  }),
  /** Most do not end the session. */
  Schema.Struct({ type: Schema.Literal("error"), error: Problem })
)
export type RealtimeEvent = typeof Event.Type

const decodeEvent = Schema.decodeUnknownSync(Event)
const known = new Set<string>(Event.members.map(({ fields }) => fields.type.literals[0]))
const decodeTyped = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ type: Schema.String }, Schema.Record({ key: Schema.String, value: Schema.Unknown })))
)

/** Reads a message. Undefined for an event of another kind; throws for what is no event. */
export const eventOf = (message: string | Uint8Array): RealtimeEvent | undefined => {
  if (typeof message !== "string") throw new TypeError("bytes where an event was expected")
  let event: { readonly type: string }
  try {
    event = decodeTyped(message)
  } catch {
    throw new TypeError("no JSON with a type")
  }
  if (!known.has(event.type)) return undefined
  try {
    return decodeEvent(event)
  } catch {
    throw new TypeError(`the event ${event.type} lacks a required field, or has one of a wrong type`)
  }
}

/** Models that are charged by tokens have these; others are charged by the length of the audio. */
const Tokens = Schema.Struct({ input_tokens: Schema.Number, output_tokens: Schema.Number })
const decodeTokens = Schema.decodeUnknownOption(Tokens)
/** The tokens that a transcript has cost; none where it is charged by its length. */
export const tokensOf = (usage: unknown): typeof Tokens.Type =>
  Option.getOrElse(decodeTokens(usage), () => ({ input_tokens: 0, output_tokens: 0 }))
