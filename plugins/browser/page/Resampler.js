/** How many input samples each side of an output sample are used, at the lower of the two rates. */
const zeroCrossings = 12
/** Positions between two input samples for which the filter is computed. */
const phases = 64

/** @param {number} x */
const sinc = (x) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x))

/**
 * Converts mono samples from one rate to another, in chunks of any length: a windowed-sinc filter that lets pass what both
 * rates can carry. Adds a delay of about 1 ms.
 */
export class Resampler {
  /**
   * @param {number} from Hz
   * @param {number} to Hz
   */
  constructor(from, to) {
    /** Input samples for each output sample. */
    this.step = from / to
    const cutoff = Math.min(1, to / from) * 0.92
    this.reach = Math.ceil(zeroCrossings / Math.min(1, to / from))
    this.taps = 2 * this.reach
    /** The filter for each phase, one after the other. */
    this.filter = new Float32Array((phases + 1) * this.taps)
    for (let phase = 0; phase <= phases; phase++) {
      let sum = 0
      for (let tap = 0; tap < this.taps; tap++) {
        const distance = tap - this.reach + 1 - phase / phases
        const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / (this.reach + 1))
        const value = cutoff * sinc(cutoff * distance) * Math.max(0, window)
        this.filter[phase * this.taps + tap] = value
        sum += value
      }
      for (let tap = 0; tap < this.taps; tap++) this.filter[phase * this.taps + tap] /= sum
    }
    /** Input that is still needed, and how much of it there is. */
    this.input = new Float32Array(this.taps + 4096)
    this.filled = this.reach - 1
    /** Where the next output sample is, between the input samples. */
    this.position = this.reach - 1
  }

  /**
   * @param {Float32Array} samples
   * @param {(sample: number) => void} put gets each output sample
   */
  push(samples, put) {
    if (this.step === 1) {
      for (const sample of samples) put(sample)
      return
    }
    for (let offset = 0; offset < samples.length; offset += 4096) {
      const part = samples.subarray(offset, offset + 4096)
      this.input.set(part, this.filled)
      this.filled += part.length
      while (this.position + this.reach < this.filled) {
        const whole = Math.floor(this.position)
        const phase = Math.round((this.position - whole) * phases) * this.taps
        const first = whole - this.reach + 1
        let sum = 0
        for (let tap = 0; tap < this.taps; tap++) sum += this.input[first + tap] * this.filter[phase + tap]
        put(sum)
        this.position += this.step
      }
      const used = Math.max(0, Math.floor(this.position) - this.reach + 1)
      this.input.copyWithin(0, used, this.filled)
      this.filled -= used
      this.position -= used
    }
  }
}
