import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readJson } from "../src/JsonLimits.ts"

const bytesOf = (json: string) => new TextEncoder().encode(json)
const read = (json: string) => readJson(bytesOf(json), "strict")
const excess = (json: string) => Effect.map(Effect.flip(read(json)), (error) => error.excess)
const nested = (levels: number, open = "[", close = "]") => open.repeat(levels) + close.repeat(levels)

describe("the limits of JSON from outside", () => {
  it.effect("are 100 levels", () =>
    Effect.gen(function* () {
      expect(yield* read(nested(100))).toStrictEqual(JSON.parse(nested(100)))
      for (const json of [nested(101), nested(101, '{"a":', "}"), "[".repeat(1_000_000)]) {
        expect(yield* excess(json)).toBe("is nested more than 100 levels deep")
      }
    })
  )

  it.effect("are 10,000 values", () =>
    Effect.gen(function* () {
      const list = (length: number) => JSON.stringify(Array.from({ length }, () => 0))
      expect(yield* read(list(9_999))).toHaveLength(9_999)
      expect(yield* excess(list(10_000))).toBe("has more than 10000 values")
      expect(yield* excess(`[${"[],".repeat(10_000)}0]`)).toBe("has more than 10000 values")
    })
  )

  it.effect("are 5,000 fields, in however many objects", () =>
    Effect.gen(function* () {
      const fields = (count: number) =>
        JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 0])))
      expect(Object.keys(Object(yield* read(fields(5_000))))).toHaveLength(5_000)
      expect(yield* excess(fields(5_001))).toBe("has more than 5000 fields")
      expect(yield* excess(`[${'{"a":1},'.repeat(3_000)}${fields(2_500)}]`)).toBe("has more than 5000 fields")
    })
  )

  it.effect("count over the whole text, though a long one is read in pieces", () =>
    Effect.gen(function* () {
      const long = "x".repeat(20)
      expect(yield* excess(JSON.stringify(Array.from({ length: 10_000 }, () => long)))).toBe(
        "has more than 10000 values"
      )
      expect(yield* excess(`["${"x".repeat(200_000)}",${nested(100)}]`)).toBe("is nested more than 100 levels deep")
    })
  )

  it.effect("do not count what is inside of texts", () =>
    Effect.gen(function* () {
      for (const text of [
        "[".repeat(101),
        ":,".repeat(10_001),
        `"${"[".repeat(101)}`,
        `\\"${"{".repeat(101)}`,
        "é\\"
      ]) {
        expect(yield* read(JSON.stringify([text, text]))).toStrictEqual([text, text])
      }
      expect(yield* excess(`["\\"",${nested(100)}]`)).toBe("is nested more than 100 levels deep")
    })
  )
})

describe("reading JSON from outside", () => {
  it.effect("gives the same wherever a long text is cut: in a character, an escape, a bracket", () =>
    Effect.gen(function* () {
      for (const unit of ["é", "€", "😀", "\n", '\\"', "x[{"]) {
        for (const shift of ["", "a", "ab", "abc"]) {
          const value = [`${shift}${unit.repeat(300_000 / unit.length)}`, { end: 1 }]
          expect(yield* read(JSON.stringify(value))).toStrictEqual(value)
        }
      }
    })
  )

  it.effect("ignores a byte order mark at the start only", () =>
    Effect.gen(function* () {
      expect(yield* read("\uFEFF[1]")).toStrictEqual([1])
      expect(yield* read(JSON.stringify("\uFEFF".repeat(100_000)))).toBe("\uFEFF".repeat(100_000))
    })
  )

  it.effect("fails on bytes that are not UTF-8, unless they are to be replaced", () =>
    Effect.gen(function* () {
      const bytes = Uint8Array.of(0x22, 0xff, 0x22)
      expect((yield* Effect.flip(readJson(bytes, "strict"))).excess).toBeUndefined()
      expect(yield* readJson(bytes, "lenient")).toBe("\uFFFD")
      expect((yield* Effect.flip(read("{]"))).excess).toBeUndefined()
      expect((yield* Effect.flip(read(""))).excess).toBeUndefined()
    })
  )

  it.effect("lets timers run while it reads a text of 1 MB, at least once for each 128 KB", () =>
    Effect.gen(function* () {
      let turns = 0
      const count = (): void => {
        turns++
        next = setImmediate(count)
      }
      let next = setImmediate(count)
      yield* read(JSON.stringify("x".repeat(1_000_000)))
      clearImmediate(next)
      expect(turns).toBeGreaterThanOrEqual(8)
    })
  )
})
