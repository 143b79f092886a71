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
/** No tone of an echo is louder than it was sent. */
const mostAmplified = 0
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
/** The window of all delays, in frames. */
const firstDelay = 2
const lastDelay = delayCount - 1

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
  /** The loudest level that was sent in the window of all delays, and how many frames ago. */
  readonly #loudest = new Float64Array(bandCount)
  readonly #loudestAge = new Int32Array(bandCount)
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
    if (this.#sinceSound > longestEcho) {
      if (this.#spoken > 0) this.echo.fill(0)
      this.#spoken = 0
      this.isEcho = false
      return false
    }
    this.#followLoudest(now, this.#spoken++ === 0)
    if (this.#delay.push(now, near.level)) this.#narrowGains.fill(initialGain)
    const known = this.#delay.known
    // Once the delay is known the wide window is only kept current, every eighth frame.
    if (!known || (now & 7) === 0) this.#predictWide(near.levels, speech, known)
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

  /**
   * Whether what was heard in the last 200 ms is an echo by the known path that is louder than predicted: a room amplifies
   * single tones of a voice. If so, the gains are as high from now on. `inMostBands`: it was above the prediction in most
   * bands, as a caller is, and must be closer to what was sent.
   */
  isResonant(inMostBands: boolean): boolean {
    const { delay } = this.#delay
    const now = this.#now
    if (!this.#delay.known || !this.#match.isExplained(now, this.#sent, delay, inMostBands)) return false
    for (let band = 0; band < bandCount; band++) {
      const gain = this.#match.gain(now, this.#sent, delay, band, loud) + movedMargin
      this.#narrowGains[band] = Math.max(this.#narrowGains[band] ?? 0, Math.min(mostAmplified, gain))
    }
    return true
  }

  #isLikely(levels: Float64Array): boolean {
    let loudest = 0
    for (let band = 1; band < bandCount; band++) {
      if ((levels[band] ?? 0) > (levels[loudest] ?? 0)) loudest = band
    }
    return (levels[loudest] ?? 0) < (this.echo[loudest] ?? 0) + likely
  }

  #predictWide(levels: Float64Array, speech: boolean, known: boolean): void {
    const fall = known ? idleFall : this.#spoken > delayCount ? wideFall : 0
    for (let band = 0; band < bandCount; band++) {
      const most = this.#loudest[band] ?? 0
      const gain = this.#wideGains[band] ?? 0
      if (!known) this.echo[band] = most + gain
      this.#wideGains[band] = learn(gain, levels[band] ?? 0, most, speech, fall)
    }
  }

  #predictNarrow(now: number, levels: Float64Array, speech: boolean, known: boolean): void {
    const { delay } = this.#delay
    const sent = this.#sent
    const first = ((now - delay + 1) & mask) * bandCount
    const second = ((now - delay) & mask) * bandCount
    const third = ((now - delay - 1) & mask) * bandCount
    for (let band = 0; band < bandCount; band++) {
      const most = Math.max(sent[first + band] ?? 0, sent[second + band] ?? 0, sent[third + band] ?? 0)
      const gain = this.#narrowGains[band] ?? 0
      if (known) this.echo[band] = Math.max(most + gain, (this.echo[band] ?? 0) - fade)
      this.#narrowGains[band] = learn(gain, levels[band] ?? 0, most, speech, narrowFall)
    }
  }

  /** Moves the window of all delays on by a frame; it is searched only when its loudest frame has left it. */
  #followLoudest(now: number, isNew: boolean): void {
    const sent = this.#sent
    const newest = ((now - firstDelay) & mask) * bandCount
    for (let band = 0; band < bandCount; band++) {
      const level = sent[newest + band] ?? 0
      const age = (this.#loudestAge[band] ?? 0) + 1
      if (isNew) this.#searchLoudest(now, band)
      else if (level >= (this.#loudest[band] ?? 0)) {
        this.#loudest[band] = level
        this.#loudestAge[band] = firstDelay
      } else if (age > lastDelay) this.#searchLoudest(now, band)
      else this.#loudestAge[band] = age
    }
  }

  #searchLoudest(now: number, band: number): void {
    let most = 0
    let age = firstDelay
    for (let delay = firstDelay; delay <= lastDelay; delay++) {
      const level = this.#sent[((now - delay) & mask) * bandCount + band] ?? 0
      if (level <= most) continue
      most = level
      age = delay
    }
    this.#loudest[band] = most
    this.#loudestAge[band] = age
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
