import { describe, expect, it } from "@effect/vitest"
import { canonicalJson } from "../src/CanonicalJson.ts"

describe("canonicalJson", () => {
  it("orders the fields of each object by name, and leaves undefined ones out", () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: undefined, A: "x\n" })).toBe(
      '{"A":"x\\n","b":[{"c":null,"d":1}]}'
    )
    expect(canonicalJson([undefined, true, 1.5])).toBe("[null,true,1.5]")
  })

  it("writes a large object once, however often it is part of another", () => {
    let reads = 0
    const large = {
      text: "x".repeat(1000),
      get counted() {
        reads += 1
        return 1
      }
    }
    const text = canonicalJson(large)
    expect(canonicalJson({ a: large, b: [large] })).toBe(`{"a":${text},"b":[${text}]}`)
    expect(reads).toBe(1)
  })
})
