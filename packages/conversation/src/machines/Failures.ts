import { type Draft, patch } from "../Draft.ts"
import { openEntries } from "../Entries.ts"
import { isAllowed } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { phrasesIn } from "../phrases/Phrases.ts"
import { languageOf } from "../State.ts"
import * as Ending from "./Ending.ts"
import * as Filler from "./Filler.ts"
import * as Listening from "./Listening.ts"
import * as Model from "./Model.ts"
import * as Problems from "./Problems.ts"
import * as Speech from "./Speech.ts"
import * as Turn from "./Turn.ts"

/**
 * Fallback when a provider fails or is silent for too long:
 *
 * | capability | fails when | first failure | second failure in a row |
 * |---|---|---|---|
 * | model | it fails without any output | the next model is asked, and so on; only when all have failed, this is a failure as below | |
 * | model | it is silent for {@link Model.modelMs}, fails, or returns nothing | the next model is asked; if there is none, or all were asked, the agent apologizes and asks the caller to repeat | the call ends, with the farewell, else with an apology |
 * | text-to-speech | it fails, or returns no audio for 10 s | the next provider speaks the rest; if there is none, the same is asked once more for it, and if that fails too, the utterance is skipped | the next provider speaks the rest; if there is none, the call ends, without a farewell |
 * | speech-to-text | it recognizes nothing in {@link unrecognizedMs} of speech | the next provider is opened, else the same again; the agent apologizes | the call ends, with an apology and the farewell |
 * | speech-to-text | it fails | the same, without an apology: the shell pushes what is not final yet to the new session | the same; the third failure within {@link sttFailuresMs} ends the call |
 * | speech-to-text | a session that had worked breaks, and there is a next provider | the same provider is opened again, which is no failure yet | within {@link sttFailuresMs}: it fails, as above |
 *
 * A fallback stays in use for the rest of the call. If the caller has waited for {@link noticeableMs}, the agent
 * apologizes for the delay first. A provider with an open circuit breaker fails at once.
 */

/** Caller speech without recognized words after which speech-to-text counts as failed. */
export const unrecognizedMs = 8_000
/** The third failure of speech-to-text within this time ends the call. */
export const sttFailuresMs = 60_000
/** A delay for which the agent apologizes. */
export const noticeableMs = 3_000

type Capability = "model" | "tts" | "stt"

const stages = { model: "language-model", tts: "text-to-speech", stt: "speech-to-text" } as const

const countOf = (d: Draft, capability: Capability): number => {
  const { providers } = d.state.facts
  if (providers === undefined) return 1
  return capability === "stt"
    ? providers.recognizers.length
    : capability === "model"
      ? providers.models
      : providers.voices
}

const hasNext = (d: Draft, capability: Capability): boolean =>
  d.state.provider_index[capability] + 1 < countOf(d, capability)

/** Switches to the next provider. Returns whether there is one. */
const fallBack = (d: Draft, capability: Capability): boolean => {
  if (!hasNext(d, capability)) return false
  const index = d.state.provider_index[capability] + 1
  patch(d, { provider_index: { ...d.state.provider_index, [capability]: index } })
  return true
}

/**
 * Counts a failure. Returns whether it is the second in a row, with which the call fails. `mayFail`: whether the call may
 * fail now.
 */
const isSecondFailure = (d: Draft, capability: Capability, reason: string, mayFail = true): boolean => {
  const failures = { ...d.state.failures, [capability]: d.state.failures[capability] + 1 }
  patch(d, { failures })
  const isSecond = mayFail && failures[capability] > 1
  if (isSecond) Problems.failed(d, stages[capability], `failed twice in a row; the last time: ${reason}`)
  else Problems.providerFailed(d, stages[capability], reason)
  return isSecond
}

export const onModel = (d: Draft, failure: Model.ModelFailure | null): void => {
  if (failure === null || d.state.phase !== "live") return
  const { failed_without_output } = failure
  if (failed_without_output > 0 && fallBack(d, "model")) {
    Problems.warn(d, stages.model, `${failure.reason}; the next model was asked`)
    if (!Speech.isAnswering(d.state)) apologizeForDelay(d)
    Model.askNext(d, failed_without_output)
    return
  }
  // All models failed without output: the next answer starts again with the model that this one started with.
  if (failed_without_output > 1)
    patch(d, {
      provider_index: { ...d.state.provider_index, model: d.state.provider_index.model - failed_without_output + 1 }
    })
  if (isSecondFailure(d, "model", failure.reason)) {
    // A farewell is enough; without one the caller is told.
    const hasFarewell = (d.state.config?.end_session_message ?? null) !== null
    Ending.begin(d, "error", hasFarewell ? {} : { apology: phrasesIn(languageOf(d.state)).endingApology })
    return
  }
  const next = failure.may_fall_back && failed_without_output === 0 && fallBack(d, "model")
  // Tools that it called lead to an answer, as soon as none of them runs.
  if (d.state.must_ask_model) {
    Model.continueAfterTools(d)
    return
  }
  // What was said before the failure stays valid: no apology is needed.
  if (Speech.isAnswering(d.state)) return
  if (!next) {
    Speech.announce(d, phrasesIn(languageOf(d.state)).modelApology)
    return
  }
  apologizeForDelay(d)
  Model.respond(d)
}

/** The agent apologizes if the caller has waited noticeably. */
const apologizeForDelay = (d: Draft): void => {
  const since = d.state.unanswered?.detected_at ?? d.at
  if (d.at - since >= noticeableMs) Filler.apologize(d)
}

export const onSpeechFailed = (d: Draft, { id, reason }: InputOf<"SpeechFailed">): void => {
  const since = Speech.awaitedSince(d.state, id)
  if (since === undefined) return
  if (d.state.failures.tts === 0 && !hasNext(d, "tts") && Speech.tryAgain(d, id)) {
    // Both attempts at a text are one failure.
    Problems.warn(d, stages.tts, `${reason}; it was asked again`)
    patch(d, { switching_tts: true })
    return
  }
  if (isSecondFailure(d, "tts", reason, !hasNext(d, "tts"))) {
    Speech.skip(d, id)
    // Text-to-speech that failed twice would not speak the farewell either.
    Ending.begin(d, "error", { farewell: false })
  } else if (!fallBack(d, "tts")) Speech.skip(d, id)
  else {
    // The shell must report what was played, so that the fallback speaks the rest in order.
    Speech.stop(d)
    // A turn that is already playing continues at once: an apology would start another turn within it.
    const isBegun = openEntries(d.state).some((entry) => entry.spoken_at !== null)
    if (!isBegun && d.at - since >= noticeableMs) Filler.apologize(d)
    patch(d, { switching_tts: true })
  }
}

/** The shell has reported what was played. Returns whether a switch of text-to-speech waited for this. */
export const onCleared = (d: Draft): boolean => {
  if (!d.state.switching_tts) return false
  patch(d, { switching_tts: false })
  Speech.resume(d)
  return true
}

/** A session of speech-to-text failed. What it heard and did not make final is not lost: the next one gets it too. */
export const onSttFailed = (d: Draft, { broke, reason }: InputOf<"RecognizerFailed">): void => {
  const { stt_reopened_at } = d.state
  const isFirst = stt_reopened_at === null || d.at - stt_reopened_at >= sttFailuresMs
  if (broke === true && isFirst && hasNext(d, "stt")) {
    patch(d, { unrecognized_ms: 0, stt_reopened_at: d.at })
    Problems.warn(d, stages.stt, reason)
    Listening.listen(d)
    return
  }
  countSttFailure(d)
  if (d.state.stt_failed_at.length > 2) stopListening(d, `failed three times within a minute; the last time: ${reason}`)
  else listenAgain(d, reason)
}

const countSttFailure = (d: Draft): void =>
  patch(d, {
    unrecognized_ms: 0,
    failures: { ...d.state.failures, stt: d.state.failures.stt + 1 },
    stt_failed_at: [...d.state.stt_failed_at.filter((at) => d.at - at < sttFailuresMs), d.at]
  })

const listenAgain = (d: Draft, reason: string): void => {
  Problems.warn(d, stages.stt, reason)
  fallBack(d, "stt")
  Listening.listen(d)
}

/** The call ends, because the caller cannot be heard. */
const stopListening = (d: Draft, reason: string): void => {
  Problems.failed(d, stages.stt, reason)
  patch(d, { listening: false })
  Ending.begin(d, "error", { apology: phrasesIn(languageOf(d.state)).hearingApology })
}

/** The endpoint timer fired: the end of a turn, or of speech without recognized words. */
export const onEndpointTimer = (d: Draft): void => {
  const { partial, since, until, words } = d.state.caller
  const hasWords = partial !== "" || words.length > 0
  Turn.onEndOfTurn(d)
  if (!hasWords) onUnrecognizedSpeech(d, until - since)
}

const onUnrecognizedSpeech = (d: Draft, ms: number): void => {
  patch(d, { unrecognized_ms: d.state.unrecognized_ms + ms })
  if (!d.state.listening || d.state.phase !== "live" || d.state.unrecognized_ms < unrecognizedMs) return
  const reason = `no words were recognized in ${unrecognizedMs / 1000} s of speech`
  countSttFailure(d)
  if (d.state.failures.stt > 1) {
    stopListening(d, `failed twice in a row; the last time: ${reason}`)
    return
  }
  listenAgain(d, reason)
  if (isAllowed(d.state, "apologize"))
    Speech.announce(d, phrasesIn(languageOf(d.state)).modelApology, { over_caller: true })
}
