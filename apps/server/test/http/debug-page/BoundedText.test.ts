import { describe, expect, it } from "@effect/vitest"
import { atOnce } from "@svc/api/Thread"
import { jsonBeginning } from "@svc/conversation/BoundedJson"
import { bodyHtml, section } from "../../../src/http/debug-page/BoundedText.ts"

describe("The beginning of a value as JSON", () => {
  it("is the indented JSON of a small value, with its size", () => {
    for (const value of [{}, [], null, 5, "a", [1, [2, { x: "y", z: [] }]], { a: { b: [true, null] }, c: "d" }]) {
      const text = JSON.stringify(value, null, 2)
      expect(jsonBeginning(value, 1000)).toEqual({ text, size: text.length })
    }
    expect(jsonBeginning({ a: undefined, b: `"\n` }, 1000).text).toBe(JSON.stringify({ b: `"\n` }, null, 2))
  })

  it("has at most the given length, and the size of the whole", () => {
    const value = { messages: Array.from({ length: 500 }, (_, i) => ({ role: "user", content: `${i} `.repeat(200) })) }
    const whole = JSON.stringify(value, null, 2)
    for (const limit of [0, 1, 30, 1000, 16_384]) {
      expect(jsonBeginning(value, limit)).toEqual({ text: whole.slice(0, limit), size: whole.length })
    }
    expect(jsonBeginning(`${'"'.repeat(100_000)}`, 50).text).toHaveLength(50)
  })
})

describe("A body", () => {
  it("says how much of it is shown, and that it is not shown when the page has no room left", () => {
    const room = { left: 100 }
    const body = (whole: string) => (limit: number) => ({ text: whole.slice(0, limit), size: whole.length })
    expect(bodyHtml(body("<a>"), room)).toBe("<pre>&lt;a&gt;</pre>")
    expect(room.left).toBe(91)
    expect(bodyHtml(body("x".repeat(12_345)), room)).toContain("the first 91 of 12,345 characters")
    expect(bodyHtml(() => expect.unreachable(), room)).toContain("not shown: the page has room for the newest")
    expect(bodyHtml(body("x".repeat(50_000)), { left: 100_000 })).toContain("the first 16,384 of 50,000 characters")
  })
})

describe("A section", () => {
  const options = { rest: "earlier ones are not shown", list: true }

  it("has all rows in their order while they fit, and is left out without rows", () => {
    const limit = { rows: 3, characters: 100 }
    expect(atOnce(section("X", ["a", "b", "c"], limit, (row, i) => row + i, options))).toBe(
      `<section aria-labelledby="x"><h2 id="x">X</h2><ol>a0b1c2</ol></section>`
    )
    expect(atOnce(section("X", [], limit, () => "", options))).toBe("")
  })

  it("has the newest rows that fit by number and by length, and says how many there are", () => {
    const many = Array.from({ length: 1500 }, (_, i) => `[${i}]`)
    const byNumber = atOnce(section("X", many, { rows: 2, characters: 100 }, (row) => row, options))
    expect(byNumber).toContain("the newest 2 of 1,500; earlier ones are not shown")
    expect(byNumber).toContain("<ol>[1498][1499]</ol>")
    expect(atOnce(section("X", many, { rows: 100, characters: 20 }, (row) => row, options))).toContain(
      "<ol>[1497][1498][1499]</ol>"
    )
  })
})
