import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score
const scoresOf = (answers: ReadonlyArray<readonly [expected: string, actual: string]>) =>
  answers.map(([expected, actual]) => [expected, actual, scoreOf(expected, actual), scoreOf(actual, expected)])

const allScored = (answers: ReadonlyArray<readonly [expected: string, actual: string]>, score: number) =>
  expect(scoresOf(answers)).toEqual(answers.map(([expected, actual]) => [expected, actual, score, score]))

describe("Codes of letters and digits", () => {
  it("refuses a code whose digits or letters have changed places", () => {
    allScored(
      [
        ["SW1A 2BC", "SW2A 1BC"],
        ["SW1A 2BC", "s w two a one b c"],
        ["my postcode is SW1A 2BC London", "my postcode is SW2A 1BC London"],
        ["K1A 0B6", "K0A 1B6"],
        ["M5V 3L9", "m three v five l nine"],
        ["M5V 3L9", "m nine v three l five"],
        ["T2X 4R8", "T4X 2R8"],
        ["7X9K4", "9X7K4"],
        ["7X9K4", "7X4K9"],
        ["3B7", "7B3"],
        ["1A2B", "2A1B"],
        ["A1B2", "A 2 B 1"],
        ["A1B2", "A B 1 2"],
        ["R2D2", "r d two two"],
        ["AB12 CD34", "AB34 CD12"],
        ["12A 34B", "34A 12B"],
        ["gate 5 seat 12A", "seat 5A gate 12"]
      ],
      0
    )
  })

  it("forgives that codes change places as a whole, and how they are said", () => {
    allScored(
      [
        ["SW1A 2BC", "sw1a 2bc"],
        ["SW1A 2BC", "s w one a two b c"],
        ["London SW1A 2BC", "it's SW1A 2BC, London"],
        ["R2D2", "r two d two"],
        ["AB 12", "12 AB"],
        ["A1 B2", "B2 A1"],
        ["AB12 CD34", "CD34 AB12"],
        ["gate 5 seat 12A", "seat 12A gate 5"],
        ["Hauptstrasse 12a, 10115 Berlin", "10115 Berlin, Hauptstrasse 12a"],
        ["Berlin 10115 12A", "12A 10115 Berlin"],
        ["K1A 0B6", "k one a zero b six"],
        ["12 Elm St, Apt 5", "Apt 5, 12 Elm St"],
        ["22 Elm St, Ely CB7 4JL", "22 Elm St, CB7 4JL Ely"],
        ["Kim Lee 1234", "Lee Kim 1234"],
        ["Jan Bos 1234", "1234 Bos Jan"],
        ["Lee, Ann 1985", "Ann Lee 1985"],
        ["42 Elm Rd, Jon Fox", "Jon Fox, 42 Elm Rd"],
        ["12 B, Tom", "Tom, 12 B"],
        ["12A Jan de Wit", "Jan de Wit 12A"]
      ],
      1
    )
  })

  it("refuses another letter, or a missing one, however many letters the code has", () => {
    allScored(
      [
        ["HH-AB 1234", "h h a p eins zwei drei vier"],
        ["ABCDE123", "ABCDF123"],
        ["Apartment 4B", "Apartment 4"],
        ["Apartment 4B", "apartment 4D"],
        ["221B Baker Street", "221 baker street"],
        ["ABC 123456", "123456"],
        ["KLM 123456", "it's 123456"],
        ["abc 12345678", "12345678"],
        ["1011 an", "1011 au"]
      ],
      0
    )
    allScored(
      [
        ["HH-AB 1234", "h h a b eins zwei drei vier"],
        ["Apartment 4B", "apartment four b"],
        ["221B Baker Street", "two two one b baker street"]
      ],
      1
    )
  })
})
