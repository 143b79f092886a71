import { type AudioFormat, frameMs } from "@svc/providers/Audio"
import type { SpeechEvent, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { HeardAudio } from "./HeardAudio.ts"

/** Frames of silence that are kept, because quiet speech begins before voice activity is reported: 500 ms. */
const silentFrames = 25
/**
 * A final without the times of its words covers the speech until it came, and up to 100 ms after that, but not speech that
 * began less than 600 ms before it, after other speech.
 */
const restFrames = 5
const latestFrames = 30
/** Frames before the voice activity that belong to speech: 200 ms. */
const onsetFrames = 10

/**
 * What the caller said and speech-to-text has not made final, up to 10 s: for the session that is open, and for another
 * that takes its place. Sessions are numbered, from 1 on.
 */
export class PendingAudio {
  readonly #heard: HeardAudio
  /** The frames that the session was given: from the first one, up to the next one. */
  #given = { first: 0, next: 0 }
  #isSpeaking = false
  /** The frame with which the caller began to speak, and the one after the last in which they spoke. */
  #speechBegan = 0
  #speechEnded = 0
  /** The frame after the last of the speech before that. */
  #spokenBefore = 0
  /** The frame up to which what is heard belongs to the last final, and the session that emitted it. */
  #finalUntil = 0
  #finalSession = 0
  /** There are words that are not final. */
  #isPartial = false

  constructor(format: AudioFormat) {
    this.#heard = new HeardAudio(format)
  }

  /** The caller started or stopped to speak with the frame that comes next. */
  voiceActivity(on: boolean): void {
    this.#isSpeaking = on
    if (!on) return
    this.#spokenBefore = this.#speechEnded
    this.#speechBegan = this.#heard.end
  }

  /** How much audio the session was given, in milliseconds. */
  get givenMs(): number {
    return (this.#given.next - this.#given.first) * frameMs
  }

  /** Keeps a frame. Returns whether the session with this number gets it; `isOpen`: whether it is open. */
  push(frame: Int16Array, session: number, isOpen: boolean): boolean {
    const heard = this.#heard
    heard.push(frame, this.#isSpeaking)
    if (this.#isSpeaking) this.#speechEnded = heard.end
    const isRest = heard.end <= this.#finalUntil
    if (isRest) heard.forget(heard.end)
    if (!isOpen) return false
    if (isRest && session !== this.#finalSession) {
      this.#given = { first: heard.end, next: heard.end }
      return false
    }
    if (!this.#isSpeaking && !this.#isPartial && this.#speechEnded <= heard.start)
      heard.forget(heard.end - silentFrames)
    this.#given.next = heard.end
    return true
  }

  /** The session with this number has emitted an event. */
  recognized(event: SpeechEvent, session: number): void {
    if (event._tag === "Partial") this.#isPartial = event.text !== ""
    else if (event._tag === "Final") this.#settle(event.words?.at(-1)?.end ?? event.end, session)
    else if (event._tag === "EndOfTurn") this.#settle(undefined, session)
  }

  /** The words of a session that is not open any more are not expected. */
  forgetPartial(): void {
    this.#isPartial = false
  }

  /** Pushes what is not final yet to a session that was just opened, until it is closed by what it emits. */
  pushAgain(to: SpeechToTextSession, push: (frame: Int16Array) => void, isOpen: () => boolean): void {
    const heard = this.#heard
    let was = false
    this.#given = { first: heard.start, next: heard.start }
    while (this.#given.next < heard.end && isOpen()) {
      const on = heard.isSpeech(this.#given.next)
      if (on !== was) to.voiceActivity?.(on)
      was = on
      push(heard.frame(this.#given.next++))
    }
    if (isOpen() && this.#isSpeaking !== was) to.voiceActivity?.(this.#isSpeaking)
  }

  /** What was heard until now is final, in so far as it is known. */
  #settle(wordsEnd: number | undefined, session: number): void {
    const heard = this.#heard
    const { first, next } = this.#given
    this.#isPartial = false
    const beganAfter = this.#isSpeaking && next - this.#speechBegan < latestFrames && this.#spokenBefore > heard.start
    if (wordsEnd !== undefined) heard.forget(Math.min(next, first + Math.ceil(wordsEnd / frameMs)))
    else if (beganAfter) heard.forget(this.#speechBegan - onsetFrames)
    else {
      this.#finalUntil = next + restFrames
      this.#finalSession = session
      heard.forget(Math.min(this.#finalUntil, heard.end))
    }
  }
}
