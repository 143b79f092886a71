import { Schema } from "effect"

/**
 * What a call, or a session in text, has used of the providers. A request counts when it is sent, also one that failed or
 * was cancelled; its tokens count as far as the provider reported them. See docs/reference/calls.md.
 */
export const CallUsage = Schema.Struct({
  llm: Schema.Struct({
    requests: Schema.Int,
    /** Those from the provider's cache included. */
    input_tokens: Schema.Int,
    cached_input_tokens: Schema.Int,
    output_tokens: Schema.Int
  }),
  tts: Schema.Struct({
    /** Of the texts that were to be spoken, those from the cache included. */
    characters: Schema.Int,
    /** Of texts whose speech was in the cache, so that no provider was asked. */
    cached_characters: Schema.Int
  }),
  stt: Schema.Struct({
    /** Audio that speech-to-text got. */
    seconds: Schema.Number
  })
}).annotations({ identifier: "CallUsage" })
export type CallUsage = typeof CallUsage.Type

export const noUsage: CallUsage = {
  llm: { requests: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 },
  tts: { characters: 0, cached_characters: 0 },
  stt: { seconds: 0 }
}

/** The call's connection to the telephone network, as far as the network tells; null: it does not. */
export const LineFigures = Schema.Struct({
  /** The network's id of the call. */
  carrier_call_id: Schema.NullOr(Schema.String),
  codec: Schema.NullOr(Schema.Literal("PCMU", "PCMA", "L16", "G722")),
  packets_lost: Schema.NullOr(Schema.Int),
  /** Packets that came too late to be heard. */
  packets_late: Schema.NullOr(Schema.Int),
  /** Interarrival jitter (RFC 3550, 6.4.1). */
  jitter_ms: Schema.NullOr(Schema.Number)
})
export type LineFigures = typeof LineFigures.Type

export const noLine: LineFigures = {
  carrier_call_id: null,
  codec: null,
  packets_lost: null,
  packets_late: null,
  jitter_ms: null
}

export const CallLine = Schema.Struct({
  /** The short name of the telephony plugin, such as `sip`. */
  telephony: Schema.String,
  ...LineFigures.fields
}).annotations({ identifier: "CallLine" })
export type CallLine = typeof CallLine.Type
