/** The number of bands: 250–500 Hz, 500 Hz–1 kHz, 1–2 kHz, 2–3 kHz and 3–4 kHz. What is below is not measured. */
export const bandCount = 5

/** Samples of a frame at 8 kHz, and of its part below 1 kHz, which is kept at 2 kHz. */
export const frameLength = 160
export const lowLength = 40

/** Coefficients of the two all-pass filters of a half-band pair. */
const evenCoefficient = 0.64
const oddCoefficient = 0.17

/** The high pass of the part below 1 kHz, about 70 Hz: what rumbles below the pitch of voices looks periodic too. */
const highPass = 0.8

/** dB in a doubling of power. */
const doubling = 10 * Math.log10(2)

/** Smaller states of filters are 0: in silence they would become numbers with which a processor is slow. */
const leastState = 1e-12

/** A mean square in dB; 0 dB is 1, full scale is 90 dB. */
const decibels = (energy: number, samples: number): number => doubling * Math.log2(energy / samples + 1)

const isDigitalSilence = (frame: Int16Array): boolean => {
  for (let i = 0; i < frame.length; i++) if (frame[i] !== 0) return false
  return true
}

/**
 * Splits frames of 20 ms at 8 kHz into five bands by a tree of half-band filter pairs (two all-pass filters each, as in
 * P. P. Vaidyanathan, Multirate Systems and Filter Banks, 5.3) and measures their levels in dB.
 */
export class BandSplitter {
  /** The level of each band in the last frame. */
  readonly levels = new Float64Array(bandCount)
  /** The level of the bands together: mains hum is mostly below. */
  level = 0
  /** What is between 70 Hz and 1 kHz, at 2 kHz: the last frame behind the one before it. */
  readonly low = new Float64Array(2 * lowLength)

  /** The last input and output of each all-pass filter: two filters in each of five pairs. */
  readonly #states = new Float64Array(5 * 4)
  /** The last input and output of the high pass. */
  #highIn = 0
  #highOut = 0
  /** Energies of the bands above 1 kHz. */
  #e2 = 0
  #e3 = 0
  #e4 = 0

  /** Frames of digital silence in a row that found all filters at rest. */
  #silentFrames = 0
  #isAtRest = true

  push(frame: Int16Array): void {
    const { levels } = this
    const isSilent = this.#isAtRest && isDigitalSilence(frame)
    this.#silentFrames = isSilent ? this.#silentFrames + 1 : 0
    // The levels and the last two frames are those of silence already.
    if (this.#silentFrames > 2) return
    this.#splitUpper(frame)
    const e2 = this.#e2
    const e3 = this.#e3
    const e4 = this.#e4
    const rest = this.#splitLow()
    levels[2] = decibels(e2, 40)
    levels[3] = decibels(e3, 40)
    levels[4] = decibels(e4, 40)
    this.level = decibels(rest + e2 + e3 + e4, 40)
    this.#settle()
  }

  /** Ends the decay of filters in silence. */
  #settle(): void {
    const states = this.#states
    let isAtRest = true
    for (let i = 0; i < states.length; i++) {
      if (Math.abs(states[i] ?? 0) < leastState) states[i] = 0
      else isAtRest = false
    }
    if (Math.abs(this.#highIn) < leastState) this.#highIn = 0
    if (Math.abs(this.#highOut) < leastState) this.#highOut = 0
    this.#isAtRest = isAtRest && this.#highIn === 0 && this.#highOut === 0
  }

  /** Splits the frame at 2 kHz and both halves again. One loop, because the filters need not wait for each other in it. */
  #splitUpper(frame: Int16Array): void {
    const { low } = this
    const states = this.#states
    let ax0 = states[0] ?? 0
    let ay0 = states[1] ?? 0
    let ax1 = states[2] ?? 0
    let ay1 = states[3] ?? 0
    let bx0 = states[4] ?? 0
    let by0 = states[5] ?? 0
    let bx1 = states[6] ?? 0
    let by1 = states[7] ?? 0
    let cx0 = states[8] ?? 0
    let cy0 = states[9] ?? 0
    let cx1 = states[10] ?? 0
    let cy1 = states[11] ?? 0
    let highIn = this.#highIn
    let highOut = this.#highOut
    let e2 = 0
    let e3 = 0
    let e4 = 0
    low.copyWithin(0, lowLength)
    for (let i = 0, k = 0; i < lowLength; i++, k += 4) {
      const s0 = frame[k] ?? 0
      const s1 = frame[k + 1] ?? 0
      const s2 = frame[k + 2] ?? 0
      const s3 = frame[k + 3] ?? 0
      ay0 = ax0 + evenCoefficient * s0 - evenCoefficient * ay0
      ax0 = s0
      ay1 = ax1 + oddCoefficient * s1 - oddCoefficient * ay1
      ax1 = s1
      const below0 = 0.5 * (ay0 + ay1)
      const above0 = 0.5 * (ay0 - ay1)
      ay0 = ax0 + evenCoefficient * s2 - evenCoefficient * ay0
      ax0 = s2
      ay1 = ax1 + oddCoefficient * s3 - oddCoefficient * ay1
      ax1 = s3
      const below1 = 0.5 * (ay0 + ay1)
      const above1 = 0.5 * (ay0 - ay1)
      by0 = bx0 + evenCoefficient * above0 - evenCoefficient * by0
      bx0 = above0
      by1 = bx1 + oddCoefficient * above1 - oddCoefficient * by1
      bx1 = above1
      // The upper half of a split is mirrored: its lower half is 3–4 kHz.
      e4 += (by0 + by1) * (by0 + by1)
      e3 += (by0 - by1) * (by0 - by1)
      cy0 = cx0 + evenCoefficient * below0 - evenCoefficient * cy0
      cx0 = below0
      cy1 = cx1 + oddCoefficient * below1 - oddCoefficient * cy1
      cx1 = below1
      e2 += (cy0 - cy1) * (cy0 - cy1)
      const below = 0.5 * (cy0 + cy1)
      highOut = below - highIn + highPass * highOut
      highIn = below
      low[lowLength + i] = highOut
    }
    states[0] = ax0
    states[1] = ay0
    states[2] = ax1
    states[3] = ay1
    states[4] = bx0
    states[5] = by0
    states[6] = bx1
    states[7] = by1
    states[8] = cx0
    states[9] = cy0
    states[10] = cx1
    states[11] = cy1
    this.#highIn = highIn
    this.#highOut = highOut
    this.#e2 = 0.25 * e2
    this.#e3 = 0.25 * e3
    this.#e4 = 0.25 * e4
  }

  /** Splits what is below 1 kHz at 500 and 250 Hz. Returns the energy above 250 Hz on the scale of the upper bands. */
  #splitLow(): number {
    const { levels, low } = this
    const states = this.#states
    let ax0 = states[12] ?? 0
    let ay0 = states[13] ?? 0
    let ax1 = states[14] ?? 0
    let ay1 = states[15] ?? 0
    let bx0 = states[16] ?? 0
    let by0 = states[17] ?? 0
    let bx1 = states[18] ?? 0
    let by1 = states[19] ?? 0
    let e0 = 0
    let e1 = 0
    for (let k = lowLength; k < 2 * lowLength; k += 4) {
      const s0 = low[k] ?? 0
      const s1 = low[k + 1] ?? 0
      const s2 = low[k + 2] ?? 0
      const s3 = low[k + 3] ?? 0
      ay0 = ax0 + evenCoefficient * s0 - evenCoefficient * ay0
      ax0 = s0
      ay1 = ax1 + oddCoefficient * s1 - oddCoefficient * ay1
      ax1 = s1
      const below0 = 0.5 * (ay0 + ay1)
      e1 += (ay0 - ay1) * (ay0 - ay1)
      ay0 = ax0 + evenCoefficient * s2 - evenCoefficient * ay0
      ax0 = s2
      ay1 = ax1 + oddCoefficient * s3 - oddCoefficient * ay1
      ax1 = s3
      const below1 = 0.5 * (ay0 + ay1)
      e1 += (ay0 - ay1) * (ay0 - ay1)
      by0 = bx0 + evenCoefficient * below0 - evenCoefficient * by0
      bx0 = below0
      by1 = bx1 + oddCoefficient * below1 - oddCoefficient * by1
      bx1 = below1
      e0 += (by0 - by1) * (by0 - by1)
    }
    states[12] = ax0
    states[13] = ay0
    states[14] = ax1
    states[15] = ay1
    states[16] = bx0
    states[17] = by0
    states[18] = bx1
    states[19] = by1
    levels[0] = decibels(0.25 * e0, 10)
    levels[1] = decibels(0.25 * e1, 20)
    return e0 + 0.5 * e1
  }
}
