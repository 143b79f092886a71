import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type LinearPattern, linearPattern, UnusablePattern } from "../../src/answers/LinearPattern.ts"
import { propertyRuns } from "../doubles/PropertyRuns.ts"

const plain = fc.constantFrom("a", "b", "1", ".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "[a-b1]", "\\.", "é")
const repetition = fc.constantFrom("", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "{1,3}?")
const join = (parts: ReadonlyArray<string>): string => parts.join("")
const atom: fc.Arbitrary<string> = fc.letrec<{ atom: string; all: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 3 },
    plain,
    fc.constantFrom("^", "$", "\\b", "\\B"),
    fc.tuple(plain, repetition).map(join),
    {
      arbitrary: fc.tuple(tie("all"), tie("all"), repetition).map(([a, b, r]) => `(?:${a}|${b})${r}`),
      weight: 1
    }
  ),
  all: fc.array(tie("atom"), { maxLength: 3 }).map(join)
})).all

/** The pattern, or undefined if its expanded repetitions are too large. */
const usable = (source: string): LinearPattern | undefined => {
  try {
    return linearPattern(source)
  } catch (error) {
    if (error instanceof UnusablePattern && error.message === "it is too large") return undefined
    throw error
  }
}

describe("a pattern in linear time", () => {
  it("matches exactly what a JavaScript RegExp matches", () => {
    fc.assert(
      fc.property(atom, fc.array(fc.constantFrom("a", "b", "1", " ", ".", "é", "\n")).map(join), (source, text) => {
        const pattern = usable(source)
        fc.pre(pattern !== undefined)
        expect(pattern?.test(text)).toBe(new RegExp(source, "u").test(text))
      }),
      propertyRuns(2000)
    )
  })

  it.each([
    ["^[1-9][0-9]{3} ?[A-Z]{2}$", "1234 AB", "0123 AB"],
    ["^\\d{4}\\-\\d{2}$", "2026-11", "2026/11"],
    ["^(?<area>\\d+)/(\\w+)$", "12/ab", "12-ab"],
    ["^[\\]x-]+$", "]-x", "[x"],
    ["^\\p{Lu}\\p{Ll}+$", "Émile", "émile"],
    ["^\\u0041\\x42\\t?$", "AB", "ab"],
    ["^a{x$", "a{x", "a"],
    ["(^|,)b(,|$)", "a,b", "ab"],
    ["^.[^a]$", "😀é", "😀"],
    ["", "anything", undefined]
  ])("supports %s", (source, yes, no) => {
    expect(linearPattern(source).test(yes)).toBe(true)
    if (no !== undefined) expect(linearPattern(source).test(no)).toBe(false)
  })

  it.each([
    "(",
    "[a",
    "*",
    "a{2,1}",
    "(?=a)b",
    "(?<!a)b",
    "(a)\\1",
    "(?<x>a)\\k<x>",
    "(a{200}){200}",
    "(?:){9999}",
    "x".repeat(501)
  ])("rejects %s", (source) => {
    expect(() => linearPattern(source)).toThrow(UnusablePattern)
  })

  it("does not backtrack catastrophically, and does not match texts over 256 characters", () => {
    for (const source of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*(.*)*(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"]) {
      const pattern = linearPattern(source)
      const started = performance.now()
      expect(pattern.test(`${"a".repeat(255)}!`)).toBe(false)
      expect(performance.now() - started).toBeLessThan(200)
    }
    expect(linearPattern("a").test("a".repeat(256))).toBe(true)
    expect(linearPattern("a").test("a".repeat(257))).toBe(false)
  })
})
