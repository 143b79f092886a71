import type { Conversation } from "./State.ts"

/**
 * The entries of a conversation: what the agent says and which tools it calls in a turn, and what the caller says.
 */

/**
 * One text for text-to-speech. `waiting`: said while the caller has the floor, and spoken when the caller leaves it.
 * `held`: stopped by a possible interruption; the rest may be resumed.
 */
export interface Utterance {
  readonly id: string
  readonly text: string
  /** The white space of the model's text before it; absent: one space, none in a script without spaces. */
  readonly space?: string
  readonly voice: string
  readonly language: string
  readonly state: "waiting" | "queued" | "playing" | "played" | "cut" | "held"
  /** When the command to speak it was given. */
  readonly said_at: number
  /** The part that the caller heard. */
  readonly played: string
  /** The shell holds its audio. */
  readonly has_audio?: true
  /** Nothing of it can be spoken: it has only signs, such as an emoji. Its state is `played`. */
  readonly is_silent?: true
  /** Text-to-speech failed, and the same one was asked again. */
  readonly is_second_try?: true
}

/** A tool that the model called in a turn. */
export interface ToolUse {
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [key: string]: unknown }
  readonly timeout_seconds: number
  readonly pending: boolean
  readonly result: unknown
  /** Not called by the model: shows the model an action of the API or a rejected call. Not counted in the record. */
  readonly not_invoked?: true
}

/** The agent's speech and tool calls in one turn. */
export interface AgentEntry {
  readonly kind: "agent"
  readonly turn: number
  readonly utterances: ReadonlyArray<Utterance>
  readonly tools: ReadonlyArray<ToolUse>
  /** More sentences may come. */
  readonly generating: boolean
  /** When the first frame was played, and when the agent last stopped speaking in this turn. */
  readonly spoken_at: number | null
  readonly quiet_at: number | null
  readonly interrupted: boolean
  /** Complete: its speech is in the transcript, and nothing more will be spoken. */
  readonly closed: boolean
  /** A fixed text that is not shown to the model. */
  readonly hidden_from_model: boolean
  /** Said because the caller has to wait; hidden from the model, and not an answer. */
  readonly filler: boolean
}

export interface CallerEntry {
  readonly kind: "caller"
  readonly content: string
}

export type Entry = AgentEntry | CallerEntry

/** The agent's entry of a turn. */
export const agentEntry = (state: Conversation, turn: number): AgentEntry | undefined =>
  state.entries.findLast((e): e is AgentEntry => e.kind === "agent" && e.turn === turn)

/** Agent entries whose words are not yet in the transcript, oldest first. */
export const openEntries = (state: Conversation): ReadonlyArray<AgentEntry> =>
  state.entries.filter((e): e is AgentEntry => e.kind === "agent" && !e.closed)

/** Whether an utterance is being played or queued. */
export const isActive = (u: Utterance): boolean => u.state === "queued" || u.state === "playing"

/** Whether the agent has speech that is playing or queued. */
export const isSpeaking = (state: Conversation): boolean => openEntries(state).some((e) => e.utterances.some(isActive))

/** Whether a tool has not answered yet. */
export const hasPendingTools = (state: Conversation): boolean =>
  state.entries.some((e) => e.kind === "agent" && e.tools.some((t) => t.pending))
