import {
  command,
  type Draft,
  emit,
  ensureAgent,
  ids,
  patch,
  providerField,
  seconds,
  timestamp,
  updateAgent
} from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { noteLatency } from "../Latency.ts"
import { type AgentEntry, type Conversation, isActive, openEntries, type Utterance } from "../State.ts"

/**
 * The agent's voice. An utterance goes
 *
 * | from | on | to |
 * |---|---|---|
 * | – | say | queued (held, while an interruption is undecided) |
 * | queued | SpeechStarted | playing |
 * | queued, playing | SpeechPlayed | played |
 * | queued, playing | SpeechFailed | cut |
 * | queued, playing | stop | held; SpeechCleared tells how much of it was played |
 * | held | resume | played as far as it was, and the rest queued under a new id |
 * | held | drop | cut |
 *
 * An entry closes, and its played words enter the transcript, when none of its utterances waits and the model is done.
 */

/** Whether the agent says something, or is about to, that answers the caller. */
export const isAnswering = (state: Conversation): boolean =>
  openEntries(state).some((e) => !e.filler && e.utterances.some(isActive))

const isHeld = (e: AgentEntry): boolean => e.utterances.some((u) => u.state === "held")

const join = (parts: ReadonlyArray<string>): string =>
  parts
    .map((p) => p.trim())
    .filter((p) => p !== "")
    .join(" ")

/** What the caller heard of a turn. */
export const playedText = (e: AgentEntry): string => join(e.utterances.map((u) => u.played))

/** What was generated for a turn. */
export const wholeText = (e: AgentEntry): string => join(e.utterances.map((u) => u.text))

const nextId = (d: Draft): string => {
  const n = d.state.next_utterance
  patch(d, { next_utterance: n + 1 })
  return `u${n}`
}

const speak = (d: Draft, { id, language, text, voice }: Utterance): void =>
  command(d, { _tag: "Speak", id, text, voice, language, ...providerField(d.state.ranks.voice) })

/** How a text is said when not as the call's configuration wants it. */
export interface Manner {
  readonly voice?: string | null
  readonly language?: string | null
  /** The model is not shown it. */
  readonly aside?: boolean
  /** The same, and it is no answer to the caller. */
  readonly filler?: boolean
}

/** Adds a text to what the agent says in a turn. */
export const say = (d: Draft, turn: number, text: string, generating: boolean, manner: Manner = {}): void => {
  if (text.trim() === "") return
  ensureAgent(d, turn, generating, manner.aside === true || manner.filler === true, manner.filler)
  const { config, facts, interruption, revoicing } = d.state
  const undecided = revoicing || (interruption !== null && interruption.user_text === null)
  const utterance: Utterance = {
    id: nextId(d),
    text,
    voice: manner.voice ?? config?.voice ?? facts.agent.voice,
    language: manner.language ?? config?.language ?? facts.agent.language,
    state: undecided ? "held" : "queued",
    said_at: d.at,
    played: ""
  }
  updateAgent(d, turn, (e) => ({ ...e, utterances: [...e.utterances, utterance] }))
  if (!undecided) speak(d, utterance)
}

/** Says one text as a turn of its own: greeting, apology, prompt, farewell. */
export const announce = (d: Draft, text: string, manner: Manner = {}): void => {
  const turn = d.state.next_turn
  patch(d, { next_turn: turn + 1 })
  say(d, turn, text, false, manner)
}

/** Puts what an open entry said into the transcript, once nothing of it waits any more. */
export const closeFinished = (d: Draft): void => {
  for (const entry of openEntries(d.state)) {
    if (entry.generating || isHeld(entry) || entry.utterances.some(isActive)) continue
    updateAgent(d, entry.turn, (e) => ({ ...e, closed: true }))
    const content = playedText(entry)
    if (entry.spoken_at !== null) {
      emit(d, {
        event: "ai.speech.ended",
        data: {
          ...ids(d),
          text: content || null,
          timestamp: timestamp(d, entry.quiet_at ?? d.at),
          duration_ms: Math.round((entry.quiet_at ?? d.at) - entry.spoken_at)
        }
      })
    }
    if (content !== "") addToTranscript(d, "assistant", content, entry.spoken_at ?? d.at)
  }
}

/** Appends a turn to the transcript and tells it: event and callback. */
export const addToTranscript = (d: Draft, role: "assistant" | "user", content: string, at: number): void => {
  const turn_index = d.state.transcript.length
  patch(d, { transcript: [...d.state.transcript, { role, content, timestamp: seconds(at) }] })
  emit(d, {
    event: "transcript.updated",
    data: { ...ids(d), from: d.state.facts.from, turn: { role, content }, turn_index }
  })
  command(d, { _tag: "TellTranscript", role, content, timestamp: seconds(at) })
}

const mapUtterances = (d: Draft, change: (u: Utterance) => ReadonlyArray<Utterance>): void => {
  for (const entry of openEntries(d.state)) {
    updateAgent(d, entry.turn, (e) => ({ ...e, utterances: e.utterances.flatMap(change) }))
  }
}

/** Notes when the turns that are being heard fell silent. */
export const hush = (d: Draft): void => {
  for (const entry of openEntries(d.state)) {
    if (!entry.utterances.some((u) => u.state === "playing")) continue
    updateAgent(d, entry.turn, (e) => ({ ...e, quiet_at: d.at }))
  }
}

/** Stops the voice at once; what was not played is held. */
export const stop = (d: Draft): void => {
  hush(d)
  mapUtterances(d, (u) => [isActive(u) ? { ...u, state: "held" } : u])
  command(d, { _tag: "StopSpeaking" })
}

/** Speaks on where an interruption that was none had stopped it; a word that was cut in two is said again. */
export const resume = (d: Draft): void =>
  mapUtterances(d, (u) => {
    if (u.state !== "held") return [u]
    const at = wordEnd(u)
    const again: Utterance = {
      ...u,
      id: nextId(d),
      text: u.text.slice(at).trimStart(),
      state: "queued",
      said_at: d.at,
      played: ""
    }
    speak(d, again)
    const spoken = u.text.slice(0, at)
    return at === 0 ? [again] : [{ ...u, text: spoken, played: spoken, state: "played" }, again]
  })

/** The end of the last whole word of what was played. */
const wordEnd = ({ played, text }: Utterance): number =>
  text.charAt(played.length) === " " ? played.length : played.lastIndexOf(" ") + 1

/** Gives up what is held. */
export const dropHeld = (d: Draft): void => {
  for (const entry of openEntries(d.state)) {
    if (!isHeld(entry)) continue
    updateAgent(d, entry.turn, (e) => ({
      ...e,
      interrupted: true,
      generating: false,
      utterances: e.utterances.map((u) => (u.state === "held" ? { ...u, state: "cut" } : u))
    }))
  }
}

/** Notes what the caller had heard of what was stopped, by us or because the caller is gone. */
export const onCleared = (d: Draft, input: InputOf<"SpeechCleared">): void => {
  const played = new Map(input.cuts.map((cut) => [cut.id, cut.played]))
  mapUtterances(d, (u) => {
    const heard = u.state === "held" || isActive(u) ? (played.get(u.id) ?? "") : ""
    if (heard === "" || !u.text.startsWith(heard)) return [u]
    return [heard.length === u.text.length ? { ...u, state: "played", played: heard } : { ...u, played: heard }]
  })
}

const owner = (state: Conversation, id: string): AgentEntry | undefined =>
  openEntries(state).find((e) => e.utterances.some((u) => u.id === id && isActive(u)))

const setUtterance = (d: Draft, entry: AgentEntry, id: string, change: (u: Utterance) => Utterance): void =>
  updateAgent(d, entry.turn, (e) => ({ ...e, utterances: e.utterances.map((u) => (u.id === id ? change(u) : u)) }))

export const onStarted = (d: Draft, input: InputOf<"SpeechStarted">): void => {
  const entry = owner(d.state, input.id)
  if (entry === undefined) return
  setUtterance(d, entry, input.id, (u) => ({ ...u, state: "playing" }))
  if (entry.spoken_at !== null) return
  updateAgent(d, entry.turn, (e) => ({ ...e, spoken_at: d.at }))
  emit(d, { event: "ai.speech.started", data: { ...ids(d), text: wholeText(entry) || null, timestamp: timestamp(d) } })
  if (!entry.filler) noteLatency(d, entry.turn, input)
}

export const onPlayed = (d: Draft, input: InputOf<"SpeechPlayed">): void => {
  const entry = owner(d.state, input.id)
  if (entry === undefined) return
  setUtterance(d, entry, input.id, (u) => ({ ...u, state: "played", played: u.text }))
  updateAgent(d, entry.turn, (e) => ({ ...e, quiet_at: d.at }))
  patch(d, { failures: { ...d.state.failures, speech: 0 } })
}

/** Returns whether the utterance was ours. */
/** An utterance that cannot be spoken is given up. */
export const giveUp = (d: Draft, id: string): void => {
  const entry = owner(d.state, id)
  if (entry === undefined) return
  hush(d)
  setUtterance(d, entry, id, (u) => ({ ...u, state: "cut" }))
}

/** Since when an utterance has been waited for, or undefined when it is not one that waits. */
export const awaitedSince = (state: Conversation, id: string): number | undefined => {
  const entry = owner(state, id)
  const utterance = entry?.utterances.find((u) => u.id === id)
  return utterance === undefined ? undefined : Math.max(utterance.said_at, entry?.quiet_at ?? 0)
}
