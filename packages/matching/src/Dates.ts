import { inDates, months, monthsAfterDay, weekdays } from "./Lexicon.ts"
import type { NumericDate, Piece, SpokenDate, SpokenTime } from "./Piece.ts"
import { isTime, sameTime } from "./Times.ts"

/** The order of day and month where the text does not tell it. */
export type DayMonthOrder = "day first" | "month first"

const date = (day: number | undefined, month: number, year: string | undefined): SpokenDate => ({
  _tag: "SpokenDate",
  day,
  month,
  year
})

const isDay = (day: number): boolean => day >= 1 && day <= 31
const isMonth = (month: number): boolean => month >= 1 && month <= 12
const isYear = (year: string): boolean => /^[12]\d{3}$/.test(year)

/** A date in digits, or undefined when they are none: 34 is no day. 13 or more is a day in any order. */
const numericDate = ({ parts }: NumericDate, order: DayMonthOrder): SpokenDate | undefined => {
  const [first, second, third] = parts
  const [a, b] = first.length === 4 ? [Number(second), Number(third)] : [Number(first), Number(second)]
  const year = first.length === 4 ? first : third
  if (year.length === 4 && !isYear(year)) return undefined
  const monthFirst = first.length === 4 || b > 12 || (order === "month first" && a <= 12)
  const [month, day] = monthFirst ? [a, b] : [b, a]
  return isMonth(month) && isDay(day) ? date(day, month, year) : undefined
}

const digitsAt = (pieces: ReadonlyArray<Piece>, at: number): string | undefined => {
  const piece = pieces[at]
  return piece?._tag === "Digits" ? piece.digits : undefined
}

const isDateWord = (piece: Piece | undefined): boolean => piece?._tag === "Word" && inDates.has(piece.word.plain)

const isInside = (piece: Piece | undefined): boolean =>
  isDateWord(piece) || (piece?._tag === "Word" && piece.word.plain.length === 1)

/** The index of the next piece in this direction that is no word between the parts of a date. */
const beyond = (pieces: ReadonlyArray<Piece>, at: number, step: 1 | -1): number => {
  let index = at + step
  for (let skipped = 0; skipped < 2 && isInside(pieces[index]); skipped++) index += step
  return index
}

/** A year that begins here: "1984", "19 84", "20 0 5", or "84". */
const yearAt = (
  pieces: ReadonlyArray<Piece>,
  at: number
): { readonly year: string; readonly next: number } | undefined => {
  let year = ""
  for (let index = at; year.length < 4; index++) {
    const digits = digitsAt(pieces, index)
    if (digits === undefined) break
    year += digits
    if (isYear(year)) return { year, next: index + 1 }
  }
  const digits = digitsAt(pieces, at)
  return digits?.length === 2 ? { year: digits, next: at + 1 } : undefined
}

const dayOf = (digits: string | undefined): number | undefined =>
  digits !== undefined && digits.length <= 2 && isDay(Number(digits)) ? Number(digits) : undefined

const isOnWeekday = ({ day, month, year }: SpokenDate, weekday: number): boolean =>
  day !== undefined &&
  year?.length === 4 &&
  (new Date(Date.UTC(Number(year), month - 1, day)).getUTCDay() + 6) % 7 === weekday

/** A day of the week whose name is no number. */
const isWeekdayName = (piece: Piece | undefined): boolean =>
  piece?._tag === "Word" && piece.numberIn === 0 && weekdays.has(piece.word.plain)

/**
 * Whether a day of the week is said beside this date. One that is also a number, as "segunda" is, counts with the
 * other word of its name ("segunda-feira"), or where it is the right day: otherwise it is a number, and must be the same.
 */
const isWeekday = (pieces: ReadonlyArray<Piece>, at: number, beside: SpokenDate): boolean => {
  const piece = pieces[at]
  const said = piece?._tag === "Word" ? piece.word.plain : piece?._tag === "Digits" ? (piece.word ?? "") : ""
  const weekday = weekdays.get(said)
  if (weekday === undefined) return false
  const next = pieces[at + 1]
  const isWhole = next?._tag === "Word" && weekdays.has(said + next.word.plain)
  return isWeekdayName(piece) || isWhole || isOnWeekday(beside, weekday)
}

/** The date, and where it begins and ends with the words that are a part of it: "am dritten Mai", "roku", "Friday". */
const withWordsAround = (pieces: ReadonlyArray<Piece>, date: SpokenDate, first: number, last: number, from: number) => {
  const isPart = (at: number) => isDateWord(pieces[at]) || isWeekday(pieces, at, date)
  let [start, end] = [first, last]
  while (start > from && isPart(start - 1)) start--
  while (isPart(end)) end++
  return { date, start, end }
}

/** The date around a month's name: where it begins and ends. */
const spokenDate = (pieces: ReadonlyArray<Piece>, at: number, from: number) => {
  const piece = pieces[at]
  const month = piece?._tag === "Word" ? months.get(piece.word.plain) : undefined
  if (month === undefined) return undefined
  let start = at
  let end = at + 1
  let day: number | undefined
  let year: string | undefined
  const left = beyond(pieces, at, -1)
  const leftDigits = left >= from ? digitsAt(pieces, left) : undefined
  if (dayOf(leftDigits) !== undefined) {
    day = dayOf(leftDigits)
    start = left
  } else if (piece?._tag === "Word" && monthsAfterDay.has(piece.word.plain)) {
    return undefined
  } else if (leftDigits !== undefined && isYear(leftDigits)) {
    year = leftDigits
    start = left
  }
  let right = beyond(pieces, at, 1)
  if (day === undefined && dayOf(digitsAt(pieces, right)) !== undefined) {
    day = dayOf(digitsAt(pieces, right))
    end = right + 1
    right = beyond(pieces, right, 1)
  }
  const found = year === undefined ? yearAt(pieces, right) : undefined
  if (found !== undefined) {
    year = found.year
    end = found.next
  }
  if (day === undefined && year === undefined) return undefined
  return withWordsAround(pieces, date(day, month, year), start, end, from)
}

/** The date in digits: where it begins and ends. */
const writtenDate = (pieces: ReadonlyArray<Piece>, at: number, from: number, order: DayMonthOrder) => {
  const piece = pieces[at]
  const found = piece?._tag === "NumericDate" ? numericDate(piece, order) : undefined
  return found && withWordsAround(pieces, found, at, at + 1, from)
}

/** The pieces of a text with its dates recognized. */
export const datesIn = (pieces: ReadonlyArray<Piece>, order: DayMonthOrder): ReadonlyArray<Piece> => {
  const result: Array<Piece> = []
  /** How many pieces of the text are in the result. */
  let taken = 0
  pieces.forEach((piece, at) => {
    if (at < taken) return
    const found = piece._tag === "NumericDate" ? writtenDate(pieces, at, taken, order) : spokenDate(pieces, at, taken)
    if (found === undefined) return
    result.push(...pieces.slice(taken, found.start), found.date)
    taken = found.end
  })
  return [...result, ...pieces.slice(taken)]
}

/** The ways to write a date in digits, in this order of day and month or with the year first. */
const writings = ({ day, month, year }: SpokenDate, order: DayMonthOrder): ReadonlyArray<string> => {
  if (day === undefined || year === undefined) return []
  const forms = (value: number) => [...new Set([String(value), String(value).padStart(2, "0")])]
  const years = [year, year.slice(-2)]
  return forms(day).flatMap((d) =>
    forms(month).flatMap((m) =>
      years.flatMap((y) => [order === "day first" ? d + m + y : m + d + y, ...(y.length === 4 ? [y + m + d] : [])])
    )
  )
}

const sameYear = (one: string | undefined, other: string | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : one.length === other.length
      ? one === other
      : one.slice(-2) === other.slice(-2)

/** Whether two digit sequences, dates or times are the same. */
export const sameDigits = (
  one: string | SpokenDate | SpokenTime,
  other: string | SpokenDate | SpokenTime,
  order: DayMonthOrder
): boolean => {
  if (isTime(one)) return isTime(other) && sameTime(one, other)
  if (isTime(other)) return false
  if (typeof one === "string") return typeof other === "string" ? one === other : writings(other, order).includes(one)
  if (typeof other === "string") return writings(one, order).includes(other)
  return one.day === other.day && one.month === other.month && sameYear(one.year, other.year)
}
