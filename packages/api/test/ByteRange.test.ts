import { describe, expect, it } from "@effect/vitest"
import { byteRange } from "../src/ByteRange.ts"

describe("A range of bytes", () => {
  it.each([
    ["bytes=0-", { start: 0, end: 1000 }],
    ["bytes=0-0", { start: 0, end: 1 }],
    ["bytes=10-19", { start: 10, end: 20 }],
    ["bytes=990-5000", { start: 990, end: 1000 }],
    ["bytes=999-", { start: 999, end: 1000 }],
    ["bytes=-10", { start: 990, end: 1000 }],
    ["bytes=-5000", { start: 0, end: 1000 }],
    ["  Bytes = 1-2 ", { start: 1, end: 3 }]
  ])("%j is a range of the body", (header, range) => {
    expect(byteRange(header, 1000)).toEqual(range)
  })
  it.each(["bytes=1000-", "bytes=1000-2000", "bytes=999999999999999-", "bytes=-0"])("%j is unsatisfiable", (header) => {
    expect(byteRange(header, 1000)).toBe("unsatisfiable")
  })
  it.each([
    undefined,
    "",
    "bytes",
    "bytes=",
    "bytes=-",
    "bytes=20-10",
    "bytes=a-b",
    "bytes=0x1-2",
    "bytes=-1-2",
    "bytes=1.5-2",
    "bytes=0-1,5-6",
    "items=0-1",
    `bytes=${"9".repeat(400)}-`
  ])("%j is ignored", (header) => {
    expect(byteRange(header, 1000)).toBeUndefined()
  })
  it("every range of an empty body is unsatisfiable", () => {
    expect(byteRange("bytes=0-", 0)).toBe("unsatisfiable")
    expect(byteRange("bytes=-5", 0)).toBe("unsatisfiable")
  })
})
