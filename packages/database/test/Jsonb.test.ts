import { expect, it } from "@effect/vitest"
import { jsonbText } from "../src/Jsonb.ts"

it("JSON for the database has no U+0000 and no half of a surrogate pair", () => {
  expect(JSON.parse(jsonbText({ "a\u0000": "b\u0000c", d: ["\ud83d", "\ud83d\ude00"] }))).toEqual({
    a: "bc",
    d: ["\ufffd", "\ud83d\ude00"]
  })
})

it("JSON for the database keeps texts that have such an escape in them", () => {
  for (const text of ["\\u0000", "\\ud83d", "\\\\u0000"]) expect(JSON.parse(jsonbText([text]))).toEqual([text])
  // An escaped backslash right before a character that is removed.
  expect(JSON.parse(jsonbText(["\\\u0000u0000"]))).toEqual(["\\u0000"])
})
