import { framesPerSymbol, symbolsOf } from "./ToneCode.ts"
import type { FrameKey } from "./ToneFrames.ts"

/** Encodes one text as tone speech in 20 ms frames, about 16 characters per second. */
export class ToneEncoder {
  readonly #symbols: Uint8Array
  #frame = 0
  #characters = 0

  constructor(text: string) {
    this.#symbols = symbolsOf(text)
  }

  /** The length of the utterance in frames of 20 ms. */
  get frames(): number {
    return this.#symbols.length * framesPerSymbol
  }

  /**
   * The number of characters (UTF-16 units of the text) in the frames returned so far. A decoder recognizes a symbol by
   * its first frame, so it has decoded exactly these characters.
   */
  get characters(): number {
    return this.#characters
  }

  /** The next frame (see ToneFrames), or -1 at the end. */
  next(): FrameKey {
    const index = Math.floor(this.#frame / framesPerSymbol)
    const symbol = this.#symbols[index]
    if (symbol === undefined) return -1
    if (this.#frame % framesPerSymbol === 0) this.#characters += this.#unitsEndingAt(index)
    this.#frame++
    return symbol | ((index & 1) << 8)
  }

  /** The UTF-16 units of the character whose last byte is at `index`; 0 within a character and outside the text. */
  #unitsEndingAt(index: number): number {
    if (index === 0 || index > this.#symbols.length - 4) return 0
    if (isContinuation(this.#symbols[index + 1] ?? 0)) return 0
    let lead = index
    while (isContinuation(this.#symbols[lead] ?? 0)) lead--
    return (this.#symbols[lead] ?? 0) >= 0xf0 ? 2 : 1
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80
