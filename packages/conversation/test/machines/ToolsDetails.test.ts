import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import type { Command } from "../../src/Command.ts"
import { config, facts, Script, tool } from "../../src/testing/Script.ts"

const dataOf = (s: Script, event: string) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

/** A call in which the model has called one tool, as `t`. */
const called = (name: string, args: Readonly<Record<string, unknown>>, change: Partial<CallConfig> = {}) =>
  Script.greeted(change)
    .say("Please")
    .input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name, arguments: args }] })

const messagesOf = (s: Script) => commandsOf(s, "AskModel").at(-1)?.messages ?? []

describe("svc_send_sms", () => {
  const args = { to: "+31612345678", message: "Your code is 1." }
  const send_sms = { timeout_seconds: 7 }

  it("sends the message, within its own time limit, and its result goes to the model", () => {
    const s = called("svc_send_sms", args, { send_sms })
    expect(commandsOf(s, "SendSms")).toEqual([{ _tag: "SendSms", id: "t", ...args, sender_name: null }])
    expect(commandsOf(s, "InvokeTool")).toEqual([])
    expect(commandsOf(s, "StartTimer")).toContainEqual({ _tag: "StartTimer", timer: "tool:t", ms: 7000 })
    expect(dataOf(s, "tool.invoked")).toEqual([expect.objectContaining({ tool_call_id: "t", arguments: args })])
    s.input({ _tag: "ModelDone", turn: 1 })
    expect(commandsOf(s, "AskModel")).toHaveLength(1)
    s.input({ _tag: "ToolAnswered", id: "t", result: "sent" })
    expect(dataOf(s, "tool.completed")).toEqual([expect.objectContaining({ result: "sent" })])
    expect(messagesOf(s).at(-1)).toMatchObject({ role: "tool", tool_call_id: "t", content: "sent" })
  })

  it("without a message is answered with an error at once, and nothing is sent", () => {
    const s = called("svc_send_sms", { to: args.to }, { send_sms }).input({ _tag: "ModelDone", turn: 1 })
    expect(commandsOf(s, "SendSms")).toEqual([])
    expect(dataOf(s, "tool.invoked")).toHaveLength(1)
    expect(dataOf(s, "tool.completed")).toEqual([
      expect.objectContaining({ result: { error: "message is required." } })
    ])
    expect(messagesOf(s).at(-1)).toMatchObject({ content: JSON.stringify({ error: "message is required." }) })
  })
})

describe("tools of one turn", () => {
  it("are invoked with their arguments, and the model is asked again when it is done and all have answered", () => {
    const s = Script.greeted({ tools: [tool("lookup"), tool("slow", 2)] }).say("Please")
    const calls = ["lookup", "slow"].map((name) => ({ id: name, name, arguments: { a: name } }))
    s.input({ _tag: "ModelToolCalls", turn: 1, calls })
    expect(commandsOf(s, "InvokeTool")).toEqual(
      ["lookup", "slow"].map((name) => ({ _tag: "InvokeTool", id: name, name, arguments: { a: name } }))
    )
    s.input({ _tag: "ToolAnswered", id: "lookup", result: 1 }).input({ _tag: "ToolAnswered", id: "slow", result: 1 })
    expect(commandsOf(s, "AskModel")).toHaveLength(1)
    s.input({ _tag: "ModelDone", turn: 1 })
    expect(commandsOf(s, "AskModel")).toHaveLength(2)
  })
})

describe("transfer_call", () => {
  const transfer_destinations = { sales: "+15550003333", support: "+15550004444" }

  it("with a blank reason has none, and any other reason is trimmed", () => {
    const reasonOf = (reason: unknown) => {
      const s = called("transfer_call", { destination: "sales", reason }, { transfer_destinations })
      return dataOf(s.input({ _tag: "ModelDone", turn: 1 }), "transfer.initiated")
    }
    expect(reasonOf("  ")).toEqual([expect.objectContaining({ reason: null })])
    expect(reasonOf(" sick ")).toEqual([expect.objectContaining({ reason: "sick" })])
    expect(reasonOf(7)).toEqual([expect.objectContaining({ reason: null })])
  })

  it("with an unknown destination, or one that is not a text, is answered with the list of them", () => {
    for (const destination of ["toString", ["sales"]]) {
      const s = called("transfer_call", { destination }, { transfer_destinations })
      const error = "There is no such destination. There are: sales, support."
      expect(dataOf(s, "tool.completed")).toEqual([expect.objectContaining({ result: { error } })])
    }
  })

  it("a second time in the same turn is answered with an error", () => {
    const calls = ["a", "b"].map((id) => ({ id, name: "transfer_call", arguments: { destination: "sales" } }))
    const s = Script.greeted({ transfer_destinations }).say("Please")
    s.input({ _tag: "ModelToolCalls", turn: 1, calls })
    expect(dataOf(s, "tool.completed")).toEqual([
      expect.objectContaining({ tool_call_id: "b", result: { error: "A transfer is under way already." } })
    ])
  })
})

describe("svc_voicemail_reached", () => {
  it("emits tool.invoked and tool.completed, and nothing is invoked", () => {
    const s = new Script({ ...facts, outbound: { ring_timeout_seconds: 30, metadata: {} } })
    s.input({ _tag: "Answered" }).input({
      _tag: "ConfigAnswered",
      config: { ...config, voicemail_message: "Call us." }
    })
    s.play("u0").wait(1000).say("Who is this?")
    const turn = s.state.model?.turn ?? 0
    s.input({ _tag: "ModelToolCalls", turn, calls: [{ id: "t", name: "svc_voicemail_reached", arguments: {} }] })
    expect(dataOf(s, "tool.invoked")).toEqual([expect.objectContaining({ tool_call_id: "t", arguments: {} })])
    expect(dataOf(s, "tool.completed")).toEqual([expect.objectContaining({ result: { status: "noted" } })])
    expect(commandsOf(s, "CancelTool")).toEqual([])
    const tools = s.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools : []))
    expect(tools).toEqual([expect.objectContaining({ id: "t", pending: false, result: { status: "noted" } })])
  })
})
