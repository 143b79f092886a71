/**
 * The words of one language that matter for comparing answers. Lists are separated by spaces, words for the same thing
 * by `/`. Words are written as people write them; they are looked up without case and diacritics.
 */
export interface Vocabulary {
  /** 0 to 19, in order. */
  readonly units: string
  /** 20, 30, … 90. */
  readonly tens: string
  /** How 21 to 99 are formed: "twenty three", "trente (et) un", "treinta y uno", "einundzwanzig", or both of the last. */
  readonly compounds: "tens units" | "tens (and) units" | "tens and units" | "units and tens" | "either"
  /** 21 to 99 are written as one word: tens and units in two words may be two numbers. */
  readonly compoundsAreOneWord?: boolean
  /** Further numbers below 100 that are one word, such as `veintiuno`. */
  readonly others?: Readonly<Record<number, string>>
  readonly hundred: string
  /** 200, 300, … 900, where they are words of their own. */
  readonly hundreds?: string
  readonly thousand: string
  readonly million: string
  /** `and` within numbers. */
  readonly and: string
  /** 60 and 80 are followed by 1 to 19, and 80 is 4 and 20. */
  readonly countsByTwenties?: boolean
  /** Finnish: the words that multiply by ten, and that add ten. */
  readonly timesTen?: string
  readonly plusTen?: string
  /** The article that means 1 before hundred and thousand only. */
  readonly article?: string
  /** 1st to 19th, in order, without their endings. */
  readonly ordinals: string
  /** 20th, 30th, … as far as the language has them, without their endings. */
  readonly ordinalTens: string
  /** The endings of ordinals. Without any, the lists have whole words. */
  readonly ordinalEndings?: string
  /** Number words that are also ordinary words or names here or in another language. */
  readonly ambiguous: string
  /** "double", "triple" before a digit or a letter. */
  readonly double: string
  readonly triple: string
  /** January to December. */
  readonly months: string
  /** What names of days of the week may end in besides: "perjantaina" is on Friday. */
  readonly weekdayEnding?: string
  /** Words between the parts of a date. */
  readonly inDates: string
  /** How the signs of an e-mail address are spoken: `@`, `.`, and others. */
  readonly at: string
  readonly dot: string
  readonly signs: string
  /** Words for spelling, each for its first letter, besides the international ones. */
  readonly spellingWords: string
  /** Names of letters. */
  readonly letterNames: Readonly<Record<string, string>>
  /** What stands between a letter and a word that begins with it: "as in". Phrases separated by commas. */
  readonly spelledAs: string
  /** Words around an answer that are no part of it: "my name is". */
  readonly fillers: string
  /** Words before a number, a date or an address that are no part of it. In other answers they count: some are names. */
  readonly leadIns: string
  /** Requests for patience of two words, of which one is also a number word: "one second". Separated by commas. */
  readonly patience: string
  /**
   * What kind of number or address it is, and how it is written: no part of the answer beside another word that is none, as
   * in "my booking number is" and "all lower case".
   */
  readonly kinds: string
  readonly times: TimeVocabulary
  /** Words of currencies and units that are said after a number, without those that are also names or other numbers. */
  readonly measures: Readonly<Partial<Record<Unit, string>>>
}

/** Currencies, hundredths of them, and other units. The currencies of Denmark, Norway and Sweden have one name. */
export const unitNames = [
  "euro",
  "dollar",
  "pound",
  "franc",
  "zloty",
  "krone",
  "cent",
  "penny",
  "grosz",
  "ore",
  "percent",
  "kilometer",
  "meter",
  "centimeter",
  "millimeter",
  "mile",
  "kilogram",
  "gram",
  "liter"
] as const
export type Unit = (typeof unitNames)[number]

/** The words of times of day. */
export interface TimeVocabulary {
  /** Beside an hour: "o'clock", "klockan". */
  readonly hour: string
  /** Half an hour past this hour, or before the next one: "half past three", "halb vier". */
  readonly half: string
  readonly halfOf: "past" | "next"
  readonly quarter: string
  /** One word for three quarters of the hour before the next: "dreiviertel vier". */
  readonly threeQuarters?: string
  /** A quarter is also said of the hour before the next one: "viertel vier" is 3:15. */
  readonly quarterOfNext?: boolean
  /** Between minutes and hour: "ten past three", "ten to three". */
  readonly past?: string
  readonly to?: string
  /** Before minutes and hour: "za dziesięć trzecia". */
  readonly before?: string
  /** Between hour and minutes: "tres y diez", "tres menos diez". */
  readonly and?: string
  readonly less?: string
  /** Numbers of minutes that have a form of their own. */
  readonly minutes?: Readonly<Record<number, string>>
  readonly minute: string
  readonly noon?: string
  readonly midnight: string
  /** Parts of the day: before noon, after it. */
  readonly morning: string
  readonly later: string
  /** Words around a time that say nothing about it. */
  readonly around?: string
}

/** The words of a list, each with its synonyms. */
export const listOf = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text.split(" ").flatMap((entry) => (entry === "" ? [] : [entry.split("/")]))

/** All words of a list. */
export const wordsOf = (text: string): ReadonlyArray<string> => listOf(text).flat()
