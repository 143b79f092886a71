import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score

type Answer = readonly [expected: string, actual: string]

/** The answers whose score is another one, with it. */
const otherThan = (score: number, answers: ReadonlyArray<Answer>) =>
  answers.flatMap(([expected, actual]) => {
    const scores = [scoreOf(expected, actual), scoreOf(actual, expected)]
    return scores.every((each) => each === score) ? [] : [[expected, actual, ...scores]]
  })

const matching = (answers: ReadonlyArray<Answer>) => answers.filter(([one, other]) => match(one, other, 0.8).match)

const alphabet = [..."abcdefghijklmnopqrstuvwxyz"]
const pairs = alphabet.flatMap((first) => alphabet.map((second) => [first, second] as const))

describe("A spelled answer", () => {
  it("has all 676 pairs of letters beside digits, also those that are a filler word", () => {
    const answers = pairs.flatMap(([first, second]): ReadonlyArray<Answer> => {
      const letters = `${first}${second}`.toUpperCase()
      return [
        [`1234 ${letters}`, `1234 ${first} ${second}`],
        [`1234 ${letters}`, `one two three four ${first} ${second}`],
        [`${letters}12`, `${first} ${second} 12`]
      ]
    })
    expect(otherThan(1, answers)).toEqual([])
  })

  it("is another one when a letter beside digits is replaced, also where both make filler words", () => {
    const answers = pairs.flatMap(([first, second]): ReadonlyArray<Answer> => {
      const expected = `1234 ${first}${second}`
      return second === "q" ? [] : [[expected, `1234 ${first} q`]]
    })
    expect(matching(answers)).toEqual([])
    expect(otherThan(0, [["1012 LE", "1012 l a"]])).toEqual([])
    expect(otherThan(0, [["1012 LE", "1012 d e"]])).toEqual([])
  })

  it("may have filler words of any language in names, codes and addresses", () => {
    const same: ReadonlyArray<Answer> = [
      ["3816 LE", "3816 l e"],
      ["ME12", "m e 12"],
      ["ME12", "mike echo one two"],
      ["IS 99", "i s nine nine"],
      ["DE89370400440532013000", "d e 89 3704 0044 0532 0130 00"],
      ["De Vries", "my name is d e v r i e s"],
      ["De Jong", "delta echo juliett oscar november golf"],
      ["Le Roux", "lima echo romeo oscar uniform x-ray"],
      ["La Rosa", "lima alpha romeo oscar sierra alpha"],
      ["Van den Berg", "victor alpha november delta echo november bravo echo romeo golf"],
      ["van den Berg", "Vandenberg"],
      ["Um Kim", "u m k i m"],
      ["le@firma.de", "l e at firma dot d e"],
      ["info@firma.de", "info at firma dot d e"],
      ["info@firma.it", "info chiocciola firma punto i t"],
      ["info@firma.es", "info at firma dot e s"],
      ["info@firma.se", "info at firma dot s e"],
      ["info@firma.no", "info at firma dot n o"]
    ]
    expect(otherThan(1, same)).toEqual([])
  })

  it('reads "o" and "oh" beside digits as 0 and as the letter, and between digits as 0', () => {
    const same: ReadonlyArray<Answer> = [
      ["4OB", "four o b"],
      ["40B", "four o b"],
      ["SO4", "s o four"],
      ["1012 OE", "one o one two o e"],
      ["1234 OO", "one two three four o o"],
      ["12 OH", "one two o h"],
      ["405", "four o five"],
      ["X04", "x-ray oh four"],
      ["XO4", "x-ray oh four"],
      ["X5004", "x-ray five oh oh four"]
    ]
    expect(otherThan(1, same)).toEqual([])
    expect(
      matching([
        ["4OB", "four o c"],
        ["41B", "four o b"],
        ["405", "four o six"]
      ])
    ).toEqual([])
  })

  it("may follow the name that it spells", () => {
    const same: ReadonlyArray<Answer> = [
      ["Jansen", "Jansen, j a n s e n"],
      ["Jansen", "Jansen J-A-N-S-E-N"],
      ["Jansen", "Jansen juliett alpha november sierra echo november"],
      ["Jan de Vries", "my name is Jan de Vries, j a n d e v r i e s"],
      ["Piet Jansen", "Piet Jansen, j a n s e n"],
      ["Jansen Jansen", "Jansen j a n s e n"]
    ]
    expect(otherThan(1, same)).toEqual([])
    const different: ReadonlyArray<Answer> = [
      ["Jansen", "Jansen, j o n s e n"],
      ["Jansen", "Jansen Jansen"],
      ["SW1", "s w one s w"],
      ["1011 AB", "1011 AB a b"]
    ]
    expect(matching(different)).toEqual([])
  })

  it("may be a name that is a number word in one of the languages", () => {
    const same: ReadonlyArray<Answer> = [
      ["Otto", "o t t o"],
      ["Otto", "O-T-T-O"],
      ["Otto", "oscar tango tango oscar"],
      ["Otto Schmidt", "o t t o s c h m i d t"],
      ["Otto", "otto, o t t o"],
      ["1234 TI", "one two three four t i"],
      ["8", "otto"]
    ]
    expect(otherThan(1, same)).toEqual([])
    expect(
      matching([
        ["Otto", "o t t a"],
        ["Otto 8", "o t t o 9"]
      ])
    ).toEqual([])
  })
})

describe("A filler word", () => {
  it.each(["Ben", "An", "Le", "Ma", "Na", "Mi", "My", "Im", "So", "Mon", "Lo"])(
    "may be the answer, as the name %s in a sentence",
    (name) => {
      const sentences = ["My name is", "I am", "it's", "ik ben", "mijn naam is", "ich bin", "je m'appelle"]
      expect(
        otherThan(
          1,
          sentences.map((words) => [name, `${words} ${name}`])
        )
      ).toEqual([])
      expect(matching(sentences.map((words) => [name, `${words} Jan`]))).toEqual([])
    }
  )

  it("is no answer when the other text has others", () => {
    const different: ReadonlyArray<Answer> = [
      ["Ben", "my name is"],
      ["Ben", "my name is An"],
      ["yes", "no"],
      ["My name is Ben", "My name is An"]
    ]
    expect(matching(different)).toEqual([])
  })
})
