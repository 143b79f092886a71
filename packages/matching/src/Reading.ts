import { type DayMonthOrder, datesIn } from "./Dates.ts"
import {
  atWords,
  betweenDigits,
  dotWords,
  fillers,
  hesitations,
  inDates,
  type Lexicon,
  plusWords,
  signWords
} from "./Lexicon.ts"
import type { NumberWords, SpokenNumber } from "./NumberWords.ts"
import type { Piece, SpokenDate, SpokenTime } from "./Piece.ts"
import { spelledAt, spellingAt } from "./Spelling.ts"
import { timesIn } from "./Times.ts"
import type { Token, Word } from "./Tokens.ts"

/** How a text is read: the language that decides about ambiguous words, letters by their names, the order in dates. */
export interface Manner {
  readonly language: Lexicon
  readonly spelled: boolean
  readonly dates: DayMonthOrder | "none"
  /** Whether times of day are read. */
  readonly times: boolean
}

/** A word of an answer. */
export interface AnswerWord extends Word {
  readonly filler: boolean
  /** The languages in which it is a number, as bits; 0 in a word that is not. */
  readonly numberIn: number
  readonly besideDigits: boolean
}

/** What a text says, read in one manner. */
export interface Reading {
  readonly words: ReadonlyArray<AnswerWord>
  /** The digit sequences, the dates, and the times. */
  readonly digits: ReadonlyArray<string | SpokenDate | SpokenTime>
  /** The numbers of each digit sequence of more than one, as they were said. */
  readonly groups: ReadonlyArray<ReadonlyArray<string>>
  readonly isAddress: boolean
}

const isSingleLetter = (piece: Piece | undefined): boolean =>
  piece?._tag === "Word" && (piece.letters || piece.word.plain.length === 1)

const keyOf = (piece: Piece | undefined): string => (piece?._tag === "Word" && !piece.letters ? piece.word.plain : "")

const letterPiece = (letters: string): Piece => ({
  _tag: "Word",
  word: { plain: letters, expanded: letters },
  letters: true,
  numberIn: 0
})

/** The sign that begins here in a spoken e-mail address, of one word or two ("snabel a"), and how many words it has. */
const signAt = (pieces: ReadonlyArray<Piece>, at: number, signs: ReadonlySet<string>): number => {
  const key = keyOf(pieces[at])
  if (key === "") return 0
  const next = keyOf(pieces[at + 1])
  if (next !== "" && signs.has(key + next)) return 2
  return signs.has(key) ? 1 : 0
}

/** "oh" for 0, which is English. */
const isZero = (key: string, lexicon: Lexicon): boolean => lexicon.saysOh && (key === "oh" || key === "o")

/** The digits that a "double" may repeat: of the number in words, or of the token. */
const repeatable = (
  token: Token | undefined,
  number: SpokenNumber | undefined,
  lexicon: Lexicon
): string | undefined => {
  if (number !== undefined) return number.digits[0]
  if (token?._tag === "Digits") return token.digits
  return token?._tag === "Word" && isZero(token.word.plain, lexicon) ? "0" : undefined
}

/** Numbers, letters and other words, in order. */
const piecesOf = (tokens: ReadonlyArray<Token>, numbers: NumberWords, manner: Manner) => {
  const lexicon = manner.language
  const pieces: Array<Piece> = []
  let hasAt = false
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at]
    if (token === undefined) break
    if (token._tag === "Word") {
      const spelled =
        spelledAt(tokens, at, lexicon) ?? (manner.spelled ? spellingAt(tokens, at, lexicon, numbers) : undefined)
      if (spelled !== undefined) {
        pieces.push(letterPiece(spelled.letters))
        at += spelled.tokens
        continue
      }
      const times = lexicon.repeats.get(token.word.plain)
      const number = numbers.at(times === undefined ? at : at + 1, manner.language)
      const repeated = times === undefined ? undefined : repeatable(tokens[at + 1], number, lexicon)
      if (times !== undefined && repeated?.length === 1) {
        pieces.push({ _tag: "Digits", digits: repeated.repeat(times), ordinal: false })
        for (const digits of number?.digits.slice(1) ?? []) pieces.push({ _tag: "Digits", digits, ordinal: false })
        at += 1 + (number?.tokens ?? 1)
      } else if (times === undefined && number !== undefined) {
        const { ordinal } = number
        const { plain } = token.word
        for (const [index, digits] of number.digits.entries()) {
          pieces.push({ _tag: "Digits", digits, ordinal, ...(index === 0 && { word: plain }) })
        }
        at += number.tokens
      } else {
        pieces.push({ _tag: "Word", word: token.word, letters: false, numberIn: numbers.languagesOf(at) })
        at++
      }
      continue
    }
    if (token._tag === "At") hasAt = true
    else if (token._tag === "Digits") {
      const { clock = false, digits } = token
      pieces.push({ _tag: "Digits", digits, ordinal: false, ...(clock && { clock }) })
    } else if (manner.dates === "none") {
      for (const digits of token.parts) pieces.push({ _tag: "Digits", digits, ordinal: false })
    } else pieces.push(token)
    at++
  }
  return { pieces, hasAt }
}

/** The pieces without the signs of an e-mail address. */
const withoutSigns = (pieces: ReadonlyArray<Piece>): ReadonlyArray<Piece> => {
  const kept: Array<Piece> = []
  for (let at = 0; at < pieces.length; ) {
    const words = signAt(pieces, at, atWords) || signAt(pieces, at, dotWords) || signAt(pieces, at, signWords)
    const piece = pieces[at]
    if (words === 0 && piece !== undefined) kept.push(piece)
    at += words || 1
  }
  return kept
}

/** Whether "at" and, later, "dot" are said. */
const saysAddress = (pieces: ReadonlyArray<Piece>): boolean => {
  const at = pieces.findIndex((_, index) => signAt(pieces, index, atWords) > 0)
  return at > 0 && pieces.some((_, index) => index > at + 1 && signAt(pieces, index, dotWords) > 0)
}

/** Removes what does not separate digits, and reads "oh" beside digits as 0. */
const joinable = (pieces: ReadonlyArray<Piece>, lexicon: Lexicon): ReadonlyArray<Piece> => {
  const kept: Array<Piece> = []
  pieces.forEach((piece, at) => {
    const key = keyOf(piece)
    const before = kept.at(-1)
    const after = pieces[at + 1]
    const inside = before?._tag === "Digits" && after?._tag === "Digits"
    if (inside && (betweenDigits.has(key) || (before.ordinal && inDates.has(key)))) return
    const atDigits = before?._tag === "Digits" || after?._tag === "Digits" || keyOf(after) === "oh"
    if (after?._tag === "Digits" && plusWords.has(key)) return
    // "i n f o seven" is spelled: its "o" is a letter.
    if (atDigits && isZero(key, lexicon) && !isSingleLetter(before))
      kept.push({ _tag: "Digits", digits: "0", ordinal: false })
    else if (!hesitations.has(key)) kept.push(piece)
  })
  return kept
}

/** What the text says, read in this manner. */
export const readingOf = (tokens: ReadonlyArray<Token>, numbers: NumberWords, manner: Manner): Reading => {
  const { hasAt, pieces: said } = piecesOf(tokens, numbers, manner)
  const first = manner.times ? timesIn(said, manner.language) : said
  const isAddress = hasAt || saysAddress(first)
  const joined = joinable(isAddress ? withoutSigns(first) : first, manner.language)
  // "uh" may be all that was said.
  const kept = joined.length === 0 ? first : joined
  const pieces = manner.dates === "none" ? kept : datesIn(kept, manner.dates)
  const words: Array<AnswerWord> = []
  const digits: Array<string | SpokenDate | SpokenTime> = []
  const groups: Array<ReadonlyArray<string>> = []
  for (let at = 0; at < pieces.length; ) {
    const start = at
    const piece = pieces[at]
    if (piece?._tag === "SpokenDate" || piece?._tag === "SpokenTime") digits.push(piece)
    if (piece?._tag === "Digits" || piece?._tag === "NumericDate") {
      const group: Array<string> = []
      for (let next = pieces[at]; next?._tag === "Digits" || next?._tag === "NumericDate"; next = pieces[++at]) {
        group.push(next._tag === "Digits" ? next.digits : next.parts.join(""))
      }
      digits.push(group.join(""))
      if (group.length > 1) groups.push(group)
      continue
    }
    if (piece?._tag === "Word") {
      let { expanded, plain } = piece.word
      if (isSingleLetter(piece)) {
        for (let next = pieces[at + 1]; next?._tag === "Word" && isSingleLetter(next); next = pieces[++at + 1]) {
          plain += next.word.plain
          expanded += next.word.expanded
        }
      }
      words.push({
        plain,
        expanded,
        filler: start === at && !piece.letters && fillers.has(plain),
        numberIn: piece.numberIn,
        besideDigits: pieces[start - 1]?._tag === "Digits" || pieces[at + 1]?._tag === "Digits"
      })
    }
    at++
  }
  return { words, digits, groups, isAddress }
}
