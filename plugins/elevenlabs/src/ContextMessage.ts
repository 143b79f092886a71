import { Schema } from "effect"

/**
 * Messages of the multi-context WebSocket
 * (https://elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input).
 */

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))
const Times = nullish(Schema.Array(Schema.Number))

/** Two spellings of the times are documented. */
const ListedCharacters = Schema.Struct({
  chars: Schema.Array(Schema.String),
  charStartTimesMs: Times,
  charsStartTimesMs: Times,
  charDurationsMs: Times,
  charsDurationsMs: Times
})

const Message = Schema.parseJson(
  Schema.Struct({
    contextId: nullish(Schema.String),
    context_id: nullish(Schema.String),
    audio: nullish(Schema.String),
    isFinal: nullish(Schema.Boolean),
    is_final: nullish(Schema.Boolean),
    /** Of the text as it was sent; the other one of the text as the model reads it, with numbers as words. */
    alignment: Schema.optional(Schema.Unknown),
    normalizedAlignment: Schema.optional(Schema.Unknown),
    error: nullish(Schema.String),
    message: nullish(Schema.String)
  })
)
const decodeMessage = Schema.decodeUnknownOption(Message)
const decodeCharacters = Schema.decodeUnknownOption(ListedCharacters)

/** Characters and when each begins and ends, in milliseconds from the beginning of the audio of its message. */
export interface TimedCharacters {
  readonly characters: ReadonlyArray<string>
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

export interface ServerMessage {
  readonly contextId: string | undefined
  readonly audio: Buffer
  readonly timed: TimedCharacters | undefined
  /** Nothing follows in this context. */
  readonly isFinal: boolean
  /** The vendor's code of an error, such as `quota_exceeded`, and its explanation. */
  readonly error: { readonly code: string; readonly text: string } | undefined
}

const timedOf = (listed: unknown): TimedCharacters | undefined => {
  const decoded = decodeCharacters(listed)
  if (decoded._tag === "None") return undefined
  const { charDurationsMs, charStartTimesMs, chars, charsDurationsMs, charsStartTimesMs } = decoded.value
  const starts = charStartTimesMs ?? charsStartTimesMs ?? []
  const durations = charDurationsMs ?? charsDurationsMs ?? []
  if (chars.length === 0 || starts.length !== chars.length || durations.length !== chars.length) return undefined
  const ends = starts.map((start, n) => start + (durations[n] ?? 0))
  if (![...starts, ...ends].every((time) => Number.isFinite(time) && time >= 0)) return undefined
  return { characters: chars, starts, ends }
}

/** Undefined: it is no message of the protocol. Positions that make no sense are left out. */
export const read = (text: string): ServerMessage | undefined => {
  const decoded = decodeMessage(text)
  if (decoded._tag === "None") return undefined
  const { alignment, audio, context_id, contextId, error, is_final, isFinal, message, normalizedAlignment } =
    decoded.value
  return {
    contextId: contextId ?? context_id ?? undefined,
    audio: Buffer.from(audio ?? "", "base64"),
    timed: timedOf(alignment) ?? timedOf(normalizedAlignment),
    isFinal: (isFinal ?? is_final) === true,
    error: error == null || error === "" ? undefined : { code: error, text: message ?? "" }
  }
}

/** The first message of a context, the only one that may have settings: its text must be one space. */
export const begin = (contextId: string, voiceSettings: object | undefined): string =>
  JSON.stringify({
    text: " ",
    ...(voiceSettings === undefined ? {} : { voice_settings: voiceSettings }),
    context_id: contextId
  })

/** Text to speak, which must end with a space. */
export const say = (contextId: string, text: string): string => JSON.stringify({ text, context_id: contextId })

/** Speak what is left. */
export const flush = (contextId: string): string => JSON.stringify({ context_id: contextId, flush: true })

/** Ends a context: what was flushed is still spoken, all else is not. */
export const close = (contextId: string): string => JSON.stringify({ context_id: contextId, close_context: true })

/** An empty text only resets the time after which the server closes a context. */
export const keepAlive = (contextId: string): string => JSON.stringify({ text: "", context_id: contextId })
