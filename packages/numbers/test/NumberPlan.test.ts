import { describe, expect, it } from "@effect/vitest"
import { candidatesOf, numberFactsOf } from "../src/NumberPlan.ts"

describe("numberFactsOf", () => {
  it.each([
    ["+31201234567", "NL", "local"],
    ["+31612345678", "NL", "mobile"],
    ["+318001234", "NL", "toll_free"],
    ["+14155552671", "US", "local"],
    ["+16135550123", "CA", "local"],
    ["+18005550199", "US", "toll_free"],
    ["+447400123456", "GB", "mobile"],
    ["+390612345678", "IT", "local"],
    ["+15550100", "US", "local"],
    ["+15551234567", "US", "local"],
    ["+447700900123", "GB", "local"],
    ["+80012345678", "ZZ", "toll_free"],
    ["+999123456", "ZZ", "local"]
  ])("%s is of %s and %s", (number, country, type) => {
    expect(numberFactsOf(number)).toEqual({ country, type })
  })
})

describe("candidatesOf", () => {
  it.each([
    ["+31201234567", "+31201234567"],
    ["31201234567", "+31201234567"],
    ["0031201234567", "+31201234567"],
    ["+31 20 123 45 67", "+31201234567"],
    ["+31-20-123-4567", "+31201234567"],
    ["+31 (0)20 123 4567", "+31201234567"],
    ["31 (0)20 123 4567", "+31201234567"],
    ["+1 (415) 555-2671", "+14155552671"],
    ["15550100", "+15550100"]
  ])("%s may mean %s", (dialled, number) => {
    expect(candidatesOf(dialled)).toContain(number)
  })
  it.each([
    "",
    " ",
    "+",
    "12",
    "anonymous",
    "sip:31201234567@host",
    "+31\u0000201234567",
    "1".repeat(21),
    "++3120",
    "+31x"
  ])("%j means no number", (dialled) => {
    expect(candidatesOf(dialled)).toEqual([])
  })
  it("the literal number comes first", () => {
    expect(candidatesOf("+31201234567")[0]).toBe("+31201234567")
  })
})
