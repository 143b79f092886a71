import type { Lexicon } from "./Lexicon.ts"
import type { NumberWords } from "./NumberWords.ts"
import type { Token } from "./Tokens.ts"

/** Letters that were spelled, and how many tokens they took. */
export interface SpelledLetters {
  readonly letters: string
  readonly tokens: number
}

const keyAt = (tokens: ReadonlyArray<Token>, at: number): string => {
  const token = tokens[at]
  return token?._tag === "Word" ? token.word.plain : ""
}

/** A letter that is said with a word for it: "b as in bravo", "b wie Berta". */
export const spelledAt = (tokens: ReadonlyArray<Token>, at: number, lexicon: Lexicon): SpelledLetters | undefined => {
  const letter = keyAt(tokens, at)
  const said = letter.length === 1 ? letter : lexicon.letters.get(letter)
  if (said === undefined) return undefined
  for (const phrase of lexicon.spelledAs) {
    const word = at + 1 + phrase.length
    if (!phrase.every((part, index) => keyAt(tokens, at + 1 + index) === part)) continue
    const first = keyAt(tokens, word)
    if (first.length > 1 && first.startsWith(said)) return { letters: said, tokens: phrase.length + 2 }
    const next = keyAt(tokens, word + 1)
    if (next !== "" && lexicon.twoWordLetters.get(first + next) === said) {
      return { letters: said, tokens: phrase.length + 3 }
    }
  }
  return undefined
}

/** A letter by itself, by its name, or by a word of a spelling alphabet. */
const singleAt = (tokens: ReadonlyArray<Token>, at: number, lexicon: Lexicon): SpelledLetters | undefined => {
  const key = keyAt(tokens, at)
  if (key === "") return undefined
  const next = keyAt(tokens, at + 1)
  const two = next === "" ? undefined : lexicon.twoWordLetters.get(key + next)
  if (two !== undefined) return { letters: two, tokens: 2 }
  const letter = key.length === 1 ? key : lexicon.letters.get(key)
  return letter === undefined ? undefined : { letters: letter, tokens: 1 }
}

/** The same, also after "double". */
const letterAt = (tokens: ReadonlyArray<Token>, at: number, lexicon: Lexicon): SpelledLetters | undefined => {
  const single = singleAt(tokens, at, lexicon)
  const times = lexicon.repeats.get(keyAt(tokens, at))
  if (single !== undefined || times === undefined) return single
  const repeated = singleAt(tokens, at + 1, lexicon)
  return repeated && { letters: repeated.letters.repeat(times), tokens: repeated.tokens + 1 }
}

/** A letter as in {@link letterAt}, where letters or digits are beside it: one word alone is not a letter. */
export const spellingAt = (
  tokens: ReadonlyArray<Token>,
  at: number,
  lexicon: Lexicon,
  numbers: NumberWords
): SpelledLetters | undefined => {
  const letter = letterAt(tokens, at, lexicon)
  if (letter === undefined) return undefined
  const isCode = (index: number): boolean =>
    tokens[index]?._tag === "Digits" ||
    letterAt(tokens, index, lexicon) !== undefined ||
    numbers.languagesOf(index) !== 0
  return letter.letters.length > 1 || isCode(at - 1) || isCode(at + letter.tokens) ? letter : undefined
}

/** The letters of the text in this language, where {@link spellingAt} may find some: texts with the same are spelled alike. */
export const lettersIn = (tokens: ReadonlyArray<Token>, lexicon: Lexicon): string =>
  tokens.map((_, at) => letterAt(tokens, at, lexicon)?.letters ?? "").join(" ")

/** Whether the language reads something in this text in its own way, numbers apart. */
export const readsSpecially = (tokens: ReadonlyArray<Token>, lexicon: Lexicon): boolean =>
  tokens.some(
    (_, at) =>
      lexicon.repeats.has(keyAt(tokens, at)) ||
      (lexicon.saysOh && /^oh?$/.test(keyAt(tokens, at))) ||
      spelledAt(tokens, at, lexicon) !== undefined
  )

/** Whether the text may have letters by their names, or by words of a spelling alphabet. */
export const mayBeSpelled = (tokens: ReadonlyArray<Token>, lexicon: Lexicon, numbers: NumberWords): boolean =>
  tokens.some((_, at) => keyAt(tokens, at).length > 1 && spellingAt(tokens, at, lexicon, numbers) !== undefined)
