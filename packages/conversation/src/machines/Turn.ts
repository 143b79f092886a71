import { type Draft, emit, ids, patch, startTimer, stopTimer, timestamp } from "../Draft.ts"
import { floorOf, may } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { isBackchannel } from "../phrases/Backchannels.ts"
import { isSpeaking, languageOf, openEntries } from "../State.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import { type TurnAction, type TurnInput, turnTable } from "./TurnTable.ts"

/**
 * The caller's turns, and how they interrupt the agent's. What each input does depends on who has the floor: see
 * {@link turnTable}.
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
  react(d, "sound", late)
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
  react(d, isBackchannel(heard(d), languageOf(d.state), d.state.caller.partial !== "") ? "backchannel" : "words")
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

/** Whether the last thing that the agent says is a question; not while the model may add to it. */
const isAsking = (d: Draft): boolean =>
  d.state.model === null && /\?["'”’»)\]]*\s*$/.test(openEntries(d.state).map(Speech.wholeText).join(" "))

/** An answer that came before the question was over is a turn once it is. */
export const takeEarlyAnswer = (d: Draft): void => {
  const { voice, waits } = d.state.caller
  // A caller who goes on speaking has more to say.
  if (waits && !voice && may(d.state, "take turn")) onEndOfTurn(d)
}

/** Does what the table says of an input. `late`: milliseconds since the sound, where it is one. */
const react = (d: Draft, input: TurnInput, late = 0): void => actions[turnTable[floorOf(d.state)][input]](d, late)

const actions: { readonly [A in TurnAction]: (d: Draft, late: number) => void } = {
  "-": () => {},
  listen: (d) => stopTimer(d, "barge_in"),
  watch: (d, late) => startTimer(d, "barge_in", Math.max(0, bargeInMs - late)),
  tolerate: (d) => {
    if (d.state.caller.voice && d.state.interruption === null) startTimer(d, "barge_in", backchannelMs)
  },
  hold: (d) => {
    // New speech waits behind what is still being stopped.
    if (d.state.interruption !== null) return
    patch(d, { interruption: { at: d.at, user_text: null, clearing: true } })
    Speech.stop(d)
  },
  interrupt: (d) => {
    stopTimer(d, "barge_in")
    actions.hold(d, 0)
    confirm(d)
  },
  drop: (d) => {
    if (d.state.interruption === null) Speech.dropHeld(d)
    else finishInterruption(d)
  },
  resume: (d) => {
    patch(d, { interruption: null })
    Speech.resume(d)
  },
  "resume if final": (d) => {
    if (d.state.caller.partial !== "" || d.state.interruption?.clearing === true) return
    stopTimer(d, "resume")
    actions.resume(d, 0)
  },
  "await words": (d) => {
    if (d.state.interruption !== null) patch(d, { interruption: { ...d.state.interruption, clearing: false } })
    startTimer(d, "resume", resumeMs)
  },
  answer: (d) => {
    commit(d)
    patch(d, { rounds: 0, unanswered: { ended_at: d.state.caller.until, noticed_at: d.at } })
    Model.respond(d)
  },
  "write down": (d) => {
    commit(d)
  },
  ignore: (d) => {
    const text = heard(d)
    if (isAsking(d)) patch(d, { caller: { ...d.state.caller, words: [text], partial: "", waits: true } })
    else endSpeech(d, text)
  }
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

/** The shell has reported how much was played of what it stopped. */
export const onCleared = (d: Draft): void => react(d, "cleared")

export const onBargeInTimer = (d: Draft): void => react(d, "sound lasts")

export const onResumeTimer = (d: Draft): void => react(d, "no words")

/** Ends an interruption without its outcome: what it stopped is dropped. */
export const endInterruption = (d: Draft): void => {
  const { interruption } = d.state
  patch(d, { revoicing: false, interruption: null })
  if (interruption !== null && !interruption.clearing) Speech.dropHeld(d)
}

/** Silences the agent, and drops what it was about to say. */
export const silenceAgent = (d: Draft): void => {
  Model.cancel(d)
  endInterruption(d)
  if (isSpeaking(d.state)) Speech.stop(d)
  for (const timer of ["barge_in", "resume"] as const) stopTimer(d, timer)
}

/** The caller has finished a turn. */
export const onEndOfTurn = (d: Draft): void => {
  stopTimer(d, "endpoint")
  stopTimer(d, "barge_in")
  const text = heard(d)
  if (text === "") {
    endSpeech(d, text)
    return
  }
  patch(d, { caller: { ...d.state.caller, partial: "", words: [text] } })
  const row = turnTable[floorOf(d.state)]
  const backchannel = isBackchannel(text, languageOf(d.state))
  actions[row[backchannel ? "backchannel" : "words"]](d, 0)
  actions[row[backchannel ? "end of backchannel" : "end of turn"]](d, 0)
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
