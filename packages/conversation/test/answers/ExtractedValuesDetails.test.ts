import { describe, expect, it } from "vitest"
import { extractedFrom } from "../../src/answers/ExtractedValues.ts"

const kept = (format: string, given: string) =>
  extractedFrom([{ name: "value", type: "string", format }], { value: given })["value"]

describe("extracted_data", () => {
  it.each(["2026", "2026-02", "2026-13-01", "2026-00-10", "12026-02-28"])(
    "has null for %s, which is no date",
    (text) => {
      expect(kept("date", text)).toBeNull()
      expect(kept("date-time", `${text}T09:30`)).toBeNull()
    }
  )

  it("has an email of 254 characters, and null for one of 255", () => {
    const email = (length: number) => `a@${"b".repeat(length - 5)}.nl`
    expect(kept("email", email(254))).toBe(email(254))
    expect(kept("email", email(255))).toBeNull()
  })

  it.each([" https://example.com", "mailto:", "data: x"])("has null for %j, which is no uri by itself", (text) => {
    expect(kept("uri", text)).toBeNull()
  })

  it("has a text of 10,000 characters, and null for one of 10,001", () => {
    const text = "x".repeat(10_000)
    const of = (value: string) => extractedFrom([{ name: "value", type: "string" }], { value })["value"]
    expect(of(text)).toBe(text)
    expect(of(`${text}x`)).toBeNull()
  })
})
