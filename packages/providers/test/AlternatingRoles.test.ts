import { FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { alternating } from "../src/AlternatingRoles.ts"
import type { ModelMessage } from "../src/LanguageModel.ts"

const system = (content: string): ModelMessage => ({ role: "system", content })
const user = (content: string): ModelMessage => ({ role: "user", content })
const assistant = (content: string): ModelMessage => ({ role: "assistant", content })
const call = { id: "t", name: "lookup", arguments: {} }
const result: ModelMessage = { role: "tool", tool_call_id: "t", name: "lookup", content: "found" }

describe("messages with alternating roles", () => {
  it("begin with the user after the prompt, and join neighbours of one role", () => {
    expect(
      alternating([system("Prompt"), assistant("Hello."), user("Hi"), user("Are you there?"), assistant("Yes.")])
    ).toEqual([
      system("Prompt"),
      user("(The conversation begins.)"),
      assistant("Hello."),
      user("Hi\nAre you there?"),
      assistant("Yes.")
    ])
  })

  it("have what the system says after the prompt in the user's words", () => {
    expect(
      alternating([system("Prompt"), system("Summary"), user("When?"), assistant("At nine."), system("Silent.")])
    ).toEqual([system("Prompt"), user("Summary\nWhen?"), assistant("At nine."), user("Silent.")])
  })

  it("need no prompt", () => {
    expect(alternating([user("Hi"), system("Be kind."), user("When?")])).toEqual([user("Hi\nBe kind.\nWhen?")])
    expect(alternating([])).toEqual([])
  })

  it("keep each call of a tool before its result", () => {
    const asks: ModelMessage = { role: "assistant", content: "One moment.", tool_calls: [call] }
    expect(alternating([system("Prompt"), user("Hi"), assistant("Sure."), asks, result, assistant("Found.")])).toEqual([
      system("Prompt"),
      user("Hi"),
      { role: "assistant", content: "Sure.\nOne moment.", tool_calls: [call] },
      result,
      assistant("Found.")
    ])
  })

  it("never have two of one role in a row, whatever the conversation", () => {
    const message = fc.constantFrom(user("a"), assistant("b"), system("c"))
    fc.assert(
      fc.property(fc.array(message), (rest) => {
        const roles = alternating([system("Prompt"), ...rest]).map(({ role }) => role)
        expect(roles[0]).toBe("system")
        for (const [index, role] of roles.slice(1).entries()) expect(role).toBe(index % 2 === 0 ? "user" : "assistant")
      })
    )
  })
})
