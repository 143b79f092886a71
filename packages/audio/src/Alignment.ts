/** Characters per second, for text-to-speech without alignment. */
const usualPace = 15
/** The shortest aligned time, in seconds, from which the pace is taken. */
const shortestKnown = 1
/** A text without a space in so many characters is written without spaces. */
const longestWord = 24

/**
 * Which characters of a text are spoken at which position of its audio. Text-to-speech says it in points, exact to the
 * character, the word or a longer piece, which may come later than the audio; some say nothing. In between it is
 * interpolated, and beyond the last point estimated by the pace until there, both to the end of a whole word. Positions
 * count bytes from the beginning of the audio.
 */
export class Alignment {
  readonly #bytesPerSecond: number
  readonly #positions: Array<number> = []
  readonly #characters: Array<number> = []

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
  }

  /** Whether there is any point. */
  get isKnown(): boolean {
    return this.#positions.length > 0
  }

  /**
   * The first `characters` of the text are spoken in its first `position` bytes. Ignored when one of both is less than
   * before.
   */
  add(position: number, characters: number): void {
    if (position < (this.#positions.at(-1) ?? 0) || characters < (this.#characters.at(-1) ?? 0)) return
    this.#positions.push(position)
    this.#characters.push(characters)
  }

  /** The position at which these characters are spoken; undefined while no point says it. */
  knownEnd(characters: number): number | undefined {
    return this.#positions[firstAtLeast(this.#characters, characters)]
  }

  /** The number of characters of `text` that are spoken until `position`. `end`: of the audio; undefined: it goes on. */
  charactersAt(position: number, text: string, end: number | undefined): number {
    if (position <= 0) return 0
    if (end !== undefined && position >= end) return text.length
    // Positions are whole numbers.
    const next = firstAtLeast(this.#positions, position + 1)
    const from = this.#positions[next - 1] ?? 0
    const known = Math.min(this.#characters[next - 1] ?? 0, text.length)
    const to = this.#positions[next] ?? end
    const pace =
      to === undefined ? this.#pace() : ((this.#characters[next] ?? text.length) - known) / Math.max(1, to - from)
    const estimate = known + (position - from) * pace
    return estimate >= text.length ? text.length : Math.max(known, wordEnd(text, Math.floor(estimate)))
  }

  /** The position at which the character after the first `characters` begins. */
  positionAt(characters: number, text: string, end: number | undefined): number {
    const next = firstAtLeast(this.#characters, characters + 1)
    const from = this.#positions[next - 1] ?? 0
    const known = this.#characters[next - 1] ?? 0
    // A word begins after the space that follows the word before.
    if (characters - known <= 1) return from
    const to = this.#positions[next] ?? end
    if (to === undefined) return Math.floor(from + (characters - known) / this.#pace())
    const then = this.#characters[next] ?? text.length
    return Math.floor(from + ((characters - known) * (to - from)) / Math.max(1, then - known))
  }

  /** Characters per byte, so far. */
  #pace(): number {
    const position = this.#positions.at(-1) ?? 0
    const characters = this.#characters.at(-1) ?? 0
    const isKnown = characters > 0 && position >= shortestKnown * this.#bytesPerSecond
    return isKnown ? characters / position : usualPace / this.#bytesPerSecond
  }
}

/** The index of the first of the ascending numbers that is at least `least`. */
const firstAtLeast = (ascending: ReadonlyArray<number>, least: number): number => {
  let low = 0
  for (let high = ascending.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((ascending[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** The end of the last whole word in the first `characters` of a text. */
const wordEnd = (text: string, characters: number): number => {
  const space = text.lastIndexOf(" ", characters)
  if (characters - space <= longestWord) return Math.max(0, space)
  // Not between the halves of a surrogate pair.
  return /[\uD800-\uDBFF]/.test(text.charAt(characters - 1)) ? characters - 1 : characters
}

/** The beginning of the word that is cut after so many characters, or of the next word; a little before in a script without spaces. */
export const wordStart = (text: string, characters: number): number => {
  if (text.charAt(characters) === " ") return characters + 1
  const start = text.lastIndexOf(" ", characters - 1) + 1
  return characters - start <= longestWord ? start : characters - 2
}
