import { readFileSync } from "node:fs"
import { languages } from "@svc/api/agents/Language"
import { describe, expect, it } from "vitest"
import { match, matching } from "../src/Match.ts"
import { answersOf } from "./Answers.ts"

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score
const matches = (expected: string, actual: string): boolean => match(expected, actual, 0.8).match

describe("Answer matching", () => {
  it.each(languages)(
    "matches answers in %s, and tells different ones apart, whichever text is expected",
    (language) => {
      const { differ, match: same } = answersOf[language]
      expect(same.length + differ.length).toBeGreaterThanOrEqual(10)
      expect(same.filter(([expected, actual]) => !matches(expected, actual))).toEqual([])
      expect(differ.filter(([expected, actual]) => matches(expected, actual))).toEqual([])
      for (const [expected, actual] of [...same, ...differ]) {
        expect(match(actual, expected, 0.8)).toEqual(match(expected, actual, 0.8))
      }
    }
  )

  it("has the scores that the reference shows", () => {
    const page = readFileSync(new URL("../../../docs/reference/matching.md", import.meta.url), "utf8")
    const rows = [...page.matchAll(/^\| `([^`]*)` +\| `([^`]*)` +\| ([\d.]+) +\|$/gm)]
    expect(rows.length).toBeGreaterThanOrEqual(5)
    for (const [, expected = "", actual = "", score] of rows) {
      expect([expected, actual, scoreOf(expected, actual)]).toEqual([expected, actual, Number(score)])
    }
  })

  it("matches from the threshold on, and never with a score of 0", () => {
    expect(match("John Smith", "Jon Smyth", 0.9)).toEqual({ match: true, score: 0.9 })
    expect(match("John Smith", "Jon Smyth", 0.9001)).toEqual({ match: false, score: 0.9 })
    expect(match("John Smith", "john smith", 1)).toEqual({ match: true, score: 1 })
    expect(match("John Smith", "Peter Jones", 0)).toEqual({ match: false, score: 0 })
    expect(match("1234", "1235", 0)).toEqual({ match: false, score: 0 })
  })

  it("forgives case, punctuation, diacritics, transliterations, order and spaces entirely", () => {
    const same = [
      ["JOHN SMITH", "john  smith."],
      ["José", "Jose"],
      ["José", "Jose\u0301"],
      ["Müller", "Mueller"],
      ["Müller", "Muller"],
      ["Øster", "Oester"],
      ["Åse", "Aase"],
      ["Weiß", "Weiss"],
      ["O'Brien", "O’Brien"],
      ["Anna-Marie", "Annamarie"],
      ["Straße des 17. Juni", "strasse des 17 juni"],
      ["12 Main Street", "Main Street 12"]
    ]
    expect(same.filter(([expected = "", actual = ""]) => scoreOf(expected, actual) !== 1)).toEqual([])
  })

  it("refuses every difference of digits, and of short words beside them, with a score of 0", () => {
    const different = [
      ["12 Main Street", "13 Main Street"],
      ["12 Main Street", "Main Street"],
      ["12 Main Street", "12 Main Street 3"],
      ["1234", "12345"],
      ["12 34", "34 12"],
      ["1011 AB", "1011 AC"],
      ["1011 AB Amsterdam", "1011 AC Amsterdam"],
      ["1011 AB", "1011"],
      ["3816 LE", "3816"],
      ["3816 LE", "three eight one six"],
      ["A12", "12"],
      ["12a", "12"],
      ["12 A", "12"],
      ["5 kg", "5 km"],
      ["one two three four five six seven eight nine ten", "one two three four five six seven eight nine eleven"],
      ["john23@example.com", "john24@example.com"]
    ]
    expect(different.filter(([expected = "", actual = ""]) => scoreOf(expected, actual) !== 0)).toEqual([])
  })

  it("forgives the order of numbers among words, also where two numbers come to stand beside each other", () => {
    const address = "Hauptstrasse 12, 10115 Berlin"
    for (const other of [
      "Berlin 10115 Hauptstrasse 12",
      "10115 Berlin, Hauptstrasse 12",
      "12 Hauptstrasse, Berlin 10115"
    ]) {
      expect([other, scoreOf(address, other)]).toEqual([other, 1])
    }
    expect(scoreOf("1011 AB 12", "12, 1011 AB")).toBe(1)
    expect(scoreOf(address, "Berlin one zero one one five Hauptstrasse twelve")).toBe(1)
    const different = [
      "Berlin 10151 Hauptstrasse 12",
      "Berlin 10115 Hauptstrasse 21",
      "Berlin 1011 Hauptstrasse 125",
      "Berlin 121 Hauptstrasse 0115",
      "Berlin 10115 Hauptstrasse 12 12",
      "Berlin 10115 Hauptstrasse",
      "10115 12 Hauptstrasse Berlin"
    ]
    expect(different.filter((other) => scoreOf(address, other) !== 0)).toEqual([])
    expect(scoreOf("12 34", "34 12")).toBe(0)
  })

  it("scores less than 1 when numbers beside each other in either text stand apart in the other, and 0 for other numbers", () => {
    const address = "Hauptstrasse 12, 10115 Berlin, Wohnung 3"
    const same = [
      [address, "Wohnung 3, 12 Hauptstrasse, 10115 Berlin"],
      [address, "Wohnung drei, zwölf Hauptstrasse, Berlin 10115"],
      ["Main Street 12, 3 Flat, 10115 Berlin", "Flat 3, Berlin 10115, 12 Main Street"],
      ["Main Street 12, 30 High Road, 45 Lane", "45, 12 Main Street, Lane High Road 30"]
    ]
    for (const [expected = "", actual = ""] of same) {
      const { match: isMatch, score } = match(expected, actual, 0.8)
      expect([expected, actual, isMatch, score < 1]).toEqual([expected, actual, true, true])
      expect(match(actual, expected, 0.8)).toEqual({ match: true, score })
    }
    const different = [
      [address, "Wohnung 3, 12 Hauptstrasse, 10151 Berlin"],
      [address, "Wohnung 3, 21 Hauptstrasse, 10115 Berlin"],
      [address, "Wohnung 31, 2 Hauptstrasse, 10115 Berlin"],
      [address, "Wohnung 3, 12 Hauptstrasse, Berlin"],
      [address, "Wohnung 3, 10115 12 Hauptstrasse, Berlin"],
      ["Main Street 12, flat 3", "flat 3, 12 Main Street, 10115"],
      ["flat one two, floor three", "flat one, floor two three"],
      ["12 34", "34 12"]
    ]
    expect(different.filter(([expected = "", actual = ""]) => scoreOf(expected, actual) !== 0)).toEqual([])
    expect(matches("flat 12 34, floor 56", "flat 12, floor 34 56")).toBe(false)
  })

  it("reads digits of any script and width", () => {
    for (const digits of ["１２３４", "١٢٣٤", "۱۲۳۴", "१२३४", "𝟏𝟐𝟑𝟒", "①②③④", "1\u200b2\u200d3\u20604"]) {
      expect([digits, scoreOf("1234", digits), scoreOf("1235", digits)]).toEqual([digits, 1, 0])
    }
  })

  it("reads the plus of a phone number as a sign, like the one that is written", () => {
    for (const plus of ["+", "plus", "più", "más", "mais"]) {
      expect([plus, scoreOf("+31 6 1234 5678", `it's ${plus} 31 6 12 34 56 78`)]).toEqual([plus, 1])
    }
    expect(matches("+31 6 1234 5678", "plus 32 6 12 34 56 78")).toBe(false)
    expect(scoreOf("vitamin plus", "vitamin")).toBeLessThan(1)
  })

  it("reads dates in either order of day and month, the same in both texts", () => {
    expect(matches("03/05/2024", "3 May 2024")).toBe(true)
    expect(matches("03/05/2024", "5 March 2024")).toBe(true)
    expect(matches("03/05/2024", "05/03/2024")).toBe(false)
    expect(matches("2024-05-03", "03/05/2024")).toBe(true)
    expect(matches("2024-05-03", "2024-03-05")).toBe(false)
    expect(matches("13/05/2024", "13 May 2024")).toBe(true)
    expect(matches("13/05/2024", "05/13/2024")).toBe(true)
    expect(matches("3.5.1985", "03-05-85")).toBe(true)
    expect(matches("3 May 2024", "03052024")).toBe(true)
    expect(matches("3 May 2024", "three five twenty twenty-four")).toBe(true)
    expect(matches("3 May 2024", "3 May")).toBe(false)
    expect(matches("3 May", "the third of May")).toBe(true)
    expect(matches("May 2024", "mei 2024")).toBe(true)
    expect(matches("10-11-12 12345678", "10111212345678")).toBe(true)
    expect(matches("192.168.10.1", "192 168 10 1")).toBe(true)
  })

  it("reads ambiguous words as numbers or as words, and never as another number", () => {
    expect(matches("Otto Schmidt", "Oto Schmidt")).toBe(true)
    expect(matches("I want to go to Rome", "I want to go Rome")).toBe(true)
    expect(matches("Anna", "my first name is Anna")).toBe(true)
    expect(matches("en", "1")).toBe(true)
    expect(matches("Storgata to", "Storgata fire")).toBe(false)
    expect(matches("Via Roma sei", "Via Roma due")).toBe(false)
    expect(matches("60", "tres")).toBe(true)
    expect(matches("3", "tres")).toBe(true)
    expect(matches("4", "tres")).toBe(false)
  })

  it("takes a short word for a part of a code where it touches digits, or is in capitals after them", () => {
    for (const said of ["3816 le", "38 16 l e", "three eight one six l e"]) expect(scoreOf("3816 LE", said)).toBe(1)
    for (const said of ["a 12", "a twelve", "it's a 12", "A-12"]) expect(scoreOf("A12", said)).toBe(1)
    for (const said of ["12", "it is 12", "IT IS 12", "I AM 12", "12 is it", "A 12"])
      expect(scoreOf("12", said)).toBe(1)
    expect(scoreOf("12 IS MY NUMBER", "12 is my number")).toBe(1)
  })

  it("takes e-mail addresses with other short endings for other addresses", () => {
    for (const [ending, other] of [
      ["de", "it"],
      ["nl", "be"],
      ["com", "co"],
      ["co.uk", "co.nl"]
    ]) {
      const expected = `anna.jansen@example.${ending}`
      expect(scoreOf(expected, `anna.jansen@example.${other}`)).toBe(0)
      expect(scoreOf(expected, `anna dot jansen at example dot ${other?.replace(".", " dot ")}`)).toBe(0)
      expect(scoreOf(expected, `my email is anna dot jansen at example dot ${ending?.replace(".", " dot ")}`)).toBe(1)
      expect(scoreOf(expected, `ana.jansen@example.${ending}`)).toBe(0)
    }
    expect(scoreOf("anna@example.de", "anna at example dot d e")).toBe(1)
    expect(scoreOf("Anna <anna@example.de>, at 5", "Anna, anna@example.de, at 5")).toBe(1)
    expect(scoreOf("de@is.it", "de at is dot it")).toBe(1)
  })

  it("compares e-mail addresses in their order, whatever the signs are called", () => {
    expect(scoreOf("john.smith@example.com", "john dot smith at example dot com")).toBe(1)
    expect(scoreOf("john_smith@example.com", "john underscore smith at example dot com")).toBe(1)
    expect(scoreOf("jo-an@mail.com", "my email is jo dash an at mail dot com")).toBe(1)
    expect(scoreOf("info7@example.com", "i n f o seven at example dot com")).toBe(1)
    expect(matches("smith.john@example.com", "john.smith@example.com")).toBe(false)
    expect(matches("john@example.com", "mary@example.org")).toBe(false)
  })

  it("scores 0 when there is nothing to compare", () => {
    for (const nothing of ["", " ", "...", "?!", "\u202e\u200f", "\u0301".repeat(1000), "👍", "\ud800"]) {
      expect([nothing, match(nothing, nothing, 0), match("John", nothing, 0)]).toEqual([
        nothing,
        { match: false, score: 0 },
        { match: false, score: 0 }
      ])
    }
  })

  it("ignores marks and invisible characters that are piled on letters", () => {
    const zalgo = [..."John Smith"].map((letter) => letter + "\u0301\u0336\u0489".repeat(20)).join("")
    for (const hidden of [
      zalgo,
      "\u202eJohn\u202c Smith",
      "Jo\u00adhn Sm\u200bith",
      `J${"\u0316".repeat(900)}ohn Smith`
    ]) {
      expect(scoreOf("John Smith", hidden)).toBe(1)
    }
  })

  it("reads a text once for all languages that read it in the same way, also where every language spells it", () => {
    const long = "alpha bee 1 ".repeat(84).slice(0, 1000)
    const steps = (actual: string) => [...matching(long, actual, 0.8)].length
    expect([steps(long), steps(`${long.slice(0, 990)} qwertyu 9`)]).toEqual([2, expect.toSatisfy((n) => n < 8)])
  })

  it("compares texts of 1000 characters that are made to be slow", () => {
    const long = (part: string) => part.repeat(1000).slice(0, 1000)
    const parts = [
      "en to ",
      "double ",
      "3 may 24 ",
      "3-5-24, ",
      "at dot ",
      "enogtyve",
      "ﷺ",
      "a'",
      "alpha bee 1 ",
      "smitha smithb ",
      "four o b ",
      "otto o t t o ",
      "jan j a n ",
      "le l e en de ",
      "segunda 3 maio ",
      "one million ",
      "uh 3 otto may o double half sei to "
    ]
    for (const part of parts) {
      expect([part, scoreOf(long(part), long(part))]).toEqual([part, 1])
      expect([part, matches(long(part), `${long(part).slice(0, 990)} qwertyu 9`)]).toEqual([part, false])
    }
  })
})
