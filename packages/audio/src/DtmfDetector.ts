import { goertzelCoefficient, goertzelPower } from "./Goertzel.ts"

/** Digits by the low and the high frequency of their tone, in Hz. See ITU-T Q.23. */
const lows = [697, 770, 852, 941]
const highs = [1209, 1336, 1477, 1633]
const digits = ["123A", "456B", "789C", "*0#D"]

/** Full scale in dBm0: a sine of amplitude 32124 is +3.14 dBm0 in mu-law (ITU-T G.711). */
const fullScale = 32_124
const fullScaleDbm0 = 3.14
/** The amplitude of a tone of -28 dBm0: 3 dB below what must be heard. */
const minimum = fullScale * 10 ** ((-28 - fullScaleDbm0) / 20)
/** How much stronger (dB) the high or the low tone may be: a little more than 4 and 8, since the stronger hides the other. */
const highOverLow = 10 ** (5 / 10)
const lowOverHigh = 10 ** (10 / 10)
/** The next frequencies of the same group are this much weaker, as power. */
const clearance = 4
/** The two tones have this share of all energy; speech spreads over more frequencies. */
const share = 0.8
/** The share at their exact frequencies, before others are tried. */
const exactShare = 0.5
/** Frequencies of telephones are up to 1.5 % wrong (ITU-T Q.24): these are tried too. */
const deviations = [0.988, 1.012]
/** Windows in a row with a digit that make it, and windows without it that end it. Windows begin 5 ms apart. */
const windowsOn = 5
const windowsOff = 6

/** What a window may hold: the index of a digit, or nothing. */
const nothing = -1

/**
 * Detects digits of a telephone keypad in sound (ITU-T Q.24): at least 40 ms long and 40 ms apart, each tone from -25 to 0
 * dBm0, the high one at most 4 dB stronger and 8 dB weaker than the low one. Windows of 20 ms begin every 5 ms.
 */
export class DtmfDetector {
  readonly #coefficients: ReadonlyArray<number>
  /** For each frequency those of {@link deviations}. */
  readonly #deviating: ReadonlyArray<ReadonlyArray<number>>
  readonly #window: Int16Array
  readonly #hop: number
  #filled = 0
  #candidate = nothing
  #seen = 0
  #current = nothing
  #missed = 0

  /** `sampleRate` in Hz: a multiple of 8000. */
  constructor(sampleRate: number) {
    this.#coefficients = [...lows, ...highs].map((frequency) => goertzelCoefficient(frequency, sampleRate))
    this.#deviating = [...lows, ...highs].map((frequency) =>
      deviations.map((factor) => goertzelCoefficient(frequency * factor, sampleRate))
    )
    this.#window = new Int16Array(sampleRate / 50)
    this.#hop = sampleRate / 200
  }

  /** Takes samples, any number of them. The digits that begin with them, each once, however long it is pressed. */
  push(samples: Int16Array): string {
    let found = ""
    const window = this.#window
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(samples.length - at, window.length - this.#filled)
      window.set(samples.subarray(at, at + count), this.#filled)
      at += count
      this.#filled += count
      if (this.#filled < window.length) break
      found += this.#next(this.#digitIn(window))
      window.copyWithin(0, this.#hop)
      this.#filled -= this.#hop
    }
    return found
  }

  /** The digit that begins with this window, if one does. */
  #next(digit: number): string {
    this.#seen = digit === this.#candidate ? this.#seen + 1 : 1
    this.#candidate = digit
    if (digit === this.#current) {
      this.#missed = 0
      return ""
    }
    if (this.#current !== nothing && ++this.#missed >= windowsOff) this.#current = nothing
    if (digit === nothing || this.#seen < windowsOn) return ""
    this.#current = digit
    this.#missed = 0
    return digits[digit >> 2]?.[digit & 3] ?? ""
  }

  /** The digit of a window: its row times 4 and its column. */
  #digitIn(window: Int16Array): number {
    let energy = 0
    for (let i = 0; i < window.length; i++) energy += (window[i] ?? 0) ** 2
    const half = window.length / 2
    if (energy < minimum ** 2 * half) return nothing
    const [row, low] = this.#strongest(window, 0)
    if (row < 0) return nothing
    const [column, high] = this.#strongest(window, lows.length)
    if (column < 0) return nothing
    if (low + high < exactShare * energy * half) return nothing
    const lowest = this.#nearby(window, row, low)
    const highest = this.#nearby(window, lows.length + column, high)
    const enough = (minimum * half) ** 2
    if (lowest < enough || highest < enough) return nothing
    if (highest > lowest * highOverLow || lowest > highest * lowOverHigh) return nothing
    return lowest + highest >= share * energy * half ? row * 4 + column : nothing
  }

  /** The most power at a frequency and those a little beside it. */
  #nearby(window: Int16Array, frequency: number, exact: number): number {
    let most = exact
    for (const coefficient of this.#deviating[frequency] ?? []) {
      most = Math.max(most, goertzelPower(window, 0, window.length, coefficient))
    }
    return most
  }

  /** The strongest frequency of a group of four, if it is clearly the strongest, and its power. */
  #strongest(window: Int16Array, group: number): readonly [index: number, power: number] {
    let best = -1
    let most = 0
    let second = 0
    for (let n = 0; n < 4; n++) {
      const power = goertzelPower(window, 0, window.length, this.#coefficients[group + n] ?? 0)
      if (power > most) {
        second = most
        most = power
        best = n
      } else second = Math.max(second, power)
    }
    return most >= second * clearance ? [best, most] : [-1, 0]
  }
}
