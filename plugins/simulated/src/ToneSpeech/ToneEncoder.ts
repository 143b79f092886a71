import { framesPerSymbol, symbolsOf } from "./ToneCode.ts"
import type { FrameKey } from "./ToneFrames.ts"

/** Speaks one text in tone speech, 20 ms frame by frame. Takes about 16 characters a second. */
export class ToneEncoder {
  readonly #symbols: Uint8Array
  #frame = 0
  #characters = 0

  constructor(text: string) {
    this.#symbols = symbolsOf(text)
  }

  /** Length of the whole utterance in frames of 20 ms. */
  get frames(): number {
    return this.#symbols.length * framesPerSymbol
  }

  /**
   * How many characters (UTF-16 units of the text) can be heard in the frames given so far. A symbol is heard with its first
   * frame, so this is exactly what a decoder has.
   */
  get characters(): number {
    return this.#characters
  }

  /** The next frame (see ToneFrames), or -1 when all is said. */
  next(): FrameKey {
    const index = Math.floor(this.#frame / framesPerSymbol)
    const symbol = this.#symbols[index]
    if (symbol === undefined) return -1
    if (this.#frame % framesPerSymbol === 0) this.#characters += this.#unitsEndingAt(index)
    this.#frame++
    return symbol | ((index & 1) << 8)
  }

  /** UTF-16 units of the character whose last byte is the symbol at `index`; 0 within a character and outside the text. */
  #unitsEndingAt(index: number): number {
    if (index === 0 || index > this.#symbols.length - 4) return 0
    if (isContinuation(this.#symbols[index + 1] ?? 0)) return 0
    let lead = index
    while (isContinuation(this.#symbols[lead] ?? 0)) lead--
    return (this.#symbols[lead] ?? 0) >= 0xf0 ? 2 : 1
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80
