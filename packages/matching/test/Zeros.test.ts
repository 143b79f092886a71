import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

type Answer = readonly [expected: string, actual: string]

const allScored = (answers: ReadonlyArray<Answer>, score: number) => {
  const scoreOf = (expected: string, actual: string) => match(expected, actual, 0.8).score
  expect(answers.map(([one, other]) => [one, other, scoreOf(one, other), scoreOf(other, one)])).toEqual(
    answers.map(([one, other]) => [one, other, score, score])
  )
}

describe('"oh" beside digits', () => {
  it("is 0 before and after digits that are said one by one, and is never left out", () => {
    allScored(
      [
        ["042", "oh four two"],
        ["042", "o four two"],
        ["042", "oh, four two"],
        ["042", "oh 4 2"],
        ["042", "uh oh four two"],
        ["042", "my code is oh four two"],
        ["0042", "oh oh four two"],
        ["0042", "double oh four two"],
        ["420", "four two oh"],
        ["402", "four oh two"],
        ["05", "oh five"],
        ["0742", "oh seven four two"]
      ],
      1
    )
    allScored(
      [
        ["42", "oh four two"],
        ["42", "o four two"],
        ["42", "oh, four two"],
        ["42", "oh 4 2"],
        ["42", "uh oh four two"],
        ["42", "my code is oh four two"],
        ["42", "oh oh four two"],
        ["042", "oh oh four two"],
        ["42", "four two oh"],
        ["42", "four oh two"],
        ["5", "oh five"],
        ["123", "oh one two three"]
      ],
      0
    )
  })

  it("is 0 or an interjection where it begins the text and a longer number follows", () => {
    allScored(
      [
        ["42", "oh, forty two"],
        ["042", "oh, forty two"],
        ["42", "oh 42"],
        ["042", "oh 42"],
        ["42", "uh, oh, forty two"],
        ["800123", "oh eight hundred one two three"],
        ["0800 123", "oh eight hundred one two three"],
        ["042", "my code is oh forty two"],
        ["420", "forty two oh"]
      ],
      1
    )
    allScored(
      [
        ["42", "my code is oh forty two"],
        ["42", "forty two oh"],
        ["0042", "oh forty two"]
      ],
      0
    )
  })

  it("is an interjection before other words, and beside number words of a language that has another 0", () => {
    allScored(
      [
        ["42", "oh, it's four two"],
        ["42", "oh yes, forty two"],
        ["42", "oh vier zwei"],
        ["42", "oh, zweiundvierzig"],
        ["12 O'Connell Street", "twelve o connell street"],
        ["4 Oh Street", "four oh street"]
      ],
      1
    )
  })
})
