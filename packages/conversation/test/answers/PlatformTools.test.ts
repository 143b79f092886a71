import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import { recordOf } from "../../src/CallRecord.ts"
import { Script, tool } from "../../src/testing/Script.ts"

const send_sms = { timeout_seconds: 5 }

/** The caller has spoken and the model generates turn 1. */
const asked = (change: Partial<CallConfig> = {}): Script => {
  const s = Script.greeted({ send_sms, ...change }).say("Please")
  return s
}
const call = (s: Script, turn: number, name: string, args: Readonly<Record<string, unknown>> = {}, id = `t${turn}`) =>
  s.input({ _tag: "ModelToolCalls", turn, calls: [{ id, name, arguments: args }] }).input({ _tag: "ModelDone", turn })

const offered = (s: Script): ReadonlyArray<string> => {
  const question = s.commands.findLast((c) => c._tag === "AskModel")
  return question?._tag === "AskModel" ? question.tools.map(({ name }) => name) : []
}
const commandsOf = (s: Script, tag: string) => s.commands.filter((c) => c._tag === tag)
/** The result of the last tool call in the messages for the model. */
const lastResult = (s: Script): unknown => {
  const question = s.commands.findLast((c) => c._tag === "AskModel")
  const last = question?._tag === "AskModel" ? question.messages.at(-1) : undefined
  return last?.role === "tool" ? JSON.parse(last.content) : undefined
}
const completed = (s: Script) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === "tool.completed" ? [c.data.result] : []))
const message = { to: "+31612345678", message: "Your table is booked." }

describe("the tools of the platform", () => {
  it("are offered to the model when the call has them", () => {
    expect(offered(asked())).toEqual(["lookup", "slow", "end_call", "svc_send_sms"])
    expect(offered(asked({ send_sms: null, end_call: false, tools: [] }))).toEqual([])
  })

  it("that the call does not have are answered with an error, without events", () => {
    for (const [name, change] of [
      ["end_call", { end_call: false }],
      ["svc_send_sms", { send_sms: null }],
      ["transfer_call", {}]
    ] as const) {
      const s = call(asked(change), 1, name, { disposition: "resolved", ...message })
      expect(s.state.phase).toBe("live")
      expect([...commandsOf(s, "InvokeTool"), ...commandsOf(s, "SendSms"), ...completed(s)]).toEqual([])
      expect(lastResult(s)).toEqual({ error: `There is no tool ${name}.` })
      expect(recordOf(s.state)).toMatchObject({ tool_call_count: 0, tools_called: [] })
    }
  })
})

describe("end_call", () => {
  it.each([
    "resolved",
    "customer_satisfied",
    "no_further_questions",
    "customer_requested",
    "wrong_number",
    "spam",
    "abusive"
  ])("ends the call with the disposition %s", (disposition) => {
    const s = call(asked(), 1, "end_call", { disposition })
    expect(s.state.phase).toBe("ending")
    expect(completed(s)).toEqual([{ disposition }])
  })

  it.each([[{}], [{ disposition: "bored" }], [{ disposition: 5 }]])("treats %j as resolved", (args) => {
    expect(completed(call(asked(), 1, "end_call", args))).toEqual([{ disposition: "resolved" }])
  })
})

describe("svc_send_sms", () => {
  it("sends the message without the agent's server, and the model gets the outcome", () => {
    const s = call(asked(), 1, "svc_send_sms", { ...message, sender_name: " Shop " })
    expect(commandsOf(s, "SendSms")).toEqual([{ _tag: "SendSms", id: "t1", ...message, sender_name: "Shop" }])
    expect(commandsOf(s, "InvokeTool")).toEqual([])
    s.input({ _tag: "ToolAnswered", id: "t1", result: { status: "sent" } })
    expect(completed(s)).toEqual([{ status: "sent" }])
    expect(lastResult(s)).toEqual({ status: "sent" })
  })

  it("gives the model the error when the network refuses", () => {
    const s = call(asked(), 1, "svc_send_sms", message)
    s.input({ _tag: "ToolFailed", id: "t1", reason: "refused" })
    expect(lastResult(s)).toEqual({ error: "refused" })
  })

  it.each([
    [{ message: "Hi" }, "to is required."],
    [{ to: "0612345678", message: "Hi" }, "to must be a valid E.164 phone number"],
    [{ to: 31612345678, message: "Hi" }, "to must be a valid E.164 phone number"],
    [{ to: "+31612345678" }, "message is required."],
    [{ to: "+31612345678", message: "  " }, "message is required."],
    [{ to: "+31612345678", message: "x".repeat(161) }, "message must not exceed 160 characters"],
    [{ ...message, sender_name: "Twelve chars" }, "sender_name must not exceed 11 characters"]
  ])("sends nothing for the arguments %j", (args, error) => {
    const s = call(asked(), 1, "svc_send_sms", args)
    expect(commandsOf(s, "SendSms")).toEqual([])
    expect(completed(s)).toEqual([{ error }])
    expect(lastResult(s)).toEqual({ error })
  })

  it("accepts 160 characters of any size in bytes, and an empty sender_name as absent", () => {
    const s = call(asked(), 1, "svc_send_sms", { to: "+31612345678", message: "😀".repeat(160), sender_name: null })
    expect(commandsOf(s, "SendSms")).toMatchObject([{ sender_name: null }])
  })

  it("that hangs times out like any tool, and the call continues", () => {
    const s = call(asked({ send_sms: { timeout_seconds: 2 } }), 1, "svc_send_sms", message)
    expect(s.take()).toContain("StartTimer tool:t1 2000")
    s.wait(2000).fire("tool:t1")
    expect(s.events).toContain("tool.timeout")
    expect(s.state.model?.turn).toBe(2)
  })

  it("sends two messages with two ids when the model repeats an id", () => {
    const s = call(asked(), 1, "svc_send_sms", message, "same")
    s.input({ _tag: "ToolAnswered", id: "same", result: 1 })
    call(s, 2, "svc_send_sms", message, "same")
    const ids = commandsOf(s, "SendSms").map((c) => (c._tag === "SendSms" ? c.id : ""))
    expect(new Set(ids).size).toBe(2)
  })
})

describe("a model that calls a tool it was not offered", () => {
  it("gets an error also for a tool of the call after the last tool round", () => {
    const s = asked()
    for (let turn = 1; turn <= 5; turn++) {
      call(s, turn, "lookup")
      s.input({ _tag: "ToolAnswered", id: `t${turn}`, result: turn })
    }
    expect(offered(s)).toEqual([])
    s.take()
    call(s, 6, "lookup")
    expect(commandsOf(s, "InvokeTool")).toEqual([])
    expect(s.commands.some((c) => c._tag === "Speak" && c.text.includes("went wrong"))).toBe(true)
    expect(s.state.model).toBeNull()
  })

  it("again and again ends the call", () => {
    const s = asked({ tools: [tool("lookup")] })
    for (let turn = 1; turn < 100 && s.state.phase === "live"; turn++) {
      if (s.state.model === null) s.say("Hello?")
      call(s, s.state.model?.turn ?? -1, "nothing", {}, `x${turn}`)
    }
    expect(s.state.ending?.outcome.ended_reason ?? s.state.outcome?.ended_reason).toBe("error")
  })

  it("keeps the text that came with the tool call", () => {
    const s = asked()
    for (let turn = 1; turn <= 5; turn++) call(s, turn, "nothing", {}, `x${turn}`)
    s.input({ _tag: "ModelSentence", turn: 6, text: "I cannot do that." })
    call(s, 6, "nothing")
    expect(s.state.model).toBeNull()
    expect(s.commands.filter((c) => c._tag === "Speak")).toHaveLength(1)
  })
})
