import { type Language, languages } from "@svc/api/agents/Language"
import * as danish from "n2words/da-DK"
import * as german from "n2words/de-DE"
import * as british from "n2words/en-GB"
import * as american from "n2words/en-US"
import * as spanish from "n2words/es-ES"
import * as finnish from "n2words/fi-FI"
import * as french from "n2words/fr-FR"
import * as italian from "n2words/it-IT"
import * as norwegian from "n2words/nb-NO"
import * as dutch from "n2words/nl-NL"
import * as polish from "n2words/pl-PL"
import * as portuguese from "n2words/pt-PT"
import * as swedish from "n2words/sv-SE"
import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

/** Writes numbers in words, by somebody else's rules. */
interface Speller {
  readonly toCardinal: (value: number) => string
  readonly toOrdinal: (value: number) => string
}

const spellers: Readonly<Record<Language, Speller>> = {
  "en-US": american,
  "en-GB": british,
  "es-ES": spanish,
  "nl-NL": dutch,
  "de-DE": german,
  "fr-FR": french,
  "it-IT": italian,
  "pt-PT": portuguese,
  "pl-PL": polish,
  "sv-SE": swedish,
  "da-DK": danish,
  "nb-NO": norwegian,
  "fi-FI": finnish
}

/** 0 to 220, and one of 17 up to 9999: all forms of units, tens, hundreds and thousands. */
const numbers = [
  ...Array.from({ length: 221 }, (_, index) => index),
  ...Array.from({ length: 575 }, (_, index) => 221 + 17 * index),
  9999
]

/** n2words has wrong ordinals for the Scandinavian languages ("tjugode"), and for Italian 26 ("ventiseesimo"). */
const isWrong = (language: Language, value: number): boolean => language === "it-IT" && value > 20 && value % 10 === 6

const ordinals: ReadonlyArray<readonly [Language, number]> = [
  ["en-GB", 99],
  ["es-ES", 31],
  ["nl-NL", 31],
  ["de-DE", 31],
  ["fr-FR", 31],
  ["it-IT", 99],
  ["pt-PT", 31],
  ["pl-PL", 99],
  ["fi-FI", 31]
]

describe("Number words", () => {
  it.each(languages)("are the digits of 0 to 9999 in %s, and never those of the next number", (language) => {
    const wrong = numbers.flatMap((value) => {
      const words = spellers[language].toCardinal(value)
      const isRead = match(String(value), words, 1).match && match(String(value + 1), words, 0).score === 0
      return isRead ? [] : [[value, words]]
    })
    expect(wrong).toEqual([])
  })

  it.each(ordinals)("are digits as ordinals in %s up to %i", (language, last) => {
    const wrong = Array.from({ length: last }, (_, index) => index + 1).flatMap((value) => {
      if (isWrong(language, value)) return []
      const words = spellers[language].toOrdinal(value)
      return match(String(value), words, 1).match ? [] : [[value, words]]
    })
    expect(wrong).toEqual([])
  })
})

describe("The French seventies, eighties and nineties", () => {
  it.each([
    ["90", "quatre-vingts dix", "quatre vingt dix", "nonante", "quatre-vingt-dixième", "nonantième"],
    ["71", "soixante et onze", "soixante-et-onze", "septante et un", "septante-et-un", "soixante et onzième"],
    ["77", "soixante dix-sept", "soixante dix sept", "septante-sept", "soixante-dix-septième"],
    ["80", "quatre-vingts", "quatre vingt", "huitante", "octante", "quatre-vingtième", "huitantième"],
    ["81", "quatre-vingt-un", "quatre-vingt et un", "huitante et un", "quatre-vingt-unième"],
    ["99", "quatre-vingt-dix-neuf", "quatre-vingts dix neuf", "nonante-neuf"],
    ["190", "cent quatre-vingts dix", "cent nonante"],
    ["1990", "dix-neuf cent quatre-vingts dix", "mille neuf cent nonante"],
    ["90000", "quatre-vingt-dix mille", "nonante mille"]
  ])("are %s alone, however they are written", (expected, ...said) => {
    expect(said.filter((words) => match(expected, words, 0.8).score < 1)).toEqual([])
    expect(said.filter((words) => match(String(Number(expected) + 1), words, 0).match)).toEqual([])
  })
})

describe("Numbers in a row", () => {
  const scoreOf = (expected: string, actual: string) => [
    expected,
    actual,
    match(expected, actual, 0.8).score,
    match(actual, expected, 0.8).score
  ]

  it.each([
    ["1-800-555-1234", "one eight hundred, five five five, one two three four"],
    ["0800 123 456", "oh eight hundred one two three four five six"],
    ["0800 123 456", "null achthundert eins zwei drei vier fünf sechs"],
    ["0800 123 456", "nul achthonderd een twee drie vier vijf zes"],
    ["0800 123 456", "zéro huit cent un deux trois quatre cinq six"],
    ["0800 123 456", "zero ochocientos uno dos tres cuatro cinco seis"],
    ["0801 23456", "oh eight hundred one two three four five six"],
    ["0800 100 200", "oh eight hundred one hundred two hundred"],
    ["0800 100 200", "null achthundert einhundert zweihundert"],
    ["0900 1234", "nul negenhonderd twaalf vierendertig"],
    ["900123", "nine hundred, one two three"],
    ["2000 15", "two thousand one five"],
    ["8080", "quatre-vingts quatre-vingts"],
    ["8084", "quatre-vingts quatre-vingt-quatre"],
    ["20 97", "vingt, quatre-vingt-dix-sept"],
    ["2080", "vingt quatre-vingts"],
    ["0420", "zéro quatre, vingt"],
    ["04 24 80", "zéro quatre vingt-quatre quatre-vingts"],
    ["04 80 20 97 71", "zéro quatre quatre-vingts vingt quatre-vingt-dix-sept soixante et onze"],
    ["06 60 11", "zéro six soixante onze"],
    ["06 80 10 12", "zéro six quatre-vingts dix douze"],
    ["06 90 12", "zéro six quatre-vingts dix douze"],
    ["06 80 17", "zéro six quatre-vingts dix sept"],
    ["06 80 10 7", "zéro six quatre-vingts dix sept"],
    ["06 70 7", "zéro six soixante-dix sept"],
    ["06 77", "zéro six soixante-dix sept"],
    ["06 10 7", "zéro six dix sept"],
    ["60 60 10", "soixante soixante dix"],
    ["60 70", "soixante soixante dix"],
    ["80 80 90", "quatre vingt quatre vingt quatre vingt dix"],
    ["04 91 72 80 99", "zéro quatre nonante et un septante-deux huitante nonante-neuf"],
    ["04 91 72 80 99", "zéro quatre quatre-vingt-onze soixante-douze quatre-vingts quatre-vingt-dix-neuf"]
  ])("%s is %s", (expected, actual) => {
    expect(scoreOf(expected, actual)).toEqual([expected, actual, 1, 1])
  })

  it.each([
    ["8005", "eight hundred five"],
    ["800123", "eight hundred one two four"],
    ["0800 123 456", "oh eight hundred two one three four five six"],
    ["204", "vingt-quatre"],
    ["6011", "soixante et onze"],
    ["80 10", "quatre-vingts dix"],
    ["80 17", "quatre-vingts dix-sept"],
    ["70 7", "soixante-dix-sept"],
    ["10 7", "dix sept"],
    ["04 91 72 81 99", "zéro quatre quatre-vingt-onze soixante-douze quatre-vingts quatre-vingt-dix-neuf"],
    ["20 4 5", "twenty-four five"],
    ["0800", "oh eight hundred one"]
  ])("%s is not %s", (expected, actual) => {
    expect(scoreOf(expected, actual)).toEqual([expected, actual, 0, 0])
  })
})
