import { type Language, languages } from "@svc/api/agents/Language"
import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

interface Times {
  /** Ways to say 15:30, 15:15, 14:45, 15:10 and 14:50 without the half of the day, and 15:00. */
  readonly half: ReadonlyArray<string>
  readonly quarterPast: ReadonlyArray<string>
  readonly quarterTo: ReadonlyArray<string>
  readonly tenPast: ReadonlyArray<string>
  readonly tenTo: ReadonlyArray<string>
  readonly full: ReadonlyArray<string>
}

const timesOf: Readonly<Record<Language, Times>> = {
  "en-US": {
    half: ["half past three", "half past 3", "three thirty", "fifteen thirty", "three thirty pm", "3:30 p.m."],
    quarterPast: ["a quarter past three", "quarter after three", "three fifteen"],
    quarterTo: ["quarter to three", "a quarter of three", "two forty-five", "quarter till three in the afternoon"],
    tenPast: ["ten past three", "ten minutes past three", "three ten"],
    tenTo: ["ten to three", "ten minutes to three", "two fifty"],
    full: ["three o'clock", "at three in the afternoon", "3 pm"]
  },
  "en-GB": {
    half: ["half past three", "half three", "at half three in the afternoon"],
    quarterPast: ["quarter past three", "it's a quarter past three"],
    quarterTo: ["quarter to three"],
    tenPast: ["ten past three"],
    tenTo: ["ten to three"],
    full: ["three o'clock", "3 o'clock"]
  },
  "es-ES": {
    half: ["tres y media", "a las tres y media de la tarde", "quince treinta", "las tres y treinta"],
    quarterPast: ["las tres y cuarto", "tres y quince"],
    quarterTo: ["tres menos cuarto", "las tres menos cuarto", "dos cuarenta y cinco"],
    tenPast: ["las tres y diez de la tarde", "tres y diez de la tarde"],
    tenTo: ["las tres menos diez", "diez para las tres"],
    full: ["las tres de la tarde", "quince horas"]
  },
  "nl-NL": {
    half: ["half vier", "drie uur dertig", "om half vier 's middags", "vijftien uur dertig"],
    quarterPast: ["kwart over drie", "drie uur vijftien"],
    quarterTo: ["kwart voor drie"],
    tenPast: ["tien over drie"],
    tenTo: ["tien voor drie", "tien minuten voor drie"],
    full: ["drie uur", "om drie uur 's middags"]
  },
  "de-DE": {
    half: ["halb vier", "drei Uhr dreißig", "um halb vier nachmittags", "fünfzehn Uhr dreißig"],
    quarterPast: ["viertel nach drei", "Viertel vier", "drei Uhr fünfzehn"],
    quarterTo: ["viertel vor drei", "dreiviertel drei", "drei viertel drei"],
    tenPast: ["zehn nach drei", "drei Uhr zehn"],
    tenTo: ["zehn vor drei", "zehn Minuten vor drei"],
    full: ["drei Uhr", "15 Uhr", "um drei Uhr nachmittags"]
  },
  "fr-FR": {
    half: ["trois heures et demie", "quinze heures trente", "15h30", "trois heures et demie de l'après-midi"],
    quarterPast: ["trois heures et quart", "trois heures quinze"],
    quarterTo: ["trois heures moins le quart", "trois heures moins quart"],
    tenPast: ["trois heures dix"],
    tenTo: ["trois heures moins dix", "quatorze heures cinquante"],
    full: ["trois heures", "quinze heures", "à trois heures de l'après-midi"]
  },
  "it-IT": {
    half: ["le tre e mezza", "tre e mezzo", "alle quindici e trenta", "le tre e mezza del pomeriggio"],
    quarterPast: ["le tre e un quarto", "tre e quindici"],
    quarterTo: ["le tre meno un quarto", "le due e tre quarti"],
    tenPast: ["le tre e dieci"],
    tenTo: ["le tre meno dieci"],
    full: ["ore quindici", "le tre del pomeriggio"]
  },
  "pt-PT": {
    half: ["três e meia", "às três e meia da tarde", "quinze horas e trinta"],
    quarterPast: ["três e um quarto", "três e quinze da tarde"],
    quarterTo: ["três menos um quarto", "um quarto para as três"],
    tenPast: ["três e dez da tarde"],
    tenTo: ["dez para as três", "três menos dez"],
    full: ["três horas", "às três da tarde"]
  },
  "pl-PL": {
    half: ["wpół do czwartej", "piętnasta trzydzieści", "o wpół do czwartej po południu"],
    quarterPast: ["kwadrans po trzeciej", "trzecia piętnaście"],
    quarterTo: ["za kwadrans trzecia"],
    tenPast: ["dziesięć po trzeciej"],
    tenTo: ["za dziesięć trzecia"],
    full: ["godzina trzecia", "o godzinie piętnastej"]
  },
  "sv-SE": {
    half: ["halv fyra", "klockan halv fyra", "halv fyra på eftermiddagen", "klockan femton trettio"],
    quarterPast: ["kvart över tre"],
    quarterTo: ["kvart i tre"],
    tenPast: ["tio över tre"],
    tenTo: ["tio i tre", "tio minuter i tre"],
    full: ["klockan tre", "klockan tre på eftermiddagen"]
  },
  "da-DK": {
    half: ["halv fire", "klokken halv fire", "klokken femten tredive"],
    quarterPast: ["kvart over tre", "kvarter over tre"],
    quarterTo: ["kvart i tre"],
    tenPast: ["ti minutter over tre", "ti over tre"],
    tenTo: ["ti minutter i tre"],
    full: ["klokken tre", "klokken tre om eftermiddagen"]
  },
  "nb-NO": {
    half: ["halv fire", "klokka halv fire", "halv fire om ettermiddagen"],
    quarterPast: ["kvart over tre"],
    quarterTo: ["kvart på tre"],
    tenPast: ["ti over tre"],
    tenTo: ["ti på tre"],
    full: ["klokka tre", "klokken tre om ettermiddagen"]
  },
  "fi-FI": {
    half: ["puoli neljä", "kello puoli neljä", "puoli neljä iltapäivällä"],
    quarterPast: ["varttia yli kolme", "vartin yli kolme"],
    quarterTo: ["varttia vaille kolme"],
    tenPast: ["kymmenen yli kolme"],
    tenTo: ["kymmentä vaille kolme"],
    full: ["kello kolme", "kello viisitoista"]
  }
}

const clocks = {
  half: "15:30",
  quarterPast: "15:15",
  quarterTo: "14:45",
  tenPast: "15:10",
  tenTo: "14:50",
  full: "15:00"
}

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score

describe("A time of day", () => {
  it.each(languages)("in %s is that of the clock, however it is said, and no other", (language) => {
    for (const [name, said] of Object.entries(timesOf[language])) {
      for (const [other, clock] of Object.entries(clocks)) {
        const scores = said.map((text: string) => [text, clock, scoreOf(clock, text)])
        expect(scores).toEqual(said.map((text: string) => [text, clock, name === other ? 1 : 0]))
        expect(said.map((text: string) => [text, clock, scoreOf(text, clock)])).toEqual(scores)
      }
    }
  })

  it.each(languages)("in %s is the same however it is said", (language) => {
    const { full, half, quarterPast, quarterTo, tenPast, tenTo } = timesOf[language]
    for (const same of [half, quarterPast, quarterTo, tenPast, tenTo, full]) {
      for (const other of same) expect([same[0], other, scoreOf(same[0] ?? "", other)]).toEqual([same[0], other, 1])
    }
  })

  it("counts from the half hour in the languages that do so", () => {
    for (const [clock, said] of [
      ["15:25", "fünf vor halb vier"],
      ["15:35", "fünf nach halb vier"],
      ["15:25", "vijf voor half vier"],
      ["15:35", "vijf over half vier"],
      ["15:25", "fem i halv fyra"],
      ["15:35", "fem over halv fire"],
      ["15:25", "fem på halv fire"]
    ] as const) {
      expect([clock, said, scoreOf(clock, said)]).toEqual([clock, said, 1])
      expect(scoreOf("15:30", said)).toBe(0)
    }
  })

  it("keeps the half of the day where it is told", () => {
    for (const [expected, actual, score] of [
      ["3:30 pm", "15:30", 1],
      ["3:30 am", "15:30", 0],
      ["03:30", "half past three", 1],
      ["03:30", "half past three in the afternoon", 0],
      ["15:30", "half past three in the morning", 0],
      ["15:30", "halb vier morgens", 0],
      ["12:00", "noon", 1],
      ["00:00", "midnight", 1],
      ["00:00", "noon", 0],
      ["24:00", "mitternacht", 1],
      ["12:30 am", "00:30", 1],
      ["10 am", "ten pm", 0],
      ["10 am", "ten in the morning", 1],
      ["15:05", "three oh five", 1],
      ["15:05", "three five", 0]
    ] as const) {
      expect([expected, actual, scoreOf(expected, actual)]).toEqual([expected, actual, score])
    }
  })

  it("in digits is compared by its digits with another one in digits", () => {
    expect(scoreOf("15:30", "3:30")).toBe(0)
    expect(scoreOf("15:30", "15.30")).toBe(1)
    expect(scoreOf("15:30", "1530")).toBe(1)
    expect(scoreOf("15:30", "15:31")).toBe(0)
    expect(scoreOf("15:30", "15 31")).toBe(0)
  })

  it("is one only where the other text is one too", () => {
    expect(scoreOf("330", "half past three")).toBe(0)
    expect(scoreOf("1530", "halb vier")).toBe(0)
    expect(scoreOf("3 apples", "three o'clock")).toBeLessThan(0.8)
    expect(scoreOf("Hauptstraße 15, Wohnung 30", "halb vier")).toBe(0)
    expect(scoreOf("12:34:56", "12 34 56")).toBe(1)
    expect(scoreOf("12:34:56", "twelve thirty-four")).toBe(0)
  })

  it("is compared beside other words and dates", () => {
    expect(scoreOf("Monday 15:30", "Monday at half past three")).toBe(1)
    expect(scoreOf("Monday 15:30", "Monday at half past four")).toBe(0)
    expect(scoreOf("3 May, 15:30", "the third of May at half past three")).toBe(1)
    expect(scoreOf("3 May, 15:30", "the fourth of May at half past three")).toBe(0)
    expect(scoreOf("15:30", "half past three please")).toBe(1)
  })
})
