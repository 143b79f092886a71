import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SentenceSplitter } from "../../src/session/SentenceSplitter.ts"

const split = (...chunks: ReadonlyArray<string>): ReadonlyArray<string> => {
  const splitter = new SentenceSplitter()
  const sentences = chunks.flatMap((chunk) => splitter.push(chunk))
  const rest = splitter.rest()
  return rest === null ? sentences : [...sentences, rest]
}

describe("SentenceSplitter", () => {
  it.each([
    ["Good morning. How are you? Fine!", ["Good morning.", "How are you?", "Fine!"]],
    ["I spoke to Dr. Smith. He agrees.", ["I spoke to Dr. Smith.", "He agrees."]],
    ["Ask for J. Doe in room no. 5. Thanks.", ["Ask for J. Doe in room no. 5.", "Thanks."]],
    ["We open at 9 a.m. on Mondays. See you.", ["We open at 9 a.m. on Mondays.", "See you."]],
    ["That costs 3.50 euros. Fine?", ["That costs 3.50 euros.", "Fine?"]],
    ["Visit example.com today. Bye now.", ["Visit example.com today.", "Bye now."]],
    ['He said "come here." Then he left.', ['He said "come here."', "Then he left."]],
    ["Really?! You are sure... Good.", ["Really?!", "You are sure...", "Good."]],
    ["One moment… I am looking.", ["One moment…", "I am looking."]],
    ["No end", ["No end"]],
    ["First line\nSecond line\n\nThird", ["First line", "Second line", "Third"]],
    ["These are:\n- one thing\n- another", ["These are:", "- one thing", "- another"]],
    ["Ok. Yes. No. I will look it up. Wait.", ["Ok. Yes.", "No. I will look it up.", "Wait."]],
    ["Dat is bijv. morgen goed. Tot dan.", ["Dat is bijv. morgen goed.", "Tot dan."]],
    ["   \n  ", []],
    ["", []]
  ])("splits %j", (text, sentences) => {
    expect(split(text)).toEqual(sentences)
    expect(split(...text)).toEqual(sentences)
  })

  it("returns a sentence as soon as the next word begins", () => {
    const splitter = new SentenceSplitter()
    expect(splitter.push("Good morning.")).toEqual([])
    expect(splitter.push(" ")).toEqual(["Good morning."])
    expect(splitter.rest()).toBeNull()
    expect(splitter.push("Next one here.\n")).toEqual(["Next one here."])
  })

  it("cuts a long sentence at a comma, else at a space, else anywhere", () => {
    const commas = `${"word ".repeat(30).trim()}, ${"word ".repeat(40)}`
    expect(split(commas)[0]).toBe(`${"word ".repeat(30).trim()},`)
    for (const part of split("word ".repeat(500))) expect(part.length).toBeLessThanOrEqual(240)
    expect(split(`x${"😀".repeat(300)}`).every((s) => s.isWellFormed())).toBe(true)
    expect(split("x".repeat(1000)).map((s) => s.length)).toEqual([240, 240, 240, 240, 40])
    const long = `${"word ".repeat(60)}end. Next sentence.`
    expect(split(long).at(-1)).toBe("Next sentence.")
    expect(split(...long)).toEqual(split(long))
  })

  const piece = fc.constantFrom(
    ...'abc. ,? !\n:1…"”)'.split(""),
    "Dr. ",
    "e.g. ",
    "hello ",
    "world. ",
    "x".repeat(30),
    "word ".repeat(25),
    ", ",
    "...",
    "\n\n",
    "😀"
  )
  const text = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(""))

  it("returns the same sentences however the text is chunked", () => {
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 50 }), (whole, sizes) => {
        const chunks: Array<string> = []
        for (let at = 0, i = 0; at < whole.length; i++) {
          const size = sizes[i % sizes.length] ?? 1
          chunks.push(whole.slice(at, at + size))
          at += size
        }
        expect(split(...chunks)).toEqual(split(whole))
      }),
      { numRuns: 500 }
    )
  })

  it("loses no character but white space, and returns no empty sentence", () => {
    fc.assert(
      fc.property(text, (whole) => {
        const sentences = split(whole)
        expect(sentences.join("").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""))
        for (const sentence of sentences) {
          expect(sentence.trim()).toBe(sentence)
          expect(sentence).not.toBe("")
          expect(sentence.isWellFormed()).toBe(true)
        }
      }),
      { numRuns: 500 }
    )
  })
})
