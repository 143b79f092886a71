import type { TurnLatency } from "@svc/api/calls/Call"

/** How long an answer took, in milliseconds; `estimated` until the call record tells what the server measured. */
export interface Latency {
  readonly ms: number
  readonly estimated: boolean
}

/** One utterance as the caller's end of the line knows it. Times are milliseconds since the epoch. */
export interface Line {
  readonly id: number
  readonly who: "agent" | "caller"
  readonly text: string
  readonly at: number
  /** The agent: the utterance is over. The caller: always (the network does not tell when it has spoken). */
  readonly final: boolean
  /** When it was over; the agent's lines only. */
  readonly final_at: number | null
  /** The agent was stopped in mid-sentence; `text` is what was heard of it. */
  readonly cut: boolean
  /** On the first line of an answer. */
  readonly latency: Latency | null
}

/** What was said in a call, in order. */
export interface Dialogue {
  readonly lines: ReadonlyArray<Line>
  /** When our voice is done with what we asked it to say and the agent has not answered yet. An estimate. */
  readonly speech_ends_at: number | null
  /** The line that `clear` stopped, while its last words may still come. */
  readonly cut_line: number | null
}

export const empty: Dialogue = { lines: [], speech_ends_at: null, cut_line: null }

const encoder = new TextEncoder()

/** Milliseconds between two messages that tell of the same thing. */
const sameMoment = 50

/** Milliseconds of an utterance that pass before its first letter is understood: a start mark and the letter. */
const firstLetter = 120

const over = (final: boolean, at: number): Pick<Line, "final" | "final_at"> => ({ final, final_at: final ? at : null })

/** How long the network speaks a text, in milliseconds: 60 a UTF-8 byte and four symbols around them. */
export const speechMs = (text: string): number => 60 * (encoder.encode(text).length + 4)

const update = (d: Dialogue, id: number, change: Partial<Line>): Dialogue => ({
  ...d,
  lines: d.lines.map((line) => (line.id === id ? { ...line, ...change } : line))
})

const openLine = (d: Dialogue): Line | undefined => d.lines.findLast((line) => line.who === "agent" && !line.final)

/** Whether the agent is in the middle of an utterance. */
export const agentSpeaks = (d: Dialogue): boolean => openLine(d) !== undefined

/** We asked the network to speak. */
export const said = (d: Dialogue, text: string, at: number): Dialogue => ({
  ...d,
  lines: [
    ...d.lines,
    { id: d.lines.length, who: "caller", text, at, final: true, final_at: null, cut: false, latency: null }
  ],
  speech_ends_at: Math.max(at, d.speech_ends_at ?? 0) + speechMs(text)
})

/** The agent's audio says `text` so far. */
export const heard = (d: Dialogue, text: string, final: boolean, at: number): Dialogue => {
  const stopped = d.lines.find((line) => line.id === d.cut_line)
  if (stopped !== undefined) {
    const known = { ...d, cut_line: null }
    if (text === "") return final ? known : d
    if (text.startsWith(stopped.text)) return update(final ? known : d, stopped.id, { text })
    if (final && stopped.text.startsWith(text)) return update(known, stopped.id, { text })
    return heard(known, text, final, at)
  }
  const open = openLine(d)
  if (open !== undefined) return update(d, open.id, { text: text === "" ? open.text : text, ...over(final, at) })
  if (text === "") return d
  // Words that begin before we have finished are the rest of what the agent was saying, not an answer.
  const answers = d.speech_ends_at !== null && at >= d.speech_ends_at
  const latency: Latency | null =
    answers && d.speech_ends_at !== null
      ? { ms: Math.max(0, at - firstLetter - d.speech_ends_at), estimated: true }
      : null
  return {
    ...d,
    lines: [...d.lines, { id: d.lines.length, who: "agent", text, at, ...over(final, at), cut: false, latency }],
    speech_ends_at: answers ? null : d.speech_ends_at
  }
}

/**
 * The network dropped the audio that the agent still had to play. The words that were heard of it come as a last final
 * message, right before this or after it.
 */
export const cleared = (d: Dialogue, at: number): Dialogue => {
  const open = openLine(d)
  if (open !== undefined) return { ...update(d, open.id, { ...over(true, at), cut: true }), cut_line: open.id }
  const last = d.lines.findLast((line) => line.who === "agent")
  const stopped = last !== undefined && last.final_at !== null && at - last.final_at <= sameMoment
  return stopped ? update(d, last.id, { cut: true }) : d
}

/** The call is over: nothing more is said. A sentence that had not ended was cut by the end. */
export const finished = (d: Dialogue, at: number): Dialogue => {
  const open = openLine(d)
  return {
    ...(open === undefined ? d : update(d, open.id, { ...over(true, at), cut: true })),
    speech_ends_at: null,
    cut_line: null
  }
}

/** Puts the server's own figures in the place of our estimates: the n-th answer is the n-th measured turn. */
export const measured = (d: Dialogue, turns: ReadonlyArray<TurnLatency>): Dialogue => {
  const times = turns.flatMap((turn) => (turn.response_ms === null ? [] : [turn.response_ms]))
  let n = 0
  const lines = d.lines.map((line) => {
    if (line.latency === null) return line
    const ms = times[n++]
    return ms === undefined ? line : { ...line, latency: { ms, estimated: false } }
  })
  return { ...d, lines }
}
