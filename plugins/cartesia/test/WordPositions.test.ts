import { describe, expect, it } from "@effect/vitest"
import { read } from "../src/SpeechMessage.ts"
import { WordPositions } from "../src/WordPositions.ts"

/** The text up to each of these words. */
const prefixes = (text: string, words: ReadonlyArray<string>) => {
  const positions = new WordPositions()
  positions.append(text)
  return words.map((word) => {
    const characters = positions.next({ word, end: 0 })
    return characters === undefined ? undefined : text.slice(0, characters)
  })
}

describe("WordPositions", () => {
  it("places each word with its punctuation, whether the vendor names that or not", () => {
    const text = '"Hello," she said — well-known!'
    const expected = ['"Hello,"', '"Hello," she', '"Hello," she said', '"Hello," she said — well-known!']
    expect(prefixes(text, ["Hello", "she", "said", "well-known"])).toEqual(expected)
    expect(prefixes(text, ['"Hello,"', "she", "said", "well-known!"])).toEqual(expected)
  })

  it("takes words that the text has several times in their order", () => {
    expect(prefixes("no no, no", ["no", "no", "no"])).toEqual(["no", "no no,", "no no, no"])
  })

  it("places parts of a word without what follows it", () => {
    expect(prefixes("mother-in-law.", ["mother", "in", "law"])).toEqual(["mother", "mother-in", "mother-in-law."])
  })

  it("ignores case and words that are not in the text, and goes on after them", () => {
    expect(prefixes("Call 112 now.", ["call", "one", "twelve", "Now"])).toEqual([
      "Call",
      undefined,
      undefined,
      "Call 112 now."
    ])
    expect(prefixes("a", ["", " ", "..."])).toEqual([undefined, undefined, undefined])
  })

  it("does not look for a word further on than a sentence", () => {
    expect(prefixes(`One. ${"x ".repeat(40)}two.`, ["two"])).toEqual([undefined])
  })

  it("is complete when all words were named, not only the punctuation", () => {
    const positions = new WordPositions()
    expect(positions.isComplete).toBe(true)
    positions.append("One. ")
    expect(positions.isComplete).toBe(false)
    positions.next({ word: "One", end: 1 })
    expect(positions.isComplete).toBe(true)
    positions.append(" — ")
    expect(positions.isComplete).toBe(true)
    positions.append("two")
    expect(positions.isComplete).toBe(false)
  })
})

describe("a message of the vendor", () => {
  const message = (more: object) => read(JSON.stringify({ context_id: "1", done: false, status_code: 206, ...more }))
  const timestamps = (word_timestamps: unknown) => message({ type: "timestamps", word_timestamps })

  it("has words with their ends, and none where the lists do not fit together", () => {
    expect(timestamps({ words: ["a"], start: [0], end: [0.5] })).toMatchObject({ words: [{ word: "a", end: 0.5 }] })
    for (const words of [null, { words: ["a"], start: [0], end: [] }, { words: ["a"], start: [0], end: [-1] }, "x"]) {
      expect(timestamps(words)).toMatchObject({ _tag: "Words", words: [] })
    }
  })

  it("is an error of this version or an older one, and anything unknown is no error", () => {
    const text = (more: object) => Object(message({ type: "error", ...more })).text
    expect(text({ error_code: "quota_exceeded", title: "No credits", message: "Buy." })).toBe(
      "quota_exceeded: No credits: Buy."
    )
    expect(text({ error: "Invalid model: No." })).toBe("Invalid model: No.")
    expect(text({})).toBe("no reason was given")
    expect(message({ type: "flush_done", flush_id: 1 })?._tag).toBe("Other")
    for (const garbage of ["", "<html>", "[]", "{}", '{"type":1}']) expect(read(garbage)).toBeUndefined()
  })
})
