import { type Draft, emit, ids, patch, startTimer, stopTimer, timestamp } from "../Draft.ts"
import { floorOf, isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { isBackchannel } from "../phrases/Backchannels.ts"
import { type Conversation, isSpeaking, languageOf, openEntries } from "../State.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import { type TurnAction, type TurnInput, turnTable } from "./TurnTable.ts"

/**
 * The caller's turns and interruptions of the agent. The action of each input depends on the floor: see {@link
 * turnTable}.
 */

/** Caller speech without words that counts as a possible interruption. */
export const bargeInMs = 500
/** The same while the only words are a backchannel. */
export const backchannelMs = 1000
/** Time without words after which a possible interruption counts as false. */
export const resumeMs = 2000
/** End of turn after the last final transcript, when speech-to-text does not report it. */
export const endpointMs = 500
/** The longest wait for the end of a turn. */
export const endpointMaxMs = 3000

export const onSpeechStarted = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStarted">): void => {
  if (d.state.caller.voice_active) return
  stopTimer(d, "endpoint")
  beginSpeech(d, d.at - late)
  patch(d, { caller: { ...d.state.caller, voice_active: true, voice_detected: true } })
  react(d, "sound", late)
}

/** `at`: when the sound began, which is detected a little later. */
const beginSpeech = (d: Draft, at: number): void => {
  const { caller, facts } = d.state
  if (caller.speaking) return
  const since = Math.max(at, caller.until)
  patch(d, { caller: { ...caller, voice_detected: false, speaking: true, since } })
  emit(d, { event: "speech.started", data: { ...ids(d), from: facts.from, timestamp: timestamp(d, since) } })
}

export const onSpeechStopped = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStopped">): void => {
  const { since, voice_active } = d.state.caller
  if (!voice_active) return
  patch(d, { caller: { ...d.state.caller, voice_active: false, until: Math.max(since, d.at - late) } })
  stopTimer(d, "barge_in")
  if (d.state.caller.speaking) startTimer(d, "endpoint", endpointDelay(d))
}

/** Adds words of the caller. Returns whether there were any. */
export const addWords = (d: Draft, text: string, final: boolean): boolean => {
  if (text.trim() === "") return false
  beginSpeech(d, d.at)
  patch(d, { unrecognized_ms: 0 })
  const caller = {
    ...d.state.caller,
    early_answer: false,
    until: d.state.caller.voice_detected ? d.state.caller.until : d.at
  }
  patch(d, {
    caller: final ? { ...caller, words: [...caller.words, text.trim()], partial: "" } : { ...caller, partial: text }
  })
  return true
}

export const onWords = (d: Draft, text: string, final: boolean): void => {
  if (!addWords(d, text, final)) return
  react(d, isBackchannel(callerWords(d), languageOf(d.state), d.state.caller.partial !== "") ? "backchannel" : "words")
  startTimer(d, "endpoint", endpointDelay(d))
  if (final) Knowledge.onWords(d, callerWords(d))
}

/** How long to wait from now for the end of the turn. */
const endpointDelay = (d: Draft): number => {
  const { partial, voice_active, words } = d.state.caller
  if (words.length === 0 && partial === "") return resumeMs
  const { facts, provider_index } = d.state
  const endpointing = facts.providers?.recognizers[provider_index.stt] ?? facts.endpointing
  return endpointing === "none" && partial === "" && !voice_active ? endpointMs : endpointMaxMs
}

/** The caller's words since the last turn. */
const callerWords = (d: Draft): string => [...d.state.caller.words, d.state.caller.partial].join(" ").trim()

/** Whether the agent's current speech ends with a question and the model cannot add to it. */
const isAsking = (d: Draft): boolean =>
  d.state.model === null && /\?["'”’»)\]]*\s*$/.test(openEntries(d.state).map(Speech.wholeText).join(" "))

/** Turns an answer that came before the end of the question into a turn once the question is over. */
export const takeEarlyAnswer = (d: Draft): void => {
  const { early_answer, voice_active } = d.state.caller
  // A caller who is still speaking has more to say.
  if (early_answer && !voice_active && isAllowed(d.state, "take early answer")) onEndOfTurn(d)
}

/** Carries out the action of the table. `late`: for sound, the milliseconds since it began. */
const react = (d: Draft, input: TurnInput, late = 0): void => actions[turnTable[floorOf(d.state)][input]](d, late)

const actions: { readonly [A in TurnAction]: (d: Draft, late: number) => void } = {
  "-": () => {},
  "stop barge-in timer": (d) => stopTimer(d, "barge_in"),
  "start barge-in timer": (d, late) => startTimer(d, "barge_in", Math.max(0, bargeInMs - late)),
  "extend barge-in timer": (d) => {
    if (d.state.caller.voice_active && d.state.interruption === null) startTimer(d, "barge_in", backchannelMs)
  },
  "hold speech": (d) => {
    // Already stopped: new speech is held too.
    if (d.state.interruption !== null) return
    patch(d, { interruption: { at: d.at, user_text: null, clearing: true } })
    Speech.stop(d)
  },
  interrupt: (d) => {
    stopTimer(d, "barge_in")
    actions["hold speech"](d, 0)
    confirmInterruption(d)
  },
  "drop held speech": (d) => {
    const { interruption } = d.state
    if (interruption === null) Speech.dropHeld(d)
    else finishInterruption(d, interruption)
  },
  "resume speech": (d) => {
    patch(d, { interruption: null })
    Speech.resume(d)
  },
  "resume speech if final": (d) => {
    if (d.state.caller.partial !== "" || d.state.interruption?.clearing === true) return
    stopTimer(d, "resume")
    actions["resume speech"](d, 0)
  },
  "start resume timer": (d) => {
    if (d.state.interruption !== null) patch(d, { interruption: { ...d.state.interruption, clearing: false } })
    startTimer(d, "resume", resumeMs)
  },
  "record turn and answer": (d) => {
    commit(d)
    patch(d, { rounds: 0, unanswered: { ended_at: d.state.caller.until, detected_at: d.at } })
    Knowledge.onTurn(d)
    Model.respond(d)
  },
  "record turn": (d) => {
    commit(d)
  },
  "discard turn": (d) => {
    const text = callerWords(d)
    if (isAsking(d)) patch(d, { caller: { ...d.state.caller, early_answer: true } })
    else endSpeech(d, text)
  }
}

/** There are words: the interruption is real. */
const confirmInterruption = (d: Draft): void => {
  const { interruption } = d.state
  if (interruption?.user_text !== null) return
  stopTimer(d, "resume")
  const confirmed = { ...interruption, user_text: callerWords(d) }
  patch(d, { interruption: confirmed })
  if (!confirmed.clearing) finishInterruption(d, confirmed)
}

const finishInterruption = (d: Draft, { at, user_text }: NonNullable<Conversation["interruption"]>): void => {
  const cut = openEntries(d.state).filter((e) => e.utterances.some((u) => u.state === "held"))
  patch(d, { interruption: null })
  if (cut.some((e) => e.turn === d.state.model?.turn)) Model.cancel(d)
  Speech.dropHeld(d)
  // Speech that had not begun was not interrupted.
  if (!cut.some((e) => e.spoken_at !== null)) return
  emit(d, {
    event: "barge_in",
    data: {
      ...ids(d),
      from: d.state.facts.from,
      user_text,
      interrupted_text: cut.map(Speech.wholeText).join(" "),
      timestamp: timestamp(d, at)
    }
  })
}

/** The shell has reported how much of the stopped speech was played. */
export const onCleared = (d: Draft): void => react(d, "cleared")

export const onBargeInTimer = (d: Draft): void => react(d, "long sound")

export const onResumeTimer = (d: Draft): void => react(d, "no words")

/** Ends a possible interruption undecided; its held speech is dropped. */
export const endInterruption = (d: Draft): void => {
  const { interruption } = d.state
  patch(d, { switching_tts: false, interruption: null })
  if (interruption !== null && !interruption.clearing) Speech.dropHeld(d)
}

/** Silences the agent and drops its pending speech. */
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
  const text = callerWords(d)
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

/** Ends the caller's speech. */
const endSpeech = (d: Draft, text: string): void => {
  const { speaking, voice_active } = d.state.caller
  const until = voice_active ? d.at : d.state.caller.until
  patch(d, {
    caller: { ...d.state.caller, speaking: false, until, words: [], partial: "", early_answer: false }
  })
  if (speaking) {
    emit(d, {
      event: "speech.ended",
      data: { ...ids(d), from: d.state.facts.from, timestamp: timestamp(d, until), transcript: text || null }
    })
  }
}

/** Ends the caller's speech and records its words as a turn. */
export const commit = (d: Draft): void => {
  const text = callerWords(d)
  const { since } = d.state.caller
  endSpeech(d, text)
  if (text === "") return
  Speech.closeFinished(d)
  patch(d, { entries: [...d.state.entries, { kind: "caller", content: text }] })
  Speech.addToTranscript(d, "user", text, since)
}
