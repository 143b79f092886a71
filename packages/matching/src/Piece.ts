import type { Word } from "./Tokens.ts"

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

/** A part of a text that is read: a word, digits, or a date. */
export type Piece =
  | {
      readonly _tag: "Word"
      readonly word: Word
      /** It was spelled letter by letter. */
      readonly letters: boolean
      /** The languages in which it is a number word, as bits. */
      readonly numberIn: number
    }
  | { readonly _tag: "Digits"; readonly digits: string; readonly ordinal: boolean }
  | NumericDate
  | SpokenDate
