import { type Conversation, isSpeaking } from "./State.ts"

/** Who has the floor: what the call is occupied with, and so who may speak. See {@link floorOf}. */
export type Floor =
  /** There is no conversation: not yet, or not any more. */
  | "closed"
  /** The menu before the conversation. */
  | "menu"
  /** The agent says its last words. */
  | "farewell"
  /** A voicemail has the call: the agent is silent until it may leave its message. */
  | "machine"
  /** The caller is being connected to another number. */
  | "transferring"
  /** The prompt of a gather is being spoken. */
  | "prompting"
  /** Digits are awaited. */
  | "collecting"
  /** Sound of the caller stopped the agent's speech. Without words, the rest is spoken. */
  | "held"
  /** Words of the caller stopped the agent's speech, and the shell has not yet reported how much was played. */
  | "interrupted"
  /** The agent speaks its first message while the person whom we called says hello. */
  | "greeting"
  | "speaking"
  /** The caller speaks, and the model or tools are at work on an answer to what was said before. */
  | "caller while thinking"
  | "caller while tools run"
  /** The person whom we called still says hello. The first message, already spoken, is the answer. */
  | "hello"
  | "caller"
  /** The model has been asked, and nothing that it said is left to be spoken. */
  | "thinking"
  /** The model will be asked when tools have answered. */
  | "tools"
  | "nobody"

/** The first of these that holds has the floor. */
export const floorOf = (state: Conversation): Floor => {
  const { caller, interruption, model, phase } = state
  if (phase === "menu") return "menu"
  if (phase === "ending") return "farewell"
  if (phase !== "live") return "closed"
  if (state.voicemail === "machine") return "machine"
  if (state.transfer?.stage === "under way") return "transferring"
  const gather = state.gathers[0]
  if (gather !== undefined && gather.stage !== "waiting") return isSpeaking(state) ? "prompting" : "collecting"
  if (interruption?.user_text === null) return "held"
  if (isSpeaking(state)) return isHello(state) ? "greeting" : "speaking"
  if (interruption !== null) return "interrupted"
  if (model !== null) return caller.speaking ? "caller while thinking" : "thinking"
  if (state.owed) return caller.speaking ? "caller while tools run" : "tools"
  if (caller.speaking) return isHello(state) ? "hello" : "caller"
  return "nobody"
}

/**
 * Whether the caller's first words began before the agent could speak: a person who answers a phone says hello first.
 * They do not interrupt the first message, which is the answer to them.
 */
const isHello = ({ caller, config, entries, facts, opened_at }: Conversation): boolean =>
  facts.outbound !== undefined &&
  opened_at !== null &&
  config !== null &&
  config.first_message !== null &&
  caller.speaking &&
  caller.since <= opened_at &&
  !entries.some((e) => e.kind === "caller")

/** What depends on who has the floor. */
type Act =
  /** `inactivity_timeout` runs. */
  | "count inactivity"
  /** The agent says that the answer takes a moment. */
  | "say filler"
  /** The agent apologizes for words that speech-to-text lost. It may talk over the caller, whose words are lost anyway. */
  | "apologize"
  /** The prompt of the next gather is spoken, or the caller is transferred. The agent has said all that it had to say. */
  | "proceed"
  /** The model is asked. Its answer waits where there is speech. */
  | "ask model"
  /** A turn of the caller that came early is taken. */
  | "take turn"
  /** A partial transcript may stop the agent, or be the caller's last words. */
  | "heed partial"

const agentSpeaks = ["ask model", "heed partial"] as const
const agentIsSilent = ["ask model", "take turn", "apologize"] as const

const allowed: { readonly [F in Floor]: ReadonlyArray<Act> } = {
  closed: [],
  menu: ["proceed"],
  farewell: ["heed partial"],
  machine: ["take turn"],
  transferring: ["take turn"],
  prompting: ["heed partial"],
  collecting: ["take turn"],
  held: [...agentSpeaks, "apologize"],
  interrupted: agentIsSilent,
  greeting: agentSpeaks,
  speaking: agentSpeaks,
  "caller while thinking": agentIsSilent,
  "caller while tools run": [...agentIsSilent, "proceed"],
  hello: [...agentIsSilent, "proceed"],
  caller: [...agentIsSilent, "proceed"],
  thinking: [...agentIsSilent, "say filler"],
  tools: [...agentIsSilent, "proceed"],
  nobody: [...agentIsSilent, "proceed", "count inactivity"]
}

/** Whether the floor allows it now. */
export const may = (state: Conversation, act: Act): boolean => allowed[floorOf(state)].includes(act)
