import { CallUsage, LineFigures } from "@svc/api/calls/CallUsage"
import { AgentId, CallId, TestSessionId } from "@svc/api/Ids"
import { Schema } from "effect"
import { AgentDefaults, CallConfig } from "./answers/CallConfig.ts"
import { warningFields } from "./answers/FieldReader.ts"
import { GatherRules } from "./answers/GatherRules.ts"
import { Menu } from "./answers/Menu.ts"
import { faultField } from "./answers/ServerFault.ts"
import { Passage } from "./Passages.ts"
import { Timer } from "./Timer.ts"

/**
 * The inputs of a conversation: everything that happens to a call and may lead to a decision. Inputs are stored as the
 * call's journal, so each is plain JSON. `at` is milliseconds since the call's start.
 */

const Endpointing = Schema.Literal("provider", "none")

/** The facts of a call, fixed when it begins; the first row of its journal. */
export const Facts = Schema.TaggedStruct("Facts", {
  call_id: Schema.Union(CallId, TestSessionId),
  agent_id: AgentId,
  from: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String),
  /** Unix milliseconds; `at` counts from here. */
  started_at: Schema.Number,
  agent: AgentDefaults,
  /** Whether the preferred speech-to-text provider reports the end of a turn, or the conversation detects it. */
  endpointing: Endpointing,
  /** The providers of each capability, fallbacks included, in the order of preference; absent: one of each. */
  providers: Schema.optionalWith(
    Schema.Struct({ recognizers: Schema.Array(Endpointing), models: Schema.Int, voices: Schema.Int }),
    { exact: true }
  ),
  /** How long the caller waits for the model before the agent says a filler; absent: no fillers. */
  filler_ms: Schema.optionalWith(Schema.Number, { exact: true }),
  /** The model may be asked before the end of a turn; absent: in text sessions and in calls of earlier versions. */
  preemptive: Schema.optionalWith(Schema.Literal(true), { exact: true }),
  /**
   * How many tokens a request and its answer may have together, of the preferred model of each provider; null: not known.
   */
  context_tokens: Schema.optionalWith(Schema.Array(Schema.NullOr(Schema.Number)), { exact: true }),
  /** The most tokens of a request; absent: the default. */
  history_tokens: Schema.optionalWith(Schema.Number, { exact: true }),
  /** The agent had knowledge bases when the call began; absent: it had none. */
  knowledge: Schema.optionalWith(Schema.Literal(true), { exact: true }),
  /** Of an inbound call: the headers that its network passed on, for the agent's server; absent: none. */
  headers: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { exact: true }),
  /** Of an inbound call: the metadata with which it came; absent: none. */
  metadata: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), { exact: true }),
  /** Only for outbound calls, in which `from` is our number. */
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
/** Milliseconds from the sound, or from the end of the speech, to the input. */
const late = { late: Schema.optionalWith(Schema.Number, { exact: true }) }
const turn = { ...at, turn: Schema.Int }

/** Who wants to know: the turn of the caller, or a tool call of the model. */
const LookUpPurpose = Schema.Literal("turn", "tool")
export type LookUpPurpose = typeof LookUpPurpose.Type
const lookUp = { ...at, id: Schema.String, purpose: LookUpPurpose }

const ModelToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})

export const Input = Schema.Union(
  /** The agent's server answered with a menu, before it gives a configuration. */
  Schema.TaggedStruct("MenuAnswered", { ...at, menu: Menu, ...warningFields }),
  /** The agent's server answered with a usable configuration, or did not. */
  Schema.TaggedStruct("ConfigAnswered", { ...at, config: CallConfig }),
  Schema.TaggedStruct("ConfigFailed", { ...at, reason: Schema.String, ...faultField }),
  /** The call leg is connected, or the caller had hung up. `failed`: the network could not connect it. */
  Schema.TaggedStruct("Answered", at),
  Schema.TaggedStruct("AnswerFailed", {
    ...at,
    reason: Schema.String,
    failed: Schema.optionalWith(Schema.Boolean, { exact: true })
  }),
  /** An outbound call was not answered. */
  Schema.TaggedStruct("DialFailed", {
    ...at,
    outcome: Schema.Literal("busy", "no-answer", "rejected", "failed"),
    reason: Schema.String
  }),
  /** The carrier's own detection has decided who took an outbound call. */
  Schema.TaggedStruct("AnswererReported", {
    ...at,
    verdict: Schema.Literal("human", "machine", "fax", "unknown")
  }),
  /** The beep of a voicemail has ended; detected in outbound calls only. */
  Schema.TaggedStruct("BeepHeard", at),
  /** Voice activity of the caller, before any words are recognized. */
  Schema.TaggedStruct("CallerSpeechStarted", { ...at, ...late }),
  Schema.TaggedStruct("CallerSpeechStopped", { ...at, ...late }),
  /** A partial transcript, a final one, and the end of turn as speech-to-text detects it. */
  Schema.TaggedStruct("CallerPartial", { ...at, text: Schema.String }),
  Schema.TaggedStruct("CallerFinal", {
    ...at,
    text: Schema.String,
    /** The language that was detected in it, BCP-47. */
    language: Schema.optionalWith(Schema.String, { exact: true })
  }),
  Schema.TaggedStruct("CallerEndOfTurn", at),
  /**
   * The caller has probably finished: speech-to-text says so before it is certain, or the partial transcript did not
   * change for a short time in which the line was quiet. `text`: the words that are not final, possibly none.
   */
  Schema.TaggedStruct("CallerEndExpected", { ...at, text: Schema.String }),
  /** Speech-to-text says that the caller goes on. */
  Schema.TaggedStruct("CallerEndWithdrawn", at),
  /** A session of speech-to-text is open whose endpointing differs from that of its provider. */
  Schema.TaggedStruct("RecognizerOpened", { ...at, endpointing: Endpointing }),
  /** `broke`: the session was open, and had worked for a time. */
  Schema.TaggedStruct("RecognizerFailed", {
    ...at,
    reason: Schema.String,
    broke: Schema.optionalWith(Schema.Literal(true), { exact: true })
  }),
  /** The outcome of `StopListening`: no further transcript follows. */
  Schema.TaggedStruct("RecognizerFinished", at),
  /** A digit, fed once although several sources may report it. */
  Schema.TaggedStruct("Dtmf", { ...at, digit: Schema.String }),
  /** The model's first token, each whole sentence, its tool calls, and its end. */
  Schema.TaggedStruct("ModelStarted", turn),
  Schema.TaggedStruct("ModelSentence", {
    ...turn,
    text: Schema.String,
    /** The white space between it and the sentence before; absent: one space, none in a script without spaces. */
    space: Schema.optionalWith(Schema.String, { exact: true })
  }),
  Schema.TaggedStruct("ModelToolCalls", { ...turn, calls: Schema.Array(ModelToolCall) }),
  Schema.TaggedStruct("ModelDone", {
    ...turn,
    /** Why the answer has no end: the limit of tokens, or the provider's filter; absent: it has. */
    cut: Schema.optionalWith(Schema.Literal("length", "content_filter"), { exact: true })
  }),
  Schema.TaggedStruct("ModelFailed", { ...turn, reason: Schema.String }),
  /** A provider did what it must not, or could not do all; the call goes on as if it had. */
  Schema.TaggedStruct("ProviderWarned", {
    ...at,
    stage: Schema.Literal("language-model", "text-to-speech"),
    reason: Schema.String
  }),
  /** The outcome of `Summarize`. */
  Schema.TaggedStruct("Summarized", { ...at, id: Schema.String, text: Schema.String }),
  Schema.TaggedStruct("SummaryFailed", { ...at, id: Schema.String, reason: Schema.String }),
  /** Tokens of a request to the model, as the provider reports them. */
  Schema.TaggedStruct("ModelUsed", {
    ...at,
    input_tokens: Schema.Number,
    cached_input_tokens: Schema.Number,
    output_tokens: Schema.Number,
    /**
     * Of a request beside the one that the conversation asked for: to the next model after a failure, or in place of an
     * answer asked for ahead that was of no use.
     */
    is_retry: Schema.optionalWith(Schema.Literal(true), { exact: true }),
    /** Of `Summarize`, which runs beside other requests; absent: of the request under way. */
    of: Schema.optionalWith(Schema.Literal("summary"), { exact: true })
  }),
  /** What the call's media have used until now, and its connection: after each turn, and at the end. */
  Schema.TaggedStruct("MediaReported", {
    ...at,
    tts: CallUsage.fields.tts,
    stt: CallUsage.fields.stt,
    line: Schema.NullOr(LineFigures)
  }),
  /** The first frame of an utterance was sent, its last one was, or it could not be spoken. */
  Schema.TaggedStruct("SpeechStarted", {
    ...at,
    id: Schema.String,
    /** When text-to-speech was asked, and when it returned the first audio. */
    voice: Schema.optionalWith(Schema.Struct({ asked_at: Schema.Number, audio_at: Schema.Number }), { exact: true })
  }),
  Schema.TaggedStruct("SpeechPlayed", { ...at, id: Schema.String, ...late }),
  Schema.TaggedStruct("SpeechFailed", { ...at, id: Schema.String, reason: Schema.String }),
  /** The outcome of `StopSpeaking`: what was played of each unfinished utterance, and whether the rest is held. */
  Schema.TaggedStruct("SpeechCleared", {
    ...at,
    cuts: Schema.Array(
      Schema.Struct({
        id: Schema.String,
        played: Schema.String,
        held: Schema.optionalWith(Schema.Literal(true), { exact: true })
      })
    )
  }),
  Schema.TaggedStruct("ToolAnswered", { ...at, id: Schema.String, result: Schema.Unknown }),
  /** `reason` is what the model gets. */
  Schema.TaggedStruct("ToolFailed", { ...at, id: Schema.String, reason: Schema.String, ...faultField }),
  /** The agent's server did not take `count` turns of the transcript. */
  Schema.TaggedStruct("TranscriptFailed", { ...at, count: Schema.Int, reason: Schema.String, ...faultField }),
  /** The recording ended before the call did. */
  Schema.TaggedStruct("RecordingFailed", { ...at, reason: Schema.String }),
  /**
   * The outcome of `LookUp`: the passages that were found, best first, within the budget of characters, and how many
   * bases the agent has now.
   */
  Schema.TaggedStruct("KnowledgeFound", {
    ...lookUp,
    bases: Schema.Int,
    passages: Schema.Array(Passage),
    /** How long the look-up took, in milliseconds. */
    took_ms: Schema.Number
  }),
  Schema.TaggedStruct("KnowledgeFailed", { ...lookUp, reason: Schema.String }),
  Schema.TaggedStruct("TimerFired", { ...at, timer: Timer }),
  /** The API requests a gather; no effect while another is active. */
  Schema.TaggedStruct("GatherRequested", { ...at, rules: GatherRules }),
  /** The model's answer to the extraction, not yet validated, or why there is none. */
  Schema.TaggedStruct("Extracted", { ...at, answer: Schema.Unknown }),
  Schema.TaggedStruct("ExtractionFailed", { ...at, reason: Schema.String }),
  /** The network accepted `post_call_sms`, or `failed` is the reason why not. */
  Schema.TaggedStruct("PostCallSmsDone", { ...at, failed: Schema.NullOr(Schema.String) }),
  /** The API requests a transfer (E.164); no effect while another is in progress. */
  Schema.TaggedStruct("TransferRequested", { ...at, destination: Schema.String }),
  /** The network reports that the transfer's destination rings, then the outcome. */
  Schema.TaggedStruct("TransferProgressed", {
    ...at,
    state: Schema.Literal("ringing", "completed", "busy", "no-answer", "rejected", "failed"),
    reason: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("EndRequested", { ...at, by: Schema.Literal("api", "shutdown") }),
  /** The caller hung up, or the connection to the network broke. */
  Schema.TaggedStruct("CallerHungUp", at),
  Schema.TaggedStruct("LegFailed", { ...at, reason: Schema.String }),
  /** The process of the call died, or the session had a defect; ends the call in any state. */
  Schema.TaggedStruct("Crashed", {
    ...at,
    reason: Schema.String,
    /** Another server completes the call. */
    recovered: Schema.optionalWith(Schema.Literal(true), { exact: true })
  })
)
export type Input = typeof Input.Type
export type InputOf<Tag extends Input["_tag"]> = Extract<Input, { readonly _tag: Tag }>

/** An input without its time, which the shell adds. */
export type UntimedInput = Input extends infer I ? (I extends Input ? Omit<I, "at"> : never) : never
