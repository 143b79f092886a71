import { describe, expect, it } from "vitest"
import { extraction, history, tools } from "../src/ModelMessages.ts"
import { Script, tool } from "../src/testing/Script.ts"

describe("the messages for the model", () => {
  it("begin with an empty system_prompt, and offer no tools, before there is a configuration", () => {
    const { state } = new Script()
    expect(history(state)).toEqual([{ role: "system", content: "" }])
    expect(extraction(state).map(({ content }) => content)).toEqual(["", expect.stringContaining("null")])
    expect(tools(state)).toEqual([])
  })

  it("have the result of a tool as text when it is a text, as JSON otherwise, and null when there is none", () => {
    const contentOf = (result: unknown) => {
      const s = Script.greeted().say("Look it up")
      s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: { a: 1 } }] })
      s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result })
      return history(s.state).at(-1)
    }
    const message = { role: "tool", tool_call_id: "t", name: "lookup" }
    expect(contentOf("one")).toEqual({ ...message, content: "one" })
    expect(contentOf({ n: 1 })).toEqual({ ...message, content: '{"n":1}' })
    expect(contentOf(undefined)).toEqual({ ...message, content: "null" })
  })

  it("have the whole text of a turn that was not interrupted, also before it was played", () => {
    const s = Script.greeted().say("Look it up").input({ _tag: "ModelSentence", turn: 1, text: "One moment." })
    expect(history(s.state).at(-1)).toEqual({ role: "assistant", content: "One moment." })
  })

  it("have the usage_instructions of a tool after its description", () => {
    const lookup = { ...tool("lookup"), description: "Looks up." }
    const { state } = Script.greeted({ tools: [lookup, { ...lookup, usage_instructions: "Rarely." }], end_call: false })
    expect(tools(state).map(({ description }) => description)).toEqual(["Looks up.", "Looks up.\n\nRarely."])
  })
})
