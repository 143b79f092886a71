import { atOnce } from "@svc/api/Thread"
import { digitsKey, scoreOf } from "./Comparison.ts"
import type { DayMonthOrder } from "./Dates.ts"
import { dividedFor } from "./DividedNumbers.ts"
import { withoutPatience } from "./Fillers.ts"
import { hesitations, type Lexicon, lexicons, months } from "./Lexicon.ts"
import { type NumberWords, numberWordsOf } from "./NumberWords.ts"
import { type AddressManner, type Manner, type Reading, readingOf } from "./Reading.ts"
import { lettersIn, mayBeSpelled, readsSpecially } from "./Spelling.ts"
import { isTime, mayHaveTime } from "./Times.ts"
import { type Token, tokensOf } from "./Tokens.ts"
import { unitManners, withPercentSigns } from "./Units.ts"

/** Whether two texts say the same, and how alike they are, from 0 to 1 with at most 4 decimals. */
export interface Match {
  readonly match: boolean
  readonly score: number
}

interface Text {
  readonly tokens: ReadonlyArray<Token>
  readonly numbers: NumberWords
}

const textOf = (text: ReadonlyArray<Token>, other: ReadonlyArray<Token>): Text => {
  const tokens = withPercentSigns(withoutPatience(text, other))
  return { tokens, numbers: numberWordsOf(tokens) }
}

type LanguagePair = readonly [Lexicon, Lexicon]

/** Two texts without certain number words: the languages that read one of them in their own way, and one other. */
const possibleLanguages = (texts: ReadonlyArray<Text>): ReadonlyArray<Lexicon> => {
  const isSpecial = (lexicon: Lexicon) =>
    texts.some(
      ({ numbers, tokens }) =>
        numbers.possible.includes(lexicon) || readsSpecially(tokens, lexicon) || mayBeSpelled(tokens, lexicon, numbers)
    )
  const special = lexicons.map(isSpecial)
  return lexicons.filter((_, index) => special[index] === true || index === special.indexOf(false))
}

/** The pairs of languages in which the texts may be: the same for both, unless their number words tell two. */
const languagePairs = (one: Text, other: Text): ReadonlyArray<LanguagePair> => {
  const [languages, others] = [one.numbers.languages, other.numbers.languages]
  const common =
    languages.length === 0 || others.length === 0
      ? [...languages, ...others]
      : languages.filter((language) => others.includes(language))
  if (common.length > 0) return common.map((language): LanguagePair => [language, language])
  if (languages.length === 0)
    return possibleLanguages([one, other]).map((language): LanguagePair => [language, language])
  return languages.flatMap((language) => others.map((second): LanguagePair => [language, second]))
}

const hasDate = ({ tokens }: Text): boolean =>
  tokens.some((token) => token._tag === "NumericDate" || (token._tag === "Word" && months.has(token.word.plain)))

const dateOrders: ReadonlyArray<DayMonthOrder> = ["day first", "month first"]

/** Texts of more parts are not read literally: bounds the work. */
const mostLiteral = 64

/** Whether the text has "oh" where that may be 0, or sounds of hesitation. */
const hasSounds = ({ tokens }: Text, { saysOh }: Lexicon): boolean =>
  tokens.length <= mostLiteral &&
  tokens.some(
    (token) =>
      token._tag === "Word" && (hesitations.has(token.word.plain) || (saysOh && /^oh?$/.test(token.word.plain)))
  )

/** The most pairs of languages in which texts with times are read, where they share none. */
const mostTimePairs = 16

/** The languages in which a text may say a time: those of its number words, among those of its words of times. */
const timeLanguages = ({ numbers, tokens }: Text): ReadonlyArray<Lexicon> => {
  const said = lexicons.filter((language) => mayHaveTime(tokens, language))
  const fitting = said.filter((language) => numbers.languages.includes(language))
  if (fitting.length > 0) return fitting
  if (said.length > 0 && numbers.languages.length === 0) return said
  return numbers.languages.length > 0 ? numbers.languages : lexicons
}

/** The pairs of languages in which the texts may say times of day; none when neither text is recognizable as one. */
const timeLanguagePairs = (one: Text, other: Text): ReadonlyArray<LanguagePair> => {
  if (!lexicons.some((language) => [one, other].some(({ tokens }) => mayHaveTime(tokens, language)))) return []
  const [languages, others] = [timeLanguages(one), timeLanguages(other)]
  const common = languages.filter((language) => others.includes(language))
  if (common.length > 0) return common.map((language): LanguagePair => [language, language])
  return languages
    .flatMap((language) => others.map((second): LanguagePair => [language, second]))
    .slice(0, mostTimePairs)
}

/** Whether both texts say a time, and one of them can mean nothing else. */
const sayTimes = (one: Reading, other: Reading): boolean => {
  const times = [one, other].map(({ digits }) => digits.filter(isTime))
  return times.every(({ length }) => length > 0) && times.flat().some(({ certain }) => certain)
}

/** The same for two languages that read the text in the same way, without reading it: most share letters and numbers. */
const mannerKey = ({ numbers, tokens }: Text, language: Lexicon, spelled: boolean): string => {
  const isOwn = numbers.possible.includes(language) || readsSpecially(tokens, language)
  return `${isOwn ? language.bit : 0} ${spelled ? lettersIn(tokens, language) : ""}`
}

/** All pairs of manners in which the texts may be read. They share the order in dates, and whether letters are spelled. */
function* mannersOf(one: Text, other: Text): Generator<readonly [Manner, Manner]> {
  const dates: ReadonlyArray<Manner["dates"]> = hasDate(one) || hasDate(other) ? ["none", ...dateOrders] : ["none"]
  const allUnits = unitManners(one.tokens, other.tokens)
  const seen = new Set<string>()
  for (const [language, second] of languagePairs(one, other)) {
    const isSpelled =
      mayBeSpelled(one.tokens, language, one.numbers) || mayBeSpelled(other.tokens, second, other.numbers)
    for (const spelled of isSpelled ? [false, true] : [false]) {
      const key = `${spelled} ${mannerKey(one, language, spelled)} ${mannerKey(other, second, spelled)}`
      if (seen.has(key)) continue
      seen.add(key)
      for (const literal of hasSounds(one, language) || hasSounds(other, second) ? [false, true] : [false]) {
        for (const order of dates) {
          for (const units of allUnits) {
            const manner = { spelled, dates: order, times: false, literal, units }
            yield [
              { language, ...manner },
              { language: second, ...manner }
            ]
          }
        }
      }
    }
  }
  for (const [language, second] of timeLanguagePairs(one, other)) {
    for (const order of dates) {
      const manner = { spelled: false, dates: order, times: true, literal: false, units: allUnits[0] }
      yield [
        { language, ...manner },
        { language: second, ...manner }
      ]
    }
  }
}

/** Tells readings apart. `expanded` follows from the word. */
const keyOf = ({ addresses, digits, groups, measures, parts, words }: Reading): string => {
  const said = words.map(
    ({ besideDigits, filler, inCode, numberIn, plain, spelled }) =>
      `${plain}${besideDigits ? "+" : ""}${filler ? "-" : ""}${inCode ? "=" : ""}${spelled ? "." : ""}${numberIn}`
  )
  const order = parts.map((part) => (typeof part === "string" ? part : "")).join(" ")
  const places = addresses.map(({ at, from, to }) => [from, at, to].join("-"))
  return `${places.join(" ")} ${measures.join(" ")} ${said.join(" ")} ${digits.map(digitsKey).join(" ")} ${groups.join(" ")} ${order}`
}

/**
 * How both texts are read where only one has an e-mail address: a written one may be said without "at" in the other, a
 * spoken one is none.
 */
const addressManners = (one: Reading, other: Reading): readonly [AddressManner, AddressManner] => {
  const [has, otherHas] = [one.addresses.length > 0, other.addresses.length > 0]
  if (has === otherHas) return ["found", "found"]
  const isWritten = [...one.addresses, ...other.addresses].some(({ from }) => from !== undefined)
  const again = isWritten ? "without at" : "none"
  return has === isWritten ? ["found", again] : [again, "found"]
}

/**
 * The score of the best pair of readings. Most manners give the same reading; each pair is compared once. Yields after
 * each pair of manners.
 */
function* bestScore(one: Text, other: Text): Generator<void, number> {
  const read = ({ numbers, tokens }: Text, manner: Manner, addresses?: AddressManner): Reading =>
    readingOf(tokens, numbers, manner, addresses)
  /** Read with numbers divided as the other text has them. */
  const readFor = (reading: Reading, text: Text, manner: Manner, addresses: AddressManner): Reading | undefined => {
    const sequences = reading.digits.filter((digits) => typeof digits === "string")
    const divided = dividedFor(sequences, text.numbers, text.tokens.length, manner.language)
    return divided && readingOf(text.tokens, divided, manner, addresses)
  }
  const seen = new Set<string>()
  let best = 0
  for (const [manner, second] of mannersOf(one, other)) {
    const [found, otherFound] = [read(one, manner), read(other, second)]
    const [addresses, otherAddresses] = addressManners(found, otherFound)
    const left = addresses === "found" ? found : read(one, manner, addresses)
    const right = otherAddresses === "found" ? otherFound : read(other, second, otherAddresses)
    const key = `${manner.dates}\n${keyOf(left)}\n${keyOf(right)}`
    if (seen.has(key) || (manner.times && !sayTimes(left, right))) {
      yield
      continue
    }
    seen.add(key)
    const order = manner.dates === "none" ? "day first" : manner.dates
    const score = scoreOf(left, right, order)
    best = Math.max(best, score)
    if (best === 1) break
    yield
    if (score > 0 || manner.times) continue
    const otherLeft = readFor(right, one, manner, addresses)
    if (otherLeft !== undefined) {
      best = Math.max(best, scoreOf(otherLeft, right, order))
      yield
    }
    const otherRight = readFor(left, other, second, otherAddresses)
    if (otherRight !== undefined) {
      best = Math.max(best, scoreOf(left, otherRight, order))
      yield
    }
    if (best === 1) break
  }
  return best
}

/**
 * Compares an expected answer with what was said, in steps that each read both texts once: it yields between them. A
 * score of 0 never matches, whatever the threshold. See docs/reference/matching.md.
 */
export function* matching(expected: string, actual: string, threshold: number): Generator<void, Match> {
  // In one order, so that the result does not depend on which of the texts is the expected one.
  const [first, second] = expected < actual ? [expected, actual] : [actual, expected]
  const [tokens, otherTokens] = [tokensOf(first), tokensOf(second)]
  const one = textOf(tokens, otherTokens)
  yield
  const other = textOf(otherTokens, tokens)
  yield
  const score = Math.round((yield* bestScore(one, other)) * 10_000) / 10_000
  return { match: score > 0 && score >= threshold, score }
}

/** All steps of {@link matching} at once. */
export const match = (expected: string, actual: string, threshold: number): Match =>
  atOnce(matching(expected, actual, threshold))
