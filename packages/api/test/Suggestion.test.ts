import { describe, expect, it } from "vitest"
import { didYouMean, suggestion } from "../src/Suggestion.ts"

const names = ["say", "expect", "expect_tool", "first_message", "dtmf_actions", "to"]

describe("the name that was meant", () => {
  it.each([
    ["frist_message", "first_message"],
    ["firstMessage", "first_message"],
    ["first-mesage", "first_message"],
    ["expects", "expect"],
    ["expectTool", "expect_tool"],
    ["sya", "say"],
    ["TO", "to"]
  ])("of %s is %s", (word, name) => {
    expect(suggestion(word, names)).toBe(name)
  })

  it.each(["shout", "x", "tx", "", "greeting", "first_message".repeat(1000)])("is not known for %.20s", (word) => {
    expect(suggestion(word, names)).toBeUndefined()
  })

  it("is suggested, or all names are listed", () => {
    expect(didYouMean("epxect", names)).toBe("; did you mean expect?")
    expect(didYouMean("shout", ["say", "wait"])).toBe("; known are say, wait")
  })
})
