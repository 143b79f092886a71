import { type Lexicon, lexicons } from "./Lexicon.ts"
import type { NumberPart } from "./Numbers.ts"
import type { Token } from "./Tokens.ts"

/** A number in words: the digits of each number, and how many tokens it takes. */
export interface SpokenNumber {
  readonly digits: ReadonlyArray<string>
  readonly ordinal: boolean
  readonly tokens: number
}

/** The number words of a text. */
export interface NumberWords {
  /**
   * The number that begins at this token, for somebody who reads the text in this language. Words of other languages
   * are numbers too, unless they are ambiguous and stand alone.
   */
  readonly at: (token: number, language: Lexicon) => SpokenNumber | undefined
  /**
   * Shorter numbers that begin at this token, where another number may follow within the one that `at` finds: "eight
   * hundred" in "eight hundred one".
   */
  readonly shorterAt: (token: number, language: Lexicon) => ReadonlyArray<SpokenNumber>
  /** The languages, as bits, in which the token is a number word. */
  readonly languagesOf: (token: number) => number
  /** The languages that explain most of the certain number words; none when there are none. */
  readonly languages: ReadonlyArray<Lexicon>
  /** The languages that have any word of the text as a number word. */
  readonly possible: ReadonlyArray<Lexicon>
}

interface LanguageParts {
  readonly parts: ReadonlyArray<NumberPart | undefined>
  /** The index of each token's first part, and the end. */
  readonly starts: ReadonlyArray<number>
  readonly language: Lexicon
}

/** Digits before a word for thousand or million, as in "5 million". */
const countAt = (tokens: ReadonlyArray<Token>, at: number, language: Lexicon): NumberPart | undefined => {
  const [token, next] = [tokens[at], tokens[at + 1]]
  if (token?._tag !== "Digits" || next?._tag !== "Word" || !/^[1-9]\d{0,2}$/.test(token.digits)) return undefined
  const kind = language.numbers.partsOf(next.word.plain)?.[0]?.kind
  return kind === "thousand" || kind === "million"
    ? { kind: "count", value: Number(token.digits), ordinal: false }
    : undefined
}

const partsIn = (tokens: ReadonlyArray<Token>, language: Lexicon): LanguageParts | undefined => {
  const parts: Array<NumberPart | undefined> = []
  const starts: Array<number> = []
  let found = false
  for (const [at, token] of tokens.entries()) {
    starts.push(parts.length)
    const own = token._tag === "Word" ? language.numbers.partsOf(token.word.plain) : undefined
    if (own === undefined) parts.push(countAt(tokens, at, language))
    else {
      found = true
      parts.push(...own)
    }
  }
  starts.push(parts.length)
  return found ? { parts, starts, language } : undefined
}

const isNumber = ({ parts, starts }: LanguageParts, token: number): boolean => {
  const part = parts[starts[token] ?? -1]
  return part !== undefined && part.kind !== "and" && part.kind !== "article"
}

/** Reads the number at a token: several numbers where one word contains them. */
const numberAt = ({ language, parts, starts }: LanguageParts, token: number): SpokenNumber | undefined => {
  const digits: Array<string> = []
  let ordinal = false
  let part = starts[token] ?? parts.length
  let end = token
  do {
    const number = language.numbers.read(parts, part)
    if (number === undefined) return undefined
    digits.push(String(number.value))
    ordinal = number.ordinal
    part = number.next
    while (end < starts.length - 1 && (starts[end] ?? part) < part) end++
  } while (starts[end] !== part)
  return { digits, ordinal, tokens: end - token }
}

/** The numbers that begin at a token like a longer one, and end where another one may begin. */
const shorterNumbersAt = (
  { language, parts, starts }: LanguageParts,
  token: number,
  tokens: number
): ReadonlyArray<SpokenNumber> => {
  const shorter: Array<SpokenNumber> = []
  for (let end = token + 1; end < token + tokens; end++) {
    const part = starts[end] ?? parts.length
    if (!language.numbers.mayDivide(parts, part)) continue
    const number = numberAt({ language, parts: parts.slice(0, part), starts: starts.slice(0, end + 1) }, token)
    if (number?.tokens === end - token) shorter.push(number)
  }
  return shorter
}

/** Finds the number words of a text in all languages. */
export const numberWordsOf = (tokens: ReadonlyArray<Token>): NumberWords => {
  const found = lexicons.flatMap((language) => partsIn(tokens, language) ?? [])

  const isAmbiguous = ({ language }: LanguageParts, index: number): boolean => {
    const token = tokens[index]
    return token?._tag === "Word" && language.ambiguous.has(token.word.plain)
  }

  const isCertain = (words: LanguageParts, token: number, number: SpokenNumber): boolean =>
    number.tokens > 1 || !isAmbiguous(words, token) || isNumber(words, token - 1) || isNumber(words, token + 1)

  const covered = found.map((words) => {
    let count = 0
    for (let token = 0; token < tokens.length; ) {
      const number = numberAt(words, token)
      if (number !== undefined && isCertain(words, token, number)) count += number.tokens
      token += number?.tokens ?? 1
    }
    return count
  })
  const most = Math.max(0, ...covered)

  const languageBits = tokens.map((_, token) =>
    found.reduce((bits, words) => (isNumber(words, token) ? bits | words.language.bit : bits), 0)
  )

  const readAt = (token: number, language: Lexicon) => {
    if (found.every(({ parts, starts }) => parts[starts[token] ?? -1] === undefined)) return undefined
    const own = found.find((words) => words.language === language)
    const number = own === undefined ? undefined : numberAt(own, token)
    if (own !== undefined && number !== undefined) return { words: own, number }
    for (const words of found) {
      const other = words === own ? undefined : numberAt(words, token)
      if (other !== undefined && isCertain(words, token, other)) return { words, number: other }
    }
    return undefined
  }

  return {
    at: (token, language) => readAt(token, language)?.number,
    shorterAt: (token, language) => {
      const read = readAt(token, language)
      return read === undefined ? [] : shorterNumbersAt(read.words, token, read.number.tokens)
    },
    languagesOf: (token) => languageBits[token] ?? 0,
    languages: most === 0 ? [] : found.flatMap(({ language }, index) => (covered[index] === most ? [language] : [])),
    possible: found.map(({ language }) => language)
  }
}
