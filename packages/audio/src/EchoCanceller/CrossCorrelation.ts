/**
 * Sums of products of two signals at many shifts, by Fourier transforms: for 800 samples at 2,800 shifts about a tenth of
 * the time that the products take. Every instance keeps its work arrays.
 */
export class CrossCorrelation {
  readonly #size: number
  /** The cosine and sine of the angles of half a turn. */
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  /** Where each index lies with its bits in reverse order. */
  readonly #reversed: Uint32Array
  readonly #re: Float64Array
  readonly #im: Float64Array

  /** `size`: a power of two; the longer signal has at most so many samples. */
  constructor(size: number) {
    this.#size = size
    this.#cos = Float64Array.from({ length: size / 2 }, (_, k) => Math.cos((2 * Math.PI * k) / size))
    this.#sin = Float64Array.from({ length: size / 2 }, (_, k) => Math.sin((2 * Math.PI * k) / size))
    this.#reversed = new Uint32Array(size)
    for (let i = 1; i < size; i++) {
      this.#reversed[i] = ((this.#reversed[i >> 1] ?? 0) >> 1) | (i & 1 ? size / 2 : 0)
    }
    this.#re = new Float64Array(size)
    this.#im = new Float64Array(size)
  }

  /**
   * Returns an array whose element `shift` is the sum of `short[i] * long[i + shift]`, for shifts from 0 to the difference of
   * the counts; the elements after that mean nothing. It is valid until the next call.
   */
  of(short: Float32Array, shortCount: number, long: Float32Array, longCount: number): Float64Array {
    const size = this.#size
    const re = this.#re
    const im = this.#im
    const mask = size - 1
    // Both are transformed at once, as the two parts of complex numbers.
    for (let i = 0; i < size; i++) {
      re[i] = i < longCount ? (long[i] as number) : 0
      im[i] = i < shortCount ? (short[i] as number) : 0
    }
    this.#transform()
    // The two transforms are apart again by symmetry; the product of one with the conjugate of the other is the correlation's.
    for (let k = 0; k <= size / 2; k++) {
      const mirrored = (size - k) & mask
      const [a, b, c, d] = [re[k] as number, im[k] as number, re[mirrored] as number, im[mirrored] as number]
      const [longRe, longIm, shortRe, shortIm] = [(a + c) / 2, (b - d) / 2, (b + d) / 2, (c - a) / 2]
      const productRe = longRe * shortRe + longIm * shortIm
      const productIm = longIm * shortRe - longRe * shortIm
      // The conjugate, since the inverse transform is the conjugate of the transform of the conjugate.
      re[k] = productRe / size
      im[k] = -productIm / size
      re[mirrored] = productRe / size
      im[mirrored] = productIm / size
    }
    this.#transform()
    return re
  }

  /** The transform in place, radix 2, decimation in time (Cooley and Tukey, 1965). */
  #transform(): void {
    const size = this.#size
    const re = this.#re
    const im = this.#im
    const cos = this.#cos
    const sin = this.#sin
    const reversed = this.#reversed
    for (let i = 0; i < size; i++) {
      const j = reversed[i] as number
      if (j <= i) continue
      const x = re[i] as number
      const y = im[i] as number
      re[i] = re[j] as number
      im[i] = im[j] as number
      re[j] = x
      im[j] = y
    }
    for (let half = 1; half < size; half *= 2) {
      const step = size / (2 * half)
      for (let k = 0, angle = 0; k < half; k++, angle += step) {
        const c = cos[angle] as number
        const s = sin[angle] as number
        for (let i = k; i < size; i += 2 * half) {
          const j = i + half
          const x = (re[j] as number) * c + (im[j] as number) * s
          const y = (im[j] as number) * c - (re[j] as number) * s
          re[j] = (re[i] as number) - x
          im[j] = (im[i] as number) - y
          re[i] = (re[i] as number) + x
          im[i] = (im[i] as number) + y
        }
      }
    }
  }
}
