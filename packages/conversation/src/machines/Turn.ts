import { type Draft, emit, ids, patch, startTimer, stopTimer, timestamp } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import { isBackchannel } from "../phrases/Backchannels.ts"
import { type Conversation, languageOf, openEntries } from "../State.ts"
import * as Gather from "./Gather.ts"
import * as Model from "./Model.ts"
import * as Outbound from "./Outbound.ts"
import * as Speech from "./Speech.ts"

/**
 * Who has the floor.
 *
 * | the agent | on | then |
 * |---|---|---|
 * | silent | caller's words, end of turn | the words are a turn; the model is asked |
 * | speaks | caller speaks for {@link bargeInMs}, or a first word | stops; what is left is held |
 * | speaks | a backchannel ("uh-huh") | speaks on; the word is no turn, unless it answers a question that is just being asked |
 * | held | a word | barge-in: what is left is dropped |
 * | held | a backchannel | speaks on at once |
 * | held | no word within {@link resumeMs} | false alarm: speaks on |
 * | thinks | caller's words, end of turn | the model is asked anew, with all words |
 * | runs tools | caller's words, end of turn | they are kept; the model gets them with the results |
 * | asks for digits | caller's words, end of turn | they stop nothing; the model gets them after the digits |
 * | farewell | anything | is written down, and stops nothing |
 */

/** Caller speech that counts as an interruption without a word understood. */
export const bargeInMs = 500
/** The same while all that was understood is a backchannel. */
export const backchannelMs = 1000
/** How long a word may take before an interruption counts as false. */
export const resumeMs = 2000
/** End of turn after the last final transcript, when the recognizer does not tell. */
export const endpointMs = 500
/** The longest wait for an end of turn that does not come. */
export const endpointMaxMs = 3000

export const onSpeechStarted = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStarted">): void => {
  if (d.state.caller.voice) return
  stopTimer(d, "endpoint")
  beginSpeech(d, d.at - late)
  patch(d, { caller: { ...d.state.caller, voice: true, voiced: true } })
  if (d.state.phase === "live" && Speech.isSpeaking(d.state)) startTimer(d, "barge_in", Math.max(0, bargeInMs - late))
}

/** `at`: when the sound began, which is noticed a little later. */
const beginSpeech = (d: Draft, at: number): void => {
  const { caller, facts } = d.state
  if (caller.speaking) return
  const since = Math.max(at, caller.until)
  patch(d, { caller: { ...caller, voiced: false, speaking: true, since, until: since } })
  emit(d, { event: "speech.started", data: { ...ids(d), from: facts.from, timestamp: timestamp(d, since) } })
}

export const onSpeechStopped = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStopped">): void => {
  const { since, voice } = d.state.caller
  if (!voice) return
  patch(d, { caller: { ...d.state.caller, voice: false, until: Math.max(since, d.at - late) } })
  stopTimer(d, "barge_in")
  if (d.state.caller.speaking) startTimer(d, "endpoint", endpointDelay(d))
}

/** Takes down words of the caller. Returns whether there were any. */
export const noteWords = (d: Draft, text: string, final: boolean): boolean => {
  if (text.trim() === "") return false
  beginSpeech(d, d.at)
  patch(d, { deaf_ms: 0 })
  const caller = { ...d.state.caller, waits: false, until: d.state.caller.voiced ? d.state.caller.until : d.at }
  patch(d, {
    caller: final ? { ...caller, words: [...caller.words, text.trim()], partial: "" } : { ...caller, partial: text }
  })
  return true
}

export const onWords = (d: Draft, text: string, final: boolean): void => {
  if (!noteWords(d, text, final)) return
  if (d.state.phase === "live") {
    if (isAside(d)) hearAside(d)
    else {
      interrupt(d)
      confirm(d)
    }
  }
  startTimer(d, "endpoint", endpointDelay(d))
}

/** How long to wait for the end of the turn from now on. */
const endpointDelay = (d: Draft): number => {
  const { partial, voice, words } = d.state.caller
  if (words.length === 0 && partial === "") return resumeMs
  const { facts, ranks } = d.state
  const endpointing = facts.providers?.recognizers[ranks.recognizer] ?? facts.endpointing
  return endpointing === "none" && partial === "" && !voice ? endpointMs : endpointMaxMs
}

/** All that the caller has said since the last turn. */
const heard = (d: Draft): string => [...d.state.caller.words, d.state.caller.partial].join(" ").trim()

/** Whether the agent speaks, or was stopped by what may still be a false alarm. */
const hasFloor = (state: Conversation): boolean => state.interruption?.user_text === null || Speech.isSpeaking(state)

/** Whether all that the caller says, while the agent speaks, is a backchannel. */
const isAside = (d: Draft): boolean =>
  hasFloor(d.state) && isBackchannel(heard(d), languageOf(d.state), d.state.caller.partial !== "")

/** It does not stop the agent, and what the sound of it stopped goes on. */
const hearAside = (d: Draft): void => {
  const { caller, interruption } = d.state
  if (interruption === null) {
    if (caller.voice) startTimer(d, "barge_in", backchannelMs)
  } else if (caller.partial === "" && !interruption.clearing) {
    stopTimer(d, "resume")
    patch(d, { interruption: null })
    Speech.resume(d)
  }
}

/** Whether the last thing that the agent says is a question; not while the model may add to it. */
const asks = (d: Draft): boolean =>
  d.state.model === null && /\?["'”’»)\]]*\s*$/.test(openEntries(d.state).map(Speech.wholeText).join(" "))

/** A backchannel is over: no turn, but the answer where the agent is asking. */
const endAside = (d: Draft, text: string): void => {
  hearAside(d)
  if (asks(d)) patch(d, { caller: { ...d.state.caller, words: [text], partial: "", waits: true } })
  else endSpeech(d, text)
}

/** An answer that came before the question was over is a turn once it is. Called at the end of every step. */
export const takeEarlyAnswer = (d: Draft): void => {
  const { caller, phase } = d.state
  // Who goes on speaking has more to say.
  if (caller.waits && !caller.voice && phase === "live" && !hasFloor(d.state)) onEndOfTurn(d)
}

/** Stops the agent, if it speaks. */
const interrupt = (d: Draft): void => {
  stopTimer(d, "barge_in")
  if (d.state.interruption !== null || !Speech.isSpeaking(d.state) || Gather.isOpen(d.state)) return
  if (Outbound.isHello(d.state)) return
  patch(d, { interruption: { at: d.at, user_text: null, clearing: true } })
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
  const { at = d.at, user_text = null } = d.state.interruption ?? {}
  patch(d, { interruption: null })
  if (cut.some((e) => e.turn === d.state.model?.turn)) Model.cancel(d)
  Speech.dropHeld(d)
  // Who was not heard yet was not interrupted.
  if (!cut.some((e) => e.spoken_at !== null)) return
  emit(d, {
    event: "barge_in",
    data: {
      ...ids(d),
      from: d.state.facts.from,
      user_text: user_text || null,
      interrupted_text: cut.map(Speech.wholeText).join(" ") || null,
      timestamp: timestamp(d, at)
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
  patch(d, { revoicing: false })
  if (d.state.interruption !== null) {
    const { clearing } = d.state.interruption
    patch(d, { interruption: null })
    if (!clearing) Speech.dropHeld(d)
  } else if (Speech.isSpeaking(d.state)) Speech.stop(d)
  for (const timer of ["barge_in", "resume"] as const) stopTimer(d, timer)
}

/** The caller has finished a turn. */
export const onEndOfTurn = (d: Draft): void => {
  stopTimer(d, "endpoint")
  stopTimer(d, "barge_in")
  const text = heard(d)
  const greeted = Outbound.isHello(d.state)
  if (text !== "" && d.state.phase === "live") {
    patch(d, { caller: { ...d.state.caller, partial: "", words: [text] } })
    if (isAside(d)) {
      endAside(d, text)
      return
    }
    interrupt(d)
    confirm(d)
  }
  if (!commit(d, text) || d.state.phase !== "live") return
  if (greeted) return
  patch(d, { rounds: 0, unanswered: { ended_at: d.state.caller.until, noticed_at: d.at } })
  Model.respond(d)
}

/** Closes the caller's speech. */
const endSpeech = (d: Draft, text: string): void => {
  const { speaking, voice } = d.state.caller
  const until = voice ? d.at : d.state.caller.until
  patch(d, { caller: { ...d.state.caller, speaking: false, since: d.at, until, words: [], partial: "", waits: false } })
  if (speaking) {
    emit(d, {
      event: "speech.ended",
      data: { ...ids(d), from: d.state.facts.from, timestamp: timestamp(d, until), transcript: text || null }
    })
  }
}

/** Closes the caller's speech and writes its words down. Returns whether there were any. */
export const commit = (d: Draft, text: string = heard(d)): boolean => {
  const { speaking, since } = d.state.caller
  endSpeech(d, text)
  if (text === "") return false
  Speech.closeFinished(d)
  patch(d, { entries: [...d.state.entries, { kind: "caller", content: text }] })
  Speech.addToTranscript(d, "user", text, speaking ? since : d.at)
  return true
}
