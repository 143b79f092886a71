import type { Word, WordPart, WrittenAddress } from "./Tokens.ts"
import type { Unit } from "./Vocabulary.ts"

/** A date in digits, in the order of the text. */
export interface NumericDate {
  readonly _tag: "NumericDate"
  readonly parts: readonly [string, string, string]
}

/** A date. Its year has four digits or two; a day, or a year, may be missing. */
export interface SpokenDate {
  readonly _tag: "SpokenDate"
  readonly day: number | undefined
  readonly month: number
  readonly year: string | undefined
}

/** A time of day. Where neither the hour nor a word tells the half of the day, it is either. */
export interface SpokenTime {
  readonly _tag: "SpokenTime"
  /** 0 to 11. */
  readonly hour: number
  readonly minute: number
  readonly half: "am" | "pm" | undefined
  /** The hour of the day, 0 to 23, of hour and minutes in digits without a word that tells the half of the day. */
  readonly written: number | undefined
  /** Whether it can only be a time; otherwise it is two numbers that may be hour and minutes. */
  readonly certain: boolean
}

/** A part of a text that is read: a word, digits, a date, a time, or the sign `@`. */
export type Piece =
  | {
      readonly _tag: "Word"
      readonly word: Word
      /** It was spelled letter by letter. */
      readonly letters: boolean
      /** The languages in which it is a number word, as bits. */
      readonly numberIn: number
      readonly part?: WordPart
      /** It is "oh" or "o" in a language in which that may be 0. */
      readonly oh?: boolean
      /** A dot joins it to the word before: "com" in "example.com". */
      readonly dotted?: boolean
      /** It is the name of a sign in a text with an e-mail address, or may be: "dash". */
      readonly sign?: boolean
      /** It is "and" beside a number with a unit: "five dollars and ten percent". */
      readonly joinsAmounts?: boolean
    }
  | {
      readonly _tag: "Digits"
      readonly digits: string
      readonly ordinal: boolean
      /** The word, or the first one, of a number in words. */
      readonly word?: string
      /** They are followed by a colon and two digits, as the hour in "15:30" is. */
      readonly clock?: boolean
      readonly part?: WordPart
      /** They are decimals, or a group of thousands, of the digits before. */
      readonly place?: "decimals" | "thousands"
    }
  | { readonly _tag: "UnitSign"; readonly unit: Unit; readonly leads?: boolean }
  | {
      /** The number beside it with its unit. */
      readonly _tag: "Measure"
      readonly key: string
    }
  | {
      readonly _tag: "At"
      readonly address?: WrittenAddress
    }
  | NumericDate
  | SpokenDate
  | SpokenTime
