/** Samples of the agent's audio for each millisecond. */
const perMs = 16
/** How much is kept waiting at first before a stretch of speech is played, in ms, and how much at most. */
const leastDelay = 60
const mostDelay = 240
/** A fade at the end of what is cut or has run out, in samples: 4 ms. */
const fadeSamples = 64
/** Most audio that waits, in samples: 60 s. */
const mostWaiting = 60_000 * perMs

/**
 * @typedef {object} Mark
 * @property {string} name
 * @property {number} at the position after the samples before it
 */

/**
 * Audio of the network on its way to the loudspeaker. A stretch of speech begins when as much of it is here as the
 * network was late before, or all of it; each time it runs out in the middle, more is kept waiting. Positions count samples at
 * 16 kHz.
 */
export class JitterBuffer {
  constructor() {
    /** @type {Array<Int16Array>} */
    this.frames = []
    /** Samples of the first frame that were read. */
    this.offset = 0
    this.waiting = 0
    this.isPlaying = false
    this.delay = leastDelay * perMs
    /** Samples that were taken in, and that were read. */
    this.written = 0
    this.read = 0
    /** @type {Array<Mark>} */
    this.marks = []
    /** Samples of silence since the audio ran out. */
    this.dry = 0
    this.last = 0
    this.fade = 0
    /** Samples since the newest frame came, while it waits to be played. */
    this.since = 0
  }

  /** @param {Int16Array} frame */
  push(frame) {
    if (this.waiting > mostWaiting) return
    // The audio ran out for less than a breath: the network was late.
    if (!this.isPlaying && this.waiting === 0 && this.dry > 0 && this.dry < 250 * perMs) {
      this.delay = Math.min(mostDelay * perMs, Math.max(this.delay + 20 * perMs, this.dry))
    }
    this.frames.push(frame)
    this.waiting += frame.length
    this.written += frame.length
    this.since = 0
  }

  /** Asks for a mark after the audio so far. @param {string} name */
  mark(name) {
    this.marks.push({ name, at: this.written })
  }

  /** Drops what waits. */
  clear() {
    this.frames = []
    this.offset = 0
    this.read += this.waiting
    this.waiting = 0
    this.marks = []
    if (this.isPlaying) this.stop()
    // The next speech does not come late, but after a pause.
    this.dry = 0
  }

  stop() {
    this.isPlaying = false
    this.fade = fadeSamples
    this.dry = 1
  }

  /** The next sample, from -1 to 1. */
  next() {
    if (!this.isPlaying && this.waiting > 0) {
      // All of a short stretch is here when nothing has followed for as long.
      if (this.waiting >= this.delay || ++this.since >= this.delay) this.isPlaying = true
    }
    if (!this.isPlaying || this.waiting === 0) {
      if (this.isPlaying) this.stop()
      if (this.dry > 0) this.dry++
      if (this.fade === 0) return 0
      this.fade--
      return (this.last * this.fade) / fadeSamples
    }
    const frame = this.frames[0]
    this.last = frame[this.offset] / 32_768
    this.offset++
    this.waiting--
    this.read++
    if (this.offset === frame.length) {
      this.frames.shift()
      this.offset = 0
    }
    this.dry = 0
    return this.last
  }

  /** The marks whose audio was read. @returns {Array<string>} */
  reached() {
    let count = 0
    while (count < this.marks.length && this.marks[count].at <= this.read) count++
    return count === 0 ? [] : this.marks.splice(0, count).map(({ name }) => name)
  }
}
