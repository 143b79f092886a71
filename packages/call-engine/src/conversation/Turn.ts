import * as Gather from "./Gather.ts"
import * as Model from "./Model.ts"
import * as Outbound from "./Outbound.ts"
import * as Speech from "./Speech.ts"
import { command, type Draft, emit, ids, openEntries, patch, startTimer, stopTimer, timestamp } from "./State.ts"

/**
 * Who has the floor.
 *
 * | the agent | on | then |
 * |---|---|---|
 * | silent | caller's words, end of turn | the words are a turn; the model is asked |
 * | speaks | caller speaks for {@link bargeInMs}, or a first word | stops; what is left is held |
 * | held | a word | barge-in: what is left is dropped |
 * | held | no word within {@link resumeMs} | false alarm: speaks on |
 * | thinks | caller's words, end of turn | the model is asked anew, with all words |
 * | runs tools | caller's words, end of turn | they are kept; the model gets them with the results |
 * | asks for digits | caller's words, end of turn | they stop nothing; the model gets them after the digits |
 * | farewell | anything | is written down, and stops nothing |
 */

/** Caller speech that counts as an interruption without a word understood. */
export const bargeInMs = 500
/** How long a word may take before an interruption counts as false. */
export const resumeMs = 2000
/** End of turn after the last final transcript, when the recognizer does not tell. */
export const endpointMs = 500
/** The longest wait for an end of turn that does not come. */
export const endpointMaxMs = 3000

export const onSpeechStarted = (d: Draft): void => {
  if (d.state.caller.voice) return
  patch(d, { caller: { ...d.state.caller, voice: true } })
  stopTimer(d, "endpoint")
  beginSpeech(d)
  if (d.state.phase === "live" && Speech.isSpeaking(d.state)) startTimer(d, "barge_in", bargeInMs)
}

const beginSpeech = (d: Draft): void => {
  if (d.state.caller.speaking) return
  patch(d, { caller: { ...d.state.caller, speaking: true, since: d.at } })
  emit(d, { event: "speech.started", data: { ...ids(d), from: d.state.facts.from, timestamp: timestamp(d) } })
}

export const onSpeechStopped = (d: Draft): void => {
  if (!d.state.caller.voice) return
  patch(d, { caller: { ...d.state.caller, voice: false } })
  stopTimer(d, "barge_in")
  if (d.state.caller.speaking) startTimer(d, "endpoint", endpointDelay(d))
}

export const onWords = (d: Draft, text: string, final: boolean): void => {
  if (text.trim() === "") return
  beginSpeech(d)
  const { caller } = d.state
  patch(d, {
    caller: final ? { ...caller, words: [...caller.words, text.trim()], partial: "" } : { ...caller, partial: text }
  })
  if (d.state.phase === "live") {
    interrupt(d)
    confirm(d)
  }
  startTimer(d, "endpoint", endpointDelay(d))
}

/** How long to wait for the end of the turn from now on. */
const endpointDelay = (d: Draft): number => {
  const { partial, voice, words } = d.state.caller
  if (words.length === 0 && partial === "") return resumeMs
  return d.state.facts.endpointing === "none" && partial === "" && !voice ? endpointMs : endpointMaxMs
}

/** All that the caller has said since the last turn. */
const heard = (d: Draft): string => [...d.state.caller.words, d.state.caller.partial].join(" ").trim()

/** Stops the agent, if it speaks. */
const interrupt = (d: Draft): void => {
  stopTimer(d, "barge_in")
  if (d.state.interruption !== null || !Speech.isSpeaking(d.state) || Gather.isOpen(d.state)) return
  if (Outbound.isHello(d.state)) return
  patch(d, { interruption: { user_text: null, clearing: true } })
  Speech.stop(d)
}

/** There are words: the interruption is real. */
const confirm = (d: Draft): void => {
  const { interruption } = d.state
  if (interruption === null || interruption.user_text !== null) return
  stopTimer(d, "resume")
  patch(d, { interruption: { ...interruption, user_text: heard(d) } })
  if (!interruption.clearing) finishInterruption(d)
}

const finishInterruption = (d: Draft): void => {
  const cut = openEntries(d.state).filter((e) => e.utterances.some((u) => u.state === "held"))
  const user_text = d.state.interruption?.user_text ?? null
  patch(d, { interruption: null })
  if (cut.some((e) => e.turn === d.state.model?.turn)) Model.cancel(d)
  Speech.dropHeld(d)
  emit(d, {
    event: "barge_in",
    data: {
      ...ids(d),
      from: d.state.facts.from,
      user_text: user_text || null,
      interrupted_text: cut.map(Speech.wholeText).join(" ") || null,
      timestamp: timestamp(d)
    }
  })
}

/** What was stopped is known to the character now. */
export const onCleared = (d: Draft): void => {
  const { interruption } = d.state
  if (interruption === null) {
    Speech.dropHeld(d)
    return
  }
  patch(d, { interruption: { ...interruption, clearing: false } })
  if (interruption.user_text !== null) finishInterruption(d)
  else startTimer(d, "resume", resumeMs)
}

export const onBargeInTimer = (d: Draft): void => interrupt(d)

export const onResumeTimer = (d: Draft): void => {
  if (d.state.interruption === null || d.state.interruption.user_text !== null) return
  patch(d, { interruption: null })
  Speech.resume(d)
}

/** Silences the agent, and drops what it was about to say. */
export const hush = (d: Draft): void => {
  Model.cancel(d)
  if (d.state.interruption !== null) {
    const { clearing } = d.state.interruption
    patch(d, { interruption: null })
    if (!clearing) Speech.dropHeld(d)
  } else if (Speech.isSpeaking(d.state)) Speech.stop(d)
  for (const timer of ["barge_in", "resume"]) stopTimer(d, timer)
}

/** The caller has finished a turn. */
export const onEndOfTurn = (d: Draft): void => {
  stopTimer(d, "endpoint")
  stopTimer(d, "barge_in")
  const text = heard(d)
  const greeted = Outbound.isHello(d.state)
  if (text !== "" && d.state.phase === "live") {
    interrupt(d)
    confirm(d)
  }
  if (!commit(d, text) || d.state.phase !== "live") return
  if (greeted) return
  patch(d, { rounds: 0, unanswered: d.at })
  Model.respond(d)
}

/** Closes the caller's speech and writes its words down. Returns whether there were any. */
export const commit = (d: Draft, text: string = heard(d)): boolean => {
  const { speaking, since } = d.state.caller
  patch(d, { caller: { ...d.state.caller, speaking: false, since: d.at, words: [], partial: "" } })
  if (speaking) {
    emit(d, {
      event: "speech.ended",
      data: { ...ids(d), from: d.state.facts.from, timestamp: timestamp(d), transcript: text || null }
    })
  }
  if (text === "") return false
  Speech.closeFinished(d)
  patch(d, { entries: [...d.state.entries, { kind: "caller", content: text }] })
  Speech.addToTranscript(d, "user", text, speaking ? since : d.at)
  return true
}

/** The recognizer broke: once it is opened again, twice in a row ends the call. Returns whether it is over. */
export const onRecognizerFailed = (d: Draft): boolean => {
  const recognizer = d.state.failures.recognizer + 1
  patch(d, { failures: { ...d.state.failures, recognizer } })
  if (recognizer > 1) return true
  command(d, { _tag: "Listen", language: d.state.config?.language ?? d.state.facts.agent.language })
  return false
}
