import { atWords } from "./Lexicon.ts"
import type { Address, AnswerWord, Reading } from "./Reading.ts"
import { similarity, soundOf } from "./Similarity.ts"
import type { Word } from "./Tokens.ts"

/** Texts with more addresses are compared as a whole: bounds the work. */
const mostAddresses = 8
/** How many parts a spoken address may have before its "at", where neither text is written. */
const mostLocalParts = 8
/** How many words may be spelled by the letters after them: "jon smith, j o h n s m i t h". */
const mostSpelledWords = 4
/** Words and their spelling are this much alike. */
const leastLikeness = 0.6

/** Where an address begins and ends, as indices of parts. */
interface Span {
  readonly from: number
  readonly to: number
}

/** What an address is compared by: its letters and digits before and after the `@`. */
interface Target {
  readonly local: Word
  readonly domain: Word
}

type Part = Reading["parts"][number]

const isWord = (part: Part): part is AnswerWord => typeof part === "object"
const isSign = (part: Part): boolean => isWord(part) && part.sign

/** A part as letters and digits, in each transliteration; none for dates and times. */
const formsOf = (part: Part): ReadonlyArray<string> =>
  part === undefined ? [] : isWord(part) ? [...new Set([part.plain, part.expanded])] : [part]

/** The parts as letters and digits, without signs; undefined when a date or a time is among them. */
const joined = (parts: ReadonlyArray<Part>): Word | undefined => {
  const said = parts.filter((part) => !isSign(part))
  if (said.length === 0 || said.includes(undefined)) return undefined
  const form = (expanded: boolean) => said.map((part) => (isWord(part) && expanded ? part.expanded : formsOf(part)[0]))
  return { plain: form(false).join(""), expanded: form(true).join("") }
}

/**
 * The indices where parts begin that are this text and end before `to`, in order from the shortest. Signs may be left out,
 * or be words of the address: "bas" is a sign in French.
 */
const startsOf = (parts: Reading["parts"], to: number, text: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  const seen = new Set<string>()
  const take = (end: number, left: number) => {
    const part = parts[end - 1]
    if (end <= 0 || part === undefined || seen.has(`${end} ${left}`)) return
    seen.add(`${end} ${left}`)
    if (isSign(part) && left < text.length) take(end - 1, left)
    for (const form of formsOf(part)) {
      if (!text.endsWith(form, left)) continue
      if (form.length === left) found.add(end - 1)
      else take(end - 1, left - form.length)
    }
  }
  take(to, text.length)
  return [...found]
}

/** The indices after parts that begin at `from` and are this text. */
const endsOf = (parts: Reading["parts"], from: number, text: string): ReadonlyArray<number> => {
  const found = new Set<number>()
  const seen = new Set<string>()
  const take = (at: number, done: number) => {
    const part = parts[at]
    if (part === undefined || seen.has(`${at} ${done}`)) return
    seen.add(`${at} ${done}`)
    if (isSign(part) && done > 0) take(at + 1, done)
    for (const form of formsOf(part)) {
      if (!text.startsWith(form, done)) continue
      if (done + form.length === text.length) found.add(at + 1)
      else take(at + 1, done + form.length)
    }
  }
  take(from, 0)
  return [...found]
}

const sounded = (word: Word) => ({ word, sound: soundOf(word.plain) })
const isAlike = (one: Word, other: Word): boolean => similarity(sounded(one), sounded(other)) >= leastLikeness

/** What is spelled from here on: the letters in a row, and those after signs too: "j o h n dot s m i t h". */
const spellingsAt = (parts: Reading["parts"], from: number): ReadonlyArray<Word> => {
  let [plain, expanded] = ["", ""]
  const spellings: Array<Word> = []
  for (let at = from; at < from + mostSpelledWords * 2; at++) {
    const part = parts[at]
    if (!isWord(part) || !(part.spelled || part.sign)) break
    if (part.sign) continue
    plain += part.plain
    expanded += part.expanded
    spellings.push({ plain, expanded })
  }
  return spellings
}

/** How many words before an address only say what its first letters spell: "jon, that's j o h n, at". */
const spelledBefore = (parts: Reading["parts"], from: number): number => {
  const spellings = spellingsAt(parts, from)
  if (spellings.length === 0) return 0
  let [plain, expanded] = ["", ""]
  for (let count = 1; count <= mostSpelledWords; count++) {
    const part = parts[from - count]
    if (!isWord(part)) return 0
    if (part.sign || (plain === "" && part.filler)) continue
    plain = part.plain + plain
    expanded = part.expanded + expanded
    if (spellings.some((spelling) => isAlike({ plain, expanded }, spelling))) return count
  }
  return 0
}

/** An address of one text in the other, with the words before it that it spells. */
interface Found extends Span {
  readonly spelled: number
}

/**
 * The place of an address, when the words around it are no part of it: the word before it is a filler word, an "at", or in
 * the other text too (`isOutside`). Two letters after it are its ending: "example dot co uk".
 */
const standingAlone = (
  { addresses, parts }: Reading,
  { from, to }: Span,
  isOutside: (word: AnswerWord) => boolean
): Found | undefined => {
  const spelled = spelledBefore(parts, from)
  const before = parts[from - spelled - 1]
  const after = parts[to]
  const isFree = (word: AnswerWord) => isOutside(word) || (word.sign ? atWords.has(word.plain) : word.filler)
  const isOfAddress = addresses.some(({ at, to }) => from - spelled > at && from - spelled <= to)
  if (isWord(before) && !isOfAddress && !isFree(before)) return undefined
  if (isWord(after) && !after.written && !after.sign && after.plain.length === 2 && !isFree(after)) return undefined
  return { from, to, spelled }
}

/** The places of an address with these letters: at a certain "at", or where it is said without. */
const placesOf = (
  { addresses, parts }: Reading,
  address: Address | undefined,
  { domain, local }: Target
): ReadonlyArray<Span> => {
  const distinct = ({ expanded, plain }: Word) => [...new Set([plain, expanded])]
  if (address !== undefined) {
    const { at, from, to } = address
    const starts = distinct(local).flatMap((text) => startsOf(parts, at, text))
    const ends = distinct(domain).flatMap((text) => endsOf(parts, at, text))
    return starts
      .filter((start) => from === undefined || start === from)
      .flatMap((start) => ends.filter((end) => end >= to).map((end) => ({ from: start, to: end })))
  }
  if (addresses.length > 0) return []
  return distinct({ plain: local.plain + domain.plain, expanded: local.expanded + domain.expanded }).flatMap((text) =>
    parts.flatMap((_, from) => endsOf(parts, from, text).map((to) => ({ from, to })))
  )
}

/** The spans that an address may be: one where it is written, and one for each first word of a spoken one. */
const spansOf = ({ at, from, to }: Address): ReadonlyArray<Span> => {
  if (from !== undefined) return [{ from, to }]
  const starts = Array.from({ length: mostLocalParts }, (_, count) => at - 1 - count)
  return starts.filter((start) => start >= 0).map((start) => ({ from: start, to }))
}

/** The words of a text outside of an address. */
const outside = ({ parts }: Reading, { from, to }: Span) => {
  const words = parts.filter((_, at) => at < from || at >= to).filter(isWord)
  return (word: AnswerWord): boolean => words.some((each) => each.plain === word.plain || isAlike(each, word))
}

const isSameWritten = (one: Address, other: Address): boolean => {
  const [first, second] = [one.written, other.written]
  const isSame = (a: Word, b: Word) =>
    a.plain === b.plain || a.expanded === b.expanded || a.plain === b.expanded || a.expanded === b.plain
  return (
    first !== undefined &&
    second !== undefined &&
    isSame(first.local, second.local) &&
    isSame(first.domain, second.domain)
  )
}

/** Where the same address is in both texts. `second` is undefined where the other text is without "at". */
const sameAddress = (
  one: Reading,
  first: Address,
  other: Reading,
  second: Address | undefined
): readonly [Found, Found] | undefined => {
  if (first.written !== undefined && second?.written !== undefined) {
    if (!isSameWritten(first, second)) return undefined
    const span = ({ at, from = at, to }: Address): Found => ({ from, to, spelled: 0 })
    return [span(first), span(second)]
  }
  if (first.from === undefined && second?.from !== undefined) {
    const same = sameAddress(other, second, one, first)
    return same && [same[1], same[0]]
  }
  for (const span of spansOf(first)) {
    const local = joined(one.parts.slice(span.from, first.at))
    const domain = joined(one.parts.slice(first.at, span.to))
    if (local === undefined || domain === undefined) continue
    for (const place of placesOf(other, second, { local, domain })) {
      const left = standingAlone(one, span, outside(other, place))
      const right = standingAlone(other, place, outside(one, span))
      if (left !== undefined && right !== undefined) return [left, right]
    }
  }
  return undefined
}

/** An address that both texts have, in one of them. */
interface Shared {
  readonly place: Found
  readonly name: string
}

const wordFor = (name: string): AnswerWord => ({
  plain: name,
  expanded: name,
  filler: false,
  spelled: false,
  numberIn: 0,
  besideDigits: false,
  inCode: false,
  written: true,
  sign: false,
  joinsAmounts: false
})

/** The text with one word in place of each address: without the words that it spells, and its repetitions. */
const collapsed = (reading: Reading, shared: ReadonlyArray<Shared>): Reading => {
  const parts: Array<Part> = []
  const digits: Array<Reading["digits"][number]> = []
  const named = new Set<string>()
  let count = 0
  reading.parts.forEach((part, at) => {
    const value = isWord(part) ? undefined : reading.digits[count++]
    const inside = shared.find(({ place }) => at >= place.from - place.spelled && at < place.to)
    if (inside === undefined) {
      parts.push(part)
      if (value !== undefined) digits.push(value)
    } else if (at === inside.place.from && !named.has(inside.name)) {
      named.add(inside.name)
      parts.push(wordFor(inside.name))
    }
  })
  return { ...reading, parts, digits, words: parts.filter(isWord) }
}

const textOf = ({ parts }: Reading): string => parts.map((part) => formsOf(part)[0] ?? "").join(" ")

/**
 * Both texts with one word in place of each e-mail address, the same for the same address. Undefined when one has an address
 * that the other does not have. Addresses are the same when their letters and digits are, in their order.
 * See docs/reference/matching.md#e-mail-addresses.
 */
export const withSameAddresses = (one: Reading, other: Reading): readonly [Reading, Reading] | undefined => {
  const count = Math.max(one.addresses.length, other.addresses.length)
  if (count === 0) return [one, other]
  if (count > mostAddresses) return textOf(one) === textOf(other) ? [one, other] : undefined
  if (one.addresses.length === 0) {
    const same = withSameAddresses(other, one)
    return same && [same[1], same[0]]
  }
  const [left, right]: readonly [Array<Shared>, Array<Shared>] = [[], []]
  const seconds = other.addresses.length === 0 ? [undefined] : other.addresses
  for (const first of one.addresses) {
    for (const second of seconds) {
      const places = sameAddress(one, first, other, second)
      if (places === undefined) continue
      const [place, otherPlace] = places
      const name = joined(one.parts.slice(place.from, place.to))?.plain ?? ""
      if (!left.some(({ place: taken }) => taken.from === place.from)) left.push({ place, name })
      if (!right.some(({ place: taken }) => taken.from === otherPlace.from)) right.push({ place: otherPlace, name })
    }
  }
  const isComplete = left.length >= one.addresses.length && right.length >= other.addresses.length
  return isComplete ? [collapsed(one, left), collapsed(other, right)] : undefined
}
