import { crc8, crcHigh, crcLow, crcStart, endOfText, highBin, lowBin, startOfText } from "./ToneCode.ts"

/**
 * How an utterance ended. `ok`: it is complete and its CRC is correct. `bad`: it ended, but a part of it was lost or
 * changed. `cut`: it stopped early; the text is the exact prefix that was played.
 */
export type Outcome = "ok" | "bad" | "cut"

/** Receives the events of a decoder, synchronously and in order. */
export interface ToneListener {
  /** An utterance began. */
  readonly started: () => void
  /** The first character was decoded, or another complete word. `text` is the utterance so far. */
  readonly progressed: (text: string) => void
  readonly ended: (text: string, outcome: Outcome) => void
}

/** The number of frames without tone speech after which an unfinished utterance is `cut`: 200 ms. */
export const hangFrames = 10

/** A symbol of more frames is two equal symbols with a lost one between them. */
const maxSymbolFrames = 4

/** Mean square below which a frame is silence, times the 320 terms of the folded sum. */
const quiet = 320 * 250 * 250

/** The maximum length of an utterance in bytes of UTF-8. */
const maxBytes = 65_536

const space = 0x20
const replacement = 0x3f

const half = 80
const sums = new Float64Array(half)
const differences = new Float64Array(half)
const cosines = Float64Array.from({ length: half }, (_, bin) => 2 * Math.cos((2 * Math.PI * bin) / 160))

/** What {@link powersOf} found. */
const powers = new Float64Array(4)

/**
 * Goertzel's powers of the bins `a`, `b`, `c` and `d` over the folded half frame. Exact for even bins over sums, odd bins
 * over differences. Each step of a filter waits for the one before, so four filters at once take little longer than one.
 */
const powersOf = (folded: Float64Array, a: number, b: number, c: number, d: number): void => {
  const ca = cosines[a] as number
  const cb = cosines[b] as number
  const cc = cosines[c] as number
  const cd = cosines[d] as number
  let a1 = 0
  let a2 = 0
  let b1 = 0
  let b2 = 0
  let c1 = 0
  let c2 = 0
  let d1 = 0
  let d2 = 0
  for (let n = 0; n < half; n += 2) {
    const x = folded[n] as number
    const y = folded[n + 1] as number
    a2 = x + ca * a1 - a2
    b2 = x + cb * b1 - b2
    c2 = x + cc * c1 - c2
    d2 = x + cd * d1 - d2
    a1 = y + ca * a2 - a1
    b1 = y + cb * b2 - b1
    c1 = y + cc * c2 - c1
    d1 = y + cd * d2 - d1
  }
  powers[0] = a1 * a1 + a2 * a2 - ca * a1 * a2
  powers[1] = b1 * b1 + b2 * b2 - cb * b1 * b2
  powers[2] = c1 * c1 + c2 * c2 - cc * c1 * c2
  powers[3] = d1 * d1 + d2 * d2 - cd * d1 * d2
}

/** The sum of the powers of two bins. */
const powerOfBoth = (folded: Float64Array, low: number, high: number): number => {
  const cl = cosines[low] as number
  const ch = cosines[high] as number
  let l1 = 0
  let l2 = 0
  let h1 = 0
  let h2 = 0
  for (let n = 0; n < half; n += 2) {
    const x = folded[n] as number
    const y = folded[n + 1] as number
    l2 = x + cl * l1 - l2
    h2 = x + ch * h1 - h2
    l1 = y + cl * l2 - l1
    h1 = y + ch * h2 - h1
  }
  return l1 * l1 + l2 * l2 - cl * l1 * l2 + (h1 * h1 + h2 * h2 - ch * h1 * h2)
}

type Phase = "idle" | "text" | "crc-high" | "crc-low" | "done"

/**
 * Decodes tone speech, one 20 ms frame at a time, without an allocation per frame. Each frame is folded; a continued
 * symbol needs two Goertzel filters of 80 samples, a new symbol 32.
 */
export class ToneDecoder {
  readonly #listener: ToneListener
  #phase: Phase = "idle"
  #last = -1
  #lastParity = -1
  #held = 0
  #missing = 0
  #bytes = Buffer.alloc(128)
  #length = 0
  #crc = crcStart
  #crcHeard = 0
  #bad = false
  #isJoined = false
  /** The number of bytes that were passed to the listener. */
  #reported = 0

  constructor(listener: ToneListener) {
    this.#listener = listener
  }

  /** Takes one 20 ms frame of PCM16 at `offset`. `step` is its sample rate / 8000, a whole number. */
  push(samples: Int16Array, offset = 0, step = 1): void {
    let even = 0
    let odd = 0
    const middle = half * step
    for (let n = 0, i = offset; n < half; n++, i += step) {
      const a = samples[i] ?? 0
      const b = samples[i + middle] ?? 0
      const sum = a + b
      const difference = a - b
      sums[n] = sum
      differences[n] = difference
      even += sum * sum
      odd += difference * difference
    }
    const energy = even + odd
    const parity = odd > even ? 1 : 0
    const own = parity === 1 ? odd : even
    // A frame that contains two symbols, or is not tone speech, has energy in bins of both parities.
    if (energy < quiet || own < 0.8 * energy || !this.#recognize(parity, own)) this.#miss()
    else this.#missing = 0
  }

  /** Ends an unfinished utterance as `cut`, because audio was dropped or no more follows. */
  cut(): void {
    const unfinished = this.#phase !== "idle" && this.#phase !== "done"
    this.#phase = "idle"
    this.#resetSymbol()
    if (unfinished) this.#listener.ended(this.#text(), "cut")
  }

  /** Drops the last symbol, so that the next frame begins a new one. */
  #resetSymbol(): void {
    this.#last = -1
    this.#lastParity = -1
    this.#missing = 0
  }

  #miss(): void {
    if (this.#phase !== "idle" && ++this.#missing >= hangFrames) this.cut()
  }

  #recognize(parity: number, own: number): boolean {
    const folded = parity === 1 ? differences : sums
    // The two tones of an undisturbed frame have 40 times the folded energy.
    const enough = 0.7 * 40 * own
    if (
      parity === this.#lastParity &&
      powerOfBoth(folded, lowBin(this.#last, parity), highBin(this.#last, parity)) > enough
    ) {
      if (++this.#held > maxSymbolFrames) this.#bad = true
      return true
    }
    let low = 0
    let lowPower = -1
    let high = 0
    let highPower = -1
    for (let nibble = 0; nibble < 16; nibble += 2) {
      const lowest = lowBin(nibble << 4, parity)
      const highest = highBin(nibble, parity)
      powersOf(folded, lowest, lowest + 2, highest, highest + 2)
      for (let n = 0; n < 2; n++) {
        const l = powers[n] as number
        if (l > lowPower) {
          lowPower = l
          low = nibble + n
        }
        const h = powers[n + 2] as number
        if (h > highPower) {
          highPower = h
          high = nibble + n
        }
      }
    }
    if (lowPower + highPower < enough || lowPower > 6 * highPower || highPower > 6 * lowPower) return false
    this.#symbol((low << 4) | high, parity)
    return true
  }

  #symbol(byte: number, parity: number): void {
    // Two successive symbols of the same parity: an odd number of symbols between them was lost.
    const gap = parity === this.#lastParity
    this.#last = byte
    this.#lastParity = parity
    this.#held = 1
    if (byte === startOfText) {
      this.#start(false)
      return
    }
    if (this.#phase === "done") return
    if (this.#phase === "idle") this.#start(true)
    else if (gap) {
      this.#bad = true
      if (this.#phase === "text" && byte !== endOfText) this.#add(replacement)
    }
    switch (this.#phase) {
      case "text":
        if (byte === endOfText) this.#phase = "crc-high"
        else this.#add(byte)
        return
      case "crc-high":
        this.#crcHeard = byte
        this.#phase = "crc-low"
        return
      case "crc-low": {
        const ok = !this.#bad && this.#crcHeard === crcHigh(this.#crc) && byte === crcLow(this.#crc)
        this.#phase = "done"
        this.#listener.ended(this.#text(), ok ? "ok" : "bad")
        return
      }
    }
  }

  /** Starts an utterance. `joined`: its beginning was missed. */
  #start(joined: boolean): void {
    if (this.#phase !== "idle" && this.#phase !== "done") this.#listener.ended(this.#text(), "cut")
    this.#phase = "text"
    this.#length = 0
    this.#crc = crcStart
    this.#bad = joined
    this.#isJoined = joined
    this.#reported = 0
    this.#listener.started()
  }

  #add(byte: number): void {
    // Speech that goes on in the middle may begin with the space before its first word.
    if (byte === space && this.#length === 0 && this.#isJoined) return
    if (byte === space) this.#progress()
    if (this.#length === maxBytes) {
      this.#bad = true
      return
    }
    if (this.#length === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], this.#length * 2)
    this.#bytes[this.#length++] = byte
    this.#crc = crc8(this.#crc, byte)
    if (this.#reported === 0) this.#progress()
  }

  /** Reports new text to the listener, unless it ends with a space. */
  #progress(): void {
    const complete = this.#complete()
    if (complete <= this.#reported || this.#bytes[complete - 1] === space) return
    this.#reported = complete
    this.#listener.progressed(this.#text())
  }

  /** The number of bytes in complete characters: an incomplete last character is excluded. */
  #complete(): number {
    if (this.#length === 0) return 0
    let lead = this.#length - 1
    while (lead >= 0 && this.#length - lead < 4 && ((this.#bytes[lead] ?? 0) & 0xc0) === 0x80) lead--
    const byte = this.#bytes[lead] ?? 0
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return this.#length - lead < size ? lead : this.#length
  }

  #text(): string {
    return this.#bytes.toString("utf8", 0, this.#complete())
  }
}
