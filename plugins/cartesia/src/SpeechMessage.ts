import { Schema } from "effect"

/** Messages of the WebSocket (https://docs.cartesia.ai/2026-03-01/api-reference/tts/websocket). */

const nullish = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

const Message = Schema.parseJson(
  Schema.Struct({
    type: Schema.String,
    context_id: nullish(Schema.String),
    data: nullish(Schema.String),
    word_timestamps: Schema.optional(Schema.Unknown),
    status_code: nullish(Schema.Number),
    error_code: nullish(Schema.String),
    title: nullish(Schema.String),
    message: nullish(Schema.String),
    /** Of versions before 2026-03-01. */
    error: nullish(Schema.String)
  })
)
const decodeMessage = Schema.decodeUnknownOption(Message)

/** In seconds from the beginning of the context's audio. */
const Words = Schema.Struct({
  words: Schema.Array(Schema.String),
  start: Schema.Array(Schema.Number),
  end: Schema.Array(Schema.Number)
})
const decodeWords = Schema.decodeUnknownOption(Words)

export interface TimedWord {
  readonly word: string
  /** Seconds from the beginning of the context's audio. */
  readonly end: number
}

/** Other messages, such as `flush_done`, are `Other`. */
export type ServerMessage = { readonly contextId: string | undefined } & (
  | { readonly _tag: "Chunk"; readonly audio: Buffer }
  | { readonly _tag: "Words"; readonly words: ReadonlyArray<TimedWord> }
  | { readonly _tag: "Done" }
  | { readonly _tag: "Error"; readonly status: number; readonly text: string }
  | { readonly _tag: "Other" }
)

/** None where the lists do not fit together. */
const wordsOf = (listed: unknown): ReadonlyArray<TimedWord> => {
  const decoded = decodeWords(listed)
  if (decoded._tag === "None") return []
  const { end, words } = decoded.value
  if (words.length !== end.length || !end.every((time) => Number.isFinite(time) && time >= 0)) return []
  return words.map((word, n) => ({ word, end: end[n] ?? 0 }))
}

/** Undefined: it is no message of the protocol. */
export const read = (text: string): ServerMessage | undefined => {
  const decoded = decodeMessage(text)
  if (decoded._tag === "None") return undefined
  const { context_id, data, error, error_code, message, status_code, title, type, word_timestamps } = decoded.value
  const contextId = context_id ?? undefined
  switch (type) {
    case "chunk":
      return { _tag: "Chunk", contextId, audio: Buffer.from(data ?? "", "base64") }
    case "timestamps":
      return { _tag: "Words", contextId, words: wordsOf(word_timestamps) }
    case "done":
      return { _tag: "Done", contextId }
    case "error": {
      const said = [error_code, title, message, error].filter((part) => part != null && part !== "")
      return { _tag: "Error", contextId, status: status_code ?? 500, text: said.join(": ") || "no reason was given" }
    }
    default:
      return { _tag: "Other", contextId }
  }
}

/** What all inputs of a context have in common. */
export interface Generation {
  readonly model_id: string
  readonly voice: { readonly mode: "id"; readonly id: string }
  readonly language: string
  readonly output_format: { readonly container: "raw"; readonly encoding: "pcm_s16le"; readonly sample_rate: number }
  readonly add_timestamps: true
  /** Of the words as they were sent. */
  readonly use_normalized_timestamps: false
  /** The engine sends whole clauses: each is spoken at once. */
  readonly max_buffer_delay_ms: 0
  readonly generation_config?: { readonly speed: number }
  /** Of models before `sonic-3`. */
  readonly speed?: "slow" | "fast"
}

/** An input of a context: its text continues the former ones as it is. */
export const input = (generation: Generation, contextId: string, text: string): string =>
  JSON.stringify({ ...generation, context_id: contextId, transcript: text, continue: true })

/** The end of a context: no input follows. */
export const end = (generation: Generation, contextId: string): string =>
  JSON.stringify({ ...generation, context_id: contextId, transcript: "", continue: false })

/** Ends a context at once; what the vendor is just generating may still come. */
export const cancel = (contextId: string): string => JSON.stringify({ context_id: contextId, cancel: true })
