import { keysOf } from "./Tokens.ts"
import { listOf, type Vocabulary, wordsOf } from "./Vocabulary.ts"

/**
 * The role of a number word: `times ten` and `plus ten` follow a unit, `article` comes before hundred, thousand and
 * million. `count` is a number in digits before thousand or million.
 */
type Kind =
  | "zero"
  | "unit"
  | "teen"
  | "tens"
  | "hundred"
  | "hundreds"
  | "thousand"
  | "million"
  | "count"
  | "and"
  | "times ten"
  | "plus ten"
  | "article"

/** A number word, or a part of one: "drieëntwintig" has three. */
export interface NumberPart {
  readonly kind: Kind
  readonly value: number
  readonly ordinal: boolean
}

/** A number that was read: its digits, and the index of the part after it. */
interface NumberRead {
  readonly value: number
  readonly ordinal: boolean
  readonly next: number
}

/** The number words of a language. */
export interface Numbers {
  /** The parts of a word that is a number or a part of one. */
  readonly partsOf: (word: string) => ReadonlyArray<NumberPart> | undefined
  /** Whether the word is a number, or begins with one. */
  readonly isNumber: (word: string) => boolean
  /** The number of an ordinal that is one word. */
  readonly ordinalOf: (word: string) => number | undefined
  /** The longest number that begins at this part. */
  readonly read: (parts: ReadonlyArray<NumberPart | undefined>, at: number) => NumberRead | undefined
  /**
   * Whether another number may begin at this part, within the number that {@link read} finds: after hundred and thousand
   * ("eight hundred, one two"), and where French counts on from 60, 80 and 10 ("soixante | onze", "dix | sept",
   * "vingt | quatre-vingts"), and after tens where 21 to 99 are written as one word ("sjuttio | ett").
   */
  readonly mayDivide: (parts: ReadonlyArray<NumberPart | undefined>, at: number) => boolean
}

/** Words after which a number may be complete. */
const large: ReadonlySet<Kind> = new Set(["hundred", "hundreds", "thousand", "million"])

/** Longest words that are taken apart, and into how many parts: enough for 9999 in every language. */
const longestWord = 64
const mostParts = 12

const kindOf = (value: number): Kind => {
  if (value === 0) return "zero"
  if (value < 10) return "unit"
  if (value < 20) return "teen"
  if (value < 100) return value % 10 === 0 ? "tens" : "teen"
  if (value === 100) return "hundred"
  if (value < 1000) return "hundreds"
  return value === 1000 ? "thousand" : "million"
}

/** All number words of a language by their keys. */
const lexiconOf = (words: Vocabulary): ReadonlyMap<string, NumberPart> => {
  const lexicon = new Map<string, NumberPart>()
  const add = (word: string, kind: Kind, value: number, ordinal = false) => {
    for (const key of keysOf(word)) if (!lexicon.has(key)) lexicon.set(key, { kind, value, ordinal })
  }
  const addList = (text: string, valueAt: (index: number) => number) =>
    listOf(text).forEach((synonyms, index) => {
      for (const word of synonyms) add(word, kindOf(valueAt(index)), valueAt(index))
    })
  const addOrdinals = (text: string, valueAt: (index: number) => number) =>
    listOf(text).forEach((synonyms, index) => {
      for (const stem of synonyms) {
        for (const ending of words.ordinalEndings?.split(" ") ?? [""]) {
          add(stem + ending, kindOf(valueAt(index)), valueAt(index), true)
        }
      }
    })
  addList(words.units, (index) => index)
  addList(words.tens, (index) => (index + 2) * 10)
  for (const [value, synonyms] of Object.entries(words.others ?? {})) addList(synonyms, () => Number(value))
  addList(words.hundred, () => 100)
  addList(words.hundreds ?? "", (index) => (index + 2) * 100)
  addList(words.thousand, () => 1000)
  addList(words.million, () => 1_000_000)
  if (words.timesTen !== undefined) add(words.timesTen, "times ten", 10)
  if (words.plusTen !== undefined) add(words.plusTen, "plus ten", 10)
  for (const word of wordsOf(words.and)) add(word, "and", 0)
  if (words.article !== undefined) add(words.article, "article", 1)
  addOrdinals(words.ordinals, (index) => index + 1)
  addOrdinals(words.ordinalTens, (index) => (index + 2) * 10)
  return lexicon
}

/** The grammar of numbers below a thousand million. */
const grammarOf = (words: Vocabulary): Numbers["read"] => {
  const tensFirst = words.compounds !== "units and tens"
  const unitsFirst = words.compounds === "units and tens" || words.compounds === "either"
  const twenties = words.countsByTwenties === true
  type Parts = ReadonlyArray<NumberPart | undefined>

  /** What follows tens: the unit or, after 60 and 80, up to 19. */
  const afterTens = (parts: Parts, at: number, tens: number, ordinal: boolean): NumberRead => {
    const alone = { value: tens, ordinal, next: at }
    const next = parts[at]
    if (ordinal && next?.kind === "unit" && next.ordinal) return { value: tens + next.value, ordinal, next: at + 1 }
    if (!tensFirst) return alone
    const hasAnd = parts[at]?.kind === "and"
    if (hasAnd ? !words.compounds.includes("and") : words.compounds === "tens and units") return alone
    const start = hasAnd ? at + 1 : at
    const part = parts[start]
    if (part?.kind === "unit") return { value: tens + part.value, ordinal: part.ordinal, next: start + 1 }
    if (part?.kind !== "teen" || part.value > 19 || !twenties || (tens !== 60 && tens !== 80)) return alone
    const teen = teenAt(parts, start, part)
    return { ...teen, value: tens + teen.value }
  }

  /** 10 to 19; French counts on from 10 ("dix sept"), Spanish from the tenth ("décimo tercero"). */
  const teenAt = (parts: Parts, at: number, part: NumberPart): NumberRead => {
    const unit = part.value === 10 ? parts[at + 1] : undefined
    const countsOn = unit?.kind === "unit" && (part.ordinal ? unit.ordinal : twenties && unit.value >= 7)
    return countsOn
      ? { value: 10 + unit.value, ordinal: unit.ordinal, next: at + 2 }
      : { value: part.value, ordinal: part.ordinal, next: at + 1 }
  }

  const afterUnit = (parts: Parts, at: number, unit: NumberPart): NumberRead => {
    const alone = { value: unit.value, ordinal: unit.ordinal, next: at }
    const part = parts[at]
    if (part?.kind === "plus ten") return { value: 10 + unit.value, ordinal: false, next: at + 1 }
    if (part?.kind === "times ten") return afterTens(parts, at + 1, unit.value * 10, false)
    if (twenties && unit.value === 4 && part?.kind === "tens" && part.value === 20) {
      return afterTens(parts, at + 1, 80, part.ordinal)
    }
    const tens = unitsFirst && part?.kind === "and" ? parts[at + 1] : undefined
    return tens?.kind === "tens" ? { value: tens.value + unit.value, ordinal: tens.ordinal, next: at + 2 } : alone
  }

  const belowHundred = (parts: Parts, at: number): NumberRead | undefined => {
    const part = parts[at]
    switch (part?.kind) {
      case "count":
        return { value: part.value, ordinal: false, next: at + 1 }
      case "zero":
        return { value: 0, ordinal: false, next: at + 1 }
      case "unit":
        return afterUnit(parts, at + 1, part)
      case "teen":
        return teenAt(parts, at, part)
      case "tens":
        return afterTens(parts, at + 1, part.value, part.ordinal)
      default:
        return undefined
    }
  }

  /** `base` and what follows it below `limit`, with or without "and". */
  const plus = (parts: Parts, at: number, base: number, read: (parts: Parts, at: number) => NumberRead | undefined) => {
    const rest = read(parts, parts[at]?.kind === "and" ? at + 1 : at)
    return rest === undefined || rest.value === 0
      ? { value: base, ordinal: false, next: at }
      : { ...rest, value: base + rest.value }
  }

  const belowThousand = (parts: Parts, at: number): NumberRead | undefined => {
    const part = parts[at]
    if (part?.kind === "hundred") return plus(parts, at + 1, 100, belowHundred)
    if (part?.kind === "hundreds") return plus(parts, at + 1, part.value, belowHundred)
    const count = belowHundred(parts, at)
    if (count === undefined || count.value === 0 || count.ordinal || parts[count.next]?.kind !== "hundred") return count
    return plus(parts, count.next + 1, count.value * 100, belowHundred)
  }

  const belowMillion = (parts: Parts, at: number): NumberRead | undefined => {
    if (parts[at]?.kind === "thousand") return plus(parts, at + 1, 1000, belowThousand)
    const count = belowThousand(parts, at)
    if (count === undefined || count.value === 0 || count.ordinal) return count
    return parts[count.next]?.kind === "thousand"
      ? plus(parts, count.next + 1, count.value * 1000, belowThousand)
      : count
  }

  return (parts, at) => {
    const article = parts[at]?.kind === "article"
    const start = article ? at + 1 : at
    const kind = parts[start]?.kind
    if (article && kind !== "hundred" && kind !== "thousand" && kind !== "million") return undefined
    if (kind === "million") return plus(parts, start + 1, 1_000_000, belowMillion)
    const count = belowMillion(parts, start)
    if (count === undefined || count.value === 0 || count.value >= 1000 || count.ordinal) return count
    return parts[count.next]?.kind === "million"
      ? plus(parts, count.next + 1, count.value * 1_000_000, belowMillion)
      : count
  }
}

/** Whether a row of parts may be written as one word: one number, or a year in two numbers ("nittenåttifire"). */
const isOneWord = (parts: ReadonlyArray<NumberPart>, read: Numbers["read"]): boolean => {
  const first = read(parts, 0)
  if (first === undefined || first.next === parts.length) return first !== undefined
  const second = read(parts, first.next)
  return (
    first.value >= 10 && first.value < 30 && second?.next === parts.length && second.value >= 10 && second.value < 100
  )
}

/** The number words and the number grammar of a language. */
export const numbersOf = (words: Vocabulary): Numbers => {
  const lexicon = lexiconOf(words)
  const read = grammarOf(words)
  const longest = Math.max(...[...lexicon.keys()].map((key) => key.length))
  const starts = new Set([...lexicon.keys()].map((key) => key.slice(0, 2)))

  const split = (word: string): ReadonlyArray<NumberPart> | undefined => {
    const hopeless = new Set<number>()
    const from = (at: number, depth: number): ReadonlyArray<NumberPart> | undefined => {
      if (at === word.length) return []
      if (depth === mostParts || hopeless.has(at) || !starts.has(word.slice(at, at + 2))) return undefined
      for (let end = Math.min(word.length, at + longest); end > at + 1; end--) {
        const part = lexicon.get(word.slice(at, end))
        // The article is a word of its own.
        if (part === undefined || part.kind === "article") continue
        const rest = from(end, depth + 1)
        if (rest !== undefined) return [part, ...rest]
      }
      hopeless.add(at)
      return undefined
    }
    const parts = from(0, 0)
    return parts !== undefined && isOneWord(parts, read) ? parts : undefined
  }

  const partsOf = (word: string): ReadonlyArray<NumberPart> | undefined => {
    const whole = lexicon.get(word)
    if (whole !== undefined) return [whole]
    return word.length > 3 && word.length <= longestWord && starts.has(word.slice(0, 2)) ? split(word) : undefined
  }

  return {
    read,
    partsOf,
    isNumber: (word) => {
      const kind = partsOf(word)?.[0]?.kind
      return kind !== undefined && kind !== "and" && kind !== "article"
    },
    ordinalOf: (word) => {
      const part = lexicon.get(word)
      return part?.ordinal === true ? part.value : undefined
    },
    mayDivide: (parts, at) => {
      const [before, part] = [parts[at - 1], parts[at]]
      if (before === undefined || part === undefined || part.kind === "and") return false
      if (large.has(before.kind)) return !large.has(part.kind)
      const isTens = before.kind === "tens" || before.kind === "times ten"
      if (words.compoundsAreOneWord === true && isTens && part.kind === "unit") return true
      if (words.countsByTwenties !== true) return false
      const isFour = ({ kind, value }: NumberPart) => kind === "unit" && value === 4
      const isTen = before.kind === "teen" && before.value === 10 && part.kind === "unit"
      const isTwenty = (each: NumberPart | undefined) => each?.kind === "tens" && each.value === 20
      return (
        (isFour(before) && isTwenty(part)) || (isFour(part) && isTwenty(parts[at + 1])) || part.kind === "teen" || isTen
      )
    }
  }
}
