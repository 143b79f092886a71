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
/** The share of frames below the loud ones, and how far above them a frame must be; above the middle, at most `mostInLull`. */
const loudShare = 0.9
const aboveLoud = 2
const mostInLull = 24
/**
 * The loud level falls as slowly as its share says, until no sound has been at most this far below for 1.5 s, which is longer
 * than a lull; then it falls faster, the further the sound is below. A sound counts from 160 ms on: keys do not.
 */
const usualDistance = 8
const lull = 75
const lasting = 8
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
 * a frame of it is speech only if it is clearly louder than the middle, and than the loud frames before a lull.
 */
export class Background {
  #middle = initialLevel
  #low = initialLevel
  /** The level below which nine tenths of the frames without speech are: a crowd is loud again after a lull. */
  #loud = initialLevel
  /** For how many frames the sound has been near the loud level, and frames since that lasted. */
  #loudFrames = 0
  #sinceLoud = 0
  #pace = startPace
  #frames = 0
  #last = 0
  /** Frames in which the level has not changed. */
  #evenFrames = 0
  #lowestOfWindow = above

  /**
   * The level in dB above which a frame may be speech. `agentSpeaks`: callers may be no louder than what is heard of the
   * agent, so that the loud level says nothing.
   */
  threshold(agentSpeaks: boolean): number {
    const distance = this.#middle - this.#low
    if (distance >= pauses) return this.#low
    const aboveMiddle = this.#middle + Math.min(most, factor * distance)
    return agentSpeaks
      ? aboveMiddle
      : Math.max(aboveMiddle, Math.min(this.#loud + aboveLoud, this.#middle + mostInLull))
  }

  /** Learns anew, as fast as at first: the sound until now may have been the agent's own. */
  relearn(): void {
    this.#pace = startPace
    this.#loud = this.#middle
  }

  /**
   * `speechFrames`: for how many frames there has been speech. `agentSpeaks`: the sound may contain an echo; `echo`: it is
   * likely to be one mostly.
   */
  push(frameLevel: number, speechFrames: number, agentSpeaks: boolean, echo: boolean): void {
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
    if (speechFrames === 0 && !agentSpeaks) this.#followLoud(level)
    if (this.#pace > pace) this.#pace *= slowDown
  }

  /** Speech is left out: what is loud in the background is what the caller must be louder than. */
  #followLoud(level: number): void {
    const distance = this.#loud - level
    this.#loudFrames = distance < usualDistance ? this.#loudFrames + 1 : 0
    this.#sinceLoud = this.#loudFrames >= lasting ? 0 : this.#sinceLoud + 1
    const faster = this.#sinceLoud > lull ? Math.max(1, (distance / usualDistance) ** 2) : 1
    if (distance < 0) this.#loud += this.#pace * loudShare
    else this.#loud -= Math.min(distance, this.#pace * (1 - loudShare) * faster)
  }
}

const fallTo = (target: number, level: number, step: number): number =>
  -Math.min(step, level - target) - (level - target > far ? fall : 0)
