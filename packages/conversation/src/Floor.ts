import { isActive, isSpeaking, openEntries } from "./Entries.ts"
import { type Conversation, isTransferring } from "./State.ts"

/** Who has the floor, and so who may speak. See {@link floorOf}. */
export type Floor =
  /** There is no conversation yet, or it is over. */
  | "closed"
  /** The menu before the conversation. */
  | "menu"
  /** The agent says its farewell. */
  | "farewell"
  /** A voicemail took the call: the agent is silent until it may leave its message. */
  | "voicemail"
  /** The caller is being connected to another number. */
  | "transferring"
  /** The prompt of a gather is being spoken. */
  | "prompting"
  /** Digits are awaited. */
  | "collecting"
  /** The agent says its first message, which cannot be interrupted. */
  | "greeting"
  /** Sound of the caller stopped the agent's speech. If no words follow, the agent speaks the rest. */
  | "possibly interrupted"
  /** Words of the caller stopped the agent's speech, and the shell has not yet reported how much was played. */
  | "interrupted"
  /** In an outbound call, the agent speaks its first message while the caller says hello. */
  | "both greeting"
  | "agent"
  /** The caller speaks while the model or tools work on an answer to the previous turn. */
  | "caller while generating"
  | "caller while tools run"
  /** In an outbound call, the caller still says hello; the first message, already spoken, is the answer. */
  | "caller greeting"
  | "caller"
  /** The model generates, and none of its sentences waits to be spoken. */
  | "generating"
  /** The model will be asked when the tools have answered. */
  | "running tools"
  | "nobody"

/** Derives the floor from the state; the first condition that holds decides. */
export const floorOf = (state: Conversation): Floor => {
  const { caller, interruption, model, phase } = state
  if (phase === "menu") return "menu"
  if (phase === "ending") return "farewell"
  if (phase !== "live") return "closed"
  if (state.voicemail === "machine") return "voicemail"
  if (state.transfer?.stage === "in progress") return "transferring"
  const gather = state.gathers[0]
  if (gather !== undefined && gather.stage !== "waiting") return isSpeaking(state) ? "prompting" : "collecting"
  if (interruption?.certain === false) return "possibly interrupted"
  if (isSpeaking(state)) {
    if (isGreeting(state)) return "greeting"
    return isCallerGreeting(state) ? "both greeting" : "agent"
  }
  if (interruption !== null) return "interrupted"
  if (model !== null) return caller.speaking ? "caller while generating" : "generating"
  if (state.must_ask_model) return caller.speaking ? "caller while tools run" : "running tools"
  if (caller.speaking) return isCallerGreeting(state) ? "caller greeting" : "caller"
  return "nobody"
}

/**
 * Whether the caller's first words began before the agent could speak: a person who answers a phone says hello first.
 * These words do not interrupt the first message, which answers them.
 */
const isCallerGreeting = ({ caller, config, entries, facts, opened_at }: Conversation): boolean =>
  facts.outbound !== undefined &&
  opened_at !== null &&
  config !== null &&
  config.first_message !== null &&
  caller.speaking &&
  caller.since <= opened_at &&
  !entries.some((e) => e.kind === "caller")

/** Whether the agent says a first message that the caller must hear. */
const isGreeting = (state: Conversation): boolean =>
  state.config?.first_message_interruptible === false &&
  openEntries(state).some((e) => e.turn === state.greeting && e.utterances.some(isActive))

/**
 * Whether the agent does not begin to speak, because the caller does: sound for `interrupt_after_ms`, or words. What it
 * would say is held until the caller has finished.
 */
export const callerHoldsFloor = (state: Conversation): boolean => {
  const { caller, gathers, phase, transfer, voicemail } = state
  if (phase !== "live" || voicemail === "machine" || transfer?.stage === "in progress") return false
  if ((gathers[0] !== undefined && gathers[0].stage !== "waiting") || isCallerGreeting(state)) return false
  const hasWords = caller.words.length > 0 || caller.partial !== ""
  return (caller.voice_active && caller.long_sound) || (caller.speaking && hasWords && !caller.early_answer)
}

/** An action that depends on the floor. */
type FloorAction =
  /** `inactivity_timeout` runs. */
  | "count inactivity"
  /** The agent says a filler. */
  | "say filler"
  /** The agent apologizes for words that speech-to-text lost. It may talk over the caller: these words are lost too. */
  | "apologize"
  /** The next gather or a waiting transfer starts, because the agent has finished speaking. */
  | "start gather or transfer"
  /** The model is asked. Its answer is spoken after current speech. */
  | "ask model"
  /** An answer that the caller gave before the end of the question becomes a turn. */
  | "take early answer"
  /** Partial transcripts are used: they may stop the agent, or be the caller's last words. */
  | "use partials"

const agentSpeaks = ["ask model", "use partials"] as const
const agentIsSilent = ["ask model", "take early answer", "apologize"] as const

const allowed: { readonly [F in Floor]: ReadonlyArray<FloorAction> } = {
  closed: [],
  menu: ["start gather or transfer"],
  farewell: ["use partials"],
  voicemail: ["take early answer"],
  transferring: ["take early answer"],
  prompting: ["use partials"],
  collecting: ["take early answer"],
  "possibly interrupted": [...agentSpeaks, "apologize"],
  interrupted: agentIsSilent,
  greeting: agentSpeaks,
  "both greeting": agentSpeaks,
  agent: agentSpeaks,
  "caller while generating": agentIsSilent,
  "caller while tools run": [...agentIsSilent, "start gather or transfer"],
  "caller greeting": [...agentIsSilent, "start gather or transfer"],
  caller: [...agentIsSilent, "start gather or transfer"],
  generating: [...agentIsSilent, "say filler"],
  "running tools": [...agentIsSilent, "start gather or transfer"],
  nobody: [...agentIsSilent, "start gather or transfer", "count inactivity"]
}

/** Whether the current floor allows an action. */
export const isAllowed = (state: Conversation, action: FloorAction): boolean =>
  allowed[floorOf(state)].includes(action) && (action !== "start gather or transfer" || !callerHoldsFloor(state))

/**
 * Whether nothing happens until the caller speaks or presses a digit: the agent has said everything, and neither the model
 * nor a tool works, except one that waits for digits.
 */
export const awaitsCaller = (state: Conversation): boolean => {
  if ((state.phase !== "live" && state.phase !== "menu") || state.model !== null || isSpeaking(state)) return false
  const gathering = state.gathers.flatMap(({ requester }) => (requester.kind === "tool" ? [requester.id] : []))
  const works = state.entries.some(
    (e) => e.kind === "agent" && e.tools.some((t) => t.pending && !gathering.includes(t.id))
  )
  if (works || isTransferring(state)) return false
  const [first] = state.gathers
  return first === undefined ? state.phase === "live" && !state.must_ask_model : first.stage === "collecting"
}
