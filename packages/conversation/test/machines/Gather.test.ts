import { describe, expect, it } from "vitest"
import type { GatherRules } from "../../src/answers/GatherRules.ts"
import type { CommandOf } from "../../src/Command.ts"
import { config, Script, tool } from "../../src/testing/Script.ts"

/** Gathers in a conversation, in virtual time. */

const rules: GatherRules = {
  prompt: "Please type your number.",
  voice: "female",
  language: "en-US",
  max_digits: 4,
  terminator: "#",
  timeout_seconds: 5
}

/** A greeted call with a gather requested through the API. Its prompt is u1. */
const asked = (change: Partial<GatherRules> = {}): Script =>
  Script.greeted().input({ _tag: "GatherRequested", rules: { ...rules, ...change } })

const press = (s: Script, keys: string): Script => {
  for (const digit of keys) s.input({ _tag: "Dtmf", digit })
  return s
}

const dataOf = (s: Script, event: string): ReadonlyArray<unknown> =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const outcomes = (s: Script): ReadonlyArray<unknown> => dataOf(s, "call.gather.completed")

const last = <T extends "InvokeTool" | "FetchConfig" | "Speak" | "AskModel">(s: Script, tag: T) =>
  s.commands.findLast((c): c is CommandOf<T> => c._tag === tag)

describe("a gather through the API", () => {
  it("speaks its prompt in its own voice, and its timeout starts at the end of the prompt", () => {
    const s = asked({ voice: "male", language: "nl-NL" })
    expect(last(s, "Speak")).toMatchObject({ text: rules.prompt, voice: "male", language: "nl-NL" })
    expect(s.take()).not.toContain("StartTimer gather 5000")
    s.play("u1")
    expect(s.take()).toContain("StartTimer gather 5000")
  })

  it("is completed by the last digit, without the terminator", () => {
    const s = press(asked().play("u1"), "1234")
    expect(outcomes(s)).toMatchObject([{ status: "completed", input: "1234" }])
    expect(s.state.timers.includes("gather")).toBe(false)
  })

  it("is completed by the terminator after a digit, which is not part of the input", () => {
    expect(outcomes(press(asked().play("u1"), "12#"))).toMatchObject([{ status: "completed", input: "12" }])
  })

  it("ignores a terminator before any digit, and other digits than 0-9", () => {
    const s = press(asked().play("u1"), "#**1*2#")
    expect(outcomes(s)).toMatchObject([{ status: "completed", input: "12" }])
  })

  it("is not prolonged by ignored digits", () => {
    const s = asked().play("u1")
    s.take()
    expect(press(s, "*#").take()).not.toContain("StartTimer gather 5000")
  })

  it("with an empty terminator ends only by max_digits or timeout", () => {
    const s = press(asked({ terminator: "" }).play("u1"), "12#")
    expect(outcomes(s)).toEqual([])
    expect(outcomes(s.fire("gather"))).toMatchObject([{ status: "timeout", input: "12" }])
  })

  it("may have a digit as its terminator", () => {
    expect(outcomes(press(asked({ terminator: "9" }).play("u1"), "19"))).toMatchObject([{ input: "1" }])
  })

  it("restarts its timeout after each digit, and times out with the digits so far", () => {
    const s = asked().play("u1")
    s.take()
    expect(press(s, "1").take()).toContain("StartTimer gather 5000")
    expect(outcomes(s.fire("gather"))).toMatchObject([{ status: "timeout", input: "1" }])
  })

  it("without any digit times out with null", () => {
    expect(outcomes(asked().play("u1").fire("gather"))).toMatchObject([{ status: "timeout", input: null }])
  })

  it("stops its prompt at the first digit", () => {
    const s = asked().input({ _tag: "SpeechStarted", id: "u1" })
    s.take()
    expect(press(s, "1").take()).toEqual(
      expect.arrayContaining(["StopSpeaking", "StartTimer gather 5000", "Emit call.dtmf.received"])
    )
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "Please type" }] })
    expect(s.transcript.at(-1)).toBe("assistant: Please type")
    expect(outcomes(press(s, "2#"))).toMatchObject([{ input: "12" }])
  })

  it("waits until the agent has finished speaking, and skips the prompt when digits were typed ahead", () => {
    const s = Script.live().input({ _tag: "GatherRequested", rules })
    press(s, "12")
    expect(s.take().filter((c) => c.startsWith("Speak"))).toEqual(["Speak u0 Hello there."])
    s.play("u0")
    expect(s.take()).toContain("StartTimer gather 5000")
    expect(outcomes(press(s, "#"))).toMatchObject([{ status: "completed", input: "12" }])
  })

  it("that was typed ahead completely ends before its prompt", () => {
    const s = press(Script.live().input({ _tag: "GatherRequested", rules }), "1234")
    expect(outcomes(s)).toMatchObject([{ status: "completed", input: "1234" }])
    expect(s.play("u0").take()).not.toContain("Speak u1 Please type your number.")
  })

  it("collects digits also when the prompt cannot be spoken", () => {
    const s = asked().input({ _tag: "SpeechFailed", id: "u1", reason: "no voice" })
    expect(s.take()).toContain("StartTimer gather 5000")
  })

  it("has no effect while another is active", () => {
    const s = asked().input({ _tag: "GatherRequested", rules: { ...rules, prompt: "Another." } })
    expect(s.state.gathers.length).toBe(1)
    press(s.play("u1"), "1#")
    expect(s.state.gathers).toEqual([])
  })

  it("ends once with the digits so far when the caller hangs up", () => {
    const s = press(asked().play("u1"), "12").input({ _tag: "CallerHungUp" })
    expect(outcomes(s)).toMatchObject([{ status: "timeout", input: "12" }])
    expect(s.take().slice(-1)).toEqual(["Finish completed answered caller-hangup"])
  })

  it("ends when the call is ended during the prompt, and the farewell is spoken", () => {
    const s = asked().input({ _tag: "EndRequested", by: "api" })
    expect(outcomes(s)).toMatchObject([{ status: "timeout", input: null }])
    expect(s.take()).toContain("Speak u2 Goodbye.")
  })

  it("is not interrupted by the caller's words, which are kept until it is over", () => {
    const s = asked().input({ _tag: "SpeechStarted", id: "u1" }).say("Wait a moment")
    expect(s.take()).not.toContain("StopSpeaking")
    s.input({ _tag: "SpeechPlayed", id: "u1" })
    expect(s.take().some((c) => c.startsWith("AskModel"))).toBe(false)
    press(s, "1#")
    expect(last(s, "AskModel")?.messages.at(-1)).toEqual({ role: "user", content: "Wait a moment" })
  })

  it("pauses inactivity_timeout", () => {
    const s = Script.greeted({ inactivity_timeout: 4 })
    s.input({ _tag: "GatherRequested", rules }).play("u1")
    expect(s.state.timers.includes("inactivity")).toBe(false)
    press(s, "1#")
    expect(s.state.timers.includes("inactivity")).toBe(true)
  })
})

describe("a digit", () => {
  const actions = (s: Script) => dataOf(s, "call.dtmf.received")

  it("has the action of dtmf_actions, unmapped, or gather while one is active", () => {
    const s = press(Script.greeted(), "12")
    s.input({ _tag: "GatherRequested", rules }).play("u1")
    press(press(s, "1#"), "1")
    expect(actions(s)).toMatchObject([
      { digit: "1", action: "sales" },
      { digit: "2", action: "unmapped" },
      { digit: "1", action: "gather" },
      { digit: "#", action: "gather" },
      { digit: "1", action: "sales" }
    ])
  })
})

describe("a tool with gather", () => {
  const pin = { ...tool("pin", 3), gather: { ...rules, voice: null, language: null } }
  const called = (more: ReadonlyArray<string> = []): Script => {
    const s = Script.greeted({ tools: [pin, tool("lookup")] }).say("Check my balance")
    const calls = ["pin", ...more].map((name, i) => ({ id: `t${i}`, name, arguments: { account: i } }))
    return s.input({ _tag: "ModelToolCalls", turn: 1, calls })
  }

  it("is sent to the server only after its digits, with them in its arguments", () => {
    const s = called().input({ _tag: "ModelDone", turn: 1 })
    expect(last(s, "InvokeTool")).toBeUndefined()
    expect(last(s, "Speak")).toMatchObject({ text: rules.prompt, voice: "Sarah", language: "en-US" })
    press(s.play("u1"), "42#")
    expect(last(s, "InvokeTool")).toMatchObject({
      id: "t0",
      name: "pin",
      arguments: { account: 0, gathered_input: "42", gather_status: "valid" }
    })
    expect(s.take()).toContain("StartTimer tool:t0 3000")
    s.input({ _tag: "ToolAnswered", id: "t0", result: "ok" })
    expect(last(s, "AskModel")?.messages.at(-1)).toMatchObject({ role: "tool", content: "ok" })
  })

  it("is called with a timeout and no digits when none were typed", () => {
    const s = called().input({ _tag: "ModelDone", turn: 1 }).play("u1").fire("gather")
    expect(last(s, "InvokeTool")?.arguments).toEqual({ account: 0, gathered_input: null, gather_status: "timeout" })
    expect(outcomes(s)).toMatchObject([{ status: "timeout", input: null }])
  })

  it("speaks its prompt after the text that the model gave with the call", () => {
    const s = called()
    s.input({ _tag: "ModelSentence", turn: 1, text: "Let me see." }).input({ _tag: "ModelDone", turn: 1 })
    expect(s.take()).not.toContain("Speak u2 Please type your number.")
    s.play("u1")
    expect(s.take()).toContain("Speak u2 Please type your number.")
  })

  it("waits for the gather of another tool, while a tool without gather runs in parallel", () => {
    const s = called(["pin", "lookup"]).input({ _tag: "ModelDone", turn: 1 })
    expect(s.take().filter((c) => c.startsWith("InvokeTool"))).toEqual(["InvokeTool t2"])
    press(s.play("u1"), "1#")
    press(s.play("u2"), "2#")
    expect(s.take().filter((c) => c.startsWith("InvokeTool"))).toEqual(["InvokeTool t0", "InvokeTool t1"])
  })

  it("does not show its digits to the model", () => {
    const s = press(called().input({ _tag: "ModelDone", turn: 1 }).play("u1"), "4242")
    s.input({ _tag: "ToolAnswered", id: "t0", result: true })
    expect(JSON.stringify(last(s, "AskModel")?.messages)).not.toContain("4242")
    expect(dataOf(s, "tool.invoked")).toMatchObject([{ tool_name: "pin", arguments: { account: 0 } }])
  })
})

describe("the menu before a conversation", () => {
  const menu = { rules: { ...rules, prompt: "Press 1 or 2.", max_digits: 1 }, max_retries: 1 }
  const atMenu = (change: Partial<GatherRules> = {}): Script =>
    new Script()
      .input({ _tag: "MenuAnswered", menu: { ...menu, rules: { ...menu.rules, ...change } }, warnings: [] })
      .input({ _tag: "Answered" })

  it("answers the call, speaks its prompt, and sends call.started again with the choice", () => {
    const s = atMenu()
    expect(s.take()).toEqual([
      "Emit call.ringing",
      "FetchConfig",
      "Answer",
      "Emit call.started",
      "StartTimer max_duration 1800000",
      "Speak u0 Press 1 or 2."
    ])
    press(s.play("u0"), "2")
    expect(last(s, "FetchConfig")?.gathered).toEqual({
      gathered_digit: "2",
      gathered_input: "2",
      gather_status: "valid"
    })
    expect(outcomes(s)).toMatchObject([{ status: "completed", input: "2" }])
    s.wait(10_000).take()
    s.input({ _tag: "ConfigAnswered", config: { ...config, max_duration: 60 } })
    expect(s.take()).toEqual(["Listen", "StartTimer max_duration 50000", "Speak u1 Hello there."])
    expect(s.transcript).toEqual(["assistant: Press 1 or 2."])
    expect(s.play("u1").say("Hi").state.model).not.toBeNull()
    expect(last(s, "AskModel")?.messages.map((m) => m.role)).toEqual(["system", "assistant", "user"])
  })

  it.each([
    ["a timeout", (s: Script) => s.fire("gather"), "timeout", null],
    ["a terminator alone", (s: Script) => press(s, "#"), "invalid", null],
    ["a key that is neither", (s: Script) => press(s, "*"), "invalid", null],
    ["some digits and no more", (s: Script) => press(s, "12").fire("gather"), "timeout", "12"],
    ["some digits and another key", (s: Script) => press(s, "12*"), "invalid", "12"]
  ])("repeats its prompt after %s, then sends call.started again", (_, attempt, status, input) => {
    const s = atMenu({ max_digits: 3 })
    attempt(s.play("u0"))
    expect(s.take()).toContain("Speak u1 Press 1 or 2.")
    expect(last(s, "FetchConfig")).toBeUndefined()
    attempt(s.play("u1"))
    expect(last(s, "FetchConfig")?.gathered).toEqual({
      gathered_digit: input?.slice(0, 1) ?? null,
      gathered_input: input,
      gather_status: status
    })
    expect(outcomes(s)).toMatchObject([{ status: "timeout", input }])
  })

  it("starts without digits when it is repeated", () => {
    const s = press(atMenu({ max_digits: 3 }).play("u0"), "12").fire("gather")
    press(s.play("u1"), "345")
    expect(last(s, "FetchConfig")?.gathered?.gathered_input).toBe("345")
  })

  it("is interrupted by a digit, and is repeated after that", () => {
    const s = atMenu().input({ _tag: "SpeechStarted", id: "u0" })
    s.take()
    expect(press(s, "*").take()).toEqual(["Emit call.dtmf.received", "StopSpeaking", "Speak u1 Press 1 or 2."])
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Press 1" }] })
    expect(s.transcript).toEqual(["assistant: Press 1"])
    press(s.play("u1"), "1")
    expect(last(s, "FetchConfig")?.gathered?.gathered_digit).toBe("1")
  })

  it("ends the call as failed when the second answer cannot be used", () => {
    const s = press(atMenu().play("u0"), "1").input({ _tag: "ConfigFailed", reason: "no system_prompt" })
    expect(s.take().slice(-2)).toEqual(["Hangup error", "Finish failed failed error"])
  })

  it("ignores a configuration before the choice, and a second one after it", () => {
    const s = atMenu().input({ _tag: "ConfigAnswered", config })
    expect(s.state.phase).toBe("menu")
    press(s, "1").input({ _tag: "ConfigAnswered", config })
    s.input({ _tag: "ConfigAnswered", config: { ...config, system_prompt: "Other" } })
    expect(s.state.config?.system_prompt).toBe(config.system_prompt)
  })

  it.each([
    ["the API", (s: Script) => s.input({ _tag: "EndRequested", by: "api" }), "completed answered api"],
    ["max_duration", (s: Script) => s.fire("max_duration"), "completed answered timeout"],
    ["a shutdown", (s: Script) => s.input({ _tag: "EndRequested", by: "shutdown" }), "completed answered agent-hangup"],
    ["the caller", (s: Script) => s.input({ _tag: "CallerHungUp" }), "completed answered caller-hangup"]
  ] as const)("can be ended by %s, also while the second answer is awaited", (_, cause, outcome) => {
    const during = cause(atMenu().input({ _tag: "SpeechStarted", id: "u0" }))
    during.input({ _tag: "SpeechCleared", cuts: [] })
    expect(during.take().at(-1)).toBe(`Finish ${outcome}`)
    const after = cause(press(atMenu().play("u0"), "1"))
    expect(after.take().at(-1)).toBe(`Finish ${outcome}`)
    expect(after.input({ _tag: "ConfigAnswered", config }).state.phase).toBe("over")
  })

  it("allows no other gather until the conversation begins", () => {
    const s = press(atMenu(), "1").input({ _tag: "GatherRequested", rules })
    expect(s.state.gathers).toEqual([])
  })
})
