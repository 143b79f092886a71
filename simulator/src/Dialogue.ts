import type { TurnLatency } from "@svc/api/calls/Call"

/** How long an answer took in milliseconds. `estimated` until the call record contains the server's measurement. */
export interface Latency {
  readonly ms: number
  readonly estimated: boolean
}

/** One utterance as the phone knows it. Times are milliseconds since the epoch. */
export interface Utterance {
  readonly id: number
  readonly who: "agent" | "caller"
  readonly text: string
  readonly at: number
  /** Whether the utterance has ended. Always true for the caller, whose end the network does not report. */
  readonly final: boolean
  /** When it ended; only for the agent. */
  readonly final_at: number | null
  /** Whether the agent was interrupted; `text` is what was played. */
  readonly cut: boolean
  /** Only on the first utterance of an answer. */
  readonly latency: Latency | null
}

/** What is shown with an utterance that was cut, in a call that ended at `ended_at`: its end is no barge-in. */
export const cutMark = ({ final_at }: Utterance, ended_at: number | null): string =>
  ended_at !== null && final_at === ended_at ? "✂ cut off" : "✂ barge-in"

/** The utterances of a call, in order. */
export interface Dialogue {
  readonly utterances: ReadonlyArray<Utterance>
  /** The estimated end of the caller's speech, until the agent answers it. */
  readonly speech_ends_at: number | null
  /** The utterance that `clear` cut, while its final text may still come. */
  readonly cut_utterance: number | null
}

export const empty: Dialogue = { utterances: [], speech_ends_at: null, cut_utterance: null }

const encoder = new TextEncoder()

/** The maximum time in milliseconds between the final text of a cut utterance and its `clear`. */
export const clearDelayMs = 50

/**
 * The time in milliseconds until the first character of an utterance is decoded: the start symbol and the character.
 */
const firstCharacterMs = 120

const ending = (final: boolean, at: number): Pick<Utterance, "final" | "final_at"> => ({
  final,
  final_at: final ? at : null
})

/** How long the network speaks a text, in milliseconds: 60 for each byte of UTF-8 and for four more symbols. */
export const speechMs = (text: string): number => 60 * (encoder.encode(text).length + 4)

const update = (d: Dialogue, id: number, change: Partial<Utterance>): Dialogue => ({
  ...d,
  utterances: d.utterances.map((utterance) => (utterance.id === id ? { ...utterance, ...change } : utterance))
})

const openUtterance = (d: Dialogue): Utterance | undefined =>
  d.utterances.findLast((utterance) => utterance.who === "agent" && !utterance.final)

/** Whether `clear` may still mark or change an utterance at `now`, in milliseconds since the epoch. */
export const mayBeCut = (d: Dialogue, { final, final_at, id }: Utterance, now: number): boolean =>
  !final || id === d.cut_utterance || (final_at !== null && now - final_at <= clearDelayMs)

/** Whether an utterance of the agent has not ended. */
export const agentSpeaks = (d: Dialogue): boolean => openUtterance(d) !== undefined

/** Adds an utterance of the caller. */
export const said = (d: Dialogue, text: string, at: number): Dialogue => ({
  ...d,
  utterances: [
    ...d.utterances,
    { id: d.utterances.length, who: "caller", text, at, final: true, final_at: null, cut: false, latency: null }
  ],
  speech_ends_at: Math.max(at, d.speech_ends_at ?? 0) + speechMs(text)
})

/** Adds or continues an utterance of the agent, whose text so far is `text`. */
export const heard = (d: Dialogue, text: string, final: boolean, at: number): Dialogue => {
  const stopped = d.utterances.find((utterance) => utterance.id === d.cut_utterance)
  if (stopped !== undefined) {
    const completed = { ...d, cut_utterance: null }
    if (text === "") return final ? completed : d
    if (text.startsWith(stopped.text)) return update(final ? completed : d, stopped.id, { text })
    if (final && stopped.text.startsWith(text)) return update(completed, stopped.id, { text })
    return heard(completed, text, final, at)
  }
  const open = openUtterance(d)
  if (open !== undefined) return update(d, open.id, { text: text === "" ? open.text : text, ...ending(final, at) })
  if (text === "") return d
  // An utterance that begins before the caller has finished is not an answer.
  const answers = d.speech_ends_at !== null && at >= d.speech_ends_at
  const latency: Latency | null =
    answers && d.speech_ends_at !== null
      ? { ms: Math.max(0, at - firstCharacterMs - d.speech_ends_at), estimated: true }
      : null
  return {
    ...d,
    utterances: [
      ...d.utterances,
      { id: d.utterances.length, who: "agent", text, at, ...ending(final, at), cut: false, latency }
    ],
    speech_ends_at: answers ? null : d.speech_ends_at
  }
}

/**
 * The network dropped the agent's remaining audio. The text that was played comes in a final `heard`, just before or
 * after `clear`.
 */
export const cleared = (d: Dialogue, at: number): Dialogue => {
  const open = openUtterance(d)
  if (open !== undefined) return { ...update(d, open.id, { ...ending(true, at), cut: true }), cut_utterance: open.id }
  const last = d.utterances.findLast((utterance) => utterance.who === "agent")
  const stopped = last !== undefined && last.final_at !== null && at - last.final_at <= clearDelayMs
  return stopped ? update(d, last.id, { cut: true }) : d
}

/** Ends the dialogue with the call, which cuts an utterance that has not ended. */
export const finished = (d: Dialogue, at: number): Dialogue => {
  const open = openUtterance(d)
  return {
    ...(open === undefined ? d : update(d, open.id, { ...ending(true, at), cut: true })),
    speech_ends_at: null,
    cut_utterance: null
  }
}

/** Replaces the estimated latencies with the server's measurements: the n-th answer is the n-th measured turn. */
export const measured = (d: Dialogue, turns: ReadonlyArray<TurnLatency>): Dialogue => {
  const times = turns.flatMap((turn) => (turn.response_ms === null ? [] : [turn.response_ms]))
  let n = 0
  const utterances = d.utterances.map((utterance) => {
    if (utterance.latency === null) return utterance
    const ms = times[n++]
    return ms === undefined ? utterance : { ...utterance, latency: { ms, estimated: false } }
  })
  return { ...d, utterances }
}
