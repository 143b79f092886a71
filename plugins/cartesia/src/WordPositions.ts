import type { TimedWord } from "./SpeechMessage.ts"

/** How many characters of the text the vendor may have left out before a word that it names. */
const longestGap = 60

const letterOrDigit = /[\p{L}\p{N}]/u

/** Finds the words that the vendor names in the text of the turn. */
export class WordPositions {
  #text = ""
  #at = 0

  append(text: string): void {
    this.#text += text
  }

  /** Whether all words so far were named. */
  get isComplete(): boolean {
    return !letterOrDigit.test(this.#text.slice(this.#at))
  }

  /** The characters up to the end of a word, with its punctuation; undefined when it is not in the text. */
  next({ word }: TimedWord): number | undefined {
    const found = this.#find(word.trim())
    if (found === undefined) return undefined
    const rest = /^\S*/.exec(this.#text.slice(found))?.[0] ?? ""
    this.#at = letterOrDigit.test(rest) ? found : found + rest.length
    return this.#at
  }

  /** Where a word ends, also one whose punctuation or case the vendor has changed. */
  #find(word: string): number | undefined {
    if (word === "") return undefined
    const ahead = this.#text.slice(this.#at, this.#at + longestGap + word.length)
    const bare = word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "")
    for (const wanted of bare === "" ? [word] : [word, bare]) {
      const exact = ahead.indexOf(wanted)
      // Letters whose lower case has another length would move the position.
      const lower = ahead.toLowerCase()
      const at = exact !== -1 ? exact : lower.length === ahead.length ? lower.indexOf(wanted.toLowerCase()) : -1
      if (at !== -1) return this.#at + at + wanted.length
    }
    return undefined
  }
}
