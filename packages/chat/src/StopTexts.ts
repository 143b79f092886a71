/**
 * Finds the first of the stop texts in text that arrives in pieces. The end of a piece that may be the beginning of a
 * stop text is held back until it is known.
 */
export class StopTexts {
  private held = ""
  private readonly texts: ReadonlyArray<string>
  constructor(texts: ReadonlyArray<string>) {
    this.texts = texts
  }

  /** The text that is certain now, and whether a stop text follows it: what comes after is no part of the answer. */
  push(piece: string): { readonly text: string; readonly stopped: boolean } {
    if (this.texts.length === 0) return { text: piece, stopped: false }
    const all = this.held + piece
    const found = this.texts.map((text) => all.indexOf(text)).filter((at) => at >= 0)
    if (found.length > 0) {
      this.held = ""
      return { text: all.slice(0, Math.min(...found)), stopped: true }
    }
    const held = Math.max(...this.texts.map((text) => overlap(all, text)))
    this.held = all.slice(all.length - held)
    return { text: all.slice(0, all.length - held), stopped: false }
  }

  /** What is held back at the end of the answer. */
  rest(): string {
    const { held } = this
    this.held = ""
    return held
  }
}

/** The length of the longest end of `text` that is a beginning of `stop`. */
const overlap = (text: string, stop: string): number => {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length
  }
  return 0
}
