import { ComfortNoise } from "./ComfortNoise.ts"

/** Times in ms: the pitch periods that are looked for (66 to 200 Hz), and the samples that are compared. */
const shortestPeriod = 5
const longestPeriod = 15
const compared = 15
/** What replaces missing audio is as loud as the audio was for `full` ms, and gone after `gone` ms. */
const full = 10
const gone = 60
/** The same for a line that has stopped. */
const stopped = 10
/** Crossfade with the audio that comes after a gap. */
const joined = 5
/** From this correlation on the last period is repeated; what is less periodic is mirrored. */
const voiced = 0.5

/**
 * Fills gaps in audio like G.711 Appendix I, without its delay: with the last period of the voice, again and again, which
 * fades into comfort noise within 60 ms. Voiceless sound has no period; it is played backwards and forwards, which has
 * no jumps.
 */
export class LossConcealment {
  readonly #noise = new ComfortNoise()
  /** The last samples that were heard: in a ring, and in order when a gap began. */
  readonly #heard: Int16Array
  readonly #mask: number
  /** Samples that were heard. */
  #end = 0
  readonly #history: Int16Array
  /** What is repeated, and how long it is. */
  readonly #cycle: Float32Array
  #length = 0
  #mirrored = false
  /** Samples filled in since the gap began; -1: no gap. */
  #filled = -1
  /** The jump from the last sample heard to the first of the cycle, which is made gradually. */
  #jump = 0
  /** Samples that are still mixed with what fills the gap. */
  #joining = 0
  readonly #shortest: number
  readonly #longest: number
  readonly #compared: number
  readonly #full: number
  readonly #gone: number
  readonly #stopped: number
  /** Whether the line has stopped in this gap. */
  #isStop = false
  readonly #joined: number

  constructor(sampleRate: number) {
    const samples = (ms: number) => (ms * sampleRate) / 1000
    this.#shortest = samples(shortestPeriod)
    this.#longest = samples(longestPeriod)
    this.#compared = samples(compared)
    this.#full = samples(full)
    this.#gone = samples(gone)
    this.#stopped = samples(stopped)
    this.#joined = samples(joined)
    this.#history = new Int16Array(2 * this.#longest + this.#compared)
    this.#heard = new Int16Array(2 ** Math.ceil(Math.log2(this.#history.length)))
    this.#mask = this.#heard.length - 1
    this.#cycle = new Float32Array(this.#longest)
  }

  /** Takes samples that were heard. The first after a gap are changed, so that they follow without a click. */
  heard(samples: Int16Array, offset: number, count: number): void {
    if (this.#filled >= 0) this.#join(samples, offset, count)
    const heard = this.#heard
    const mask = this.#mask
    let end = this.#end
    for (let i = offset; i < offset + count; i++) heard[end++ & mask] = samples[i] as number
    this.#end = end
  }

  /** Takes a whole frame that was heard, for the level of the background. */
  learn(frame: Int16Array): void {
    this.#noise.learn(frame)
  }

  /** Fills samples for which there is no audio; `isStop`: not because it was lost, so it must not sound like more. */
  fill(out: Int16Array, offset: number, count: number, isStop: boolean): void {
    if (this.#filled < 0 || this.#joining > 0) this.#begin()
    if (isStop) this.#isStop = true
    const voice = Math.min(count, Math.max(0, (this.#isStop ? this.#stopped : this.#gone) - this.#filled))
    for (let i = 0; i < voice; i++) out[offset + i] = this.#next()
    this.#noise.fill(out, offset + voice, count - voice)
    this.#filled += count - voice
  }

  #join(samples: Int16Array, offset: number, count: number): void {
    if (this.#joining === 0) this.#joining = this.#joined
    const mixed = Math.min(count, this.#joining)
    for (let i = 0; i < mixed; i++) {
      const share = this.#joining-- / (this.#joined + 1)
      const sample = samples[offset + i] ?? 0
      samples[offset + i] = Math.round(sample + (this.#next() - sample) * share)
    }
    if (this.#joining === 0) this.#filled = -1
  }

  #next(): number {
    const at = this.#filled++
    const noise = this.#noise.next()
    const end = this.#isStop ? this.#stopped : this.#gone
    if (at >= end) return Math.round(noise)
    const begin = this.#isStop ? 0 : this.#full
    const gain = at < begin ? 1 : (end - at) / (end - begin)
    let index = at % this.#length
    // A mirrored cycle is heard from its end to its beginning first.
    if (this.#mirrored && Math.floor(at / this.#length) % 2 === 0) index = this.#length - 1 - index
    const ease = at < this.#shortest / 2 ? this.#jump * (1 - at / (this.#shortest / 2)) : 0
    const sample = ((this.#cycle[index] ?? 0) + ease) * gain + noise * (1 - gain)
    return Math.round(Math.max(-32_768, Math.min(32_767, sample)))
  }

  #begin(): void {
    const history = this.#history
    const end = history.length
    for (let i = 0; i < end; i++) history[i] = this.#heard[(this.#end - end + i) & this.#mask] as number
    const period = this.#period()
    const length = period === 0 ? this.#longest : period
    this.#mirrored = period === 0
    this.#length = length
    this.#joining = 0
    this.#filled = 0
    this.#isStop = false
    for (let i = 0; i < length; i++) this.#cycle[i] = history[end - length + i] ?? 0
    this.#jump = 0
    if (this.#mirrored) return
    // The end of the period becomes that of the one before, so that its beginning follows.
    const blended = length >> 2
    for (let i = 0; i < blended; i++) {
      const at = length - blended + i
      const share = (i + 1) / blended
      this.#cycle[at] = (history[end - length + at] ?? 0) * (1 - share) + (history[end - 2 * length + at] ?? 0) * share
    }
    this.#jump = (history[end - 1] ?? 0) - (history[end - length - 1] ?? 0)
  }

  /** The period of the last samples; 0: they have none. */
  #period(): number {
    const coarse = this.#best(this.#shortest, this.#longest, 2)
    const period = this.#best(Math.max(this.#shortest, coarse - 1), Math.min(this.#longest, coarse + 1), 1)
    return this.#correlation(period, 1) >= voiced ? period : 0
  }

  #best(from: number, to: number, step: number): number {
    let best = from
    let most = Number.NEGATIVE_INFINITY
    for (let period = from; period <= to; period += step) {
      const correlation = this.#correlation(period, step)
      if (correlation > most) {
        most = correlation
        best = period
      }
    }
    return best
  }

  /** How alike the last samples are to those a period before, -1 to 1. */
  #correlation(period: number, step: number): number {
    const history = this.#history
    let product = 0
    let energy = 1
    let before = 1
    for (let at = history.length - this.#compared; at < history.length; at += step) {
      const now = history[at] ?? 0
      const then = history[at - period] ?? 0
      product += now * then
      energy += now * now
      before += then * then
    }
    return product / Math.sqrt(energy * before)
  }
}
