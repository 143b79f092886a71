/** Levels in dB. */
const initialLevel = 24
const lowest = 15
/** Steps in dB per frame: at first, later, and how fast the first ones become the later ones. */
const startPace = 3
const pace = 0.14
const slowDown = 0.98
/** The shares of frames below the two levels. */
const middleShare = 0.42
const lowShare = 0.05
/** How far above the middle a frame must be: this many times the distance of the two levels, and at most `most` dB. */
const factor = 4
const most = 10
/** From this distance on there are real pauses: speech on a quiet line. */
const pauses = 22
/** Frames after which the lower level is raised to the lowest one among them: 1 s. */
const window = 50
/** A level is the same as before within these dB, and even after so many frames. */
const evenWithin = 0.5
const evenFor = 8
/** A level that is this far above the sound falls faster, by `fall` dB per frame: a loud noise has stopped. */
const far = 20
const fall = 1.5
const above = 120
/** How much an utterance moves the levels, compared to noise, and for how many frames it is taken for one. */
const inSpeech = 0.26
const longestUtterance = 150

/**
 * The long-term level of the sound above 250 Hz, for noise that is never quiet, such as music and the voices of others:
 * a frame of it is speech only if it is clearly louder than the middle.
 */
export class Background {
  #middle = initialLevel
  #low = initialLevel
  #pace = startPace
  #frames = 0
  #last = 0
  /** Frames in which the level has not changed. */
  #evenFrames = 0
  #lowestOfWindow = above

  /** The level in dB above which a frame may be speech. */
  get threshold(): number {
    const distance = this.#middle - this.#low
    return distance < pauses ? this.#middle + Math.min(most, factor * distance) : this.#low
  }

  /** Learns anew, as fast as at first: the sound until now may have been the agent's own. */
  relearn(): void {
    this.#pace = startPace
  }

  /** `speechFrames`: for how many frames there has been speech. `echo`: the sound may be the agent's own. */
  push(frameLevel: number, speechFrames: number, echo: boolean): void {
    const level = Math.max(frameLevel, lowest)
    this.#evenFrames = Math.abs(level - this.#last) < evenWithin ? this.#evenFrames + 1 : 0
    this.#last = level
    // Sound of one level that counts as speech is a voice made of tones: noise of one level does not change at all.
    const isVoice = speechFrames > 0 && this.#evenFrames >= evenFor
    this.#lowestOfWindow = Math.min(this.#lowestOfWindow, echo || isVoice ? lowest : level)
    if (++this.#frames % window === 0) {
      this.#low = Math.max(this.#low, this.#lowestOfWindow)
      this.#middle = Math.max(this.#middle, this.#low)
      this.#lowestOfWindow = above
    }
    const rise = echo ? 0 : this.#pace * (speechFrames > 0 && speechFrames <= longestUtterance ? inSpeech : 1)
    this.#middle +=
      level > this.#middle ? rise * middleShare : fallTo(level, this.#middle, this.#pace * (1 - middleShare))
    this.#low += level > this.#low ? rise * lowShare : fallTo(level, this.#low, this.#pace * (1 - lowShare))
    if (this.#pace > pace) this.#pace *= slowDown
  }
}

const fallTo = (target: number, level: number, step: number): number =>
  -Math.min(step, level - target) - (level - target > far ? fall : 0)
