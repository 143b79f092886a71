import { describe, expect, it } from "vitest"
import { jsonExcess } from "../src/JsonLimits.ts"

const excess = (json: string) => jsonExcess(new TextEncoder().encode(json))
const nested = (levels: number, open = "[", close = "]") => open.repeat(levels) + close.repeat(levels)

describe("the limits of JSON from outside", () => {
  it("are 100 levels", () => {
    expect(excess(nested(100))).toBeUndefined()
    for (const json of [nested(101), nested(101, '{"a":', "}"), "[".repeat(1_000_000)]) {
      expect(excess(json)).toBe("is nested more than 100 levels deep")
    }
  })

  it("are 10,000 values", () => {
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => 0))
    expect(excess(list(9_999))).toBeUndefined()
    expect(excess(list(10_000))).toBe("has more than 10000 values")
    expect(excess(`[${"[],".repeat(10_000)}0]`)).toBe("has more than 10000 values")
  })

  it("are 5,000 fields, in however many objects", () => {
    const fields = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 0])))
    expect(excess(fields(5_000))).toBeUndefined()
    expect(excess(fields(5_001))).toBe("has more than 5000 fields")
    expect(excess(`[${'{"a":1},'.repeat(3_000)}${fields(2_500)}]`)).toBe("has more than 5000 fields")
  })

  it("do not count what is inside of texts", () => {
    for (const text of ["[".repeat(101), ":,".repeat(10_001), `"${"[".repeat(101)}`, `\\"${"{".repeat(101)}`, "é\\"]) {
      expect(excess(JSON.stringify([text, text]))).toBeUndefined()
    }
    expect(excess(`["\\"",${nested(100)}]`)).toBe("is nested more than 100 levels deep")
  })
})
