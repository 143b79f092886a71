import { describe, expect, it } from "vitest"
import { linearPattern, UnusablePattern } from "../../src/answers/LinearPattern.ts"

/** Why a pattern cannot be used. */
const refusal = (source: string): string => {
  try {
    linearPattern(source)
  } catch (error) {
    if (error instanceof UnusablePattern) return error.message
    throw error
  }
  return "none"
}

describe("the quantifiers of a pattern", () => {
  it.each([
    ["^ab?$", ["a", "ab"], ["abb"]],
    ["^a*$", ["", "aaa"], ["b"]],
    ["^a+$", ["a", "aaa"], [""]],
    ["^a{2}$", ["aa"], ["a", "aaa"]],
    ["^a{1,}$", ["a", "aaaa"], [""]],
    ["^a{1,3}$", ["a", "aaa"], ["", "aaaa"]],
    ["^a{0,1}$", ["", "a"], ["aa"]]
  ])("repeat as often as %s says", (source, good, bad) => {
    for (const text of good) expect([text, linearPattern(source).test(text)]).toEqual([text, true])
    for (const text of bad) expect([text, linearPattern(source).test(text)]).toEqual([text, false])
  })

  it("may follow a capturing group that ends the pattern", () => {
    expect(linearPattern("^x(ab)?").test("xab")).toBe(true)
  })
})

describe("the alternatives of a pattern", () => {
  it("match without a group around them, the second one as well", () => {
    const pattern = linearPattern("^a$|^b$")
    expect(["a", "b", "c"].map((text) => pattern.test(text))).toEqual([true, true, false])
  })
})

describe("characters outside of the basic plane", () => {
  it("count as one character in a pattern that is well-formed with the flag u", () => {
    expect(linearPattern("^😀$").test("😀")).toBe(true)
    expect(linearPattern("^.$").test("😀")).toBe(true)
  })

  it("may be the ends of a class that is well-formed with the flag u only", () => {
    expect(linearPattern("^[\\u{1F600}-\\u{1F64F}]$").test("😀")).toBe(true)
  })

  it("count as two code units in a pattern that is well-formed without the flag u only", () => {
    expect(linearPattern("^\\-😀$").test("-😀")).toBe(true)
    expect(linearPattern("^\\-..$").test("-😀")).toBe(true)
    expect(linearPattern("^\\-.$").test("-😀")).toBe(false)
  })
})

describe("the limits of a pattern", () => {
  it("are 500 characters", () => {
    const classOf = (length: number) => `[${"a".repeat(length - 2)}]`
    expect(linearPattern(classOf(500)).test("a")).toBe(true)
    expect(refusal(classOf(501))).toBe("it is longer than 500 characters")
  })

  it("are 500 steps, two of which surround the alternatives", () => {
    expect(linearPattern("a{498}").test("a")).toBe(false)
    expect(refusal("a{499}")).toBe("it is too large")
  })
})

describe("the reason why a pattern is refused", () => {
  it.each([
    ["(?=a)", "look-around cannot be used"],
    ["(?!a)", "look-around cannot be used"],
    ["(?<=a)", "look-around cannot be used"],
    ["(?<!a)", "look-around cannot be used"],
    ["(a)\\1", "a back-reference cannot be used"],
    ["(", "Invalid regular expression: /(/: Unterminated group"]
  ])("of %s is a plain sentence", (source, reason) => {
    expect(refusal(source)).toContain(reason)
    expect(refusal(source)).not.toMatch(/^\w+Error/)
  })
})
