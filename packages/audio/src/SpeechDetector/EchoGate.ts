import { BandSplitter, bandCount } from "./BandSplitter.ts"
import { delayCount, EchoDelay, historyLength } from "./EchoDelay.ts"
import { EchoMatch } from "./EchoMatch.ts"

/** Levels and gains in dB. A gain before anything was heard, and the level from which the far end speaks. */
const initialGain = -3
const audible = 30
/** The largest sample of a silent frame: A-law has no zero. */
const inaudible = 8
/** Sound below this teaches nothing about the gain. */
const loud = 36
/** After a change of the path: the least gain, and how far it is above what was heard. */
const leastMoved = -12
const movedMargin = 1.2
/** How fast a gain falls while the echo is lower, in dB per frame: delay unknown, delay known, the narrow window. */
const wideFall = 0.2
const idleFall = 0.32
const narrowFall = 0.18
/** How a gain rises: slowly in speech, else by the difference, or by a step if that is larger than a caller's onset. */
const speechRise = 0.06
const rise = 1.5
const slowRise = 0.2
const onset = 4.5
/** How fast the predicted echo fades, in dB per frame: the tail of a room. */
const fade = 6.5
/** Frames after the far end's last sound in which its echo may come. */
const longestEcho = delayCount + 4

/** Heard sound that is less than this above the predicted echo is taken for echo, in dB. */
const likely = 3

const mask = historyLength - 1

/**
 * Predicts, per band, the level of the agent's own voice in what is heard: the loudest that was sent in a window of
 * delays, plus a gain that is about the 90 % quantile of what was heard above it. The window covers all delays until
 * the delay is known, then three frames.
 */
export class EchoGate {
  /** The predicted level of the echo in each band of the last frame. */
  readonly echo = new Float64Array(bandCount)
  /** Whether what was heard in the last frame is an echo mostly, by its loudest band: only if the delay is known. */
  isEcho = false
  readonly #splitter = new BandSplitter()
  /** The levels of what was sent, frame by frame in a ring. */
  readonly #sent = new Float64Array(historyLength * bandCount)
  readonly #wideGains = new Float64Array(bandCount).fill(initialGain)
  readonly #narrowGains = new Float64Array(bandCount).fill(initialGain)
  readonly #delay = new EchoDelay()
  readonly #match = new EchoMatch()
  #now = 0
  #isSent = false
  #sinceSound = longestEcho + 1
  /** For how many frames the far end has spoken, with short pauses: an echo may come as late as `delayCount`. */
  #spoken = 0

  /** Whether the delay of the echo is known. */
  get known(): boolean {
    return this.#delay.known
  }

  /** Takes the frame that was sent in the same 20 ms as the next frame heard. Without it, silence was sent. */
  sent(frame: Int16Array): void {
    if (isSilent(frame)) return
    this.#splitter.push(frame)
    this.#isSent = true
  }

  /** Takes a frame that was heard; true if it may contain an echo. */
  push(near: BandSplitter, speech: boolean): boolean {
    const now = (this.#now + 1) & mask
    this.#now = now
    const far = this.#splitter
    const level = this.#isSent ? far.level : 0
    for (let band = 0; band < bandCount; band++) {
      this.#sent[now * bandCount + band] = this.#isSent ? (far.levels[band] ?? 0) : 0
    }
    this.#delay.sent(now, level)
    this.#isSent = false
    this.#match.push(now, near.levels)
    this.#sinceSound = level > audible ? 0 : this.#sinceSound + 1
    this.#spoken++
    if (this.#sinceSound > longestEcho) {
      this.#spoken = 0
      this.echo.fill(0)
      this.isEcho = false
      return false
    }
    if (this.#delay.push(now, near.level)) this.#narrowGains.fill(initialGain)
    const known = this.#delay.known
    // Once the delay is known the wide window is only kept current, every eighth frame.
    if (!known || (now & 7) === 0) this.#predictWide(now, near.levels, speech, known)
    if (this.#delay.delay >= 0) this.#predictNarrow(now, near.levels, speech, known)
    this.isEcho = known && this.#isLikely(near.levels)
    return true
  }

  /**
   * Whether what was heard in the last 200 ms is an echo by another path than the known one. If so, its delay and its gains
   * are known from now on.
   */
  hasMoved(): boolean {
    if (!this.#delay.known) return false
    const now = this.#now
    const delay = this.#match.find(now, this.#sent, this.#delay.delay)
    if (delay < 0) return false
    this.#delay.set(delay)
    for (let band = 0; band < bandCount; band++) {
      const gain = this.#match.gain(now, this.#sent, delay, band, loud)
      this.#narrowGains[band] = Math.max(leastMoved, gain + movedMargin)
    }
    return true
  }

  #isLikely(levels: Float64Array): boolean {
    let loudest = 1
    for (let band = 2; band < bandCount; band++) {
      if ((levels[band] ?? 0) > (levels[loudest] ?? 0)) loudest = band
    }
    return (levels[loudest] ?? 0) < (this.echo[loudest] ?? 0) + likely
  }

  #predictWide(now: number, levels: Float64Array, speech: boolean, known: boolean): void {
    const fall = known ? idleFall : this.#spoken > delayCount ? wideFall : 0
    for (let band = 0; band < bandCount; band++) {
      const most = this.#loudest(now, band, 2, delayCount - 1)
      const gain = this.#wideGains[band] ?? 0
      if (!known) this.echo[band] = most + gain
      this.#wideGains[band] = learn(gain, levels[band] ?? 0, most, speech, fall)
    }
  }

  #predictNarrow(now: number, levels: Float64Array, speech: boolean, known: boolean): void {
    const { delay } = this.#delay
    for (let band = 0; band < bandCount; band++) {
      const most = this.#loudest(now, band, delay - 1, delay + 1)
      const gain = this.#narrowGains[band] ?? 0
      if (known) this.echo[band] = Math.max(most + gain, (this.echo[band] ?? 0) - fade)
      this.#narrowGains[band] = learn(gain, levels[band] ?? 0, most, speech, narrowFall)
    }
  }

  /** The loudest level that was sent in a band between two delays. */
  #loudest(now: number, band: number, first: number, last: number): number {
    let most = 0
    for (let delay = first; delay <= last; delay++) {
      const level = this.#sent[((now - delay) & mask) * bandCount + band] ?? 0
      if (level > most) most = level
    }
    return most
  }
}

const learn = (gain: number, heard: number, sent: number, speech: boolean, fall: number): number => {
  if (sent < loud) return gain
  const difference = heard - sent - gain
  if (difference < 0) return gain - fall
  if (speech) return gain + speechRise
  return gain + Math.min(difference, difference > onset ? slowRise : rise)
}

const isSilent = (frame: Int16Array): boolean => {
  for (let i = 0; i < frame.length; i++) if (Math.abs(frame[i] ?? 0) > inaudible) return false
  return true
}
