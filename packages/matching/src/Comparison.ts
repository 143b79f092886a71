import { withSameAddresses } from "./Addresses.ts"
import { isOtherCode } from "./Codes.ts"
import { type DayMonthOrder, sameDigits } from "./Dates.ts"
import { wordsThatAre } from "./Fillers.ts"
import { negations } from "./Lexicon.ts"
import type { AnswerWord, Reading } from "./Reading.ts"
import { likeness, shortWord, similarity, soundOf } from "./Similarity.ts"
import { isTime } from "./Times.ts"

/** Words less alike than this are different words. */
const leastLikeness = 0.6
/** How many words of each side that have no equal are compared with each other: bounds the work. */
const mostCompared = 32
/** How many digit sequences and dates that have no equal are compared with each other. */
const mostSequences = 8
/** How many numbers a digit sequence may have that is compared with several of the other text. */
const mostGrouped = 32

/** Takes equal members out of both lists; `key` says which are equal. */
const withoutEqual = <A>(
  one: ReadonlyArray<A>,
  other: ReadonlyArray<A>,
  key: (member: A) => string
): readonly [ReadonlyArray<A>, ReadonlyArray<A>] => {
  const counts = new Map<string, number>()
  for (const member of other) counts.set(key(member), (counts.get(key(member)) ?? 0) + 1)
  const left = one.filter((member) => {
    const count = counts.get(key(member)) ?? 0
    if (count > 0) counts.set(key(member), count - 1)
    return count === 0
  })
  const right = other.toReversed().filter((member) => {
    const count = counts.get(key(member)) ?? 0
    if (count > 0) counts.set(key(member), count - 1)
    return count > 0
  })
  return [left, right.toReversed()]
}

/** The sequences that, one after the other, are the numbers of a group from `at` on; undefined when there are none. */
const composing = (
  group: ReadonlyArray<string>,
  sequences: ReadonlyArray<string>,
  at = 0
): ReadonlyArray<string> | undefined => {
  if (at === group.length) return []
  let part = ""
  for (let end = at; end < group.length; end++) {
    part += group[end]
    const index = sequences.indexOf(part)
    if (index < 0) continue
    const rest = composing(group, sequences.toSpliced(index, 1), end + 1)
    if (rest !== undefined) return [part, ...rest]
  }
  return undefined
}

/**
 * The sequences that are left when those of one text may be beside each other in the other text: "Main Street 12, 10115
 * Berlin" and "Berlin 10115, Main Street 12". Within a sequence the order stays: "12 34" is not "34 12".
 */
const withoutSameGroups = (
  left: ReadonlyArray<string>,
  right: ReadonlyArray<string>,
  [one, other]: readonly [Reading, Reading]
): readonly [ReadonlyArray<string>, ReadonlyArray<string>] => {
  let open = [left, right] as const
  for (const [side, groups] of [one.groups, other.groups].entries()) {
    for (const group of groups) {
      const [whole, parts] = side === 0 ? open : [open[1], open[0]]
      const index = whole.indexOf(group.join(""))
      if (index < 0 || group.length > mostGrouped) continue
      const found = composing(group, parts)
      if (found === undefined) continue
      const restWhole = whole.toSpliced(index, 1)
      let restParts = parts
      for (const part of found) restParts = restParts.toSpliced(restParts.indexOf(part), 1)
      open = side === 0 ? [restWhole, restParts] : [restParts, restWhole]
    }
  }
  return open
}

/** The numbers of each sequence. Digits that were said one by one are one number: they may be parts of a longer one. */
const numbersIn = (sequences: ReadonlyArray<string>, { groups }: Reading): ReadonlyArray<ReadonlyArray<string>> =>
  sequences.map((sequence) => {
    const group = groups.find((each) => each.join("") === sequence)
    if (group === undefined || group.length > mostGrouped) return [sequence]
    const numbers: Array<string> = []
    group.forEach((number, at) => {
      const before = group[at - 1]
      if (number.length > 1 || before?.length !== 1) numbers.push(number)
      else numbers.push(`${numbers.pop() ?? ""}${number}`)
    })
    return numbers
  })

/**
 * How many digits are in sequences of several numbers that are apart in the other text, as in "12, 10115 Berlin, flat 3"
 * and "flat 3, 12 Main Street, 10115 Berlin"; undefined when the numbers are not the same. No two numbers may be in one sequence of
 * both texts: their order would differ.
 */
const overlappingDigits = (
  left: ReadonlyArray<string>,
  right: ReadonlyArray<string>,
  [one, other]: readonly [Reading, Reading]
): number | undefined => {
  const [numbers, others] = [numbersIn(left, one), numbersIn(right, other)]
  const sequenceOf = new Map(others.flatMap((sequence, index) => sequence.map((number) => [number, index] as const)))
  const isSame =
    numbers.flat().length === others.flat().length &&
    new Set(numbers.flat()).size === numbers.flat().length &&
    numbers.every((sequence) => {
      const found = sequence.map((number) => sequenceOf.get(number))
      return !found.includes(undefined) && new Set(found).size === found.length
    })
  const overlapping = [...numbers, ...others].filter((sequence) => sequence.length > 1)
  return isSame ? overlapping.flat().join("").length : undefined
}

/** Equal for equal digit sequences, dates and times. */
export const digitsKey = (digits: Reading["digits"][number]): string =>
  typeof digits === "string" ? digits : JSON.stringify(digits)

/**
 * How many digits of both texts do not agree entirely although both have the same digit sequences, dates and times, in
 * any order: 0, or those of sequences that overlap. Undefined when they have not the same.
 */
const disagreeingDigits = (one: Reading, other: Reading, order: DayMonthOrder): number | undefined => {
  const [left, right] = withoutEqual(one.digits, other.digits, digitsKey)
  if (left.length > mostSequences || right.length > mostSequences) return undefined
  const open = [...right]
  const lone = left.filter((digits) => {
    const index = open.findIndex((candidate) => sameDigits(digits, candidate, order))
    if (index >= 0) open.splice(index, 1)
    return index < 0
  })
  const texts = (digits: Reading["digits"]) => digits.filter((each) => typeof each === "string")
  const [loneTexts, openTexts] = [texts(lone), texts(open)]
  if (loneTexts.length < lone.length || openTexts.length < open.length) return undefined
  const [restLeft, restRight] = withoutSameGroups(loneTexts, openTexts, [one, other])
  return overlappingDigits(restLeft, restRight, [one, other])
}

const plainOf = ({ plain }: AnswerWord): string => plain

/** The most words without an equal for which fillers of the other text are kept: bounds the work. */
const mostKept = 32

/**
 * The words of a text without fillers, but with those that the other text has as a part of the answer, alone or joined
 * with the words beside them: "1012 DE" and "1012 d e", "Van den Berg" and "Vandenberg". `wanted` are the words of the
 * other text that have no equal, `free` those of this text.
 */
const withWanted = (
  words: ReadonlyArray<AnswerWord>,
  free: ReadonlyArray<AnswerWord>,
  wanted: ReadonlyArray<AnswerWord>
): ReadonlyArray<AnswerWord> => {
  const open = new Set([...free, ...words.filter(({ filler }) => filler)])
  const kept = new Set<AnswerWord>()
  for (const { plain } of wanted.slice(0, mostKept)) {
    for (const word of wordsThatAre(plain, words, (each) => open.has(each))) {
      open.delete(word)
      kept.add(word)
    }
  }
  return words.filter((word) => !word.filler || kept.has(word))
}

/** The words that count. */
const contents = (one: Reading, other: Reading): readonly [ReadonlyArray<AnswerWord>, ReadonlyArray<AnswerWord>] => {
  const contentOf = ({ words }: Reading) => words.filter(({ filler }) => !filler)
  const [content, otherContent] = [contentOf(one), contentOf(other)]
  const hasContent = content.length + one.digits.length > 0
  const otherHasContent = otherContent.length + other.digits.length > 0
  if (hasContent && otherHasContent) {
    const [left, right] = withoutEqual(content, otherContent, plainOf)
    return [withWanted(one.words, left, right), withWanted(other.words, right, left)]
  }
  // The answer is a filler word itself: "Ben" in "my name is Ben".
  const [left, right] = withoutEqual(one.words, other.words, plainOf)
  const without = (words: ReadonlyArray<AnswerWord>, lone: ReadonlyArray<AnswerWord>) =>
    words.filter((word) => !word.filler || !lone.includes(word))
  if (!hasContent && (otherHasContent || left.length === 0)) return [one.words, without(other.words, right)]
  if (!otherHasContent && (hasContent || right.length === 0)) return [without(one.words, left), other.words]
  return [one.words, other.words]
}

const textOf = (words: ReadonlyArray<AnswerWord>): string => words.map(({ plain }) => plain).join("")
const lengthOf = (words: ReadonlyArray<AnswerWord>): number => words.reduce((sum, { plain }) => sum + plain.length, 0)
const digitCount = ({ digits }: Reading): number =>
  digits.reduce((sum, each) => sum + (typeof each === "string" ? each.length : isTime(each) ? 4 : 8), 0)

interface Pair {
  readonly left: AnswerWord
  readonly right: AnswerWord
  readonly alike: number
}

/** The most alike words of both sides, each in one pair. */
const pairsOf = (left: ReadonlyArray<AnswerWord>, right: ReadonlyArray<AnswerWord>): ReadonlyArray<Pair> => {
  const sorted = (words: ReadonlyArray<AnswerWord>) =>
    words
      .toSorted((a, b) => (a.plain < b.plain ? -1 : a.plain > b.plain ? 1 : 0))
      .slice(0, mostCompared)
      .map((word) => ({ word, sound: soundOf(word.plain) }))
  const others = sorted(right)
  const candidates = sorted(left).flatMap((one) =>
    others.flatMap((other): ReadonlyArray<Pair> => {
      const alike = similarity(one, other)
      return alike < leastLikeness ? [] : [{ left: one.word, right: other.word, alike }]
    })
  )
  const taken = new Set<AnswerWord>()
  return candidates
    .toSorted((a, b) => b.alike - a.alike)
    .filter((pair) => {
      if (taken.has(pair.left) || taken.has(pair.right)) return false
      taken.add(pair.left).add(pair.right)
      return true
    })
}

/**
 * Whether a number word was taken for another word, though the other text has another number in its place. Not where
 * both texts have the same letters.
 */
const confusesNumbers = (
  left: ReadonlyArray<AnswerWord>,
  right: ReadonlyArray<AnswerWord>,
  rewritten: boolean
): boolean =>
  (!rewritten && [...left, ...right].some(({ filler, numberIn }) => numberIn !== 0 && !filler)) ||
  left.some((one) => right.some((other) => (one.numberIn & other.numberIn) !== 0))

/** More letters than these, said one by one, are a name and no part of a code. */
const mostSpelledLetters = 5

/** Whether the word is the letters of a code with digits: these are the same or not, however many they are. */
const isLettersOfCode = ({ besideDigits, inCode, plain, spelled }: AnswerWord): boolean =>
  besideDigits && (inCode || (spelled && plain.length <= mostSpelledLetters))

/** Whether a short word must be in both texts: it may be a part of a code. */
const mayBeCode = ({ besideDigits, inCode, plain, spelled }: AnswerWord): boolean =>
  inCode || spelled || plain.length === 1 || besideDigits

/**
 * How alike two readings are, from 0 to 1. 0 when a digit sequence, a date, what is beside digits, or an e-mail address
 * differs. See docs/reference/matching.md#score.
 */
export const scoreOf = (one: Reading, other: Reading, order: DayMonthOrder): number => {
  const same = withSameAddresses(one, other)
  return same === undefined ? 0 : scoreWithout(same[0], same[1], order)
}

/** The same of texts with a word in place of each e-mail address. */
const scoreWithout = (one: Reading, other: Reading, order: DayMonthOrder): number => {
  const disagreeing = disagreeingDigits(one, other, order)
  if (disagreeing === undefined) return 0
  const [measures, otherMeasures] = withoutEqual(one.measures, other.measures, (measure) => measure)
  if (measures.length > 0 && otherMeasures.length > 0) return 0
  const [words, otherWords] = contents(one, other)
  const digits = digitCount(one) + digitCount(other)
  const total = lengthOf(words) + lengthOf(otherWords) + digits
  if (total === 0) return 0
  const [left, right] = withoutEqual(words, otherWords, plainOf)
  const pairs = pairsOf(left, right)
  const paired = new Set(pairs.flatMap((pair) => [pair.left, pair.right]))
  const lone = (list: ReadonlyArray<AnswerWord>) => list.filter((word) => !paired.has(word))
  const [loneLeft, loneRight] = [lone(left), lone(right)]
  const text = textOf(words)
  const otherText = textOf(otherWords)
  const rewritten = text === otherText
  const [loneWords, otherLoneWords] = withoutEqual(one.words, other.words, plainOf)
  const numbers = (list: ReadonlyArray<AnswerWord>) => lone(list).filter(({ numberIn }) => numberIn !== 0)
  if (confusesNumbers(numbers(loneWords), numbers(otherLoneWords), rewritten)) return 0
  if (digits > 0 && !rewritten) {
    const isShort = ({ plain }: AnswerWord) => plain.length <= shortWord
    const isCode = words.every(isShort) && otherWords.every(isShort)
    if (isCode && [...loneLeft, ...loneRight].some(mayBeCode)) return 0
    const besides = (word: AnswerWord) => word.besideDigits && (isShort(word) || isLettersOfCode(word))
    if (loneLeft.some(besides) && (otherMeasures.length > 0 || loneRight.some(besides))) return 0
    if (loneRight.some(besides) && measures.length > 0) return 0
    if ([...loneLeft, ...loneRight].some(({ inCode, plain }) => inCode || negations.has(plain))) return 0
    if ([...loneLeft, ...loneRight].some((word) => word.spelled && isLettersOfCode(word))) return 0
    if (pairs.some((pair) => pair.alike < 1 && (isLettersOfCode(pair.left) || isLettersOfCode(pair.right)))) return 0
  }
  if (digits > 0 && isOtherCode([one, words], [other, otherWords])) return 0
  const equal = total - lengthOf(left) - lengthOf(right) - disagreeing
  const alike = pairs.reduce((sum, pair) => sum + pair.alike * (pair.left.plain.length + pair.right.plain.length), 0)
  const byWords = (equal + alike) / total
  return words.length === otherWords.length
    ? byWords
    : Math.max(byWords, joinedScore(text, otherText, digits, disagreeing))
}

/** The score of the letters in their order, however they are divided into words. */
const joinedScore = (text: string, otherText: string, digits: number, disagreeing: number): number => {
  const letters = text.length + otherText.length
  const alike = text === otherText ? 1 : likeness(text, otherText)
  return (alike * letters + digits - disagreeing) / (letters + digits)
}
