import { describe, expect, it } from "vitest"
import { jsonFault } from "../../src/agent-server/JsonFault.ts"

describe("the place of a fault in JSON", () => {
  const cases: ReadonlyArray<readonly [string, number, number, string]> = [
    ["", 1, 1, ""],
    ["<html></html>", 1, 1, "<html></html>"],
    ['{"a": 1,}', 1, 9, '{"a": 1,}'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, '{ "a": 1 "b": 2 }'],
    ["{'a': 1}", 1, 2, "{'a': 1}"],
    ['{"a": undefined}', 1, 7, '{"a": undefined}'],
    ['{"a": 1', 1, 8, '{"a": 1'],
    ['["a", "b\nc"]', 1, 9, '["a", "b c"]'],
    ['["\\x"]', 1, 3, '["\\x"]'],
    ["[1, 2]]", 1, 7, "[1, 2]]"],
    ["[01]", 1, 3, "[01]"],
    ["{} {}", 1, 4, "{} {}"],
    ['{"a" 1}', 1, 6, '{"a" 1}'],
    ["[1 2]", 1, 4, "[1 2]"],
    ["[1,]", 1, 4, "[1,]"],
    ["NaN", 1, 1, "NaN"]
  ]
  for (const [text, line, column, near] of cases) {
    it(`is line ${line}, column ${column} of ${JSON.stringify(text)}`, () => {
      expect(jsonFault(text)).toEqual({ line, column, near })
      expect(() => JSON.parse(text)).toThrow()
    })
  }

  it("is the end of a text that is JSON", () => {
    for (const text of ['{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n",{}],"b":[]}', " [ ] ", '"x"', "0"]) {
      expect(jsonFault(text).column).toBe(text.length + 1)
      JSON.parse(text)
    }
  })
})
