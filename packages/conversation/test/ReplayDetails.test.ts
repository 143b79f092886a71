import { describe, expect, it } from "vitest"
import { start } from "../src/Conversation.ts"
import { digest, replay } from "../src/Replay.ts"
import { facts } from "../src/testing/Script.ts"

const begun = { seq: 0, input: facts, commands: digest(start(facts)[1]) }

describe("the digest of commands", () => {
  it("is the same in every version, as journals have it stored", () => {
    expect(digest([{ _tag: "Answer" }])).toBe("S7zqUbxQR4")
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content: "" }
    ] as const
    expect(digest([{ _tag: "AskModel", turn: 1, messages, tools: [] }])).toBe("LJVcmygUlH")
  })
})

describe("a journal played again", () => {
  it("shows that the first row has other commands now", () => {
    expect(replay([begun])?.differing).toEqual([])
    expect(replay([{ ...begun, commands: "other" }])?.differing).toEqual([0])
  })

  it("ignores facts after the first row", () => {
    const replayed = replay([begun, { ...begun, seq: 1 }])
    expect([replayed?.steps.length, replayed?.differing]).toEqual([1, []])
  })
})
