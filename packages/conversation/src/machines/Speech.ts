import { TestSessionId } from "@svc/api/Ids"
import { Schema } from "effect"
import type { CommandOf } from "../Command.ts"
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
import { type AgentEntry, agentEntry, isActive, isSpeaking, openEntries, type Utterance } from "../Entries.ts"
import { callerHoldsFloor } from "../Floor.ts"
import type { Facts, InputOf } from "../Input.ts"
import { recordLatency } from "../Latency.ts"
import { perObject } from "../PerObject.ts"
import { type SpokenText, spaceBetween, spokenText, writtenLength } from "../SpokenText.ts"
import type { Conversation } from "../State.ts"

/**
 * The agent's speech. The states of an utterance:
 *
 * | from | on | to |
 * |---|---|---|
 * | – | say | played at once if nothing of it can be spoken (left out unless the model goes on); else queued; held during a possible interruption; waiting while the caller has the floor |
 * | waiting | the caller leaves the floor | queued |
 * | waiting | the caller's words are a turn | cut |
 * | queued | SpeechStarted | playing |
 * | queued, playing | SpeechPlayed | played |
 * | queued, playing | SpeechFailed | cut |
 * | queued, playing | stop | held; SpeechCleared reports how much of it was played |
 * | held | resume | queued, if the shell holds its audio; else played up to the cut, and the rest is queued under a new id |
 * | held | drop | cut |
 *
 * An entry is closed, and its played text enters the transcript, when all its utterances are played or cut and its
 * generation is complete.
 */

/** Whether the agent has speech other than fillers that is playing or queued. */
export const isAnswering = (state: Conversation): boolean =>
  openEntries(state).some((e) => !e.filler && e.utterances.some(isActive))

const isHeld = (e: AgentEntry): boolean => e.utterances.some((u) => u.state === "held")

/** The utterances as one text, with the model's white space between them. */
const join = ({ utterances }: AgentEntry, textOf: (u: Utterance) => string): string =>
  utterances.reduce((text, u) => {
    const part = textOf(u).trim()
    if (part === "") return text
    return text === "" ? part : text + (u.space ?? spaceBetween(text, part)) + part
  }, "")

/** The played text of an entry. Signs that cannot be spoken belong to the text before them. */
export const playedText = (e: AgentEntry): string => {
  if (!e.utterances.some((u) => u.played !== "")) return ""
  let isWhole = true
  return join(e, (u) => {
    if (u.is_silent === true) return isWhole ? u.text : ""
    isWhole = u.played.length === u.text.length
    return u.played
  })
}

/** Whether an entry has text that can be spoken. */
export const hasWords = (e: AgentEntry): boolean => e.utterances.some((u) => u.is_silent !== true)

/** The whole text of an entry, played or not; empty if nothing of it can be spoken. */
export const wholeText = (e: AgentEntry): string => (hasWords(e) ? join(e, (u) => u.text) : "")

const nextId = (d: Draft): string => {
  const n = d.state.next_utterance
  patch(d, { next_utterance: n + 1 })
  return `u${n}`
}

/** What text-to-speech gets of a text. */
const spokenOf = ({ config }: Conversation, text: string): SpokenText => spokenText(text, config?.speech.pronunciations)

const speak = (
  d: Draft,
  { id, language, text, voice }: Utterance,
  { generating, turn, utterances }: AgentEntry
): void => {
  const speed = d.state.config?.speech.speed ?? 1
  const isPart = generating || utterances.length > 1
  patch(d, { open_speech: isPart ? turn : null })
  command(d, {
    _tag: "Speak",
    id,
    text: spokenOf(d.state, text).text,
    voice,
    language,
    ...(isPart ? { turn } : {}),
    ...(speed === 1 ? {} : { speed }),
    ...providerField(d.state.provider_index.tts)
  })
}

/** A text as the call's voice says it to someone other than the caller; null: there is nothing to be spoken in it. */
export const spokenBy = (
  state: Conversation,
  text: string
): Pick<CommandOf<"Speak">, "text" | "voice" | "language" | "speed" | "provider"> | null => {
  const { config, facts, provider_index } = state
  const spoken = spokenOf(state, text).text
  const speed = config?.speech.speed ?? 1
  if (spoken === "") return null
  return {
    text: spoken,
    voice: config?.voice ?? facts.agent.voice,
    language: config?.language ?? facts.agent.language,
    ...(speed === 1 ? {} : { speed }),
    ...providerField(provider_index.tts)
  }
}

/** Deviations from the call's configuration for one text. */
export interface SpeechOptions {
  readonly voice?: string | null
  readonly language?: string | null
  /** Hidden from the model. */
  readonly hidden_from_model?: boolean
  /** Hidden from the model, and not an answer to the caller. */
  readonly filler?: boolean
  /** Said even while the caller speaks. */
  readonly over_caller?: boolean
  /** The white space before it; see {@link Utterance}. */
  readonly space?: string
}

/** Whether speech of an entry waits for the caller to leave the floor. */
export const isWaiting = (e: AgentEntry): boolean => e.utterances.some((u) => u.state === "waiting")

/** Whether there is speech that waits for the caller to leave the floor. */
export const hasWaiting = (state: Conversation): boolean => openEntries(state).some(isWaiting)

/** Whether the agent may not begin to speak now. What it has begun, it may go on with. */
const mustWait = (state: Conversation): boolean => hasWaiting(state) || (callerHoldsFloor(state) && !isSpeaking(state))

const isSessionId = Schema.is(TestSessionId)
const isTestSession = perObject(({ call_id }: Facts) => isSessionId(call_id))

/** Whether anything of a text can be spoken. A test session is in text: what it says need not be words. */
export const isSpeakable = (state: Conversation, text: string): boolean =>
  isTestSession(state.facts) || spokenOf(state, text).text !== ""

/** Adds a text to the agent's speech in a turn. Of an answer, signs that cannot be spoken are kept for the transcript. */
export const say = (d: Draft, turn: number, text: string, generating: boolean, options: SpeechOptions = {}): void => {
  const isSilent = !isSpeakable(d.state, text)
  if (text.trim() === "" || (isSilent && !generating)) return
  ensureAgent(d, turn, generating, options.hidden_from_model === true || options.filler === true, options.filler)
  const { config, facts, interruption, switching_tts } = d.state
  const isHeld = switching_tts || interruption?.certain === false
  const state = isSilent
    ? "played"
    : isHeld
      ? "held"
      : options.over_caller !== true && mustWait(d.state)
        ? "waiting"
        : "queued"
  const utterance: Utterance = {
    id: nextId(d),
    text,
    ...(options.space === undefined ? {} : { space: options.space }),
    voice: options.voice ?? config?.voice ?? facts.agent.voice,
    language: options.language ?? config?.language ?? facts.agent.language,
    state,
    said_at: d.at,
    played: "",
    ...(isSilent ? { is_silent: true } : {})
  }
  updateAgent(d, turn, (e) => ({ ...e, utterances: [...e.utterances, utterance] }))
  const entry = agentEntry(d.state, turn)
  if (state === "queued" && entry !== undefined) speak(d, utterance, entry)
}

/** Says one text as a turn of its own: greeting, apology, prompt, farewell. */
export const announce = (d: Draft, text: string, options: SpeechOptions = {}): void => {
  const turn = d.state.next_turn
  patch(d, { next_turn: turn + 1 })
  say(d, turn, text, false, options)
}

/** Closes entries without pending speech: their played text enters the transcript. */
export const closeFinished = (d: Draft): void => {
  for (const entry of openEntries(d.state)) {
    if (entry.generating || isHeld(entry) || isWaiting(entry) || entry.utterances.some(isActive)) continue
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

/** Appends a turn to the transcript, emits it, and sends it to the agent's server. */
export const addToTranscript = (d: Draft, role: "assistant" | "user", content: string, at: number): void => {
  const turn_index = d.state.transcript.length
  patch(d, { transcript: [...d.state.transcript, { role, content, timestamp: seconds(at) }] })
  emit(d, {
    event: "transcript.updated",
    data: { ...ids(d), from: d.state.facts.from, turn: { role, content }, turn_index }
  })
  command(d, { _tag: "TellTranscript", role, content, timestamp: seconds(at) })
}

const mapUtterances = (d: Draft, change: (u: Utterance, e: AgentEntry) => ReadonlyArray<Utterance>): void => {
  for (const entry of openEntries(d.state)) {
    const utterances = entry.utterances.flatMap((u) => change(u, entry))
    updateAgent(d, entry.turn, (e) => ({ ...e, utterances }))
  }
}

/** Records that the entries that are playing fall silent now. */
export const recordSilence = (d: Draft): void => {
  for (const entry of openEntries(d.state)) {
    if (!entry.utterances.some((u) => u.state === "playing")) continue
    updateAgent(d, entry.turn, (e) => ({ ...e, quiet_at: d.at }))
  }
}

/** Stops the agent's speech at once; what was not played is held. With `hold` the shell holds its audio. */
export const stop = (d: Draft, hold = false): void => {
  recordSilence(d)
  mapUtterances(d, (u) => [isActive(u) ? { ...u, state: "held" } : u])
  patch(d, { holds_audio: false, open_speech: hold ? d.state.open_speech : null })
  command(d, hold ? { _tag: "StopSpeaking", hold } : { _tag: "StopSpeaking" })
}

/** Speaks held utterances from where they were stopped; a word that was cut is repeated from its start. */
export const resume = (d: Draft): void => {
  if (openEntries(d.state).some((e) => e.utterances.some((u) => u.has_audio))) {
    patch(d, { holds_audio: false })
    command(d, { _tag: "ResumeSpeaking" })
  } else dropAudio(d)
  mapUtterances(d, (u, entry) => {
    if (u.state !== "held") return [u]
    if (u.has_audio === true) return [{ ...withoutAudio(u), state: "queued", said_at: d.at }]
    const at = wordEnd(u)
    const text = u.text.slice(at).trimStart()
    const again: Utterance = { ...u, id: nextId(d), text, state: "queued", said_at: d.at, played: "" }
    speak(d, again, entry)
    if (at === 0) return [again]
    const spoken = u.text.slice(0, at).trimEnd()
    const space = u.text.slice(spoken.length, u.text.length - text.length)
    return [
      { ...u, text: spoken, played: spoken, state: "played" },
      { ...again, space }
    ]
  })
}

const withoutAudio = ({ has_audio: _, ...u }: Utterance): Utterance => u

/** Tells the shell that the audio it holds is not needed. */
const dropAudio = (d: Draft): void => {
  if (!d.state.holds_audio) return
  patch(d, { holds_audio: false, open_speech: null })
  command(d, { _tag: "DropSpeech" })
}

/** At the end of a step: the answer whose texts are spoken as one is complete. */
export const endComplete = (d: Draft): void => {
  const turn = d.state.open_speech
  if (turn === null) return
  const entry = agentEntry(d.state, turn)
  if (entry?.generating === true || entry?.utterances.some((u) => u.state === "held" || u.state === "waiting")) return
  patch(d, { open_speech: null })
  command(d, { _tag: "EndSpeech", turn })
}

/** The position after the last whole word that was played. */
const wordEnd = ({ played, text }: Utterance): number =>
  /\s/.test(text.charAt(played.length)) ? played.length : played.search(/\S*$/)

const drop = (d: Draft, state: "held" | "waiting"): void => {
  if (state === "held") dropAudio(d)
  for (const entry of openEntries(d.state)) {
    if (!entry.utterances.some((u) => u.state === state)) continue
    updateAgent(d, entry.turn, (e) => ({
      ...e,
      interrupted: true,
      generating: false,
      utterances: e.utterances.map((u) => (u.state === state ? { ...withoutAudio(u), state: "cut" } : u))
    }))
  }
}

/** Drops held speech. */
export const dropHeld = (d: Draft): void => drop(d, "held")

/** Drops speech that waits for the caller, who has said something else instead. */
export const dropWaiting = (d: Draft): void => drop(d, "waiting")

/** Speaks what waited for the caller. */
export const speakWaiting = (d: Draft): void =>
  mapUtterances(d, (u, entry) => {
    if (u.state !== "waiting") return [u]
    const queued: Utterance = { ...u, state: "queued", said_at: d.at }
    speak(d, queued, entry)
    return [queued]
  })

/** Records how much was played of stopped speech. */
export const onCleared = (d: Draft, input: InputOf<"SpeechCleared">): void => {
  const cuts = new Map(input.cuts.map((cut) => [cut.id, cut]))
  const holds_audio = input.cuts.some(({ held }) => held)
  patch(d, { holds_audio, open_speech: holds_audio ? d.state.open_speech : null })
  mapUtterances(d, (stopped) => {
    const cut = cuts.get(stopped.id)
    if (cut === undefined || (stopped.state !== "held" && !isActive(stopped))) return [stopped]
    const u: Utterance = cut.held === true ? { ...stopped, has_audio: true } : stopped
    const whole = spokenOf(d.state, u.text)
    if (cut.played === "" || !whole.text.startsWith(cut.played)) return [u]
    const played = u.text.slice(0, writtenLength(whole, cut.played, u.text))
    return [played.length === u.text.length ? { ...stopped, state: "played", played } : { ...u, played }]
  })
}

const entryOf = (state: Conversation, id: string): AgentEntry | undefined =>
  openEntries(state).find((e) => e.utterances.some((u) => u.id === id && isActive(u)))

const setUtterance = (d: Draft, entry: AgentEntry, id: string, change: (u: Utterance) => Utterance): void =>
  updateAgent(d, entry.turn, (e) => ({ ...e, utterances: e.utterances.map((u) => (u.id === id ? change(u) : u)) }))

export const onStarted = (d: Draft, input: InputOf<"SpeechStarted">): void => {
  const entry = entryOf(d.state, input.id)
  if (entry === undefined) return
  setUtterance(d, entry, input.id, (u) => ({ ...u, state: "playing" }))
  if (entry.spoken_at !== null) return
  updateAgent(d, entry.turn, (e) => ({ ...e, spoken_at: d.at }))
  emit(d, { event: "ai.speech.started", data: { ...ids(d), text: wholeText(entry) || null, timestamp: timestamp(d) } })
  if (!entry.filler) recordLatency(d, entry.turn, input)
}

export const onPlayed = (d: Draft, input: InputOf<"SpeechPlayed">): void => {
  const entry = entryOf(d.state, input.id)
  if (entry === undefined) return
  setUtterance(d, entry, input.id, (u) => ({ ...u, state: "played", played: u.text }))
  const quiet_at = Math.max(entry.spoken_at ?? 0, d.at - (input.late ?? 0))
  updateAgent(d, entry.turn, (e) => ({ ...e, quiet_at }))
  patch(d, { failures: { ...d.state.failures, tts: 0 } })
}

/** Skips an utterance that cannot be spoken. */
export const skip = (d: Draft, id: string): void => {
  const entry = entryOf(d.state, id)
  if (entry === undefined) return
  recordSilence(d)
  setUtterance(d, entry, id, (u) => ({ ...u, state: "cut" }))
}

/** Stops the speech, to ask for an utterance that failed once more. Returns whether this was its first failure. */
export const tryAgain = (d: Draft, id: string): boolean => {
  const entry = entryOf(d.state, id)
  if (entry === undefined || entry.utterances.some((u) => u.id === id && u.is_second_try === true)) return false
  setUtterance(d, entry, id, (u) => ({ ...u, is_second_try: true }))
  stop(d)
  return true
}

/** Since when the caller has been waiting for an utterance; undefined if it is not pending. */
export const awaitedSince = (state: Conversation, id: string): number | undefined => {
  const entry = entryOf(state, id)
  const utterance = entry?.utterances.find((u) => u.id === id)
  return utterance === undefined ? undefined : Math.max(utterance.said_at, entry?.quiet_at ?? 0)
}
