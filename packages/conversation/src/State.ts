import type { ExtractedData } from "@svc/api/callbacks/Extraction"
import type { TranscriptTurn, TurnLatency } from "@svc/api/calls/Call"
import type { CallConfig } from "./answers/CallConfig.ts"
import type { GatherRules } from "./answers/GatherRules.ts"
import type { Menu } from "./answers/Menu.ts"
import type { Outcome } from "./Command.ts"
import type { Facts } from "./Input.ts"
import type { Timer } from "./Timer.ts"

/** One text handed to speech synthesis. `held`: stopped by an interruption that may turn out to be none. */
export interface Utterance {
  readonly id: string
  readonly text: string
  readonly voice: string
  readonly language: string
  readonly state: "queued" | "playing" | "played" | "cut" | "held"
  /** When it was handed over. */
  readonly said_at: number
  /** The part that the caller heard. */
  readonly played: string
}

/** A tool that the model called in a turn. */
export interface ToolUse {
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [key: string]: unknown }
  readonly timeout_seconds: number
  readonly pending: boolean
  readonly result: unknown
  /** The model did not call it: this is how it is told of what was done through the API. */
  readonly note?: true
}

/** What the agent did in one turn of the model. */
export interface AgentEntry {
  readonly kind: "agent"
  readonly turn: number
  readonly utterances: ReadonlyArray<Utterance>
  readonly tools: ReadonlyArray<ToolUse>
  /** More sentences may come. */
  readonly generating: boolean
  /** When the first frame was played, and when the agent last fell silent in this turn. */
  readonly spoken_at: number | null
  readonly quiet_at: number | null
  readonly interrupted: boolean
  /** Its words are in the transcript; nothing more will be spoken. */
  readonly closed: boolean
  /** Said by us and not shown to the model. */
  readonly aside: boolean
  /** Said because the caller has to wait: an aside that answers nothing. */
  readonly filler: boolean
}

export interface CallerEntry {
  readonly kind: "caller"
  readonly content: string
}

export type Entry = AgentEntry | CallerEntry

/** A finished turn of the caller: when its sound ended, and when we noticed that it was over. */
export interface Heard {
  readonly ended_at: number
  readonly noticed_at: number
}

/** The model at work on a turn. */
export interface ModelTurn {
  readonly turn: number
  readonly asked_at: number
  /** What this turn answers; null when that was answered already. */
  readonly heard: Heard | null
  readonly started_at: number | null
  readonly sentence_at: number | null
  /** How many models before this one failed at once, without giving anything. */
  readonly failed_before: number
  /** Names of the tools that it may call. */
  readonly offered: ReadonlyArray<string>
}

/** Digits that the caller is, or will be, asked for: by the menu before the conversation, a tool, or the API. */
export interface Gather {
  readonly of: { readonly kind: "menu" | "request" } | { readonly kind: "tool"; readonly id: string }
  readonly rules: GatherRules
  /** How often it is asked again. */
  readonly retries: number
  readonly stage: "waiting" | "prompting" | "collecting"
  readonly digits: string
}

/** A transfer of the caller that was asked for. `tool`: the id of the call of `transfer_call`; null: the API asked. */
export interface Transfer {
  /** E.164. */
  readonly destination: string
  /** Why, as the model says; null when it does not. */
  readonly reason: string | null
  readonly tool: string | null
  readonly stage: "waiting" | "under way" | "given up"
}

/** A whole conversation. Everything in it is plain JSON. */
export interface Conversation {
  readonly facts: Facts
  /**
   * starting (configuration) → answering → (menu, until the second configuration →) live → transferred, or ending
   * (farewell) → draining (last words) → after (what is owed, nobody on the line) → over. A call that we place: answering →
   * connected (configuration) → live.
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
    | "after"
    | "over"
  /** What the first answer asked for in place of a configuration. */
  readonly menu: Menu | null
  readonly config: CallConfig | null
  readonly answered_at: number | null
  /** When the configuration let the agent speak. */
  readonly opened_at: number | null
  /** A recognizer was opened, and has not been given up. */
  readonly listening: boolean
  /** When the call was hung up. Its time stands still from then on. */
  readonly ended_at: number | null
  readonly entries: ReadonlyArray<Entry>
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latencies: ReadonlyArray<TurnLatency>
  /**
   * What the caller is saying now. `voice`: sound of speech at this moment; `speaking`: since `since`, pauses included;
   * `until`: when the sound last ended, or, where no sound but only words were noticed (not `voiced`), the last of them.
   */
  readonly caller: {
    readonly voice: boolean
    readonly voiced: boolean
    readonly speaking: boolean
    readonly since: number
    readonly until: number
    readonly words: ReadonlyArray<string>
    readonly partial: string
    /** What was said is an answer to a question that the agent has not quite finished: a turn once it has. */
    readonly waits: boolean
  }
  /** The agent's speech was stopped, at `at`. `user_text` is null while it may still be a false alarm. */
  readonly interruption: { readonly at: number; readonly user_text: string | null; readonly clearing: boolean } | null
  readonly model: ModelTurn | null
  /** Timings of turns whose first audio has not been played yet, by turn. */
  readonly waiting: ReadonlyArray<ModelTurn>
  /** A turn of the caller that no agent speech has answered yet. */
  readonly unanswered: Heard | null
  /** Keypad input under way, and what waits for it to be over. */
  readonly gathers: ReadonlyArray<Gather>
  readonly transfer: Transfer | null
  /** Where the caller was transferred to, and when. */
  readonly transferred: { readonly destination: string; readonly at: number } | null
  /** Who took a call that we placed; null: nobody has, or it is the other side that called. `machine`: the agent waits to leave its message. */
  readonly voicemail: "unknown" | "person" | "machine" | null
  /** The model owes an answer: its tools were called, or the caller spoke while they ran or digits were gathered. */
  readonly owed: boolean
  /** Model turns since the caller last spoke; bounds the tool rounds. */
  readonly rounds: number
  readonly next_turn: number
  readonly next_utterance: number
  /** Which provider of each kind serves the call: 0 is the preferred one, the next are what there is to fall back on. */
  readonly ranks: { readonly model: number; readonly voice: number; readonly recognizer: number }
  /** Milliseconds of the caller's speech of which nothing was understood since the last words. */
  readonly deaf_ms: number
  /** The voice failed and was stopped; once it is known what was played, another says the rest. */
  readonly revoicing: boolean
  /** Failures in a row. */
  readonly failures: { readonly model: number; readonly speech: number; readonly recognizer: number }
  readonly timers: ReadonlyArray<Timer>
  readonly ending: { readonly outcome: Outcome; readonly hanging: boolean } | null
  readonly outcome: Outcome | null
  /** What the phase `after` waits for. */
  readonly after: "extracting" | "texting" | null
  /** The values of the extraction schema, once they are there. */
  readonly extracted: ExtractedData | null
  /** The process is about to stop: nothing may take long. */
  readonly stopping: boolean
}

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
  caller: { voice: false, voiced: false, speaking: false, since: 0, until: 0, words: [], partial: "", waits: false },
  interruption: null,
  model: null,
  waiting: [],
  unanswered: null,
  gathers: [],
  transfer: null,
  transferred: null,
  voicemail: null,
  owed: false,
  rounds: 0,
  next_turn: 0,
  next_utterance: 0,
  ranks: { model: 0, voice: 0, recognizer: 0 },
  deaf_ms: 0,
  revoicing: false,
  failures: { model: 0, speech: 0, recognizer: 0 },
  timers: [],
  ending: null,
  outcome: null,
  after: null,
  extracted: null,
  stopping: false
})

export const agentEntry = (state: Conversation, turn: number): AgentEntry | undefined =>
  state.entries.findLast((e): e is AgentEntry => e.kind === "agent" && e.turn === turn)

/** Agent entries whose words are not yet in the transcript, oldest first. */
export const openEntries = (state: Conversation): ReadonlyArray<AgentEntry> =>
  state.entries.filter((e): e is AgentEntry => e.kind === "agent" && !e.closed)

/** Whether an utterance is being spoken or waits to be. */
export const isActive = (u: Utterance): boolean => u.state === "queued" || u.state === "playing"

/** Whether the agent says something, or is about to. */
export const isSpeaking = (state: Conversation): boolean => openEntries(state).some((e) => e.utterances.some(isActive))

export const hasPendingTools = (state: Conversation): boolean =>
  state.entries.some((e) => e.kind === "agent" && e.tools.some((t) => t.pending))

/** Whether a transfer was requested whose outcome is awaited. */
export const isTransferring = ({ transfer }: Conversation): boolean =>
  transfer !== null && transfer.stage !== "given up"

export const isRunning = (state: Conversation, timer: Timer): boolean => state.timers.includes(timer)

/** A time of a call, in milliseconds since its start, as an ISO 8601 timestamp. */
export const isoTime = (state: Conversation, at: number): string => new Date(state.facts.started_at + at).toISOString()

/** BCP-47. */
export const languageOf = ({ config, facts }: Conversation): string => config?.language ?? facts.agent.language
