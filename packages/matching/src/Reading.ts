import { withAddresses, withSigns } from "./AddressSigns.ts"
import { type DayMonthOrder, datesIn } from "./Dates.ts"
import { withFillers } from "./Fillers.ts"
import {
  betweenDigits,
  betweenNumbersOfDates,
  decimalWords,
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
import type { Token, Word, WordPart, WrittenAddress } from "./Tokens.ts"
import { type UnitManner, withUnits } from "./Units.ts"

/** How a text is read: the language that decides about ambiguous words, letters by their names, the order in dates. */
export interface Manner {
  readonly language: Lexicon
  readonly spelled: boolean
  readonly dates: DayMonthOrder | "none"
  /** Whether times of day are read. */
  readonly times: boolean
  readonly units: UnitManner
  /** Whether "oh" at an end of digits is a letter, not 0, and a sound of hesitation may be what was meant: "1234 MM". */
  readonly literal: boolean
}

/** A word of an answer. */
export interface AnswerWord extends Word {
  /** It is no part of the answer: a filler word, or the spelling of a name that was said before. */
  readonly filler: boolean
  /** It was said letter by letter. */
  readonly spelled: boolean
  /** The languages in which it is a number, as bits; 0 in a word that is not. */
  readonly numberIn: number
  readonly besideDigits: boolean
  /** Digits touch it, or it follows them in capitals: "A12", "3816 LE". */
  readonly inCode: boolean
  /** The way it is written shows that it is a part of the answer. */
  readonly written: boolean
  /** It is the name of a sign in a text with an e-mail address, or may be. */
  readonly sign: boolean
  /** It is "and" beside a number with a unit. */
  readonly joinsAmounts: boolean
}

/** An e-mail address of a text, as indices of parts. */
export interface Address {
  /** Where its domain begins. */
  readonly at: number
  /** Where it begins; undefined when only the words before "at" may tell. */
  readonly from: number | undefined
  /** Where it ends, or later: "example dot co uk". */
  readonly to: number
  /** It is written with its `@`, and whole. */
  readonly written: WrittenAddress | undefined
}

/**
 * How e-mail addresses are read: where they are; nowhere, where the other text has none; or without "at", where the
 * other text has one.
 */
export type AddressManner = "found" | "none" | "without at"

/** What a text says, read in one manner. */
export interface Reading {
  readonly words: ReadonlyArray<AnswerWord>
  /** The digit sequences, the dates, and the times. */
  readonly digits: ReadonlyArray<string | SpokenDate | SpokenTime>
  /** The words and digit sequences in their order; undefined in place of dates and times. */
  readonly parts: ReadonlyArray<AnswerWord | string | undefined>
  /** The numbers of each digit sequence of more than one, as they were said. */
  readonly groups: ReadonlyArray<ReadonlyArray<string>>
  readonly addresses: ReadonlyArray<Address>
  /** The numbers with a unit, the same for the same number with the same unit. */
  readonly measures: ReadonlyArray<string>
}

const isSingleLetter = (piece: Piece | undefined): boolean =>
  piece?._tag === "Word" && (piece.letters || piece.word.plain.length === 1)

const keyOf = (piece: Piece | undefined): string => (piece?._tag === "Word" && !piece.letters ? piece.word.plain : "")

const isInAddress = (part: WordPart | undefined): boolean => part === "local" || part === "domain"

const letterPiece = (letters: string): Piece => ({
  _tag: "Word",
  word: { plain: letters, expanded: letters },
  letters: true,
  numberIn: 0
})

/** "oh" for 0, which is English: also in a text whose number words tell no language. */
const mayBeZero = ({ language }: Manner, { languages }: NumberWords): boolean =>
  language.saysOh || languages.length === 0

const isZero = (key: string): boolean => key === "oh" || key === "o"

/** The digits that a "double" may repeat: of the number in words, or of the token. */
const repeatable = (
  token: Token | undefined,
  number: SpokenNumber | undefined,
  saysOh: boolean
): string | undefined => {
  if (number !== undefined) return number.digits[0]
  if (token?._tag === "Digits") return token.digits
  return token?._tag === "Word" && saysOh && isZero(token.word.plain) ? "0" : undefined
}

/** Numbers, letters and other words, in order. */
const piecesOf = (tokens: ReadonlyArray<Token>, numbers: NumberWords, manner: Manner): ReadonlyArray<Piece> => {
  const lexicon = manner.language
  const saysOh = mayBeZero(manner, numbers)
  const pieces: Array<Piece> = []
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at]
    if (token === undefined) break
    if (token._tag === "Word") {
      const spelled = isInAddress(token.part)
        ? undefined
        : (spelledAt(tokens, at, lexicon) ?? (manner.spelled ? spellingAt(tokens, at, lexicon, numbers) : undefined))
      const oh = saysOh && isZero(token.word.plain) && (spelled === undefined || spelled.tokens === 1)
      if (spelled !== undefined) {
        const { part } = token
        pieces.push({ ...letterPiece(spelled.letters), ...(part !== undefined && { part }), ...(oh && { oh }) })
        at += spelled.tokens
        continue
      }
      const times = lexicon.repeats.get(token.word.plain)
      const number = numbers.at(times === undefined ? at : at + 1, manner.language)
      const repeated = times === undefined ? undefined : repeatable(tokens[at + 1], number, saysOh)
      if (times !== undefined && repeated?.length === 1) {
        pieces.push({ _tag: "Digits", digits: repeated.repeat(times), ordinal: false })
        for (const digits of number?.digits.slice(1) ?? []) pieces.push({ _tag: "Digits", digits, ordinal: false })
        at += 1 + (number?.tokens ?? 1)
      } else if (times === undefined && number !== undefined) {
        const { ordinal } = number
        const { plain } = token.word
        for (const [index, digits] of number.digits.entries()) {
          const part = isInAddress(token.part) && { part: token.part }
          pieces.push({ _tag: "Digits", digits, ordinal, ...(index === 0 && { word: plain }), ...part })
        }
        at += number.tokens
      } else {
        pieces.push({
          _tag: "Word",
          word: token.word,
          letters: false,
          numberIn: numbers.languagesOf(at),
          ...(token.part !== undefined && { part: token.part }),
          ...(token.dotted && { dotted: true }),
          ...(oh && { oh })
        })
        at++
      }
      continue
    }
    if (token._tag === "At" || token._tag === "UnitSign") pieces.push(token)
    else if (token._tag === "Digits") {
      const counted = token.part === undefined ? numbers.at(at, lexicon) : undefined
      if (counted !== undefined) {
        for (const digits of counted.digits) pieces.push({ _tag: "Digits", digits, ordinal: counted.ordinal })
        at += counted.tokens
        continue
      }
      const { _tag, ...written } = token
      pieces.push({ _tag, ...written, ordinal: false })
    } else if (manner.dates === "none") {
      for (const digits of token.parts) pieces.push({ _tag: "Digits", digits, ordinal: false })
    } else pieces.push(token)
    at++
  }
  return pieces
}

const isDigits = (piece: Piece | undefined): boolean => piece?._tag === "Digits"

/** Whether the piece is "oh" or "o", which may be 0. */
const isOh = (piece: Piece | undefined): boolean => piece?._tag === "Word" && piece.oh === true

const isHesitation = (piece: Piece): boolean => !isOh(piece) && hesitations.has(keyOf(piece))

/** The pieces without sounds of hesitation: without those between digits only, where others may be meant. */
const withoutHesitations = (pieces: ReadonlyArray<Piece>, literal: boolean): ReadonlyArray<Piece> =>
  pieces.filter(
    (piece, at) => !isHesitation(piece) || (literal && !(isDigits(pieces[at - 1]) && isDigits(pieces[at + 1])))
  )

/**
 * Whether "oh" is an interjection, or 0: it begins the text, and a number of more than one digit follows. Before digits
 * that are said one by one it is 0.
 */
const mayBeInterjection = (before: ReadonlyArray<Piece>, next: Piece | undefined): boolean =>
  before.every(isHesitation) && next?._tag === "Digits" && next.digits.length > 1

/** Reads "oh" beside digits as 0; literally only between digits, elsewhere as the letter: "four o b" is 4 OB. */
const withZeros = (pieces: ReadonlyArray<Piece>, literal: boolean): ReadonlyArray<Piece> => {
  const result: Array<Piece> = []
  for (let at = 0; at < pieces.length; ) {
    let end = at
    while (isOh(pieces[end])) end++
    const run = pieces.slice(at, Math.max(end, at + 1))
    const beside = [result.at(-1), pieces[end]].filter(isDigits).length
    const isZeros = literal ? beside === 2 : beside > 0 || run.slice(1).some((piece) => keyOf(piece) === "oh")
    if (end > at && isZeros) for (const _ of run) result.push({ _tag: "Digits", digits: "0", ordinal: false })
    else if (end > at && literal && beside > 0 && !(run.length === 1 && mayBeInterjection(result, pieces[end]))) {
      for (const piece of run) result.push(piece._tag === "Word" ? { ...piece, part: "answer" } : piece)
    } else result.push(...(literal ? run : run.filter((piece) => !hesitations.has(keyOf(piece)))))
    at += run.length
  }
  return result
}

/** Removes what does not separate digits, and reads "oh" beside digits as 0. */
const joinable = (said: ReadonlyArray<Piece>, literal: boolean): ReadonlyArray<Piece> => {
  const kept: Array<Piece> = []
  const pieces = withZeros(withoutHesitations(said, literal), literal)
  pieces.forEach((piece, at) => {
    const key = keyOf(piece)
    const before = kept.at(-1)
    const after = pieces[at + 1]
    if (before?._tag === "Digits" && isDigits(after)) {
      if (betweenDigits.has(key) || (before.ordinal && inDates.has(key))) return
      if (before.digits.length <= 2 && betweenNumbersOfDates.has(key)) return
    }
    if (piece._tag === "Digits" && isDigits(before) && decimalWords.has(keyOf(pieces[at - 1]))) {
      kept.push({ ...piece, place: "decimals" })
      return
    }
    const isInCode = [before, after].every((each) => isDigits(each) || isSingleLetter(each))
    if (isInCode && signWords.has(key)) return
    if (!isDigits(after) || !plusWords.has(key)) kept.push(piece)
  })
  return kept
}

/** The part of an e-mail address that the piece belongs to. */
const addressPartOf = (piece: Piece | undefined): WordPart | undefined =>
  (piece?._tag === "Word" || piece?._tag === "Digits") && isInAddress(piece.part) ? piece.part : undefined

/** The addresses of a text, from where their domains begin, the parts of the text, and those of addresses. */
const addressesOf = (
  ats: ReadonlyMap<number, WrittenAddress | undefined>,
  parts: Reading["parts"],
  inAddress: ReadonlyArray<WordPart | undefined>
): ReadonlyArray<Address> =>
  [...ats].map(([at, written]) => {
    let [from, to] = [at, at]
    while (inAddress[from - 1] === "local") from--
    while (inAddress[to] === "domain") to++
    const before = parts[from - 1]
    const isWhole = from < at && !(typeof before === "object" && before.sign)
    return { at, from: isWhole ? from : undefined, to, written: isWhole ? written : undefined }
  })

/** The pieces with the signs of addresses read, and where their domains begin. */
const withAddressSigns = (pieces: ReadonlyArray<Piece>, manner: AddressManner): ReadonlyArray<Piece> => {
  if (manner === "without at") return withSigns(pieces)
  const found = manner === "found" ? withAddresses(pieces) : undefined
  return found ?? pieces.filter(({ _tag }) => _tag !== "At")
}

/** What the text says, read in this manner. */
export const readingOf = (
  tokens: ReadonlyArray<Token>,
  numbers: NumberWords,
  manner: Manner,
  addressManner: AddressManner = "found"
): Reading => {
  const said = piecesOf(tokens, numbers, manner)
  const first = withAddressSigns(manner.times ? timesIn(said, manner.language) : said, addressManner)
  const joined = joinable(first, manner.literal)
  // "uh" may be all that was said.
  const kept = joined.length === 0 ? first : joined
  const measured = withUnits(kept, manner.units)
  const pieces = manner.dates === "none" ? measured : datesIn(measured, manner.dates)
  const isAddress = addressManner === "without at" || pieces.some(({ _tag }) => _tag === "At")
  const digits: Array<string | SpokenDate | SpokenTime> = []
  const parts: Array<AnswerWord | string | undefined> = []
  const groups: Array<ReadonlyArray<string>> = []
  const ats = new Map<number, WrittenAddress | undefined>()
  const inAddress: Array<WordPart | undefined> = []
  const measures: Array<string> = []
  for (let at = 0; at < pieces.length; ) {
    const start = at
    const piece = pieces[at]
    const part = addressPartOf(piece)
    if (piece?._tag === "At") ats.set(parts.length, piece.address)
    else if (piece?._tag === "Measure") measures.push(piece.key)
    else inAddress.push(part)
    if (piece?._tag === "SpokenDate" || piece?._tag === "SpokenTime") {
      digits.push(piece)
      parts.push(undefined)
    }
    if (piece?._tag === "Digits" || piece?._tag === "NumericDate") {
      const group: Array<string> = []
      for (let next = pieces[at]; next?._tag === "Digits" || next?._tag === "NumericDate"; next = pieces[++at]) {
        if (addressPartOf(next) !== part) break
        group.push(next._tag === "Digits" ? next.digits : next.parts.join(""))
      }
      digits.push(group.join(""))
      parts.push(group.join(""))
      if (group.length > 1) groups.push(group)
      continue
    }
    if (piece?._tag === "Word") {
      let { expanded, plain } = piece.word
      if (isSingleLetter(piece)) {
        for (let next = pieces[at + 1]; next?._tag === "Word" && isSingleLetter(next); next = pieces[++at + 1]) {
          if (addressPartOf(next) !== part || next.sign !== piece.sign) break
          plain += next.word.plain
          expanded += next.word.expanded
        }
      }
      const spelled = start < at || piece.letters
      const besideDigits = isDigits(pieces[start - 1]) || isDigits(pieces[at + 1])
      const written = piece.part !== undefined
      const inCode = piece.part === "answer" && !isAddress
      const numberIn = start < at ? 0 : piece.numberIn
      const sign = piece.sign === true
      const joinsAmounts = piece.joinsAmounts === true
      const filler = false
      parts.push({ plain, expanded, filler, spelled, numberIn, besideDigits, inCode, written, sign, joinsAmounts })
    }
    at++
  }
  const marked = withFillers(parts, isAddress || digits.length > 0)
  const words = marked.filter((part) => typeof part === "object")
  return { words, digits, parts: marked, groups, addresses: addressesOf(ats, marked, inAddress), measures }
}
