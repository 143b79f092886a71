import type { AnswerWord, Reading } from "./Reading.ts"
import { shortWord } from "./Similarity.ts"

/** Letters of a code, and the digits before and after them: "" where there are none. */
interface Letters {
  text: string
  before: string
  after: string
}

const isCodeWord = ({ plain, spelled }: AnswerWord): boolean => spelled || plain.length <= shortWord

/** The letters beside digits. Words that do not count are no part of the text. */
const lettersIn = ({ parts }: Reading, counting: ReadonlySet<AnswerWord>): ReadonlyArray<Readonly<Letters>> => {
  const found: Array<Letters> = []
  let digits = ""
  let letters: Letters | undefined
  for (const part of parts) {
    if (typeof part === "string") {
      if (letters !== undefined) letters.after = part
      letters = undefined
      digits = part
    } else if (part !== undefined && isCodeWord(part)) {
      if (!counting.has(part)) continue
      letters ??= { text: "", before: digits, after: "" }
      if (letters.text === "") found.push(letters)
      letters.text += part.plain
      digits = ""
    } else if (part === undefined || counting.has(part)) {
      letters = undefined
      digits = ""
    }
  }
  return found.filter(({ after, before }) => before !== "" || after !== "")
}

/** Codes of more letters between digits are not compared: bounds the work. */
const mostLetters = 64

type Place = "same" | "other" | "unknown"

/** Whether digits beside letters are the same in both texts. One may go on where the digits of another part follow it. */
const placeOf = (one: string, other: string, end: "startsWith" | "endsWith"): Place => {
  if (one === "" || other === "") return "unknown"
  return one[end](other) || other[end](one) ? "same" : "other"
}

const isSamePlace = (one: Readonly<Letters>, other: Readonly<Letters>): boolean => {
  const places = [placeOf(one.before, other.before, "endsWith"), placeOf(one.after, other.after, "startsWith")]
  return places.includes("same") || !places.includes("other")
}

const sorted = (letters: ReadonlyArray<Readonly<Letters>>): string =>
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
