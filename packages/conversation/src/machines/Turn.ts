import { type Draft, emit, ids, patch, startTimer, stopTimer, timestamp } from "../Draft.ts"
import { isSpeaking, openEntries } from "../Entries.ts"
import { callerHoldsFloor, floorOf, isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { isBackchannel, plainWords } from "../phrases/Backchannels.ts"
import { endsTurnsBySilence, isRunning, languageOf, spokenWords, turnTakingOf } from "../State.ts"
import * as Interruption from "./Interruption.ts"
import * as Knowledge from "./Knowledge.ts"
import * as Language from "./Language.ts"
import * as Model from "./Model.ts"
import * as Silence from "./Silence.ts"
import * as Speech from "./Speech.ts"
import { type TurnAction, type TurnInput, turnTable } from "./TurnTable.ts"

/**
 * The caller's turns, and what stops the agent; see Interruption. The action of each input depends on the floor: see {@link
 * turnTable}.
 */

/** Caller speech that counts as a possible interruption while the only words are a backchannel. */
export const backchannelMs = 1000
/** Silence without further words that ends a turn, when neither speech-to-text nor the configuration does. */
export const endpointMs = 500
/** The longest wait for words, or for their final transcript, in silence. */
export const silenceMaxMs = 2000
/** The longest wait for further words while there is sound. */
export const soundMaxMs = 3000
/** A pause within sound that lasts on: between two words, or before a plosive. */
export const soundPauseMs = 320
/** Turns whose final transcript may still come. */
const mostUnconfirmed = 8

export const onSpeechStarted = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStarted">): void => {
  if (d.state.caller.voice_active) return
  stopTimer(d, "endpoint")
  const { long_sound_at, until } = d.state.caller
  const goesOn = long_sound_at !== null && d.at - late - until <= soundPauseMs
  beginSpeech(d, d.at - late)
  patch(d, {
    caller: {
      ...d.state.caller,
      voice_active: true,
      voice_detected: true,
      long_sound_at: goesOn ? long_sound_at : null
    }
  })
  react(d, "sound", late)
}

/** `at`: when the sound began, which is detected a little later. */
const beginSpeech = (d: Draft, at: number): void => {
  const { caller, facts } = d.state
  if (caller.speaking) return
  Silence.over(d)
  const since = Math.max(at, caller.until)
  patch(d, { caller: { ...caller, voice_detected: false, speaking: true, since } })
  emit(d, { event: "speech.started", data: { ...ids(d), from: facts.from, timestamp: timestamp(d, since) } })
}

export const onSpeechStopped = (d: Draft, { late = 0 }: InputOf<"CallerSpeechStopped">): void => {
  const { since, voice_active } = d.state.caller
  if (!voice_active) return
  const until = Math.max(since, d.at - late)
  patch(d, { caller: { ...d.state.caller, voice_active: false, long_sound: false, until } })
  stopTimer(d, "barge_in")
  if (d.state.caller.speaking) startTimer(d, "endpoint", endpointDelay(d))
  const { interruption } = d.state
  const awaitsWords = interruption !== null && !interruption.clearing
  if (awaitsWords && !isRunning(d.state, "resume")) startTimer(d, "resume", Interruption.resumeDelay(d))
}

/** The sound will have been long `ms` from now; the time goes on in a short pause. */
const awaitLongSound = (d: Draft, ms: number): void => {
  patch(d, { caller: { ...d.state.caller, long_sound_at: d.at + ms } })
  if (d.state.caller.voice_active) startTimer(d, "barge_in", ms)
}

/** Sound until now does not count as long later. */
const forgetSound = (d: Draft): void => {
  stopTimer(d, "barge_in")
  patch(d, { caller: { ...d.state.caller, long_sound_at: null } })
}

/** Adds words of the caller. Returns whether there were any. */
export const addWords = (d: Draft, text: string, final: boolean): boolean => {
  if (text.trim() === "") return false
  beginSpeech(d, d.at)
  // What breaks again and again, and is final in between, loses nothing.
  patch(d, { unrecognized_ms: 0, stt_failed_at: final ? [] : d.state.stt_failed_at })
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
  if (final && isLate(d, text)) return
  if (!addWords(d, text, final)) return
  react(d, takesFloor(d, callerWords(d), d.state.caller.partial !== "") ? "words" : "backchannel")
  startTimer(d, "endpoint", endpointDelay(d))
  if (final) Knowledge.onWords(d, callerWords(d))
}

/**
 * Whether a final transcript is that of words which were taken as a turn before. Transcripts become final in order: those of
 * earlier turns will not come any more.
 */
export const isLate = (d: Draft, text: string): boolean => {
  const { caller, unconfirmed } = d.state
  if (unconfirmed.length === 0) return false
  const words = plainWords(text)
  const turn = plainWords(caller.partial) === words ? -1 : unconfirmed.findIndex((one) => plainWords(one) === words)
  patch(d, { unconfirmed: turn < 0 ? [] : unconfirmed.slice(turn + 1) })
  return turn >= 0
}

/** Whether words interrupt the agent: more than a backchannel, and as many as the configuration asks for. */
const takesFloor = (d: Draft, text: string, unfinished = false): boolean =>
  !isBackchannel(text, languageOf(d.state), unfinished) &&
  text.split(/\s+/).length >= turnTakingOf(d.state).interrupt_min_words

/** How long to wait from now for the end of the turn. Silence counts from the end of the sound. */
const endpointDelay = (d: Draft): number => {
  const { partial, until, voice_active, words } = d.state.caller
  if (voice_active) return soundMaxMs
  const { end_of_turn_ms } = turnTakingOf(d.state)
  const isComplete = words.length > 0 && partial === ""
  const silence =
    isComplete && endsTurnsBySilence(d.state)
      ? (end_of_turn_ms ?? endpointMs)
      : Math.max(silenceMaxMs, end_of_turn_ms ?? 0)
  return Math.max(0, silence - (d.at - until))
}

/** The caller's words since the last turn. */
const callerWords = (d: Draft): string => spokenWords(d.state)

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
  "stop barge-in timer": (d) => forgetSound(d),
  "start barge-in timer": (d, late) => {
    const { interrupt_after_ms, interrupt_min_words } = turnTakingOf(d.state)
    if (interrupt_min_words > 0) return
    const at = d.state.caller.long_sound_at ?? d.at - late + interrupt_after_ms
    awaitLongSound(d, Math.max(0, at - d.at))
  },
  "extend barge-in timer": (d) => {
    const { interrupt_after_ms, interrupt_min_words } = turnTakingOf(d.state)
    const { long_sound_at, until, voice_active } = d.state.caller
    const isSound = voice_active || (long_sound_at !== null && d.at - until <= soundPauseMs)
    if (interrupt_min_words > 0 || !isSound || d.state.interruption !== null) return
    awaitLongSound(d, Math.max(backchannelMs, interrupt_after_ms))
  },
  "hold speech": (d) => {
    const mayResume = turnTakingOf(d.state).resume_after_ms !== null
    Interruption.begin(d, mayResume)
    if (!mayResume) Interruption.confirm(d)
  },
  "hold coming speech": (d) => {
    patch(d, { caller: { ...d.state.caller, long_sound: true } })
  },
  interrupt: (d) => {
    forgetSound(d)
    Interruption.begin(d, false)
    Interruption.confirm(d)
  },
  "drop held speech": (d) => {
    const { interruption } = d.state
    if (interruption === null) Speech.dropHeld(d)
    else Interruption.finish(d, interruption)
  },
  "resume speech": (d) => {
    patch(d, { interruption: null })
    Speech.resume(d)
  },
  "resume speech if final": (d) => {
    const { partial, voice_active } = d.state.caller
    // While there is sound, its end starts the wait.
    if (partial !== "" || voice_active || d.state.interruption?.clearing === true) return
    stopTimer(d, "resume")
    actions["resume speech"](d, 0)
  },
  "start resume timer": (d) => {
    if (d.state.interruption !== null) patch(d, { interruption: { ...d.state.interruption, clearing: false } })
    startTimer(d, "resume", Interruption.resumeDelay(d))
  },
  "record turn and answer": (d) => {
    // What the agent would have said is no answer to these words.
    if (openEntries(d.state).some((e) => e.turn === d.state.model?.turn && Speech.isWaiting(e))) Model.cancel(d)
    Speech.dropWaiting(d)
    commit(d)
    patch(d, { rounds: 0, unanswered: { ended_at: d.state.caller.until, detected_at: d.at } })
    Knowledge.onTurn(d)
    if (Knowledge.isAwaited(d.state)) Model.cancel(d)
    Model.respond(d)
  },
  "record turn": (d) => {
    commit(d)
  },
  "keep turn": (d) => {
    patch(d, { caller: { ...d.state.caller, early_answer: true } })
  },
  "discard turn": (d) => {
    const text = callerWords(d)
    if (isAsking(d) || !isBackchannel(text, languageOf(d.state))) actions["keep turn"](d, 0)
    else endSpeech(d, text)
  }
}

/** The shell has reported how much of the stopped speech was played. */
export const onCleared = (d: Draft): void => react(d, "cleared")

export const onBargeInTimer = (d: Draft): void => react(d, "long sound")

/** Held speech goes on, but never while the caller makes sound: then the timer starts again with the silence. */
export const onResumeTimer = (d: Draft): void => {
  if (d.state.caller.voice_active) return
  const rest = Interruption.resumeDelay(d)
  if (rest > 0) startTimer(d, "resume", rest)
  else react(d, "no words")
}

/** At the end of a step: what waited for the caller is spoken once the caller has left the floor for a short time. */
export const speakWaiting = (d: Draft): void => {
  if (d.state.interruption !== null || d.state.switching_tts || !Speech.hasWaiting(d.state)) return
  if (isRunning(d.state, "resume") || callerHoldsFloor(d.state)) return
  const rest = Interruption.resumeDelay(d)
  if (rest > 0) startTimer(d, "resume", rest)
  else Speech.speakWaiting(d)
}

/** Silences the agent and drops its pending speech. */
export const silenceAgent = (d: Draft): void => {
  Model.cancel(d)
  Speech.dropWaiting(d)
  Interruption.end(d)
  if (isSpeaking(d.state)) Speech.stop(d)
  forgetSound(d)
  stopTimer(d, "resume")
}

/** Speech-to-text reports the end of a turn. With `end_of_turn_ms` it only completes the words, and silence ends the turn. */
export const onRecognizedEnd = (d: Draft): void => {
  if (turnTakingOf(d.state).end_of_turn_ms === null || !d.state.caller.speaking) {
    onEndOfTurn(d)
    return
  }
  const text = callerWords(d)
  if (text !== "") patch(d, { caller: { ...d.state.caller, partial: "", words: [text] } })
  startTimer(d, "endpoint", endpointDelay(d))
}

/** The caller has finished a turn. */
export const onEndOfTurn = (d: Draft): void => {
  stopTimer(d, "endpoint")
  forgetSound(d)
  const text = callerWords(d)
  if (text === "") {
    endSpeech(d, text)
    return
  }
  const { partial } = d.state.caller
  patch(d, {
    unconfirmed: partial.trim() === "" ? [] : [...d.state.unconfirmed, partial].slice(-mostUnconfirmed),
    caller: { ...d.state.caller, partial: "", words: [text] }
  })
  const row = turnTable[floorOf(d.state)]
  const takes = takesFloor(d, text)
  actions[row[takes ? "words" : "backchannel"]](d, 0)
  actions[row[takes ? "end of turn" : "end of backchannel"]](d, 0)
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
  Language.onTurn(d)
  Speech.addToTranscript(d, "user", text, since)
}
