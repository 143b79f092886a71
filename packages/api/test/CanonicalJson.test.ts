import { describe, expect, it } from "@effect/vitest"
import { canonicalJson, jsonText } from "../src/CanonicalJson.ts"

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

describe("jsonText", () => {
  it("writes fields in their order, and null for undefined", () => {
    expect(jsonText({ b: 1, a: undefined, c: ["x"] })).toBe('{"b":1,"c":["x"]}')
    expect([jsonText(undefined), jsonText(null), jsonText("x")]).toEqual(["null", "null", '"x"'])
  })

  it("writes a large object once, apart from its canonical text", () => {
    let reads = 0
    const large = {
      get b() {
        reads += 1
        return "x".repeat(600)
      },
      a: 1
    }
    const text = jsonText(large)
    expect(jsonText(large)).toBe(text)
    expect(reads).toBe(1)
    expect(canonicalJson(large).startsWith('{"a":1,')).toBe(true)
    expect(text.startsWith('{"b":"xxx')).toBe(true)
  })
})
