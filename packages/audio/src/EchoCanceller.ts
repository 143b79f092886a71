import { EchoFilter } from "./EchoCanceller/EchoFilter.ts"
import { EchoSearch } from "./EchoCanceller/EchoSearch.ts"

/** From this likeness on, only an echo is heard. */
const onlyEcho = 0.75
/** An echo is searched in so much sound, in ms: usually, and at least. */
const usualMs = 200
const leastMs = 100
/** Loud frames between two searches while nothing is found: for the first ones, and for later ones. */
const soon = 10
const late = 100
const firstSearches = 5
/** The share of the energy that remains of a frame in which only the echo was heard: -8 dB. */
const explainedShare = 0.16
/** Frames without speech that the filter does not explain, after which the path is searched again: 400 ms. */
const unexplainedFrames = 20
/**
 * Nothing is heard of an echo if so much of its energy remains: -20 dB, or a mean square 55 dB below full scale. And how
 * fast the means follow.
 */
const goodShare = 0.01
const inaudible = 58 * 58
const rate = 0.1
/** The filter must explain so many of the frames in which only the echo was heard. */
const goodRate = 0.9
const slowRate = 0.03
const loudest = 32_768 ** 2
/** No echo that matters is weaker than the loudest sound that was sent by more than this, as a ratio of energies: 40 dB. */
export const weakestEcho = 1e-4
/** The first echo of a line is at least so much like what was sent, in 300 ms: less may be tones that have some frequencies in common. */
const certain = 0.92
const mostMs = 300
/** On a line without an echo one must be found with one delay so many times more. */
const repetitions = 2
/** Frames of echo that the filter must have explained before it counts as known: 100 ms. */
const knownFrames = 5
/** The mean square below which a frame is silent, and no echo: 61 dB below full scale. */
const quiet = 30 * 30

/**
 * Takes the agent's own voice out of what is heard. Its delay, up to 600 ms, is where what was heard is like what was
 * sent; its path is learned while the caller is silent. Before that, and where the path is too long for the filter,
 * frames stay as they are.
 */
export class EchoCanceller {
  /** Whether there is no echo on this line, by all that is known. */
  isAbsent = false
  /** Whether an echo was heard on this line. */
  isPresent = false
  /** The last frame without the echo. */
  readonly clean: Int16Array
  /** Whether only an echo was heard in the last frame, as far as the path is known. */
  isEcho = false
  readonly #search: EchoSearch
  readonly #filter: EchoFilter
  readonly #samplesPerMs: number
  /** What was sent, in a ring. */
  readonly #sent: Float32Array
  readonly #mask: number
  #next = 0
  /** In samples; -1: not known. */
  #delay = -1
  /** Frames that the filter has explained. What remained of the energy: the mean share, and the mean square. */
  #explained = 0
  #share = 1
  #remains = loudest
  /** The share of frames that the filter explains. */
  #rate = 0
  #isGood = false
  /** The energy of the last frame, and what remained of it. */
  #energy = 0
  #left = 0
  #isLoud = false
  #unexplained = 0
  /** Searches, one after the other, that found the same delay. */
  #repeated = 0
  #untilSearch = soon
  #searches = 0

  /** `sampleRate` in Hz, a multiple of 4000; frames are 20 ms. */
  constructor(sampleRate: number) {
    this.#samplesPerMs = sampleRate / 1000
    this.clean = new Int16Array(20 * this.#samplesPerMs)
    this.#search = new EchoSearch(sampleRate)
    this.#filter = new EchoFilter(sampleRate)
    const length = 2 ** Math.ceil(Math.log2(1000 * this.#samplesPerMs))
    this.#sent = new Float32Array(length)
    this.#mask = length - 1
  }

  /** Whether there was sound in the last frame that is no echo. */
  get isForeign(): boolean {
    return this.#isLoud && !this.isEcho
  }

  /** The energy of the last frame, as a sum of squares. */
  get energy(): number {
    return this.#energy
  }

  /** Whether the path is known. */
  get isKnown(): boolean {
    return this.#explained >= knownFrames
  }

  /** Whether the path is known so well that nothing remains of the echo. */
  get isGood(): boolean {
    return this.#isGood
  }

  /** Takes a frame that was heard, and what was sent in the same time; undefined: nothing. */
  push(heard: Int16Array, sent: Int16Array | undefined, isEchoPossible: boolean): void {
    this.#search.push(heard, sent)
    const { clean } = this
    const at = this.#next
    for (let n = 0; n < clean.length; n++) this.#sent[(at + n) & this.#mask] = sent?.[n] ?? 0
    this.#next = (at + clean.length) & this.#mask
    let energy = 0
    for (let n = 0; n < clean.length; n++) energy += (heard[n] ?? 0) ** 2
    this.#energy = energy
    this.#isLoud = isEchoPossible && energy > clean.length * quiet
    this.isEcho = false
    clean.set(heard)
    if (this.#delay < 0 || !this.#isLoud) return
    let left = 0
    for (let n = 0; n < clean.length; n++) {
      const sample = (heard[n] ?? 0) - this.#filter.echo(this.#sent, this.#mask, at + n, this.#delay)
      left += sample * sample
      clean[n] = Math.max(-32_768, Math.min(32_767, Math.round(sample)))
    }
    this.isEcho = left < explainedShare * energy
    if (this.isEcho) this.#explained++
    this.#left = left
    // A wrong filter would add sound.
    if (left > energy) clean.set(heard)
  }

  /**
   * Learns from the frame that was pushed last: the caller is not found in it, and an echo is possible. `loudest`: the
   * largest sum of squares of the frames that were sent recently.
   */
  learn(heard: Int16Array, loudest: number): void {
    if (!this.#isLoud || this.#energy < loudest * weakestEcho) return
    if (this.#delay >= 0 && !this.isAbsent) {
      this.#unexplained = this.isEcho ? 0 : this.#unexplained + 1
      const isLost = this.#unexplained >= unexplainedFrames
      if (isLost) this.#isGood = false
      // A caller who begins to speak is not the path.
      if (this.isEcho || !this.#isGood) {
        this.#share += (Math.min(1, this.#left / this.#energy) - this.#share) * rate
        this.#remains += (this.#left / heard.length - this.#remains) * rate
        this.#rate += ((this.isEcho ? 1 : 0) - this.#rate) * slowRate
        this.#isGood ||= this.#rate > goodRate && (this.#share < goodShare || this.#remains < inaudible)
        this.#filter.learn(heard, this.#sent, this.#mask, this.#next - heard.length, this.#delay)
      }
      if (!isLost) return
    }
    if (--this.#untilSearch > 0) return
    this.#untilSearch = ++this.#searches > firstSearches ? late : soon
    this.resembles(usualMs)
  }

  /** Nothing came back of what was sent. */
  unanswered(): void {
    if (!this.isPresent) this.isAbsent = true
  }

  /**
   * Whether the last `ms` that were heard are only an echo, and certainly so. Then the line has an echo from now on.
   */
  finds(ms: number): boolean {
    this.#search.search(Math.min(mostMs, ms))
    const { delayMs, likeness } = this.#search
    if (likeness < certain) return false
    this.#setDelay(delayMs)
    this.isPresent = true
    return true
  }

  /** Whether the last milliseconds that were heard, 100 to 200, are only an echo. Then its path is learned from now on. */
  resembles(ms: number): boolean {
    this.#search.search(Math.min(usualMs, Math.max(leastMs, ms)))
    if (this.#search.likeness < (this.isAbsent ? certain : onlyEcho)) {
      this.#repeated = 0
      return false
    }
    const isSame = this.#setDelay(this.#search.delayMs)
    this.#repeated = isSame ? this.#repeated + 1 : 0
    // A caller may resemble the agent by chance, but not again and again with one delay.
    if (this.isAbsent && this.#repeated < repetitions) return false
    this.isAbsent = false
    this.isPresent = true
    this.#unexplained = 0
    this.#searches = 0
    return true
  }

  /** Learns the path anew if the delay is another one. False: it is. */
  #setDelay(ms: number): boolean {
    const delay = Math.round(ms * this.#samplesPerMs)
    if (this.#delay >= 0 && Math.abs(delay - this.#delay) <= this.#samplesPerMs) return true
    this.#delay = delay
    this.#explained = 0
    this.#share = 1
    this.#remains = loudest
    this.#rate = 0
    this.#isGood = false
    this.#filter.reset()
    return false
  }
}
