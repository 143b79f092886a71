import * as Speech from "./Speech.ts"
import type { AgentEntry, Draft } from "./State.ts"

/** What the agent says of itself while a tool runs, by language. */
const moments: { readonly [language: string]: string } = {
  en: "One moment, please.",
  es: "Un momento, por favor.",
  nl: "Een ogenblik, alstublieft.",
  de: "Einen Moment, bitte.",
  fr: "Un instant, s'il vous plaît.",
  it: "Un momento, per favore.",
  pt: "Um momento, por favor.",
  pl: "Chwileczkę, proszę.",
  sv: "Ett ögonblick, tack.",
  da: "Et øjeblik, tak.",
  nb: "Et øyeblikk, takk.",
  fi: "Hetkinen, olkaa hyvä."
}

/** What the agent has done since the caller last spoke. */
const sinceCaller = (d: Draft): ReadonlyArray<AgentEntry> =>
  d.state.entries
    .slice(d.state.entries.findLastIndex(({ kind }) => kind === "caller") + 1)
    .filter((e): e is AgentEntry => e.kind === "agent")

/**
 * Called when a tool begins to run: says what `speak_during_tool_call` wants (spec 6.6), once in a turn of the caller. Words of
 * the customer's are always said; with `auto` the agent says its own when the model has said nothing in this turn. The model
 * is not shown them.
 */
export const onToolStarted = (d: Draft): void => {
  const wanted = d.state.config?.speak_during_tool_call ?? null
  if (wanted === null) return
  const language = d.state.config?.language ?? d.state.facts.agent.language
  const isAuto = wanted === "auto"
  const words = isAuto ? (moments[language.slice(0, 2)] ?? "One moment, please.") : wanted
  const turn = sinceCaller(d)
  if (turn.some((e) => e.aside && e.utterances.some(({ text }) => text === words))) return
  if (isAuto && turn.some((e) => !e.aside && e.utterances.length > 0)) return
  Speech.announce(d, words, { aside: true })
}
