import type { Lexicon } from "./Lexicon.ts"
import type { NumberWords, SpokenNumber } from "./NumberWords.ts"

/** How many numbers are tried in a row of number words: bounds the work. */
const mostTried = 1000

/**
 * The number words of a text, where numbers in a row are divided so that they give the digit sequences of the other text:
 * "eight hundred one two" is 8012 or 80012. A number that stands alone is not divided. Undefined when none is.
 */
export const dividedFor = (
  sequences: ReadonlyArray<string>,
  numbers: NumberWords,
  tokens: number,
  language: Lexicon
): NumberWords | undefined => {
  const chosen = new Map<number, SpokenNumber>()

  /** Divides the row that goes on at this token; false when the digits are in none of the sequences. */
  const divide = (at: number, said: string, budget: { left: number }): boolean => {
    const longest = numbers.at(at, language)
    if (longest === undefined) return true
    for (const number of [longest, ...numbers.shorterAt(at, language)]) {
      if (--budget.left < 0) return false
      const all = said + number.digits.join("")
      if (!sequences.some((sequence) => sequence.includes(all))) continue
      if (!divide(at + number.tokens, all, budget)) continue
      if (number !== longest) chosen.set(at, number)
      return true
    }
    return false
  }

  for (let at = 0; at < tokens; ) {
    const first = numbers.at(at, language)
    if (first === undefined) {
      at++
      continue
    }
    let end = at
    for (let next: SpokenNumber | undefined = first; next !== undefined; next = numbers.at(end, language)) {
      end += next.tokens
    }
    if (end > at + first.tokens) divide(at, "", { left: mostTried })
    at = end
  }
  if (chosen.size === 0) return undefined
  return { ...numbers, at: (token, reader) => chosen.get(token) ?? numbers.at(token, reader) }
}
