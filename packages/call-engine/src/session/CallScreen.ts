import type { AgentEntry } from "@svc/conversation/Entries"
import { floorOf } from "@svc/conversation/Floor"
import type { Conversation } from "@svc/conversation/State"
import type { AgentActivity, CallView } from "@svc/providers/Telephony"

/** What the agent does; null: there is no conversation. */
const activityOf = (state: Conversation): AgentActivity | null => {
  const floor = floorOf(state)
  switch (floor) {
    case "closed":
      return null
    case "agent":
    case "both greeting":
    case "farewell":
    case "greeting":
    case "prompting":
      return "speaking"
    case "menu":
      return state.entries.some((e) => e.kind === "agent" && e.utterances.some(({ state }) => state === "playing"))
        ? "speaking"
        : "listening"
    case "generating":
      return "thinking"
    case "running tools":
    case "transferring":
      return "using-tool"
    default:
      return "listening"
  }
}

/** The words of a turn that are shown at most, in characters; of a longer one the end. */
const maxShown = 2000

/** What the caller hears of an entry, up to the sentence that is being spoken. */
const spokenOf = ({ utterances }: AgentEntry): string =>
  utterances
    .flatMap(({ played, state, text }) => {
      if (state === "playing" || state === "played") return [text]
      return played === "" ? [] : [played]
    })
    .join(" ")
    .slice(-maxShown)

/** The words of the agent's turn that is not finished. */
const agentWords = ({ entries }: Conversation): string => {
  const open = entries.findLast((entry) => entry.kind === "agent" && !entry.closed)
  return open?.kind === "agent" ? spokenOf(open) : ""
}

const callerWords = ({ caller }: Conversation): string =>
  [...caller.words, caller.partial]
    .filter((words) => words !== "")
    .join(" ")
    .slice(-maxShown)

/**
 * Shows a conversation on the caller's screen: compares each state with what is shown, and sends what has changed. See
 * `CallView`.
 */
export class CallScreen {
  readonly #show: (view: CallView) => void
  #activity: AgentActivity | null = null
  /** Turns of the transcript that are shown. */
  #turns = 0
  /** Answers whose latency is shown. */
  #answers = 0
  readonly #words = { caller: "", agent: "" }

  constructor(show: (view: CallView) => void) {
    this.#show = show
  }

  update(state: Conversation): void {
    for (const { content, role } of state.transcript.slice(this.#turns)) {
      const side = role === "user" ? "caller" : "agent"
      this.#words[side] = ""
      this.#show({ _tag: "Said", role: side, text: content })
    }
    this.#turns = state.transcript.length
    this.#say("caller", callerWords(state))
    this.#say("agent", agentWords(state))
    const activity = activityOf(state)
    if (activity !== null && activity !== this.#activity) {
      this.#activity = activity
      this.#show({ _tag: "Activity", activity })
    }
    for (const { endpointing_ms, response_ms } of state.latencies.slice(this.#answers)) {
      if (response_ms !== null) this.#show({ _tag: "Latency", ms: Math.round((endpointing_ms ?? 0) + response_ms) })
    }
    this.#answers = state.latencies.length
  }

  #say(role: "caller" | "agent", text: string): void {
    if (text === this.#words[role]) return
    this.#words[role] = text
    this.#show({ _tag: "Saying", role, text })
  }
}
