import type { ExtractionField } from "@svc/api/callbacks/Extraction"
import { describe, expect, it } from "vitest"
import { extractedFrom, nothingExtracted } from "../../src/answers/ExtractedValues.ts"

const text = (more: Omit<Partial<ExtractionField>, "name" | "type"> = {}): ExtractionField => ({
  name: "f",
  type: "string",
  ...more
})
const value = (field: ExtractionField, given: unknown) => extractedFrom([field], { f: given })["f"]

describe("extracted data", () => {
  it("has every field of the schema and no other", () => {
    const schema: ReadonlyArray<ExtractionField> = [
      { name: "b", type: "string" },
      { name: "a", type: "number" },
      { name: "__proto__", type: "boolean" }
    ]
    const answer: unknown = JSON.parse('{"c":1,"b":"x","__proto__":true}')
    expect(Object.entries(extractedFrom(schema, answer))).toEqual([
      ["b", "x"],
      ["a", null],
      ["__proto__", true]
    ])
  })

  it.each([[null], [undefined], ["text"], [[1]], [5], [{ toString: "x" }]])(
    "has null values for the answer %j",
    (answer) => {
      expect(extractedFrom([{ name: "toString", type: "number" }, text()], answer)).toEqual({ toString: null, f: null })
    }
  )

  it("is empty without a schema", () => {
    expect(nothingExtracted(null)).toEqual({})
    expect(nothingExtracted([text()])).toEqual({ f: null })
  })

  it.each([
    ["string", "", ""],
    ["string", 5, null],
    ["string", true, null],
    ["string", { a: 1 }, null],
    ["string", "x".repeat(10_001), null],
    ["number", 0, 0],
    ["number", -1.5, -1.5],
    ["number", "5", null],
    ["number", Number.POSITIVE_INFINITY, null],
    ["boolean", false, false],
    ["boolean", "true", null],
    ["boolean", 0, null]
  ] as const)("of type %s converts %j to %j", (type, given, kept) => {
    expect(value({ name: "f", type }, given)).toBe(kept)
  })

  it.each([
    ["date", ["2026-02-28", "2024-02-29"], ["2026-02-29", "28-02-2026", "2026-2-8", "tomorrow"]],
    ["time", ["09:30", "23:59:59", "10:00:00.5Z", "10:00+02:00"], ["24:00", "9:30", "half past nine"]],
    ["date-time", ["2026-02-28T09:30", "2026-02-28T09:30:00Z"], ["2026-02-30T09:30", "2026-02-28"]],
    ["email", ["a@b.nl", "first.last+x@sub.example.com"], ["a@b", "a b@c.nl", "a@", "@b.nl", "a@.nl"]],
    ["uri", ["https://example.com/a?b=1", "mailto:a@b.nl"], ["example.com", "https://", "not a uri"]],
    ["uuid", ["0b5e3c1a-9d5e-4b7b-8f3a-2f6d1c7e9a10"], ["0b5e3c1a"]],
    ["phone", ["+31612345678"], ["0612345678", "+31 6 12345678"]],
    ["constructor", ["a format that nobody knows is a hint"], []]
  ])("of format %s is validated", (format, good, bad) => {
    for (const given of good) expect(value(text({ format }), given)).toBe(given)
    for (const given of bad) expect(value(text({ format }), given)).toBeNull()
  })

  it("must match its pattern, which applies to strings only", () => {
    const postcode = text({ pattern: "^[0-9]{4} [A-Z]{2}$" })
    expect(value(postcode, "1234 AB")).toBe("1234 AB")
    expect(value(postcode, "1234AB")).toBeNull()
    expect(value({ ...postcode, type: "number" }, 5)).toBe(5)
  })
})
