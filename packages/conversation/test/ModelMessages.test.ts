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

  it("have the newest results of tools up to 256 K characters, and the newest always", () => {
    const contentsOf = (lengths: ReadonlyArray<number>) => {
      const s = Script.greeted()
      for (const [index, length] of lengths.entries()) {
        const turn = 2 * index + 1
        const id = `t${index}`
        s.say("Look it up").input({ _tag: "ModelToolCalls", turn, calls: [{ id, name: "lookup", arguments: {} }] })
        s.input({ _tag: "ModelDone", turn }).input({ _tag: "ToolAnswered", id, result: "x".repeat(length) })
        s.input({ _tag: "ModelSentence", turn: turn + 1, text: "Here it is." })
        s.input({ _tag: "ModelDone", turn: turn + 1 }).play(`u${index + 1}`)
      }
      return history(s.state).flatMap((message) =>
        message.role === "tool" ? [message.content.replace(/^x+$/, String(message.content.length))] : []
      )
    }
    const old = "This result is too old and is not shown any more."
    const k = 1024
    expect(contentsOf([128 * k, 64 * k, 64 * k])).toEqual([128, 64, 64].map((size) => String(size * k)))
    expect(contentsOf([1, 128 * k, 64 * k, 64 * k])).toEqual([old, ...[128, 64, 64].map((size) => String(size * k))])
    expect(contentsOf([1, 1, 300 * k])).toEqual([old, old, String(300 * k)])
  })

  it("are the same objects in each request as long as they do not change, and cannot be changed by who gets them", () => {
    const s = Script.greeted().say("Look it up")
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: { a: 1 } }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: { n: 1 } })
    s.input({ _tag: "ModelSentence", turn: 2, text: "It is one." }).input({ _tag: "ModelDone", turn: 2 }).play("u1")
    const before = history(s.state)
    const offered = tools(s.state)
    s.say("Thank you")
    const after = history(s.state)
    expect(after.slice(0, -1)).toEqual(before)
    expect(after.slice(0, -1).map((message, index) => message === before[index])).toEqual(before.map(() => true))
    expect(tools(s.state)).toBe(offered)
    for (const part of [
      ...after,
      ...after.flatMap((m) => (m.role === "assistant" ? (m.tool_calls ?? []) : [])),
      ...offered
    ])
      expect(() => Object.assign(part, { name: "other" })).toThrow(TypeError)
    expect(() => Reflect.apply(Array.prototype.pop, offered, [])).toThrow(TypeError)
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
