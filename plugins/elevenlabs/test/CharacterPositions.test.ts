import { describe, expect, it } from "@effect/vitest"
import { CharacterPositions } from "../src/CharacterPositions.ts"
import { read } from "../src/ContextMessage.ts"

type Position = readonly [characters: number, atSample: number]

/** Times of 10 ms for each character, which are 80 samples, from a first one in milliseconds. */
const timed = (text: string, from = 0) => {
  const characters = Array.from(text)
  return {
    characters,
    starts: characters.map((_, n) => from + 10 * n),
    ends: characters.map((_, n) => from + 10 * (n + 1))
  }
}

/** Positions of messages, each with the samples before it and its own. */
const placed = (text: string, messages: ReadonlyArray<readonly [text: string, before: number, from?: number]>) => {
  const positions = new CharacterPositions(8000)
  positions.append(text)
  const all: Array<Position> = []
  for (const [said, before, from] of messages) {
    positions.place(timed(said, from), before, said.length * 80, (...position) => void all.push(position))
  }
  return all
}

/** The text up to each position. */
const prefixes = (text: string, positions: ReadonlyArray<Position>) =>
  positions.map(([characters]) => text.slice(0, characters))

describe("CharacterPositions", () => {
  it("places each character at the end of its sound, over messages that end within a word", () => {
    const text = "One two."
    expect(
      placed(text, [
        ["One t", 0],
        ["wo. ", 400]
      ])
    ).toEqual([
      [1, 80],
      [2, 160],
      [3, 240],
      [4, 320],
      [5, 400],
      [6, 480],
      [7, 560],
      [8, 640]
    ])
  })

  it("is not moved by spaces that only the vendor has, nor by white space that only the text has", () => {
    expect(placed("a\n\nb", [[" a b ", 0]])).toEqual([
      [1, 160],
      [4, 320]
    ])
    expect(
      placed("  a b", [
        ["a ", 0],
        ["b ", 160]
      ])
    ).toEqual([
      [3, 80],
      [4, 160],
      [5, 240]
    ])
  })

  it("counts UTF-16 units of characters that have two", () => {
    expect(placed("😀é", [["😀é", 0]])).toEqual([
      [2, 80],
      [3, 160]
    ])
  })

  it("finds the text again after characters in another spelling", () => {
    const text = "ﬁne — 5 o'clock"
    const last = placed(text, [["fine - five o’clock", 0]]).at(-1)
    expect(prefixes(text, last === undefined ? [] : [last])).toEqual([text])
  })

  it("begins again where a message repeats the former one and continues it", () => {
    const text = "Hello there, how are you?"
    const positions = placed(text, [
      ["Hello th", 0],
      ["Hello there, how", 640],
      [" are you?", 2000]
    ])
    expect(prefixes(text, positions).at(7)).toBe("Hello th")
    expect(positions.at(8)).toEqual([1, 80])
    expect(positions.at(23)).toEqual([16, 1280])
    expect(positions.at(-1)).toEqual([25, 2000 + 9 * 80])
  })

  it("does not take words that the text has twice for a repetition", () => {
    expect(
      placed("no no no", [
        ["no ", 0],
        ["no ", 240],
        ["no", 480]
      ]).map(([characters]) => characters)
    ).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it("counts from the beginning of the turn where the times are beyond the audio of their message", () => {
    expect(
      placed("abcdefgh", [
        ["abcd", 0],
        ["efgh", 320, 40]
      ]).slice(4)
    ).toEqual([
      [5, 400],
      [6, 480],
      [7, 560],
      [8, 640]
    ])
  })
})

describe("a message of the vendor", () => {
  const message = (more: object) => read(JSON.stringify({ contextId: "1", audio: "AAAA", ...more }))
  const characters = { chars: ["a"], charStartTimesMs: [0], charDurationsMs: [10] }

  it("has positions of the text as it was sent, else of the text as it is read", () => {
    const other = { ...characters, chars: ["b"] }
    expect(message({ alignment: characters, normalizedAlignment: other })?.timed?.characters).toEqual(["a"])
    expect(message({ alignment: null, normalizedAlignment: other })?.timed?.characters).toEqual(["b"])
    expect(message({})?.timed).toBeUndefined()
  })

  it("has positions in both documented spellings", () => {
    const older = { chars: ["a"], charsStartTimesMs: [5], charsDurationsMs: [10] }
    expect(message({ alignment: older })?.timed).toEqual({ characters: ["a"], starts: [5], ends: [15] })
  })

  it("has no positions that make no sense, and keeps its audio", () => {
    for (const alignment of [
      "none",
      { chars: "a" },
      { ...characters, charStartTimesMs: [] },
      { ...characters, charDurationsMs: [10, 10] },
      { ...characters, charStartTimesMs: [-1] },
      { ...characters, charStartTimesMs: ["0"] }
    ]) {
      expect(message({ alignment })).toMatchObject({ audio: Buffer.from([0, 0, 0]), timed: undefined })
    }
  })

  it("is the last one by either spelling, and is none when it is no JSON object of the protocol", () => {
    expect(message({ isFinal: true })?.isFinal).toBe(true)
    expect(message({ is_final: true })?.isFinal).toBe(true)
    expect(message({ isFinal: null })?.isFinal).toBe(false)
    for (const text of ["", "<html>", "[]", "null", '{"audio":1}', '{"isFinal":"yes"}'])
      expect(read(text)).toBeUndefined()
  })
})
