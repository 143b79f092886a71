import { EchoFilter } from "./EchoCanceller/EchoFilter.ts"
import { type EchoMatch, longestDelayMs, noMatch, searchEcho } from "./EchoCanceller/EchoSearch.ts"
import { SoundHistory } from "./EchoCanceller/SoundHistory.ts"
import { powerOf } from "./Power.ts"
import { nearest } from "./Rounding.ts"

const frameMs = 20
/** The mean square below which a frame is quiet: 61 dB below full scale; and the loudest background that counts as quiet. */
const quiet = 30 * 30
const loudestBackground = 300 * 300
/** A frame is quiet up to so much more than the background, as a ratio of energies: 6 dB. */
const overBackground = 4
/** How the level of the background rises and falls, per frame. */
const rise = 1.03
const fall = 0.1
/** The share of a frame's energy that remains of it if only the echo was heard: -8 dB. */
const explainedShare = 0.16
/** From this likeness on the sound may be an echo only, and is certainly one: less may be tones that have some frequencies in common. */
const likely = 0.75
const certain = 0.92
/** The same for 500 ms of sound. */
const certainForLong = 0.85
/** In ms: the sound that a new echo is found in, and the longest that is compared. */
const newMs = 300
const longMs = 500
/**
 * It is compared only if so many of its frames, of 200 ms or more, are as loud as the loudest one but for 13 dB: a few loud frames
 * in noise are like what was sent by chance.
 */
const leastStrong = { part: 0.05, frames: 10, share: 0.6 }
/** An echo that is known is searched in 100 to 200 ms of sound, and first at delays that differ by less than 100 ms. */
const leastMs = 100
const usualMs = 200
const nearMs = 100
/** A delay changes by whole frames if it does by less than this, in ms, from one. */
const sameMs = 1
/** A path is the same if it leaves less than this share of an echo. */
const samePath = 0.3
/** No echo is louder than what was sent and the gain of the path say by more than this, as a ratio of energies: 8 dB. */
const mostOverEcho = 6
/** An echo may be so many frames earlier or later than its delay says: the times of what is heard are not exact. */
const unsureFrames = 6
/** So many frames, the last ones, must be explained by a delay that differs by some frames, or one must be well: -13 dB. */
const shiftFrames = 3
const wellExplained = 0.05
/** Frames of echo after which every fourth one is learned from. */
const wellLearned = 100
const learnEvery = 4
/** On a line without an echo one must be found with one delay so many times one after the other. */
const repetitions = 2
/** Loud frames between two searches on such a line: for the first ones, and for later ones. */
const soon = 10
const late = 50
const firstSearches = 10

/**
 * What was heard in a frame. `quiet`: nothing. `echo`: only the agent. `caller`: louder than any echo of the agent can be.
 * `unknown`: sound that is not explained by what is known of the line.
 */
export type HeardSound = "quiet" | "echo" | "caller" | "unknown"

/**
 * Tells the agent's own voice from the caller's, and takes it out of what is heard. Its delay, up to 600 ms, is where what
 * was heard is like what was sent; its path is learned from sound that is nothing but an echo.
 */
export class EchoCanceller {
  /** What is known of the line: whether it has an echo. */
  line: "unknown" | "absent" | "present" = "unknown"
  /** What was heard in the last frame. Always `quiet` or `unknown` while the line has no known echo. */
  sound: HeardSound = "quiet"
  /** The power of the last frame, as a mean square. */
  power = 0
  readonly #history: SoundHistory
  readonly #filter: EchoFilter
  readonly #rest: Float64Array
  readonly #clean: Int16Array
  /** Whether `#clean` is the last frame: while no echo is taken out, it is copied only when it is asked for. */
  #isCopied = false
  /** The mean square of the background. */
  #background = 0
  #explained = 0
  /** Searches, one after the other, that found the same delay on a line without an echo. */
  #repeated = 0
  #repeatedDelay = -1
  #untilSearch = soon
  #searches = 0

  /** `sampleRate` in Hz, a multiple of 4000; frames are 20 ms. */
  constructor(sampleRate: number) {
    this.#history = new SoundHistory(sampleRate)
    this.#filter = new EchoFilter(this.#history)
    this.#clean = new Int16Array(frameMs * this.#history.samplesPerMs)
    this.#rest = new Float64Array(this.#clean.length)
  }

  /** The last frame without the echo; valid until the next one is pushed. */
  get clean(): Int16Array {
    if (!this.#isCopied) this.#history.copyHeard(this.#clean)
    this.#isCopied = true
    return this.#clean
  }

  /** Takes a frame that is sent at `time`, in ms. */
  send(frame: Int16Array, time: number): void {
    this.#history.putSent(frame, time)
  }

  /** Takes a frame that was heard from `time` on, in ms. */
  push(heard: Int16Array, time: number, isEchoPossible: boolean): void {
    this.#history.putHeard(heard, time)
    this.power = powerOf(heard)
    const energy = this.power * heard.length
    this.#followBackground(this.power, isEchoPossible)
    this.#isCopied = false
    const isQuiet = energy < this.#quietEnergy
    this.sound = isQuiet ? "quiet" : "unknown"
    if (isQuiet || !isEchoPossible || this.line !== "present") return
    this.#subtract(energy)
  }

  #subtract(energy: number): void {
    const clean = this.#clean
    const from = this.#history.end - clean.length
    let left = this.#filter.subtract(from, this.#rest)
    if (left > Math.max(explainedShare * energy, this.#quietEnergy)) {
      this.#followShift()
      left = this.#filter.subtract(from, this.#rest)
    }
    if (left < energy) {
      for (let n = 0; n < clean.length; n++) {
        clean[n] = Math.max(-32_768, Math.min(32_767, nearest(this.#rest[n] ?? 0)))
      }
      this.#isCopied = true
    }
    if (left < Math.max(explainedShare * energy, this.#quietEnergy)) {
      this.sound = "echo"
      if (left < explainedShare * energy && (++this.#explained < wellLearned || this.#explained % learnEvery === 0)) {
        this.#filter.learn(from)
      }
    } else if (energy > mostOverEcho * this.#loudestEcho()) this.sound = "caller"
  }

  /**
   * If the same path explains the last frames with a delay that differs by a few frames, the delay is that one from now on.
   */
  #followShift(): void {
    const { delay } = this.#filter
    const energy = this.#energyOf(shiftFrames)
    const lastEnergy = this.#energyOf(1)
    for (let frames = 1; frames <= unsureFrames; frames++) {
      for (const shifted of [delay - frames * this.#clean.length, delay + frames * this.#clean.length]) {
        if (shifted < 0) continue
        this.#filter.delay = shifted
        if (this.#explains(energy, lastEnergy)) return
      }
    }
    this.#filter.delay = delay
  }

  /** Whether the path explains the last frames, or the last one well. Ends as soon as too much remains: it is asked often. */
  #explains(energy: number, lastEnergy: number): boolean {
    let left = 0
    for (let n = 1; n <= shiftFrames && left < explainedShare * energy; n++) {
      left += this.#filter.subtract(this.#history.end - n * this.#clean.length, this.#rest)
      if (n === 1 && left < wellExplained * lastEnergy) return true
    }
    return left < explainedShare * energy
  }

  /** The energy of the loudest echo that can be heard in the last frame, with any delay. */
  #loudestEcho(): number {
    const { end, mask, samplesPerMs, sent } = this.#history
    let loudest = 0
    for (let last = end; last > end - (longestDelayMs + nearMs) * samplesPerMs; last -= this.#clean.length) {
      let energy = 0
      for (let at = last - this.#clean.length; at < last; at++) energy += (sent[at & mask] ?? 0) ** 2
      loudest = Math.max(loudest, energy)
    }
    return loudest * this.#filter.gain
  }

  /** The energy below which a frame is quiet. */
  get #quietEnergy(): number {
    return this.#clean.length * Math.max(quiet, overBackground * this.#background)
  }

  #followBackground(power: number, isEchoPossible: boolean): void {
    if (power < this.#background) this.#background += (power - this.#background) * fall
    else if (!isEchoPossible) {
      this.#background = Math.min(power, loudestBackground, Math.max(1, this.#background) * rise)
    }
  }

  /** Nothing came back of what was sent. */
  unanswered(): void {
    if (this.line === "unknown") this.line = "absent"
  }

  /**
   * Whether the last `ms` that were heard are only an echo, and certainly so: as a whole, or the last 200 of them, while the 100
   * before these may be one with nearly the same delay. Then the line has one from now on.
   */
  finds(ms: number): boolean {
    const all = Math.min(longMs, ms)
    if (this.#isNew(all, all < longMs ? certain : certainForLong)) return true
    return ms >= newMs && this.#isNew(usualMs, certain, leastMs)
  }

  /** `before`: so many ms, before the last `ms`, must be like an echo too. Words of a caller may end like those of the agent. */
  #isNew(ms: number, enough: number, before = 0): boolean {
    if (!this.#isStrong(ms)) return false
    const { delay, likeness } = searchEcho(this.#history, ms)
    if (likeness < enough || (before > 0 && !this.#mayBeEcho(before, ms, delay))) return false
    this.#learn(delay, ms)
    this.line = "present"
    return true
  }

  /** Whether the `ms` that ended `ago` ms before the last frame did may be an echo, with about this delay in samples. */
  #mayBeEcho(ms: number, ago: number, delay: number): boolean {
    const { end, heard, mask, samplesPerMs, sent } = this.#history
    const earlier = { end: end - ago * samplesPerMs, heard, mask, samplesPerMs, sent }
    const around = delay / samplesPerMs
    return searchEcho(earlier, ms, around - nearMs, around + nearMs).likeness >= likely
  }

  /** Whether enough of the last `ms` is loud. */
  #isStrong(ms: number): boolean {
    const { end, heard, mask } = this.#history
    const frames = Math.floor(ms / frameMs)
    const energies = Array.from({ length: frames }, (_, frame) => {
      let energy = 0
      for (let at = end - (frame + 1) * this.#clean.length; at < end - frame * this.#clean.length; at++) {
        energy += (heard[at & mask] ?? 0) ** 2
      }
      return energy
    })
    const least = Math.max(...energies) * leastStrong.part
    const strong = energies.filter((energy) => energy >= least).length
    return strong >= Math.min(leastStrong.frames, leastStrong.share * frames)
  }

  /**
   * The same on a line without an echo, now and then while an echo would be heard. A caller may sound like the agent by chance,
   * but not again and again with one delay.
   */
  watch(): void {
    if (this.sound !== "unknown" || --this.#untilSearch > 0) return
    this.#untilSearch = ++this.#searches > firstSearches ? late : soon
    const { delay, likeness } = this.#isStrong(usualMs) ? searchEcho(this.#history, usualMs) : noMatch
    const isSame = Math.abs(delay - this.#repeatedDelay) <= sameMs * this.#history.samplesPerMs
    this.#repeated = likeness < certain ? 0 : isSame ? this.#repeated + 1 : 1
    this.#repeatedDelay = delay
    if (this.#repeated === 0) return
    this.#untilSearch = soon
    if (this.#repeated < repetitions) return
    this.#learn(delay, usualMs)
    this.line = "present"
  }

  /**
   * Whose sound the last `ms` are on a line with an echo, 100 at least: of the caller, too, or the echo only, on a path that has
   * changed. Undefined: more sound tells. `isCaller`: the caller has been speaking, so that only what is certainly an echo is one.
   */
  whose(ms: number, isCaller = false): "echo" | "caller" | undefined {
    const known = this.#filter.delay / this.#history.samplesPerMs
    const near = Math.min(usualMs, Math.max(leastMs, ms))
    const here = searchEcho(this.#history, near, known - nearMs, known + nearMs)
    if (here.likeness >= (isCaller ? certain : likely)) {
      this.#adapt(here, near)
      return "echo"
    }
    const far = Math.min(newMs, Math.max(leastMs, ms))
    const there = searchEcho(this.#history, far)
    if (there.likeness < likely) return "caller"
    if (there.likeness < certain || far < usualMs) return far < newMs ? undefined : "caller"
    this.#adapt(there, far)
    return "echo"
  }

  /** Goes by another delay if the known path then explains the last `ms`, or by another path if 200 ms are certainly an echo. */
  #adapt({ delay }: EchoMatch, ms: number): void {
    const { samplesPerMs } = this.#history
    const length = this.#clean.length
    const known = this.#filter.delay
    const moved = known + Math.round((delay - known) / length) * length
    if (Math.abs(moved - delay) <= sameMs * samplesPerMs) {
      this.#filter.delay = moved
      if (this.#remains(Math.floor(ms / frameMs)) < samePath) return
      this.#filter.delay = known
    }
    const usual = searchEcho(this.#history, usualMs)
    if (usual.likeness >= certain) this.#learn(usual.delay, usualMs)
  }

  /** Learns a new path from the last `ms`. */
  #learn(delay: number, ms: number): void {
    const length = this.#clean.length
    this.#filter.reset(delay)
    this.#explained = 0
    for (let n = Math.floor(ms / frameMs); n > 0; n--) this.#filter.learn(this.#history.end - n * length)
  }

  /** The share of the last frames' energy that the known path leaves. */
  #remains(frames: number): number {
    let left = 0
    for (let n = frames; n > 0; n--)
      left += this.#filter.subtract(this.#history.end - n * this.#clean.length, this.#rest)
    return left / this.#energyOf(frames)
  }

  /** The energy of the last frames that were heard, above 0. */
  #energyOf(frames: number): number {
    const { end, heard, mask } = this.#history
    let energy = 1
    for (let at = end - frames * this.#clean.length; at < end; at++) energy += (heard[at & mask] ?? 0) ** 2
    return energy
  }
}
