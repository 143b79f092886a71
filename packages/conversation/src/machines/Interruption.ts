import { type Draft, emit, ids, patch, stopTimer, timestamp } from "../Draft.ts"
import { openEntries } from "../Entries.ts"
import { type Conversation, spokenWords, turnTakingOf } from "../State.ts"
import * as Model from "./Model.ts"
import * as Speech from "./Speech.ts"

/**
 * An interruption of the agent, from the stop of its speech to its end:
 *
 * | state | on | then |
 * |---|---|---|
 * | – | sound, or words | its speech is stopped; by sound it is possible, and its speech held; by words it is certain |
 * | possible | words | certain |
 * | possible | no words within `resume_after_ms`, and silence; a backchannel | over: the agent goes on |
 * | certain | the shell has reported how much was played | over: what was held is dropped, `barge_in` |
 */

/** Silence before held speech is resumed: the words of a sound come a little later. */
export const resumeSilenceMs = 500

/** Stops the agent's speech, unless it was stopped already: new speech is held too. */
export const begin = (d: Draft, mayResume: boolean): void => {
  if (d.state.interruption !== null) return
  patch(d, {
    caller: { ...d.state.caller, long_sound: d.state.caller.voice_active },
    interruption: { at: d.at, certain: false, user_text: null, clearing: true }
  })
  Speech.stop(d, mayResume)
}

/** How long to wait for words before held speech goes on: counted from the cut, and from the end of the sound. */
export const resumeDelay = (d: Draft): number => {
  const { caller, interruption } = d.state
  const afterCut = interruption === null ? 0 : interruption.at + (turnTakingOf(d.state).resume_after_ms ?? 0)
  return Math.max(0, afterCut - d.at, caller.voice_detected ? caller.until + resumeSilenceMs - d.at : 0)
}

/** There are words: the interruption is real. */
export const confirm = (d: Draft): void => {
  const { interruption } = d.state
  if (interruption === null || interruption.certain) return
  stopTimer(d, "resume")
  const confirmed = { ...interruption, certain: true, user_text: spokenWords(d.state) || null }
  patch(d, { interruption: confirmed })
  if (!confirmed.clearing) finish(d, confirmed)
}

/** The interruption is over and was real: what was held is dropped. */
export const finish = (d: Draft, { at, user_text }: NonNullable<Conversation["interruption"]>): void => {
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

/** Ends a possible interruption undecided; its held speech is dropped. */
export const end = (d: Draft): void => {
  const { interruption } = d.state
  patch(d, { switching_tts: false, interruption: null })
  if (interruption !== null && !interruption.clearing) Speech.dropHeld(d)
}
