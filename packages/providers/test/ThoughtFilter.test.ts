import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ThoughtFilter } from "../src/ThoughtFilter.ts"

/** What is left of an answer that comes in these pieces. */
const left = (...pieces: ReadonlyArray<string>): string => {
  const filter = new ThoughtFilter()
  return pieces.map((piece) => filter.push(piece)).join("") + filter.end()
}

describe("a model's thoughts", () => {
  it.each([
    ["Hello.", "Hello."],
    ["<think>Who is it?</think>Hello.", "Hello."],
    ["<THINK>Who?</Think>Hello.", "Hello."],
    ["Well, <think>hm</think>yes<think>no</think>.", "Well, yes."],
    ["<think>endless", ""],
    ["3 < 4 and <thin air> </think> is no tag <", "3 < 4 and <thin air> </think> is no tag <"],
    ["<think></think>", ""],
    ["<thinking>Who is it?</thinking>\n\nHello.", "Hello."],
    ["Yes. <Thinking>a </think> b</THINKING> No.", "Yes. No."],
    ["<think>a</think><thinking>b</thinking> c", "c"],
    ["İ<think>a, \u0130</think> b < c", "İb < c"],
    ["It is <thinkin", "It is <thinkin"]
  ])("in %j leave %j, however the stream is cut", (answer, expected) => {
    expect(left(answer)).toBe(expected)
    expect(left(...answer)).toBe(expected)
    for (let at = 1; at < answer.length; at++) expect(left(answer.slice(0, at), answer.slice(at))).toBe(expected)
  })

  it("give out the text before them as soon as it is certain", () => {
    const filter = new ThoughtFilter()
    expect([filter.push("One <"), filter.push("two <thi"), filter.push("nk>three")]).toEqual(["One ", "<two ", ""])
  })

  it("are cut the same in any pieces", () => {
    const piece = fc.constantFrom("<", "think", "ing>", "</think>", "<think>", "</thinking>", ">", "a ", "/")
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        expect(left(...pieces)).toBe(left(pieces.join("")))
      })
    )
  })
})
