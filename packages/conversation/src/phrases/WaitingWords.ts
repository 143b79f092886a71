import type { Draft } from "../Draft.ts"
import * as Speech from "../machines/Speech.ts"
import { type AgentEntry, languageOf } from "../State.ts"
import { moment } from "./Moments.ts"

/** What the agent has done since the caller last spoke. */
const sinceCaller = (d: Draft): ReadonlyArray<AgentEntry> =>
  d.state.entries
    .slice(d.state.entries.findLastIndex(({ kind }) => kind === "caller") + 1)
    .filter((e): e is AgentEntry => e.kind === "agent")

/**
 * Called when a tool begins to run: says what `speak_during_tool_call` wants, once in a turn of the caller. Words of
 * the customer's are always said; with `auto` the agent says its own when it has said nothing in this turn. The model is not
 * shown them, and they are no answer: see Filler.
 */
export const onToolStarted = (d: Draft): void => {
  const wanted = d.state.config?.speak_during_tool_call ?? null
  if (wanted === null) return
  const words = wanted === "auto" ? moment(languageOf(d.state)) : wanted
  const turn = sinceCaller(d)
  if (turn.some((e) => e.filler && e.utterances.some(({ text }) => text === words))) return
  if (wanted === "auto" && turn.some((e) => e.utterances.length > 0)) return
  Speech.announce(d, words, { filler: true })
}
