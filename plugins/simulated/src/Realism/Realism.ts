import { Schema } from "effect"

/**
 * Delays and faults of real vendors, which the simulated providers imitate for one call: the field `providers` of its
 * script (`ScriptedModel/Script.ts`). What is left out is ideal.
 */

const milliseconds = Schema.Number.pipe(Schema.between(0, 600_000))
/** Every n-th of something. */
const every = Schema.Int.pipe(Schema.between(1, 1_000_000))
/** One of these values, with one error that names them all. */
const oneOf = <const L extends ReadonlyArray<string | number>>(...values: L) =>
  Schema.Literal(...values).annotations({
    message: ({ actual }) => ({
      message: `Expected one of ${values.map((value) => JSON.stringify(value)).join(", ")}, actual ${JSON.stringify(actual)}`,
      override: true
    })
  })
/** A misspelt field would leave a provider ideal, so that a test passes which tests nothing. */
const strict = { parseOptions: { onExcessProperty: "error" } } as const

const SttRealism = Schema.Struct({
  /** A partial after so many milliseconds of speech each, in place of one for every word. */
  partial_every_ms: Schema.optional(Schema.Number.pipe(Schema.between(1, 600_000))),
  /** From the end of the speech to the final, and to the end of the turn. */
  final_after_ms: Schema.optional(milliseconds),
  /** `none`: the end of a turn is not told. */
  endpointing: Schema.optional(oneOf("provider", "none")),
  /** Partials have words that later ones correct. */
  revise: Schema.optional(Schema.Boolean),
  /** Every n-th final of the call never comes. Its end of turn does. */
  miss_final: Schema.optional(every),
  /** From the end of the turn to the final. */
  late_final_ms: Schema.optional(milliseconds),
  /** Eager ends of turns, some of them withdrawn. */
  eager: Schema.optional(Schema.Boolean),
  /** A session breaks after so many seconds of audio. */
  fail_every_s: Schema.optional(Schema.Number.pipe(Schema.between(0.02, 600)))
}).annotations(strict)
export type SttRealism = typeof SttRealism.Type

const TtsRealism = Schema.Struct({
  /** From the request to the first audio of a turn. */
  first_byte_ms: Schema.optional(milliseconds),
  /** The only rate of the voice, in Hz. */
  sample_rate: Schema.optional(oneOf(8000, 16_000, 22_050, 24_000)),
  /** All audio of a text at once, in chunks of odd lengths, whether or not there is room. */
  burst: Schema.optional(Schema.Boolean),
  /** Alignment comes so long after the audio that it speaks of. */
  late_align_ms: Schema.optional(milliseconds),
  fail: Schema.optional(oneOf("error", "hang", "garbage"))
}).annotations(strict)
export type TtsRealism = typeof TtsRealism.Type

const ModelRealism = Schema.Struct({
  /** As in the script, which these fields override. */
  first_token_ms: Schema.optional(milliseconds),
  tokens_per_second: Schema.optional(Schema.Number.pipe(Schema.between(0, 100_000))),
  fail: Schema.optional(oneOf("error", "hang", "empty")),
  /** Only every n-th request of the call fails; with an error unless `fail` says otherwise. */
  fail_every: Schema.optional(every)
}).annotations(strict)
export type ModelRealism = typeof ModelRealism.Type

const LegRealism = Schema.Struct({
  /** Of the audio in both directions, at 8 kHz. A leg that is answered already keeps its format. */
  format: Schema.optional(oneOf("mulaw", "alaw")),
  /** Discontinuous transmission: the phone sends nothing while the caller is silent. */
  dtx: Schema.optional(Schema.Boolean),
  /** When marks are confirmed; see `PlaybackMarks` of the contract. */
  marks: Schema.optional(oneOf("exact", "echoed", "none")),
  /** The agent's audio comes back in the caller's, so many dB quieter. */
  echo_db: Schema.optional(Schema.Number.pipe(Schema.between(0, 90))),
  /** The delay of the echo. */
  echo_delay_ms: Schema.optional(Schema.Number.pipe(Schema.between(0, 5000))),
  /** The share of packets that arrive after the packet that follows them. */
  reorder: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
  /** The network refuses to transfer the call, as a trunk without REFER. */
  transfer: Schema.optional(oneOf("refused"))
}).annotations(strict)
export type LegRealism = typeof LegRealism.Type

export const Realism = Schema.Struct({
  stt: Schema.optional(SttRealism),
  tts: Schema.optional(TtsRealism),
  model: Schema.optional(ModelRealism),
  leg: Schema.optional(LegRealism)
}).annotations(strict)
export type Realism = typeof Realism.Type
