import { describe, expect, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { isLongerThan, JsonObject } from "../src/Wire.ts"

describe("the length of a text", () => {
  it("is counted in characters, of which an emoji is one", () => {
    expect(isLongerThan(3, "abc")).toBe(false)
    expect(isLongerThan(3, "abcd")).toBe(true)
    expect(isLongerThan(3, "😀😀😀")).toBe(false)
    expect(isLongerThan(3, "😀😀😀😀")).toBe(true)
    expect(isLongerThan(3, "😀😀ab")).toBe(true)
    expect(isLongerThan(3, "")).toBe(false)
  })
})

describe("a JSON object", () => {
  const decode = Schema.decodeUnknownEither(JsonObject)

  it("is taken as it is, and its fields are not read", () => {
    let read = 0
    const value = Object.defineProperty({}, "a", { enumerable: true, get: () => read++ })
    const decoded = decode(value)
    expect(Either.isRight(decoded) && decoded.right).toBe(value)
    expect(read).toBe(0)
  })

  it("is neither an array, nor null, nor a text", () => {
    for (const value of [[], null, "{}", 1, undefined]) expect(Either.isLeft(decode(value))).toBe(true)
  })
})
