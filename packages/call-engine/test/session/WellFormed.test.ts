import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { wellFormed, wellFormedPart } from "../../src/session/WellFormed.ts"

const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}1${"]".repeat(levels)}`)

describe("wellFormed", () => {
  it("replaces NUL and lone surrogates in keys and values at any level", () => {
    expect(wellFormed({ "a\0": ["\ud800x", { b: "y\udc00" }], c: "😀\0" })).toEqual({
      "a\ufffd": ["\ufffdx", { b: "y\ufffd" }],
      c: "😀\ufffd"
    })
  })

  it("keeps valid text unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const clean = JSON.parse(JSON.stringify(value).replace(/\\u0000|\\ud[89a-f]../gi, ""))
        expect(wellFormed(clean)).toEqual(clean)
      })
    )
  })

  it("cuts values nested too deep, so that they can be serialized", () => {
    const cut = wellFormed({ result: nested(200_000) })
    expect(JSON.stringify(cut)).toMatch(/^\{"result":\[+null\]+\}$/)
    expect(wellFormed(nested(50))).toEqual(nested(50))
  })

  it("gives a part the same form before its input as in it, and takes a cleaned part as it is", () => {
    const result = { bb: "x\0", a: { long: 1, b: nested(200) } }
    const part = wellFormedPart(result, 1)
    const { result: inside } = wellFormed({ result })
    expect(JSON.stringify(part)).toBe(JSON.stringify(inside))
    expect(wellFormed({ result: part }).result).toBe(part)
  })

  it("keeps numbers, booleans, null and undefined", () => {
    expect(wellFormed({ a: 1, b: true, c: null, d: undefined })).toEqual({ a: 1, b: true, c: null, d: undefined })
  })
})
