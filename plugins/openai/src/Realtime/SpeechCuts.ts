/** Audio before the voice activity that belongs to speech: quiet speech begins before it is noticed. In milliseconds. */
const beforeMs = 500
/** The shortest audio that the server takes as an item. */
const shortestMs = 100
/**
 * Speech without a pause is cut in a gap between words from `cutAfterMs` on, and at `longestMs` in any case: the engine has
 * the last 10 s of audio for another session, should this one break before the words are final.
 */
const cutAfterMs = 6000
const longestMs = 9000
/** Less than this share of the mean power of the last second is a gap between words: 12 dB. */
const gap = 1 / 16
const framesOfMean = 50

/** Cuts the audio of a session into stretches of speech, by the engine's voice activity. */
export class SpeechCuts {
  /** Samples pushed. */
  #pushed = 0
  /** Samples sent since the last cut. */
  #open = 0
  #isSpeaking = false
  #recent: Array<Int16Array> = []
  #recentLength = 0
  #meanPower = 0
  readonly #perMs: number
  readonly #send: (samples: Int16Array) => void
  readonly #cut: (samples: number, endMs: number) => void

  constructor(options: {
    /** In Hz. */
    readonly sampleRate: number
    /** Speech; valid only during the call. */
    readonly send: (samples: Int16Array) => void
    /** What was sent since the last cut, so many samples, is a stretch that ends at `endMs` of the audio pushed. */
    readonly cut: (samples: number, endMs: number) => void
  }) {
    this.#perMs = options.sampleRate / 1000
    this.#send = options.send
    this.#cut = options.cut
  }

  /** Whether nothing was sent since the last cut, and there is no speech. */
  get isIdle(): boolean {
    return !this.#isSpeaking && this.#open === 0
  }

  push(samples: Int16Array): void {
    if (samples.length === 0) return
    this.#pushed += samples.length
    if (!this.#isSpeaking) {
      this.#keep(samples)
      return
    }
    this.#add(samples)
    const isGap = this.#isGap(samples)
    if (this.#open >= longestMs * this.#perMs || (isGap && this.#open >= cutAfterMs * this.#perMs)) this.cut()
  }

  voiceActivity(on: boolean): void {
    if (on === this.#isSpeaking) return
    this.#isSpeaking = on
    if (!on) {
      this.cut()
      return
    }
    for (const samples of this.#recent) this.#add(samples)
    this.#recent = []
    this.#recentLength = 0
  }

  /** Ends the stretch now, if there is one. */
  cut(): void {
    if (this.#open === 0) return
    const missing = shortestMs * this.#perMs - this.#open
    if (missing > 0) this.#add(new Int16Array(missing))
    const samples = this.#open
    this.#open = 0
    this.#cut(samples, this.#pushed / this.#perMs)
  }

  #add(samples: Int16Array): void {
    this.#open += samples.length
    this.#send(samples)
  }

  #keep(samples: Int16Array): void {
    this.#recent.push(samples.slice())
    this.#recentLength += samples.length
    for (let first = this.#recent[0]; first !== undefined; first = this.#recent[0]) {
      if (this.#recentLength - first.length < beforeMs * this.#perMs) return
      this.#recent.shift()
      this.#recentLength -= first.length
    }
  }

  #isGap(samples: Int16Array): boolean {
    let power = 0
    for (const sample of samples) power += sample * sample
    power /= samples.length
    const isQuiet = power < this.#meanPower * gap
    this.#meanPower += (power - this.#meanPower) / framesOfMean
    return isQuiet
  }
}
