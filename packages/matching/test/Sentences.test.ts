import { describe, expect, it } from "vitest"
import { match } from "../src/Match.ts"

/** What callers of each language say before a number that they were asked for. */
const before: Readonly<Record<string, ReadonlyArray<string>>> = {
  English: [
    "let me see,",
    "I think it's",
    "our code is",
    "her pin is",
    "the pin was",
    "can you use",
    "hi my code is",
    "one moment, it's",
    "just a second,"
  ],
  German: [
    "das ist die",
    "ich glaube das ist",
    "unsere Nummer ist",
    "warten Sie",
    "ja das wäre",
    "wir haben die",
    "einen Moment, das ist",
    "eine Sekunde,"
  ],
  French: [
    "j'ai le",
    "je crois que c'est",
    "bon, c'est",
    "notre numéro est le",
    "attendez,",
    "ça fait",
    "un instant, c'est le"
  ],
  Dutch: ["ons nummer is", "ik denk dat het is", "even kijken", "wij hebben", "m'n code is", "een momentje,"],
  Spanish: ["a ver,", "creo que es", "nuestro número es", "yo tengo", "la clave es", "un momento, es"],
  Italian: ["ho il", "il mio codice è", "allora è", "dunque", "un attimo, è"],
  Portuguese: ["acho que é", "a senha é", "o nosso é", "então é", "um segundo,"],
  Polish: ["nasz numer to", "mam", "już mówię", "chyba", "jedną chwilę,"],
  Swedish: ["min kod är", "jag har", "jag tror det är", "vår kod är", "så är det", "ett ögonblick,"],
  Danish: ["min kode er", "jeg tror det er", "så er det", "vores kode er", "et øjeblik,"],
  Norwegian: ["min kode er", "koden min er", "jeg har", "vår kode er", "et øyeblikk, det er"],
  Finnish: ["mun koodi on", "meidän numero on", "no se on", "yksi hetki,"]
}

/** The same before an e-mail address. */
const beforeAddress: ReadonlyArray<string> = [
  "you can reach me at anna at example dot de",
  "send it to anna at example dot de",
  "contact me at anna at example dot de",
  "du erreichst mich unter anna at example punkt de",
  "meine Mailadresse lautet anna at example punkt de",
  "schreiben Sie an anna at example punkt de",
  "mon courriel est anna arobase example point de",
  "mi correo electrónico es anna arroba example punto de",
  "min mejl är anna snabel a example punkt de",
  "sähköpostini on anna at example piste de"
]

describe("Sentences around an answer", () => {
  it.each(Object.entries(before))("do not count before a number in %s", (_language, sentences) => {
    const scores = ["1234", "482913"].flatMap((number) =>
      sentences.map((sentence) => [sentence, match(number, `${sentence} ${number}`, 0.8).score])
    )
    expect(scores).toEqual([...sentences, ...sentences].map((sentence) => [sentence, 1]))
    const others = sentences.filter((sentence) => match("482913", `${sentence} 482914`, 0.8).score > 0)
    expect(others).toEqual([])
  })

  it("do not count before an e-mail address", () => {
    const refused = beforeAddress.filter((sentence) => match("anna@example.de", sentence, 0.8).score < 1)
    expect(refused).toEqual([])
    const accepted = beforeAddress.filter((sentence) => match("peter@example.de", sentence, 0.8).match)
    expect(accepted).toEqual([])
  })

  it("do not count before a date", () => {
    for (const sentence of [
      "I was born on the 28th of February 1990",
      "urodziłem się dwudziestego ósmego lutego 1990"
    ]) {
      expect([sentence, match("1990-02-28", sentence, 0.8).score]).toEqual([sentence, 1])
    }
  })

  it("with a number word count where the other text has them too, or nothing else is said", () => {
    expect(match("one second", "1 second", 0.8).match).toBe(true)
    expect(match("2", "a second", 0.8).match).toBe(true)
    expect(match("1482913", "one moment, 482913", 0.8).match).toBe(false)
  })

  it("ask for patience at the beginning only: elsewhere their number word is a part of the answer", () => {
    const scores = (answers: ReadonlyArray<readonly [string, string]>) =>
      answers.map(([expected, actual]) => [
        expected,
        actual,
        match(expected, actual, 0.8).score,
        match(actual, expected, 0.8).score
      ])
    const same = [
      ["flat 1, 2nd floor", "flat one second floor"],
      ["21 2nd avenue", "twenty one second avenue"],
      ["1 2nd avenue", "one second avenue"],
      ["4829", "yes uh hold on one second please, just a moment, it's 4829"],
      ["2", "one second, it's two"],
      ["4829", "ja, en sekund, 4829"]
    ] as const
    expect(scores(same)).toEqual(same.map(([one, other]) => [one, other, 1, 1]))
    const different = [
      ["20 Main Street", "twenty one second main street"],
      ["20", "twenty one second"],
      ["120", "one hundred twenty one second"],
      ["7", "seven one minute"]
    ] as const
    expect(scores(different)).toEqual(different.map(([one, other]) => [one, other, 0, 0]))
  })

  it("count where they are the answer, or a part of a name, a date or a measure", () => {
    const different = [
      ["Theresa May", "Theresa Mia"],
      ["Can Yilmaz", "Mia Yilmaz"],
      ["Son Park", "Min Park"],
      ["Elle Smith", "Mia Smith"],
      ["Lee Min Ho", "Lee Du"],
      ["12 May 1990", "12 1990"],
      ["28 May", "28"],
      ["May 2024", "2024"],
      ["twelve May nineteen ninety", "twelve nineteen ninety"],
      ["May 12, 2024", "Jul 12, 2024"],
      ["Jan 12, 1990", "May 12, 1990"],
      ["Jan 12 1990", "12 1990"],
      ["15 minute", "15 second"],
      ["Order 12", "Client 12"],
      ["Postal 5", "5"],
      ["1234 5678", "1234 or 5678"]
    ]
    const accepted = different.filter(([expected = "", actual = ""]) => match(expected, actual, 0.8).match)
    expect(accepted).toEqual([])
    expect(match("2024-08-12", "12 sie 2024", 0.8).score).toBe(1)
    expect(match("1234", "warten Sie 1234", 0.8).score).toBe(1)
  })

  it("deny an answer", () => {
    for (const denial of [
      "not",
      "it's not",
      "das ist nicht",
      "ce n'est pas",
      "non è",
      "não é",
      "to nie",
      "det är inte"
    ]) {
      expect([denial, match("482913", `${denial} 482913`, 0.8).match]).toEqual([denial, false])
    }
  })

  it("do not count beside a name, nor does its spelling, before it or after it", () => {
    for (const said of [
      "Schmidt, S C H M I D T",
      "S C H M I D T, Schmidt",
      "Schmidt, spelled S C H M I D T",
      "it's spelled s c h m i d t",
      "capital S c h m i d t"
    ]) {
      expect([said, match("Schmidt", said, 0.8).score]).toEqual([said, 1])
    }
    expect(match("Schmidt", "S C H M I T T, Schmitt", 0.8).score).toBeLessThan(1)
    expect(match("BX4", "B as in boy, X as in x-ray, 4", 0.8).score).toBe(1)
  })
})
