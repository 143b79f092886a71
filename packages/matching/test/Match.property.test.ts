import * as fc from "fast-check"
import { describe, it } from "vitest"
import { match } from "../src/Match.ts"
import { answersOf } from "./Answers.ts"

/** The seed is fixed, so that a commit stays green. */
const runs = { numRuns: 500, seed: 1 }

const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 30 })
/** Words of at least two letters: letters by themselves are joined with their neighbours. */
const word = fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzäöüåøñé"), minLength: 2, maxLength: 9 })
const spoken = fc.constantFrom(
  ...Object.values(answersOf).flatMap((answers) => [...answers.match, ...answers.differ].flat())
)
/** Any text, and texts of words, numbers and signs that have a meaning here. */
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .array(
      fc.oneof(
        word,
        digits,
        spoken,
        fc.constantFrom(
          "@",
          "-",
          "at",
          "dot",
          "dash",
          "a@b.com",
          "€5",
          "one second",
          "to",
          "en",
          "double",
          "oh",
          "may",
          "3/5/24",
          "15:30",
          "half",
          "quarter",
          "vor",
          "y",
          "pm"
        )
      ),
      {
        maxLength: 6
      }
    )
    .map((parts) => parts.join(" "))
)

const hasContent = (value: string): boolean => /[\p{L}\p{N}]/u.test(value.normalize("NFKC"))

describe("The score", () => {
  it("is 1 for the same text, if it has a letter or a digit", () => {
    fc.assert(
      fc.property(text, (value) => match(value, value, 1).match === hasContent(value)),
      runs
    )
  })

  it("does not depend on which text is the expected one", () => {
    fc.assert(
      fc.property(text, text, (one, other) => match(one, other, 0.8).score === match(other, one, 0.8).score),
      runs
    )
  })

  it("is from 0 to 1 with at most 4 decimals, and decides about the match", () => {
    fc.assert(
      fc.property(text, text, fc.double({ min: 0, max: 1, noNaN: true }), (one, other, threshold) => {
        const result = match(one, other, threshold)
        const { score } = result
        const isRounded = Number(score.toFixed(4)) === score
        return score >= 0 && score <= 1 && isRounded && result.match === (score > 0 && score >= threshold)
      }),
      runs
    )
  })

  it("is 0 when one digit of a sequence is replaced, removed or added, also at a threshold of 0", () => {
    fc.assert(
      fc.property(digits, fc.nat(), fc.integer({ min: 1, max: 9 }), (value, at, shift) => {
        const index = at % value.length
        const digit = (Number(value[index]) + shift) % 10
        const [before, after] = [value.slice(0, index), value.slice(index + 1)]
        const changed = [`${before}${digit}${after}`, before + after, `${value}${digit}`]
        return changed.every((other) => other === value || !match(value, other, 0).match)
      }),
      runs
    )
  })

  it("is 0 when one digit differs among words, and 1 however the digits are grouped", () => {
    const one = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    fc.assert(
      fc.property(
        digits,
        fc.array(fc.constantFrom("", " ", "-", ", "), { minLength: 30, maxLength: 30 }),
        (value, gaps) => {
          const grouped = [...value].map((digit, index) => digit + gaps[index]).join("")
          const words = [...value].map((digit) => one[Number(digit)]).join(" ")
          const last = (Number(value.at(-1)) + 1) % 10
          const wrong = `${value.slice(0, -1)}${last}`
          const street = (number: string) => `Frederiksborggade ${number} København`
          return (
            match(value, grouped, 1).match &&
            match(value, words, 1).match &&
            !match(wrong, words, 0).match &&
            !match(street(value), street(wrong), 0).match
          )
        }
      ),
      runs
    )
  })

  it("is 1 for the same words in another order", () => {
    const shuffled = fc
      .array(word, { minLength: 1, maxLength: 8 })
      .chain((words) => fc.tuple(fc.constant(words), fc.shuffledSubarray(words, { minLength: words.length })))
    fc.assert(
      fc.property(shuffled, ([words, others]) => match(words.join(" "), others.join(" "), 1).match),
      runs
    )
  })
})
