import type { TimedCharacters } from "./ContextMessage.ts"

/** How many characters that the vendor names must be in the text, when they are looked for further on, and how far. */
const probeLength = 4
const longestGap = 40

const isBlank = (text: string): boolean => text.trim() === ""

/** The times of a message that were placed in the text. */
interface Placed {
  readonly text: string
  /** Characters of the text, and samples of the turn, before it. */
  readonly characters: number
  readonly samples: number
}

/**
 * Finds the characters that the vendor names in the text of the turn, whose pieces it gets with other white space between
 * them: a space at the beginning of a context and after each piece. A character that it names and that is not there (it
 * speaks some in another spelling) takes no place.
 */
export class CharacterPositions {
  readonly #sampleRate: number
  #text = ""
  #at = 0
  #last: Placed | undefined

  constructor(sampleRate: number) {
    this.#sampleRate = sampleRate
  }

  /** Characters of the whole text so far. */
  get length(): number {
    return this.#text.length
  }

  append(text: string): void {
    this.#text += text.toWellFormed()
  }

  /**
   * Places the characters of a message whose audio has `length` samples after `before` samples of the turn. `onPosition`
   * gets how many characters are spoken at which sample.
   */
  place(
    timed: TimedCharacters,
    before: number,
    length: number,
    onPosition: (characters: number, atSample: number) => void
  ): void {
    const text = timed.characters.join("")
    const base = this.#baseOf(timed, before, length)
    const last = this.#last
    // The vendor may send the times of a sentence again when it has more of it: they begin where the former ones did.
    const isRepeated =
      last !== undefined && text.trimStart().startsWith(last.text.trim()) && !this.#continuesWith(text.trimStart())
    const from = isRepeated ? last.samples : base
    if (isRepeated) this.#at = last.characters
    if (!isBlank(text)) this.#last = { text, characters: this.#at, samples: from }
    timed.characters.forEach((character, n) => {
      if (!this.#advance(character, () => timed.characters.slice(n, n + probeLength).join(""))) return
      onPosition(this.#at, from + this.#samples(timed.ends[n] ?? 0))
    })
  }

  #samples(ms: number): number {
    return Math.round((ms * this.#sampleRate) / 1000)
  }

  /**
   * The sample from which the times count: by the vendor's documents the beginning of the message's audio. Some messages
   * count from the beginning of the turn, where the times are beyond their own audio.
   */
  #baseOf({ starts }: TimedCharacters, before: number, length: number): number {
    const first = this.#samples(starts[0] ?? 0)
    const tolerance = this.#sampleRate / 20
    return before > 0 && first >= length && Math.abs(first - before) <= tolerance ? 0 : before
  }

  #continuesWith(text: string): boolean {
    return this.#text.slice(this.#at).trimStart().startsWith(text.slice(0, 8).trimEnd())
  }

  /** Moves behind a character, which has `probe` at its beginning. False: it is not in the text. */
  #advance(character: string, probe: () => string): boolean {
    if (character === "") return false
    if (this.#moveTo(this.#at, character)) return true
    if (isBlank(character)) return false
    let from = this.#at
    while (from < this.#text.length && isBlank(this.#text[from] ?? "")) from++
    if (this.#moveTo(from, character) || this.#moveTo(from + 1, character)) return true
    const ahead = probe()
    const found = ahead.length < probeLength ? -1 : this.#text.slice(from, from + longestGap).indexOf(ahead)
    return found !== -1 && this.#moveTo(from + found, character)
  }

  #moveTo(at: number, character: string): boolean {
    if (!this.#text.startsWith(character, at)) return false
    this.#at = at + character.length
    return true
  }
}
