import { fillers, hesitations, kinds, leadIns, lexicons, patience } from "./Lexicon.ts"
import type { AnswerWord, Reading } from "./Reading.ts"
import type { Token } from "./Tokens.ts"

/** Consecutive words of those that may be taken, which together are this text; none when there are none. */
export const wordsThatAre = (
  text: string,
  words: ReadonlyArray<AnswerWord>,
  mayTake: (word: AnswerWord) => boolean
): ReadonlyArray<AnswerWord> => {
  for (let start = 0; start < words.length; start++) {
    let length = 0
    for (let end = start; length < text.length; end++) {
      const word = words[end]
      if (word === undefined || !text.startsWith(word.plain, length) || !mayTake(word)) break
      length += word.plain.length
      if (length === text.length) return words.slice(start, end + 1)
    }
  }
  return []
}

/**
 * Whether a spelled word only repeats words before it or after it: "Jansen, j a n s e n". Those beside digits are parts of a
 * code.
 */
const repeatsName = ({ besideDigits, plain, spelled }: AnswerWord, words: ReadonlyArray<AnswerWord>): boolean =>
  spelled && plain.length > 1 && !besideDigits && wordsThatAre(plain, words, isSaidWhole).length > 0

const isSaidWhole = ({ besideDigits, spelled }: AnswerWord): boolean => !spelled && !besideDigits

/** Whether the word is no part of an answer of any kind. */
const isAlwaysFiller = ({ joinsAmounts, plain, sign, spelled, written }: AnswerWord): boolean =>
  sign || joinsAmounts || (!spelled && !written && (fillers.has(plain) || hesitations.has(plain)))

/** Whether the word may be said before a number or an address, and is no part of it. */
const maySayBefore = ({ plain, spelled, written }: AnswerWord): boolean =>
  !spelled && !written && (leadIns.has(plain) || kinds.has(plain))

/**
 * The words before a number, a date or an address that are no part of it: those in a row with nothing else that begins
 * the text or ends at digits. What kind of number it is counts where nothing else is said.
 */
const wordsBefore = (parts: Reading["parts"]): ReadonlySet<AnswerWord> => {
  const found = new Set<AnswerWord>()
  let row: Array<AnswerWord> = []
  let begins = true
  const end = (isBeforeDigits: boolean, isAfterDigits: boolean) => {
    if (begins || (isBeforeDigits && !isAfterDigits)) {
      for (const word of row) if (row.length > 1 || !kinds.has(word.plain)) found.add(word)
    }
    row = []
  }
  let isAfterDigits = false
  for (const part of parts) {
    if (typeof part === "object" && (isAlwaysFiller(part) || maySayBefore(part))) row.push(part)
    else {
      const isNumber = typeof part !== "object"
      end(isNumber, isAfterDigits)
      begins = false
      isAfterDigits = isNumber
    }
  }
  return found
}

/** The parts of a text, with the words marked that are no part of the answer. `hasNumber`: or an address. */
export const withFillers = (parts: Reading["parts"], hasNumber: boolean): Reading["parts"] => {
  const words = parts.filter((part) => typeof part === "object")
  const before = hasNumber ? wordsBefore(parts) : new Set()
  return parts.map((part) => {
    if (typeof part !== "object") return part
    return { ...part, filler: isAlwaysFiller(part) || before.has(part) || repeatsName(part, words) }
  })
}

const wordOf = (token: Token | undefined): string => (token?._tag === "Word" ? token.word.plain : "")

/** Whether the word may be said before a request for patience: no number, nor a word that may be a part of an answer. */
const maySayBeforePatience = (token: Token): boolean => {
  const word = wordOf(token)
  return (
    (fillers.has(word) || leadIns.has(word) || hesitations.has(word)) &&
    !lexicons.some(({ numbers }) => numbers.isNumber(word))
  )
}

/**
 * A text without the requests for patience that begin it, whose number word is none of the answer: "one second, it's
 * 4829". Only words that are no part of an answer may be before them: "twenty one second street" has none. They stay
 * where nothing else is said, or the other text has the same word or the same ordinal.
 */
export const withoutPatience = (tokens: ReadonlyArray<Token>, other: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  const isSaid = (word: string) =>
    other.some(
      (token) =>
        wordOf(token) === word ||
        (token._tag === "Digits" &&
          token.ordinal === true &&
          lexicons.some(({ numbers }) => numbers.ordinalOf(word) === Number(token.digits)))
    )
  const isPatience = (at: number) =>
    patience.has(wordOf(tokens[at]) + wordOf(tokens[at + 1])) && !isSaid(wordOf(tokens[at + 1]))
  const kept: Array<Token> = []
  let at = 0
  for (let token = tokens[at]; token !== undefined; token = tokens[at]) {
    if (isPatience(at)) at += 2
    else if (maySayBeforePatience(token)) {
      kept.push(token)
      at++
    } else break
  }
  kept.push(...tokens.slice(at))
  return kept.length === 0 ? tokens : kept
}
