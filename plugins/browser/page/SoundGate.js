/** Frames after the last sound that are sent too: 600 ms, longer than any pause within a word. */
const after = 30
/** Frames before a sound that are sent with it: 300 ms, so that a word keeps a soft beginning. */
const before = 15
/** Frames of which the background is known: 4 s, longer than anyone speaks without a pause. */
const known = 200
/** Frames whose mean is one level of the background: 100 ms. */
const averaged = 5
/** A frame this far above the background is sound, and so are three in a row: 9 and 6 dB, as ratios of energies. */
const margin = 8
const lastingMargin = 4
/** What is weaker is silence, and what is louder is sound whatever the background: 64 and 38 dB below full scale. */
const silence = (32_768 * 10 ** (-64 / 20)) ** 2
const loud = (32_768 * 10 ** (-38 / 20)) ** 2
/** Coefficients of two one-pole low passes at 16 kHz: 80 Hz, below which nothing counts, and 1.3 kHz between the bands. */
const offsetShare = 1 / 32
const lowShare = 0.4

/** The background in one band of frequencies: the lowest level of the last 4 s, which speech with its pauses does not raise. */
class Background {
  constructor() {
    /** The mean energies of 100 ms each, in a ring. */
    this.levels = new Float64Array(known / averaged)
    this.count = 0
    this.sum = 0
    this.frames = 0
    /** 0: not known yet, so that everything above silence is sound. */
    this.level = 0
    /** The energies of the last frame and of the one before. */
    this.last = 0
    this.earlier = 0
  }

  /** Takes a frame, and returns whether it is sound above the background. @param {number} energy its mean square */
  push(energy) {
    const lasting = (this.earlier + this.last + energy) / 3
    const isSound =
      energy > Math.max(silence, Math.min(loud, this.level * margin)) ||
      (energy > silence && lasting > Math.max(silence, this.level * lastingMargin))
    this.earlier = this.last
    this.last = energy
    this.learn(energy)
    return isSound
  }

  /** @param {number} energy */
  learn(energy) {
    this.sum += energy
    if (++this.frames < averaged) return
    this.levels[this.count++ % this.levels.length] = this.sum / averaged
    this.sum = 0
    this.frames = 0
    if (this.count >= this.levels.length) this.level = Math.min(...this.levels)
  }
}

/**
 * Decides what of the microphone is sent: sound, what was shortly before and after it, and nothing while there is silence
 * or only a steady noise. In doubt it sends: at the beginning of a call, in the first 4 s of a noise, and what is loud.
 */
export class SoundGate {
  constructor() {
    /** The last frames that were not sent. @type {Array<Int16Array>} */
    this.held = []
    /** Frames that are still sent without a sound. */
    this.left = after
    this.low = new Background()
    this.high = new Background()
    this.offset = 0
    this.lowSample = 0
  }

  /**
   * Takes a frame, which it keeps. Returns what to send now: nothing, this frame, or, when sound begins, this frame after
   * up to 15 that were held.
   * @param {Int16Array} frame 20 ms of PCM16 at 16 kHz
   * @returns {Int16Array | undefined}
   */
  push(frame) {
    if (this.isSound(frame)) this.left = after
    else if (this.left > 0) this.left--
    else {
      this.held.push(frame)
      if (this.held.length > before) this.held.shift()
      return undefined
    }
    if (this.held.length === 0) return frame
    const samples = new Int16Array((this.held.length + 1) * frame.length)
    for (const [n, earlier] of this.held.entries()) samples.set(earlier, n * frame.length)
    samples.set(frame, this.held.length * frame.length)
    this.held = []
    return samples
  }

  /** Low and high frequencies have backgrounds of their own: a humming fan does not hide an "s". @param {Int16Array} frame */
  isSound(frame) {
    let low = 0
    let high = 0
    for (const sample of frame) {
      this.offset += (sample - this.offset) * offsetShare
      const centered = sample - this.offset
      this.lowSample += (centered - this.lowSample) * lowShare
      low += this.lowSample ** 2
      high += (centered - this.lowSample) ** 2
    }
    const isLow = this.low.push(low / frame.length)
    const isHigh = this.high.push(high / frame.length)
    return isLow || isHigh
  }
}
