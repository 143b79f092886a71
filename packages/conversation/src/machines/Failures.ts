import { command, type Draft, patch, providerField } from "../Draft.ts"
import { may } from "../Floor.ts"
import type { InputOf } from "../Input.ts"
import { phrasesIn } from "../phrases/Phrases.ts"
import { languageOf, openEntries } from "../State.ts"
import * as Ending from "./Ending.ts"
import * as Filler from "./Filler.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"
import * as Turn from "./Turn.ts"

/**
 * What happens when a provider fails, or is silent for too long:
 *
 * | stage | is given up | the first time | the second in a row |
 * |---|---|---|---|
 * | model | fails before it gave anything | the next model is asked the same, and so on: only when all have failed is it a failure, as below | |
 * | model | silent for {@link Model.modelMs}, fails, gives nothing | the next model is asked the same; where there is none, or all were asked, an apology, and the caller may say it again | the call ends, with the farewell |
 * | voice | fails, or gives no audio for 10 s | the next voice says the rest; where there is none, it is left out | the call ends, without a farewell |
 * | recognizer | fails, or understands nothing of {@link deafMs} of speech | the next one is opened, else the same again; an apology when words were lost | the call ends, with the farewell |
 *
 * Who took over stays for the rest of the call. When the caller has waited for {@link noticeableMs}, the agent says that
 * it is sorry first. A provider that is not used for a while (its circuit is open) fails at once, and so counts.
 */

/** The caller's speech of which nothing is understood before the recognizer counts as deaf. */
export const deafMs = 8_000
/** A wait that the caller has noticed. */
export const noticeableMs = 3_000

type Stage = "model" | "voice" | "recognizer"

const countOf = (d: Draft, stage: Stage): number => {
  const { providers } = d.state.facts
  if (providers === undefined) return 1
  return stage === "recognizer" ? providers.recognizers.length : stage === "model" ? providers.models : providers.voices
}

/** Goes over to the next provider. Returns whether there is one. */
const fallBack = (d: Draft, stage: Stage): boolean => {
  const rank = d.state.ranks[stage] + 1
  if (rank >= countOf(d, stage)) return false
  patch(d, { ranks: { ...d.state.ranks, [stage]: rank } })
  return true
}

/** Counts a failure. Returns whether it is the second in a row. */
const again = (d: Draft, stage: "model" | "speech" | "recognizer"): boolean => {
  const failures = { ...d.state.failures, [stage]: d.state.failures[stage] + 1 }
  patch(d, { failures })
  return failures[stage] > 1
}

export const onModel = (d: Draft, failure: Model.ModelFailure | null): void => {
  if (failure === null || d.state.phase !== "live") return
  const { failed_at_once } = failure
  if (failed_at_once > 0 && fallBack(d, "model")) {
    if (!Speech.isAnswering(d.state)) excuseDelay(d)
    Model.askNext(d, failed_at_once)
    return
  }
  // All models failed at once: the next answer begins with the same one as this.
  if (failed_at_once > 1) patch(d, { ranks: { ...d.state.ranks, model: d.state.ranks.model - failed_at_once + 1 } })
  if (again(d, "model")) {
    Ending.begin(d, "error")
    return
  }
  const next = failure.elsewhere && failed_at_once === 0 && fallBack(d, "model")
  // What was said before the failure stands, and a tool that still runs will be answered: no need to excuse anything.
  if (Speech.isAnswering(d.state)) return
  if (d.state.owed) {
    Model.continueAfterTools(d)
    return
  }
  if (!next) {
    Speech.announce(d, phrasesIn(languageOf(d.state)).modelApology)
    return
  }
  excuseDelay(d)
  Model.respond(d)
}

/** The agent says sorry when the caller has noticed the wait. */
const excuseDelay = (d: Draft): void => {
  const waiting = d.state.unanswered?.noticed_at ?? d.at
  if (d.at - waiting >= noticeableMs) Filler.excuse(d)
}

export const onVoice = (d: Draft, { id }: InputOf<"SpeechFailed">): void => {
  const since = Speech.awaitedSince(d.state, id)
  if (since === undefined) return
  if (again(d, "speech")) {
    Speech.giveUp(d, id)
    // A voice that failed twice will not say the farewell either.
    Ending.begin(d, "error", { farewell: false })
  } else if (!fallBack(d, "voice")) Speech.giveUp(d, id)
  else {
    // Of all that waits it must be known what was heard, so that the rest is said in order.
    Speech.stop(d)
    // A turn that the caller has begun to hear continues at once: an apology would be another turn within it.
    const isBegun = openEntries(d.state).some((entry) => entry.spoken_at !== null)
    if (!isBegun && d.at - since >= noticeableMs) Filler.excuse(d)
    patch(d, { revoicing: true })
  }
}

/** It is known what was heard of what the former voice said. Returns whether that was waited for. */
export const onCleared = (d: Draft): boolean => {
  if (!d.state.revoicing) return false
  patch(d, { revoicing: false })
  Speech.resume(d)
  return true
}

export const onRecognizer = (d: Draft, wordsLost = d.state.caller.speaking): void => {
  patch(d, { deaf_ms: 0 })
  if (again(d, "recognizer")) {
    patch(d, { listening: false })
    Ending.begin(d, "error")
    return
  }
  fallBack(d, "recognizer")
  listen(d)
  if (wordsLost && may(d.state, "apologize")) Speech.announce(d, phrasesIn(languageOf(d.state)).modelApology)
}

/** The caller has been silent for long enough: the end of a turn, or of speech of which nothing was understood. */
export const onEndpointTimer = (d: Draft): void => {
  const { partial, since, until, words } = d.state.caller
  const understood = partial !== "" || words.length > 0
  Turn.onEndOfTurn(d)
  if (!understood) onNothingUnderstood(d, until - since)
}

const onNothingUnderstood = (d: Draft, ms: number): void => {
  patch(d, { deaf_ms: d.state.deaf_ms + ms })
  if (d.state.listening && d.state.phase === "live" && d.state.deaf_ms >= deafMs) onRecognizer(d, true)
}

/** Opens a recognizer, as the call's configuration wants it. */
export const listen = (d: Draft): void => {
  patch(d, { listening: true })
  command(d, {
    _tag: "Listen",
    language: languageOf(d.state),
    format: d.state.config?.stt_format ?? "smart",
    keyterms: d.state.config?.stt_keyterms ?? [],
    ...providerField(d.state.ranks.recognizer)
  })
}
