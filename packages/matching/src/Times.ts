import type { Lexicon, TimeWords } from "./Lexicon.ts"
import type { Piece, SpokenDate, SpokenTime } from "./Piece.ts"
import type { Token } from "./Tokens.ts"

/** A time, and the index of the piece after it. */
interface TimeRead {
  readonly time: SpokenTime
  readonly next: number
}

/** A number of minutes or an hour, and the index of the piece after it. */
interface Amount {
  readonly value: number
  readonly next: number
}

/** The hour of a time as it was said or written. */
interface Hour extends Amount {
  /** Whether it is in digits, not in words. */
  readonly inDigits: boolean
  /** Whether it can only be an hour: "15:", "three o'clock", "noon". */
  readonly isCertain: boolean
  /** Whether it tells the half of the day: 13 to 24, 0, or 03. */
  readonly isTold: boolean
}

/** What is said at a piece, also where it is a number: "cuarto" is a quarter, and the fourth. */
const saidAt = (pieces: ReadonlyArray<Piece>, at: number): string => {
  const piece = pieces[at]
  if (piece?._tag === "Word") return piece.letters ? "" : piece.word.plain
  return piece?._tag === "Digits" ? (piece.word ?? "") : ""
}

/** How many pieces the word of a list takes that begins here: two for "meio dia". 0 when there is none. */
const wordAt = (pieces: ReadonlyArray<Piece>, at: number, words: ReadonlySet<string>): number => {
  const said = saidAt(pieces, at)
  if (said === "") return 0
  const next = saidAt(pieces, at + 1)
  if (next !== "" && words.has(said + next)) return 2
  return words.has(said) ? 1 : 0
}

const numberAt = (pieces: ReadonlyArray<Piece>, at: number, most: number): number | undefined => {
  const piece = pieces[at]
  if (piece?._tag !== "Digits" || piece.digits.length > 2) return undefined
  const value = Number(piece.digits)
  return value <= most ? value : undefined
}

/** Reads times of day in the words of one language. */
class TimeReader {
  private readonly pieces: ReadonlyArray<Piece>
  private readonly words: TimeWords
  constructor(pieces: ReadonlyArray<Piece>, words: TimeWords) {
    this.pieces = pieces
    this.words = words
  }

  private word(at: number, words: ReadonlySet<string>): number {
    return wordAt(this.pieces, at, words)
  }

  private skip(at: number, words: ReadonlySet<string>, most = 3): number {
    let next = at
    for (let skipped = 0; skipped < most; skipped++) next += this.word(next, words)
    return next
  }

  /** Minutes: "quarter", "ten minutes", "un quarto", "tre quarti". */
  private minutes(at: number): Amount | undefined {
    const { minute, minutes, quarter } = this.words
    const start = this.skip(at, this.words.around, 1)
    const count = numberAt(this.pieces, start, 59)
    const quarters = this.word(start, quarter)
    if (quarters > 0) return { value: 15, next: start + quarters }
    const counted = count === 1 || count === 3 ? this.word(start + 1, quarter) : 0
    if (count !== undefined && counted > 0) return { value: count * 15, next: start + 1 + counted }
    const value = count ?? minutes.get(saidAt(this.pieces, start))
    return value === undefined || value === 0 ? undefined : { value, next: this.skip(start + 1, minute, 1) }
  }

  /** An hour by its number, or noon or midnight. */
  private hour(at: number): Hour | undefined {
    const { around, hour, midnight, noon } = this.words
    const named = this.skip(at, around, 2)
    const [noons, midnights] = [this.word(named, noon), this.word(named, midnight)]
    if (noons + midnights > 0) {
      const value = noons > 0 ? 12 : 24
      return { value, next: named + (noons || midnights), inDigits: false, isCertain: true, isTold: true }
    }
    const start = this.skip(named, hour, 1)
    const value = numberAt(this.pieces, start, 24)
    const piece = this.pieces[start]
    if (value === undefined || piece?._tag !== "Digits") return undefined
    const next = this.skip(start + 1, hour, 1)
    return {
      value,
      next,
      inDigits: piece.word === undefined,
      isCertain: piece.clock === true || start > named || next > start + 1,
      isTold: value > 12 || piece.digits.startsWith("0")
    }
  }

  /** The hour to which minutes are added: that of "halb vier" is 3, and it brings 30. */
  private base(at: number): { readonly hour: Hour; readonly minute: number } | undefined {
    const { half, halfOf, past, to } = this.words
    const halves = this.word(at, half)
    const start = halves === 0 ? at : this.skip(at + halves, halfOf === "past" ? past : to, 1)
    const hour = this.hour(start)
    if (hour === undefined) return undefined
    if (halves === 0) return { hour, minute: 0 }
    return { hour, minute: halfOf === "past" ? 30 : -30 }
  }

  /** A time that begins with its minutes, or with "half": "ten past three", "za kwadrans czwarta", "halb vier". */
  private minutesFirst(at: number): TimeRead | undefined {
    const { before, half, past, quarterOfNext, threeQuarters, to } = this.words
    if (this.word(at, half) > 0) {
      const base = this.base(at)
      return base && this.time(base.hour, base.minute)
    }
    const three = this.word(at, threeQuarters)
    if (three > 0) return this.ofNext(at + three, 45)
    const first = this.word(at, before)
    const minutes = this.minutes(at + first)
    if (minutes === undefined) return undefined
    if (first > 0) {
      const hour = this.hour(minutes.next)
      return hour && this.time(hour, -minutes.value)
    }
    const after = this.word(minutes.next, past)
    const until = after > 0 ? 0 : this.word(minutes.next, to)
    if (after + until === 0) {
      const isQuarter = minutes.value % 15 === 0 && this.word(minutes.next - 1, this.words.quarter) > 0
      return quarterOfNext && isQuarter ? this.ofNext(minutes.next, minutes.value) : undefined
    }
    const base = this.base(minutes.next + after + until)
    return base && this.time(base.hour, base.minute + (after > 0 ? minutes.value : -minutes.value))
  }

  /** "viertel vier": a part of the hour before the next one. */
  private ofNext(at: number, minute: number): TimeRead | undefined {
    const hour = this.hour(at)
    return hour && this.time(hour, minute - 60)
  }

  /** A time that begins with its hour: "15:30", "drei Uhr dreißig", "tres y media", "quatre heures moins dix", "3 pm". */
  private hourFirst(at: number): TimeRead | undefined {
    const { and, half, less } = this.words
    const hour = this.hour(at)
    if (hour === undefined) return undefined
    const minus = this.word(hour.next, less)
    const subtracted = minus > 0 ? this.minutes(hour.next + minus) : undefined
    if (subtracted !== undefined) return this.time({ ...hour, next: subtracted.next }, -subtracted.value)
    const plus = this.word(hour.next, and)
    const halves = this.word(hour.next + plus, half)
    if (halves > 0 && plus > 0) return this.time({ ...hour, next: hour.next + plus + halves }, 30)
    const added = plus > 0 ? this.minutes(hour.next + plus) : undefined
    if (added !== undefined) return this.time({ ...hour, next: added.next }, added.value)
    const minute = this.minutesInDigits(hour.next)
    const next = minute?.next ?? hour.next
    const read = this.time({ ...hour, next }, minute?.value ?? 0, hour.isCertain)
    if (minute === undefined && !read.time.certain) return undefined
    const isWritten = hour.inDigits && minute !== undefined && read.next === next
    return isWritten ? { ...read, time: { ...read.time, written: hour.value % 24 } } : read
  }

  private digitsAt(at: number): string {
    const piece = this.pieces[at]
    return piece?._tag === "Digits" ? piece.digits : ""
  }

  /** Minutes of two digits after the hour: "thirty", "oh five", "05". */
  private minutesInDigits(at: number): Amount | undefined {
    const first = this.digitsAt(at)
    const isZero = first === "0" || /^oh?$/.test(saidAt(this.pieces, at))
    const second = this.digitsAt(at + 1)
    if (isZero && second.length === 1) return { value: Number(second), next: this.skip(at + 2, this.words.minute, 1) }
    const value = first.length === 2 ? numberAt(this.pieces, at, 59) : undefined
    return value === undefined ? undefined : { value, next: this.skip(at + 1, this.words.minute, 1) }
  }

  /** The time that is so many minutes from an hour, with the part of the day after it. */
  private time(hour: Hour, minutes: number, certain = true): TimeRead {
    const part = this.partOfDay(hour.next)
    const total = (hour.value * 60 + minutes + 24 * 60) % (24 * 60)
    const told = total < 12 * 60 ? "am" : "pm"
    const time: SpokenTime = {
      _tag: "SpokenTime",
      hour: Math.floor(total / 60) % 12,
      minute: total % 60,
      half: part?.half ?? (hour.isTold ? told : undefined),
      written: undefined,
      certain: certain || part !== undefined
    }
    return { time, next: part?.next ?? hour.next }
  }

  /** "am", "p. m.", "in the afternoon". */
  private partOfDay(at: number): { readonly half: "am" | "pm"; readonly next: number } | undefined {
    for (const half of ["am", "pm"] as const) {
      if (saidAt(this.pieces, at) === half) return { half, next: at + 1 }
      const letters = saidAt(this.pieces, at) === half.charAt(0) && saidAt(this.pieces, at + 1) === "m"
      if (letters) return { half, next: at + 2 }
    }
    const start = this.skip(at, this.words.around)
    const morning = this.word(start, this.words.morning)
    const later = this.word(start, this.words.later)
    if (morning + later === 0) return undefined
    return morning >= later ? { half: "am", next: start + morning } : { half: "pm", next: start + later }
  }

  /** The time that begins here. */
  read(at: number): TimeRead | undefined {
    const start = this.skip(at, this.words.around, 2)
    // "klockan halv fyra"
    const found = this.minutesFirst(this.skip(start, this.words.hour, 1)) ?? this.hourFirst(start)
    return found && { ...found, next: this.skip(found.next, this.words.around, 2) }
  }
}

/** The pieces of a text with its times of day recognized. */
export const timesIn = (pieces: ReadonlyArray<Piece>, { times }: Lexicon): ReadonlyArray<Piece> => {
  const reader = new TimeReader(pieces, times)
  const result: Array<Piece> = []
  for (let at = 0; at < pieces.length; ) {
    const found = reader.read(at)
    const piece = pieces[at]
    if (found !== undefined) result.push(found.time)
    else if (piece !== undefined) result.push(piece)
    at = found?.next ?? at + 1
  }
  return result
}

/** Texts of more parts are not searched for times. */
const mostTokens = 64

/** Whether the text may have a time in this language, for what it says beside numbers. */
export const mayHaveTime = (tokens: ReadonlyArray<Token>, { times }: Lexicon): boolean =>
  tokens.length <= mostTokens &&
  tokens.some((token, at) => {
    if (token._tag === "Digits") return token.clock === true
    if (token._tag !== "Word") return false
    const { plain } = token.word
    const next = tokens[at + 1]
    const pair = next?._tag === "Word" ? plain + next.word.plain : ""
    return times.all.has(plain) || times.all.has(pair) || /^[ap]m$/.test(plain) || pair === "am" || pair === "pm"
  })

export const isTime = (value: string | SpokenDate | SpokenTime): value is SpokenTime =>
  typeof value !== "string" && value._tag === "SpokenTime"

/** Whether two times of day are the same. Two in digits are, when their digits are. */
export const sameTime = (one: SpokenTime, other: SpokenTime): boolean =>
  one.hour === other.hour &&
  one.minute === other.minute &&
  (one.half === undefined || other.half === undefined || one.half === other.half) &&
  (one.written === undefined || other.written === undefined || one.written === other.written)
