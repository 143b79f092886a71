import type { ExtractedData } from "@svc/api/callbacks/Extraction"
import type { TranscriptTurn, TurnLatency } from "@svc/api/calls/Call"
import type { CallFailure, CallWarning } from "@svc/api/calls/CallFailure"
import { type CallUsage, type LineFigures, noUsage } from "@svc/api/calls/CallUsage"
import type { CallConfig } from "./answers/CallConfig.ts"
import { defaultTurnTaking } from "./answers/CallSettings.ts"
import type { GatherRules } from "./answers/GatherRules.ts"
import type { Menu } from "./answers/Menu.ts"
import type { ModelRequest, Outcome } from "./Command.ts"
import type { Entry } from "./Entries.ts"
import type { Facts } from "./Input.ts"
import type { Passage } from "./Passages.ts"
import type { Timer } from "./Timer.ts"

/** A finished turn of the caller: when its sound ended, and when the end of turn was detected. */
export interface CallerTurn {
  readonly ended_at: number
  readonly detected_at: number
}

/** A generation in progress. */
export interface ModelTurn {
  readonly turn: number
  readonly asked_at: number
  /** The caller's turn that it answers; null when that was answered already. */
  readonly caller_turn: CallerTurn | null
  readonly started_at: number | null
  readonly sentence_at: number | null
  /** How many models failed in this turn, before this one, without any output. */
  readonly failed_before: number
  /** Names of the tools that were offered. */
  readonly offered: ReadonlyArray<string>
}

/** A gather that is active or queued: of the menu, of a tool, or requested through the API. */
export interface Gather {
  readonly requester: { readonly kind: "menu" | "request" } | { readonly kind: "tool"; readonly id: string }
  readonly rules: GatherRules
  /** How often the prompt may still be repeated. */
  readonly retries: number
  readonly stage: "waiting" | "prompting" | "collecting"
  readonly digits: string
}

/** A requested transfer. `tool`: the id of the `transfer_call`; null: requested through the API. */
export interface Transfer {
  /** E.164. */
  readonly destination: string
  /** The reason that the model gave, or null. */
  readonly reason: string | null
  readonly tool: string | null
  readonly stage: "waiting" | "in progress" | "timed out"
}

/** A whole conversation. Everything in it is plain JSON. */
export interface Conversation {
  readonly facts: Facts
  /**
   * starting (configuration) → answering → (menu, until the second configuration →) live → transferred, or ending
   * (farewell) → draining (rest of the transcript) → post_call (extraction, post_call_sms) → over. An outbound call:
   * answering → connected (configuration) → live.
   */
  readonly phase:
    | "starting"
    | "answering"
    | "connected"
    | "menu"
    | "live"
    | "transferred"
    | "ending"
    | "draining"
    | "post_call"
    | "over"
  /** The menu of the first answer, if it had one in place of a configuration. */
  readonly menu: Menu | null
  readonly config: CallConfig | null
  readonly answered_at: number | null
  /** When the conversation began: from then on the agent may speak. */
  readonly opened_at: number | null
  /** Speech-to-text was opened, and has not failed for good. */
  readonly listening: boolean
  /** When the call was hung up. Later inputs are dated to this time. */
  readonly ended_at: number | null
  readonly entries: ReadonlyArray<Entry>
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latencies: ReadonlyArray<TurnLatency>
  /**
   * The caller's speech. `voice_active`: there is voice activity now; `speaking`: the caller has a turn since `since`,
   * pauses included; `until`: when voice activity last ended or, without any (not `voice_detected`), the last words.
   * `long_sound`: the voice activity has lasted for `interrupt_after_ms`; `long_sound_at`: when it will have, pauses up to
   * `soundPauseMs` included; null: it is not waited for.
   */
  readonly caller: {
    readonly voice_active: boolean
    readonly voice_detected: boolean
    readonly long_sound: boolean
    readonly long_sound_at: number | null
    readonly speaking: boolean
    readonly since: number
    readonly until: number
    readonly words: ReadonlyArray<string>
    readonly partial: string
    /** The words answer a question that the agent has not finished yet; they become a turn once it has. */
    readonly early_answer: boolean
  }
  /**
   * The agent's speech was stopped at `at`. Not `certain`: it may be a false interruption. `user_text`: the words that made
   * it certain; null if sound alone did. `clearing`: the shell has not yet reported how much was played.
   */
  readonly interruption: {
    readonly at: number
    readonly certain: boolean
    readonly user_text: string | null
    readonly clearing: boolean
  } | null
  readonly model: ModelTurn | null
  /** Generations whose first audio has not been sent yet, for their latency. */
  readonly unplayed: ReadonlyArray<ModelTurn>
  /** A turn of the caller that no agent speech has answered yet. */
  readonly unanswered: CallerTurn | null
  /**
   * The look-up for the caller's last words: the one that runs, or what the last one found. `available`: the agent has
   * knowledge bases, as far as is known. `next`: the number of the next look-up.
   */
  readonly knowledge: {
    readonly available: boolean
    readonly pending: { readonly id: string; readonly query: string } | null
    readonly found: { readonly query: string; readonly passages: ReadonlyArray<Passage> } | null
    readonly next: number
  }
  /**
   * The answer that the model was asked for before the end of the caller's turn; see Speculation. `expected`: the words
   * after which the turn will probably end. `held`: the answer and its request. `asked`: how often in this turn. `next`: the
   * number of the next one. `caution`: rises with each answer that is dropped, falls with each that is adopted.
   */
  readonly speculation: {
    readonly expected: string | null
    readonly held: { readonly id: string; readonly request: ModelRequest } | null
    readonly asked: number
    readonly next: number
    readonly caution: number
  }
  /** The active gather, followed by queued ones. */
  readonly gathers: ReadonlyArray<Gather>
  readonly transfer: Transfer | null
  /** The destination to which the caller was transferred, and when. */
  readonly transferred: { readonly destination: string; readonly at: number } | null
  /**
   * Who took an outbound call; null before its answer, and in inbound calls. `machine`: the agent waits to leave its
   * message.
   */
  readonly voicemail: "unknown" | "person" | "machine" | null
  /** The model must be asked again: tools were called, or the caller spoke while tools ran or digits were gathered. */
  readonly must_ask_model: boolean
  /** Generations since the caller last spoke, which limits tool rounds. */
  readonly rounds: number
  readonly next_turn: number
  /** The endpointing of the speech-to-text session, where it differs from that of its provider. */
  readonly session_endpointing: "provider" | "none" | null
  /** Words of the last turns for which no final transcript had come, the oldest first; a late one adds nothing. */
  readonly unconfirmed: ReadonlyArray<string>
  /** The `press_keys` that runs: its tool call, and the keys still to be pressed. */
  readonly keys: { readonly tool: string; readonly rest: string } | null
  /**
   * The languages that were detected in the caller's turn, each with its number of words (empty: one that the call does not
   * have), and the one of the turn before, if it may become the call's; see Language.
   */
  readonly detected: { readonly words: { readonly [language: string]: number }; readonly before: string | null }
  /**
   * What the model gets of the entries: those from the index `from`, and a `summary` of those before `summarized`. `pending`:
   * the summary that is asked for, of the entries before `to`; see History.
   */
  readonly history: {
    readonly from: number
    readonly summary: string | null
    readonly summarized: number
    readonly pending: { readonly id: string; readonly to: number } | null
    readonly next: number
  }
  /** How many `silence_prompts` were said since the caller's last sound or key. */
  readonly prompts_said: number
  /** The turn of the first message; null: it has not been said. */
  readonly greeting: number | null
  readonly next_utterance: number
  /** The index of the provider in use for each capability: 0 is the preferred one, others are fallbacks. */
  readonly provider_index: { readonly model: number; readonly tts: number; readonly stt: number }
  /** Milliseconds of the caller's speech without recognized words since the last words. */
  readonly unrecognized_ms: number
  /**
   * Text-to-speech failed and was stopped; when the shell has reported what was played, the fallback speaks the rest.
   */
  readonly switching_tts: boolean
  /** The turn whose texts text-to-speech gets as one, and which may get more; null: none. */
  readonly open_speech: number | null
  /** The shell holds audio of speech that was stopped. */
  readonly holds_audio: boolean
  /** Consecutive failures of each capability. */
  readonly failures: { readonly model: number; readonly tts: number; readonly stt: number }
  /** When speech-to-text failed, within the last minute. */
  readonly stt_failed_at: ReadonlyArray<number>
  /** When a session of speech-to-text that had worked was last opened again at the same provider, in place of the next. */
  readonly stt_reopened_at: number | null
  readonly timers: ReadonlyArray<Timer>
  readonly ending: { readonly outcome: Outcome; readonly hanging_up: boolean } | null
  readonly outcome: Outcome | null
  /** Why the call ends as failed, once that is decided; not shown if it ends otherwise. */
  readonly failure: CallFailure | null
  /** What was wrong and did not end the call, and how many more there were; see Problems. */
  readonly warnings: ReadonlyArray<CallWarning>
  readonly warnings_dropped: number
  /** Reasons that were warned of before they made a provider fail. */
  readonly provider_warnings: ReadonlyArray<string>
  /** Turns of the transcript that the agent's server did not take. */
  readonly lost_transcripts: number
  /** What the call has used of its providers; see Usage. */
  readonly usage: CallUsage
  /** The connection to the caller, as last reported; null: not yet, or there is none. */
  readonly line: LineFigures | null
  /** What the phase `post_call` waits for. */
  readonly post_call: "extracting" | "texting" | null
  /** The extracted data, once it is known. */
  readonly extracted: ExtractedData | null
  /** The process is about to stop, so waits are shortened. */
  readonly stopping: boolean
}

export const noSpeculation: Conversation["speculation"] = { expected: null, held: null, asked: 0, next: 0, caution: 0 }

export const initial = (facts: Facts): Conversation => ({
  facts,
  phase: facts.outbound === undefined ? "starting" : "answering",
  menu: null,
  config: null,
  answered_at: null,
  opened_at: null,
  listening: false,
  ended_at: null,
  entries: [],
  transcript: [],
  latencies: [],
  caller: {
    voice_active: false,
    voice_detected: false,
    long_sound: false,
    long_sound_at: null,
    speaking: false,
    since: 0,
    until: 0,
    words: [],
    partial: "",
    early_answer: false
  },
  interruption: null,
  model: null,
  unplayed: [],
  unanswered: null,
  knowledge: { available: facts.knowledge === true, pending: null, found: null, next: 0 },
  speculation: noSpeculation,
  gathers: [],
  transfer: null,
  transferred: null,
  voicemail: null,
  must_ask_model: false,
  rounds: 0,
  next_turn: 0,
  session_endpointing: null,
  unconfirmed: [],
  keys: null,
  detected: { words: {}, before: null },
  history: { from: 0, summary: null, summarized: 0, pending: null, next: 0 },
  prompts_said: 0,
  greeting: null,
  next_utterance: 0,
  provider_index: { model: 0, tts: 0, stt: 0 },
  unrecognized_ms: 0,
  switching_tts: false,
  open_speech: null,
  holds_audio: false,
  failures: { model: 0, tts: 0, stt: 0 },
  stt_failed_at: [],
  stt_reopened_at: null,
  timers: [],
  ending: null,
  outcome: null,
  failure: null,
  warnings: [],
  warnings_dropped: 0,
  provider_warnings: [],
  lost_transcripts: 0,
  usage: noUsage,
  line: null,
  post_call: null,
  extracted: null,
  stopping: false
})

/** Whether a transfer was requested whose outcome is awaited. */
export const isTransferring = ({ transfer }: Conversation): boolean =>
  transfer !== null && transfer.stage !== "timed out"

/** The caller's words since the last turn. */
export const spokenWords = ({ caller }: Conversation): string => [...caller.words, caller.partial].join(" ").trim()

export const isRunning = (state: Conversation, timer: Timer): boolean => state.timers.includes(timer)

/** A time of a call, in milliseconds since its start, as an ISO 8601 timestamp. */
export const isoTime = (state: Conversation, at: number): string => new Date(state.facts.started_at + at).toISOString()

/** How the call takes turns. */
export const turnTakingOf = ({ config }: Conversation): CallConfig["turn_taking"] =>
  config?.turn_taking ?? defaultTurnTaking

/** Whether silence ends the caller's turns, and not speech-to-text. */
export const endsTurnsBySilence = (state: Conversation): boolean => {
  const { facts, provider_index, session_endpointing } = state
  const endpointing = session_endpointing ?? facts.providers?.recognizers[provider_index.stt] ?? facts.endpointing
  return endpointing === "none" || turnTakingOf(state).end_of_turn_ms !== null
}

/** BCP-47. */
export const languageOf = ({ config, facts }: Conversation): string => config?.language ?? facts.agent.language
