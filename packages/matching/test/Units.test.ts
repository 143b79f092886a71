import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

type Answer = readonly [expected: string, actual: string]

const allScored = (answers: ReadonlyArray<Answer>, score: number) => {
  const scoreOf = (expected: string, actual: string) => match(expected, actual, 0.8).score
  expect(answers.map(([one, other]) => [one, other, scoreOf(one, other), scoreOf(other, one)])).toEqual(
    answers.map(([one, other]) => [one, other, score, score])
  )
}

describe("Currencies and units", () => {
  it("are the same as words, as signs, and as short names", () => {
    allScored(
      [
        ["€20", "twenty euros"],
        ["20 €", "twenty euros"],
        ["20 EUR", "€20"],
        ["£20", "twenty pounds"],
        ["$5", "five bucks"],
        ["100 kr", "hundra kronor"],
        ["20 zł", "dwadzieścia złotych"],
        ["CHF 100", "hundert Franken"],
        ["20 €", "kaksikymmentä euroa"],
        ["5 km", "five kilometers"],
        ["5 km", "cinq kilomètres"],
        ["5km", "viisi kilometriä"],
        ["5 kg", "cinco kilos"],
        ["10 cm", "zehn Zentimeter"],
        ["1 m", "one meter"],
        ["5 l", "cinque litri"],
        ["€1,000,000", "one million euros"]
      ],
      1
    )
  })

  it("have percent in all languages, also where it is two words of which one is a number", () => {
    const said = [
      "fifteen percent",
      "fifteen per cent",
      "quince por ciento",
      "vijftien procent",
      "fünfzehn Prozent",
      "quinze pour cent",
      "quindici per cento",
      "quinze por cento",
      "piętnaście procent",
      "femton procent",
      "femten procent",
      "femten prosent",
      "viisitoista prosenttia"
    ]
    allScored(
      said.map((words): Answer => ["15 %", words]),
      1
    )
    allScored(
      said.map((words): Answer => ["14 %", words]),
      0
    )
  })

  it("make another answer when they differ, with a score of 0", () => {
    allScored(
      [
        ["$20", "twenty euros"],
        ["$20", "€20"],
        ["20 dollars", "20 euros"],
        ["20 euros", "20 cents"],
        ["5 km", "five miles"],
        ["5 km", "five kilos"],
        ["10 cm", "zehn Meter"],
        ["10 m", "ten miles"],
        ["it costs €20 for two people", "it costs 20 dollars for two people"],
        ["it is 5 km for two people", "it is five miles for two people"],
        ["20 euros and 30 dollars", "30 euros and 20 dollars"]
      ],
      0
    )
    allScored([["20 euros and 30 dollars", "30 dollars and 20 euros"]], 1)
  })

  it("do not count when only one text has them", () => {
    allScored(
      [
        ["20", "twenty euros"],
        ["€20", "twenty"],
        ["15%", "15"],
        ["€20.00", "20.00"],
        ["$5.50", "five fifty"],
        ["$5,000", "five thousand"],
        ["20 euros 5 apples", "€20, 5 apples"],
        ["May 3 €20", "third of May 20 euros"]
      ],
      1
    )
  })

  it("may be in a list, and follow each other", () => {
    allScored(
      [
        ["$5 and 10%", "five dollars and ten percent"],
        ["€20, €30", "twenty euros and thirty euros"],
        ["€20 €30", "zwanzig Euro und dreißig Euro"],
        ["20 euros", "twenty euros and that's it"],
        ["$20 and 50 cents", "$20.50"],
        ["$20 and Anna", "twenty and Anna"],
        ["Anna and €20", "twenty euros and Anna"]
      ],
      1
    )
    allScored([["€20, 30", "€20.30"]], 0)
  })

  it("keep decimals and thousands of amounts apart", () => {
    allScored(
      [
        ["$5.50", "five dollars fifty"],
        ["$5.50", "five dollars and fifty cents"],
        ["€5,50", "fünf Euro fünfzig"],
        ["€5,50", "cinq euros cinquante"],
        ["€5,50", "vijf euro vijftig"],
        ["5,50 €", "cinco euros con cincuenta"],
        ["5,50 €", "cinque euro e cinquanta"],
        ["5,50 €", "cinco euros e cinquenta cêntimos"],
        ["5,50 €", "viisi euroa viisikymmentä senttiä"],
        ["5,50 kr", "fem kroner og femti øre"],
        ["20,50 zł", "dwadzieścia złotych pięćdziesiąt groszy"],
        ["€5.05", "five euros and five cents"],
        ["€0.50", "fifty cents"],
        ["€20.00", "twenty euros"],
        ["€1.000,00", "one thousand euros"],
        ["€1.200,50", "twelve hundred euros fifty"],
        ["1.5 km", "one point five kilometers"],
        ["3,5 %", "drei Komma fünf Prozent"],
        ["3,5 %", "trois virgule cinq pour cent"]
      ],
      1
    )
    allScored(
      [
        ["€5.50", "€550"],
        ["€5.50", "five hundred fifty euros"],
        ["€5.50", "five euros five"],
        ["€20.00", "€2000"],
        ["1.5 km", "fifteen kilometers"],
        ["3,5 %", "fünfunddreißig Prozent"],
        ["$19.99", "nineteen euros ninety nine"]
      ],
      0
    )
  })

  it("may be letters of a code or words of a name", () => {
    allScored(
      [
        ["1234 KM", "1234 k m"],
        ["12 K", "twelve kilo"],
        ["12 Mile End Road", "Mile End Road 12"],
        ["5 Pound Lane", "Pound Lane five"]
      ],
      1
    )
    allScored(
      [
        ["1234 KM", "1234"],
        ["1234 KG", "1234 KM"],
        ["12 M", "12"]
      ],
      0
    )
  })

  it("that are also names are a part of the answer where the other text has no unit", () => {
    const answers: ReadonlyArray<Answer> = [
      ["Frank 4829", "4829"],
      ["Franco 4829", "4829"],
      ["4829 Miles", "4829"],
      ["25 Miles Road", "25 Road"],
      ["12 Pond Road", "12 Road"],
      ["Via Franco 5, Roma", "Via 5, Roma"],
      ["Anne Frank 12", "Anne 12"],
      ["Calle Punta 12", "Calle 12"]
    ]
    const accepted = answers.filter(([one, other]) => match(one, other, 0.8).match || match(other, one, 0.8).match)
    expect(accepted).toEqual([])
  })

  it("that are also names, or short, are units beside those of the other text", () => {
    allScored(
      [
        ["£1", "one pound"],
        ["£20", "twenty pound"],
        ["£0.01", "one penny"],
        ["£0.50", "fifty pence"],
        ["5 miles", "five mile"],
        ["100 SEK", "etthundra kronor"],
        ["100 DKK", "hundred kroner"],
        ["100 DKK", "100 kr"],
        ["kr 100", "hundre kroner"],
        ["€5", "vijf euro"],
        ["£5", "vijf pond"],
        ["100 CHF", "honderd frank"],
        ["5,50 kr", "fem kr femtio"]
      ],
      1
    )
  })

  it("have decimals also where both texts have the same short name", () => {
    allScored(
      [
        ["1.5 km", "15 km"],
        ["20.50 EUR", "2050 EUR"],
        ["5.50 USD", "550 USD"],
        ["1,5 kg", "15 kg"],
        ["100 kr", "1,00 kr"],
        ["fifteen km", "one point five km"],
        ["£5.50", "550 pound"]
      ],
      0
    )
    allScored(
      [
        ["1.5 km", "1,5 km"],
        ["1.5 km", "one point five km"],
        ["1234 M", "twelve thirty four m"],
        ["3.30 p.m.", "3:30 p.m."]
      ],
      1
    )
  })

  it("are compared in texts of 1000 characters", () => {
    const long = (part: string) => part.repeat(1000).slice(0, 1000)
    for (const part of ["€5 ", "5 euro 20 km ", "5% ", "pour cent 5 ", "5,50 € and 5 cents "]) {
      expect([part, match(long(part), long(part), 0.8).score]).toEqual([part, 1])
      expect(match(long(part), `${long(part).slice(0, 980)} qwertyu 9`, 0.8).match).toBe(false)
    }
  })
})
