import type { AnswerWord, Reading } from "./Reading.ts"

/** Letters of a code, and the digits before and after them: "" where there are none. */
interface CodeLetters {
  text: string
  before: string
  after: string
}

/** A word beside digits is a part of a code up to this many letters; a longer one is a word: "12 Elm St". */
const mostCodeLetters = 2

/** Whether a word is letters of a code. */
const isCodeWord = ({ besideDigits, inCode, plain, spelled }: AnswerWord): boolean =>
  inCode || spelled || plain.length === 1 || (besideDigits && plain.length <= mostCodeLetters)

/** The letters beside digits. Words that do not count are no part of the text. */
const lettersIn = ({ parts }: Reading, counting: ReadonlySet<AnswerWord>): ReadonlyArray<Readonly<CodeLetters>> => {
  const found: Array<CodeLetters> = []
  let digits = ""
  let letters: CodeLetters | undefined
  for (const part of parts.filter((each) => typeof each !== "object" || counting.has(each))) {
    if (typeof part === "string") {
      if (letters !== undefined) letters.after = part
      letters = undefined
      digits = part
    } else if (part !== undefined && isCodeWord(part)) {
      letters ??= { text: "", before: digits, after: "" }
      if (letters.text === "") found.push(letters)
      letters.text += part.plain
      digits = ""
    } else {
      letters = undefined
      digits = ""
    }
  }
  return found.filter(({ after, before }) => before !== "" || after !== "")
}

/** Codes of more letters between digits are not compared: bounds the work. */
const mostLetters = 64

type Agreement = "same" | "other" | "unknown"

/** Whether digits beside letters are the same in both texts. One may be longer: it goes on with those of another part. */
const agreementOf = (one: string, other: string, end: "startsWith" | "endsWith"): Agreement => {
  if (one === "" || other === "") return "unknown"
  return one[end](other) || other[end](one) ? "same" : "other"
}

const isSamePlace = (one: Readonly<CodeLetters>, other: Readonly<CodeLetters>): boolean => {
  const digits = [agreementOf(one.before, other.before, "endsWith"), agreementOf(one.after, other.after, "startsWith")]
  return digits.includes("same") || !digits.includes("other")
}

const sorted = (letters: ReadonlyArray<Readonly<CodeLetters>>): string =>
  [...letters.map(({ text }) => text).join("")].sort().join("")

/**
 * Whether the same letters and digits are in another order within a code: "SW1A 2BC" and "SW2A 1BC". Codes may change
 * places as a whole: each of their letters has the same digits before it or after it in both texts.
 */
export const isOtherCode = (
  [one, words]: readonly [Reading, ReadonlyArray<AnswerWord>],
  [other, otherWords]: readonly [Reading, ReadonlyArray<AnswerWord>]
): boolean => {
  const left = lettersIn(one, new Set(words))
  const right = [...lettersIn(other, new Set(otherWords))]
  if (left.length > mostLetters || right.length > mostLetters) return false
  const isComplete = sorted(left) === sorted(right)
  return left.some((letters) => {
    const candidates = right.filter(({ text }) => text === letters.text)
    if (candidates.length === 0) return isComplete
    const found = candidates.find((candidate) => isSamePlace(letters, candidate))
    if (found === undefined) return true
    right.splice(right.indexOf(found), 1)
    return false
  })
}
