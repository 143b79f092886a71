import { describe, expect, it } from "vitest"
import { match, matching } from "../src/Match.ts"

type Answer = readonly [expected: string, actual: string]

const scoreOf = (expected: string, actual: string): number => match(expected, actual, 0.8).score

const allScored = (answers: ReadonlyArray<Answer>, score: number) =>
  expect(answers.map(([one, other]) => [one, other, scoreOf(one, other), scoreOf(other, one)])).toEqual(
    answers.map(([one, other]) => [one, other, score, score])
  )

describe("E-mail addresses", () => {
  it("that differ by a letter or a digit are different, however they are said, with a score of 0", () => {
    allScored(
      [
        ["hanna@example.com", "anna@example.com"],
        ["john@example.com", "jon@example.com"],
        ["john@example.com", "jon at example dot com"],
        ["john.smith@example.com", "jon smith at example dot com"],
        ["catherine@example.com", "katherine at example dot com"],
        ["anna@example.com", "annaa at example dot com"],
        ["anna@example.com", "anna at exampel dot com"],
        ["anna@example.museum", "anna@example.muzeum"],
        ["anna@example.info", "anna@example.com"],
        ["a.b.smith@example.com", "a dot d dot smith at example dot com"],
        ["user123@example.com", "user one two four at example dot com"],
        ["marie-clair@orange.fr", "marie claire arobase orange point fr"],
        ["ola@norge.no", "ole krøllalfa norge punktum no"],
        ["ana@sapo.pt", "anna arroba sapo ponto pt"],
        ["jan.de.vries@voorbeeld.nl", "jan van vries at voorbeeld punt nl"],
        ["john@example.co.m", "john@example.com"],
        ["john@e.xample.com", "john@example.com"],
        ["anna@my.company.com", "anna@mycompany.com"],
        ["anna@my-company.com", "anna@mycompany.com"],
        ["anna3rd@example.com", "anna3@example.com"],
        ["dos@example.com", "two@example.com"],
        ["alpha.bravo@example.com", "adam.bravo@example.com"],
        ["june.5@example.com", "juni.5@example.com"]
      ],
      0
    )
  })

  it("match however their signs are said, and with spaces, hyphens, capitals and diacritics in them", () => {
    allScored(
      [
        ["john.smith@example.com", "johnsmith at example dot com"],
        ["john.smith@example.com", "John Smith @ Example.com"],
        ["john.smith@gmail.com", "john dot smith@gmail.com"],
        ["john-smith@example.com", "john hyphen smith at example dot com"],
        ["jo+an@mail.com", "jo plus an at mail dot com"],
        ["anna@gmail.com", "anna at g mail dot com"],
        ["anna@gmail.com", "anna at gmail.com"],
        ["anna@gmail.com", "anna@gmail dot com"],
        ["anna@hotmail.co.uk", "anna at hotmail dot co dot uk"],
        ["anna@my-company.com", "anna at my company dot com"],
        ["anna@t-online.de", "anna at t minus online punkt de"],
        ["anna@gmx.de", "anna at g m x punkt de"],
        ["john.smith@example.com", "johnsmith@example.com"],
        ["anna@mycompany.com", "Anna at my company dot com"],
        ["anna.23@example.com", "anna dot twenty-three at example dot com"],
        ["anna.3.5.1990@example.com", "anna dot three dot five dot nineteen ninety at example dot com"],
        ["ab@example.com", "alpha bravo at example dot com"],
        ["b.smith@example.com", "b as in bravo dot smith at example dot com"],
        ["Anna@Example.COM", "<anna@example.com>"],
        ["müller@example.de", "mueller at example punkt de"],
        ["émile.zola@exemple.fr", "emile point zola arobase exemple point fr"],
        ["łukasz@przyklad.pl", "lukasz małpa przykład kropka pl"],
        ["jens.moeller@firma.dk", "jens punktum møller snabel-a firma punktum dk"],
        ["marco_rossi@esempio.it", "marco trattino basso rossi chiocciola esempio punto it"],
        ["timo.makinen@esimerkki.fi", "timo piste mäkinen miukumauku esimerkki piste fi"]
      ],
      1
    )
  })

  it('may be said without "at" or "dot" where the expected one is written', () => {
    allScored(
      [
        ["anna@gmail.com", "anna gmail dot com"],
        ["anna@gmail.com", "my address is anna gmail com"],
        ["anna@example.com", "anna at example com"]
      ],
      1
    )
    allScored(
      [
        ["anna@gmail.com", "hanna gmail dot com"],
        ["anna@gmail.com", "anna at gmail"],
        ["anna@gmail.com", "anna maria gmail dot com"],
        ["John Smith", "John Smith, john@example.com"]
      ],
      0
    )
  })

  it("may have words that are signs in a language", () => {
    allScored(
      [
        ["bas.jansen@example.nl", "bas jansen at example punt nl"],
        ["bas.jansen@example.nl", "bas punt jansen at example punt nl"],
        ["dot@example.com", "dot at example dot com"],
        ["anna@dot.com", "anna at dot dot com"],
        ["Bas, anna@gmail.com", "Bas, anna at gmail dot com"],
        ["bob@at-home.nl", "bob at at home dot nl"],
        ["jan@example.nl", "jan apestaart example punt nl"],
        ["jan@example.nl", "jan apestaartje example punt nl"],
        ["my @ dash", "my @ dash"],
        ["my @ dash", "My @ dash."]
      ],
      1
    )
    allScored([["bas.jansen@example.nl", "jansen at example punt nl"]], 0)
  })

  it("are those whole: words before and after them that are no filler words belong to them", () => {
    allScored(
      [
        ["smith@example.com", "john smith at example dot com"],
        ["smith@gmail.com", "john dot smith@gmail.com"],
        ["42@example.com", "oh four two at example dot com"],
        ["anna@example.co", "anna at example dot co dot uk"],
        ["anna@example.co", "anna at example dot co uk"],
        ["info7@4you.com", "info at seven four you dot com"],
        ["info74@you.com", "info7@4you.com"]
      ],
      0
    )
    allScored(
      [
        ["anna@example.co.uk", "anna at example dot co uk"],
        ["info7@4you.com", "info seven at four you dot com"],
        ["John Smith, j.smith@example.com", "j dot smith at example dot com, John Smith"],
        ["anna@example.com, +31 6 12345678", "+31612345678, anna at example dot com"]
      ],
      1
    )
    expect(match("Anna Smith, anna@example.com", "Ana Smith, anna at example dot com", 0.9).match).toBe(true)
    expect(scoreOf("Anna Smith, anna@example.com", "Ana Smith, anna at example dot com")).toBeLessThan(1)
    expect(match("anna@example.com", "anna at example dot com all lowercase", 0.8).match).toBe(true)
  })

  it("may have words before them that agree, or tell their kind or how they are written", () => {
    allScored(
      [
        ["sales@example.com", "right, sales at example dot com"],
        ["john@example.com", "yes that's right john at example dot com"],
        ["john@example.com", "all lower case john at example dot com"],
        ["john@example.com", "my work email is john at example dot com"],
        ["anna@example.de", "richtig, anna at example punkt de"],
        ["anna@example.nl", "klopt, anna apenstaartje example punt nl"],
        ["anna@example.fr", "tout en minuscules anna arobase example point fr"],
        ["anna@example.es", "todo en minúsculas anna arroba example punto es"],
        ["anna@example.se", "det stämmer, anna snabel a example punkt se"]
      ],
      1
    )
    const names: ReadonlyArray<Answer> = [
      ["Upper Street 12", "Street 12"],
      ["Case 4829", "4829"],
      ["Lower 4829", "4829"]
    ]
    expect(names.filter(([one, other]) => match(one, other, 0.8).match)).toEqual([])
  })

  it("are as they are spelled, where a name before the spelling says it otherwise", () => {
    allScored(
      [
        ["john@example.com", "jon j o h n at example dot com"],
        ["john@example.com", "jon, that's j o h n, at example dot com"],
        ["anna@example.com", "hanna, a n n a, at example dot com"],
        ["john.smith@example.com", "jon smith j o h n dot s m i t h at example dot com"]
      ],
      1
    )
    allScored([["jon@example.com", "john j o h n at example dot com"]], 0)
  })

  it("may be said twice, and not corrected", () => {
    allScored([["anna@example.com", "yes anna at example dot com, anna at example dot com"]], 1)
    allScored([["anna@example.com", "hanna at example dot com, sorry, anna at example dot com"]], 0)
  })

  it("are compared in a bounded time, however many they are", () => {
    const long = (part: string) => part.repeat(1000).slice(0, 1000)
    for (const part of [
      "a@b.c ",
      "a at b dot c ",
      "bas dot at ",
      "a a a a@aa.aa ",
      "dash a at dot ",
      "at@at.at dot "
    ]) {
      expect([part, scoreOf(long(part), long(part))]).toEqual([part, 1])
      const other = `${long(part).slice(0, 980)} x at y dot zz`
      expect([part, [...matching(long(part), other, 0.8)].length]).toEqual([part, expect.toSatisfy((n) => n < 100)])
    }
  })
})
