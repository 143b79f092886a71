/** Delays that are considered, in frames: 20 to 600 ms. */
export const delayCount = 31
/** Length of the far end's history in frames, a power of two. */
export const historyLength = 64

/** Levels in dB below which there is only line noise. */
const quietLevel = 24
const initialMean = 27
const initialVariance = 9
/** How much of a new frame goes into the statistics. */
const rate = 0.012
/** A delay counts from this correlation on, after so many frames, and is known when it has lasted as long again. */
const enough = 0.6
const neededFrames = 40
/** Frames for which a delay that was found otherwise stays, while the correlations are learned anew: 2 s with `neededFrames`. */
const heldFrames = 60

/** Finds the delay of the agent's echo: where the levels of what was heard follow those of what was sent. */
export class EchoDelay {
  /** The delay in frames, or -1. */
  delay = -1
  readonly #covariances = new Float64Array(delayCount)
  /** The levels of what was sent, in a ring. */
  readonly #sent = new Float64Array(historyLength)
  #nearMean = initialMean
  #nearVariance = initialVariance
  #sentMean = initialMean
  #sentVariance = initialVariance
  #frames = 0
  #stableFrames = 0

  /** Whether the delay is certain. */
  get known(): boolean {
    return this.#stableFrames > neededFrames
  }

  /** From now on this delay is certain, for 2 s at least. */
  set(delay: number): void {
    this.delay = delay
    this.#stableFrames = neededFrames + 1
    this.#covariances.fill(0)
    this.#frames = -heldFrames
  }

  /** Keeps the level of what was sent in frame `now` of the ring. */
  sent(now: number, level: number): void {
    this.#sent[now] = Math.max(quietLevel, level)
  }

  /** Takes the level of what was heard. True if the delay is another one than before. */
  push(now: number, heard: number): boolean {
    const covariances = this.#covariances
    const sent = this.#sent
    const near = Math.max(quietLevel, heard) - this.#nearMean
    this.#nearMean += rate * near
    this.#nearVariance += rate * (near * near - this.#nearVariance)
    const far = (sent[now] ?? 0) - this.#sentMean
    this.#sentMean += rate * far
    this.#sentVariance += rate * (far * far - this.#sentVariance)
    const mean = this.#sentMean
    let best = 1
    let most = -1
    for (let delay = 1; delay < delayCount; delay++) {
      const before = covariances[delay] ?? 0
      const product = near * ((sent[(now - delay) & (historyLength - 1)] ?? 0) - mean)
      const covariance = before + rate * (product - before)
      covariances[delay] = covariance
      if (covariance > most) {
        most = covariance
        best = delay
      }
    }
    if (++this.#frames <= neededFrames) return false
    if (most < enough * Math.sqrt(this.#nearVariance * this.#sentVariance + 0.1)) return false
    const isNew = Math.abs(best - this.delay) > 1
    if (isNew) {
      this.delay = best
      this.#stableFrames = 0
    }
    this.#stableFrames++
    return isNew
  }
}
