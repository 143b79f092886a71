import { AgentId, CallId } from "@svc/api/Ids"
import { Schema } from "effect"
import { AgentDefaults, CallConfig } from "./answers/CallConfig.ts"
import { Warning } from "./answers/FieldReader.ts"
import { GatherRules } from "./answers/GatherRules.ts"
import { Menu } from "./answers/Menu.ts"
import { Timer } from "./Timer.ts"

/**
 * What a conversation is told: everything that happens to a call, at the grain of decisions. Inputs are the call's
 * journal, so each is plain JSON. `at` is milliseconds since the call's start.
 */

const Endpointing = Schema.Literal("provider", "none")

/** What is fixed when a call begins; the first row of its journal. */
export const Facts = Schema.TaggedStruct("Facts", {
  call_id: CallId,
  agent_id: AgentId,
  from: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String),
  /** Unix milliseconds; `at` counts from here. */
  started_at: Schema.Number,
  agent: AgentDefaults,
  /** Whether the preferred recognizer tells the end of a turn, or the conversation must. */
  endpointing: Endpointing,
  /** What there is to fall back on, in the order of preference; without it, nothing. */
  providers: Schema.optionalWith(
    Schema.Struct({ recognizers: Schema.Array(Endpointing), models: Schema.Int, voices: Schema.Int }),
    { exact: true }
  ),
  /** How long the caller waits for the model before the agent says that it takes a moment; without it, it never does. */
  filler_ms: Schema.optionalWith(Schema.Number, { exact: true }),
  /** Only of a call that we place: `from` is our number then. */
  outbound: Schema.optionalWith(
    Schema.Struct({
      ring_timeout_seconds: Schema.Number,
      metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
    }),
    { exact: true }
  )
})
export type Facts = typeof Facts.Type

const at = { at: Schema.Number }
/** Milliseconds from the sound to when it was noticed. */
const late = { late: Schema.optionalWith(Schema.Number, { exact: true }) }
const turn = { ...at, turn: Schema.Int }

const ModelToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})

export const Input = Schema.Union(
  /** The agent's server asks for a menu before it gives a configuration. */
  Schema.TaggedStruct("MenuAnswered", { ...at, menu: Menu, warnings: Schema.Array(Warning) }),
  /** The agent's server gave a usable configuration, or none. */
  Schema.TaggedStruct("ConfigAnswered", { ...at, config: CallConfig }),
  Schema.TaggedStruct("ConfigFailed", { ...at, reason: Schema.String }),
  /** The call leg is up, or the caller was gone. */
  Schema.TaggedStruct("Answered", at),
  Schema.TaggedStruct("AnswerFailed", { ...at, reason: Schema.String }),
  /** The call that we placed was not answered. */
  Schema.TaggedStruct("DialFailed", {
    ...at,
    outcome: Schema.Literal("busy", "no-answer", "rejected", "failed"),
    reason: Schema.String
  }),
  /** A single tone, as of a voicemail that waits for its message, is over. Only told of calls that we placed. */
  Schema.TaggedStruct("BeepHeard", at),
  /** Voice activity of the caller, before anything is understood. */
  Schema.TaggedStruct("CallerSpeechStarted", { ...at, ...late }),
  Schema.TaggedStruct("CallerSpeechStopped", { ...at, ...late }),
  /** Words so far, words that stay, and the recognizer's own opinion that the turn is over. */
  Schema.TaggedStruct("CallerPartial", { ...at, text: Schema.String }),
  Schema.TaggedStruct("CallerFinal", { ...at, text: Schema.String }),
  Schema.TaggedStruct("CallerEndOfTurn", at),
  Schema.TaggedStruct("RecognizerFailed", { ...at, reason: Schema.String }),
  /** The answer to `StopListening`: nothing more comes from the recognizer. */
  Schema.TaggedStruct("RecognizerFinished", at),
  /** A key press, told once whatever ways it came by. */
  Schema.TaggedStruct("Dtmf", { ...at, digit: Schema.String }),
  /** The model's first token, each whole sentence, its tool calls, and its end. */
  Schema.TaggedStruct("ModelStarted", turn),
  Schema.TaggedStruct("ModelSentence", { ...turn, text: Schema.String }),
  Schema.TaggedStruct("ModelToolCalls", { ...turn, calls: Schema.Array(ModelToolCall) }),
  Schema.TaggedStruct("ModelDone", turn),
  Schema.TaggedStruct("ModelFailed", { ...turn, reason: Schema.String }),
  /** The first frame of an utterance left, its last one did, or it could not be spoken. */
  Schema.TaggedStruct("SpeechStarted", {
    ...at,
    id: Schema.String,
    /** When the voice was asked for it, and when it gave the first audio. */
    voice: Schema.optionalWith(Schema.Struct({ asked_at: Schema.Number, audio_at: Schema.Number }), { exact: true })
  }),
  Schema.TaggedStruct("SpeechPlayed", { ...at, id: Schema.String }),
  Schema.TaggedStruct("SpeechFailed", { ...at, id: Schema.String, reason: Schema.String }),
  /** The answer to `StopSpeaking`: what had been played of each utterance that was not over. */
  Schema.TaggedStruct("SpeechCleared", {
    ...at,
    cuts: Schema.Array(Schema.Struct({ id: Schema.String, played: Schema.String }))
  }),
  Schema.TaggedStruct("ToolAnswered", { ...at, id: Schema.String, result: Schema.Unknown }),
  Schema.TaggedStruct("ToolFailed", { ...at, id: Schema.String, reason: Schema.String }),
  Schema.TaggedStruct("TimerFired", { ...at, timer: Timer }),
  /** The API asks for digits; without effect while others are gathered. */
  Schema.TaggedStruct("GatherRequested", { ...at, rules: GatherRules }),
  /** What the model drew from the call, not yet checked, or why there is nothing. */
  Schema.TaggedStruct("Extracted", { ...at, answer: Schema.Unknown }),
  Schema.TaggedStruct("ExtractionFailed", { ...at, reason: Schema.String }),
  /** The network took the message after the call, or `failed` says why not. */
  Schema.TaggedStruct("PostCallSmsDone", { ...at, failed: Schema.NullOr(Schema.String) }),
  /** The API asks for a transfer (E.164); without effect while another is under way. */
  Schema.TaggedStruct("TransferRequested", { ...at, destination: Schema.String }),
  /** What the network tells of the transfer: that it rings, then the outcome. */
  Schema.TaggedStruct("TransferProgressed", {
    ...at,
    state: Schema.Literal("ringing", "completed", "busy", "no-answer", "rejected", "failed"),
    reason: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("EndRequested", { ...at, by: Schema.Literal("api", "shutdown") }),
  /** The caller hung up, or the connection to the network broke. */
  Schema.TaggedStruct("CallerHungUp", at),
  Schema.TaggedStruct("LegFailed", { ...at, reason: Schema.String }),
  /** The process that held the call died or failed inside; ends the call whatever its state. */
  Schema.TaggedStruct("Crashed", { ...at, reason: Schema.String })
)
export type Input = typeof Input.Type
export type InputOf<Tag extends Input["_tag"]> = Extract<Input, { readonly _tag: Tag }>

/** An input without its time, which the shell adds. */
export type UntimedInput = Input extends infer I ? (I extends Input ? Omit<I, "at"> : never) : never
