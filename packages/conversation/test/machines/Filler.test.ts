import { describe, expect, it } from "vitest"
import { Script } from "../../src/testing/Script.ts"

/** What the agent says while a tool runs. */
const spoken = (s: Script): ReadonlyArray<string> => s.commands.flatMap((c) => (c._tag === "Speak" ? [c.text] : []))

/** The model calls tools in its turn, after a text if given. */
const calls = (s: Script, turn: number, names: ReadonlyArray<string>, words?: string): Script => {
  if (words !== undefined) s.input({ _tag: "ModelSentence", turn, text: words })
  s.input({
    _tag: "ModelToolCalls",
    turn,
    calls: names.map((name, n) => ({ id: `t${turn}.${n}`, name, arguments: {} }))
  })
  return s.input({ _tag: "ModelDone", turn })
}

const asked = (speak_during_tool_call: string | null, more: Parameters<typeof Script.greeted>[0] = {}): Script =>
  Script.greeted({ speak_during_tool_call, ...more }).say("Look it up")

describe("while a tool runs, the agent", () => {
  it("says no filler without speak_during_tool_call", () => {
    expect(spoken(calls(asked(null), 1, ["lookup"]))).toEqual([])
  })

  it("says the text of speak_during_tool_call, also after text of the model", () => {
    expect(spoken(calls(asked("Let me see."), 1, ["lookup"]))).toEqual(["Let me see."])
    expect(spoken(calls(asked("Let me see."), 1, ["lookup"], "Sure."))).toEqual(["Sure.", "Let me see."])
  })

  it("with auto says a standard filler in the language of the call, if the model has said nothing", () => {
    expect(spoken(calls(asked("auto"), 1, ["lookup"]))).toEqual(["One moment, please."])
    expect(spoken(calls(asked("auto", { language: "nl-NL" }), 1, ["lookup"]))).toEqual(["Een ogenblik, alstublieft."])
    expect(spoken(calls(asked("auto"), 1, ["lookup"], "Sure."))).toEqual(["Sure."])
  })

  it("says it once per turn of the caller, for any number of tools", () => {
    const s = calls(asked("Let me see."), 1, ["lookup", "slow"])
    s.play("u1")
      .input({ _tag: "ToolAnswered", id: "t1.0", result: 1 })
      .input({ _tag: "ToolAnswered", id: "t1.1", result: 1 })
    const turn = s.state.model?.turn ?? -1
    calls(s, turn, ["lookup"])
    expect(spoken(s)).toEqual(["Let me see."])
    s.input({ _tag: "ToolAnswered", id: `t${turn}.0`, result: 1 })
    const answer = s.state.model?.turn ?? -1
    s.input({ _tag: "ModelSentence", turn: answer, text: "Done." }).input({ _tag: "ModelDone", turn: answer })
    s.play("u2").say("Again")
    calls(s, s.state.model?.turn ?? -1, ["lookup"])
    expect(spoken(s)).toEqual(["Let me see.", "Done.", "Let me see."])
  })

  it("says nothing for an unknown tool, nor before the digits of a tool's gather are complete", () => {
    expect(spoken(calls(asked("Let me see."), 1, ["nothing"]))).toEqual([])
    const gather = { prompt: "Pin?", voice: null, language: null, max_digits: 1, terminator: "", timeout_seconds: 5 }
    const pin = { name: "pin", description: "", parameters: {}, timeout_seconds: 5, gather }
    const s = calls(asked("Let me see.", { tools: [pin] }), 1, ["pin"])
    expect(spoken(s)).toEqual(["Pin?"])
    s.play("u1").input({ _tag: "Dtmf", digit: "4" })
    expect(spoken(s)).toEqual(["Pin?", "Let me see."])
  })

  it("can be interrupted without canceling the tool; the filler is in the transcript but hidden from the model", () => {
    const s = calls(asked("Let me see."), 1, ["lookup"])
    s.input({ _tag: "SpeechStarted", id: "u1" }).input({ _tag: "CallerPartial", text: "Wait" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "Let me" }] })
    s.input({ _tag: "CallerFinal", text: "Wait" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "ToolAnswered", id: "t1.0", result: 7 })
    expect(s.transcript).toEqual(["assistant: Hello there.", "user: Look it up", "assistant: Let me", "user: Wait"])
    const question = s.commands.findLast((c) => c._tag === "AskModel")
    const contents = question?._tag === "AskModel" ? question.messages.map(({ content }) => content) : []
    expect(contents).toContain("7")
    expect(contents.join()).not.toContain("Let me")
  })
})

const slow = (): Script => {
  const s = Script.greeted({}, { filler_ms: 1500 })
  s.say("Hi").take()
  return s
}

describe("a filler", () => {
  it("is spoken once per turn and is not sent to the model", () => {
    const s = slow()
    s.wait(1500).fire("filler")
    expect(s.take()).toContain("Speak u1 One moment, please.")
    s.play("u1").input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    const asked = s.commands.findLast((c) => c._tag === "AskModel")
    expect(asked?._tag === "AskModel" && asked.messages.map((m) => m.content)).not.toContain("One moment, please.")
    expect(s.take().filter((c) => c.includes("filler"))).toEqual([])
    s.input({ _tag: "ModelSentence", turn: 3, text: "It is one." }).input({ _tag: "ModelDone", turn: 3 }).play("u2")
    s.say("And now?")
    expect(s.take()).toContain("StartTimer filler 1500")
  })

  it("is not spoken once the model speaks or calls a tool, nor while the caller speaks", () => {
    const spoken = slow().input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." })
    expect(spoken.take()).toContain("StopTimer filler")
    const called = slow().input({
      _tag: "ModelToolCalls",
      turn: 1,
      calls: [{ id: "t", name: "lookup", arguments: {} }]
    })
    expect(called.take()).toContain("StopTimer filler")
    const talking = slow().input({ _tag: "CallerSpeechStarted" }).fire("filler")
    expect(talking.take().filter((c) => c.startsWith("Speak"))).toEqual([])
  })

  it("does not end the latency of the turn, which lasts until the model's first sentence", () => {
    const s = slow()
    s.wait(1500).fire("filler").play("u1")
    expect(s.state.latencies).toEqual([])
    s.wait(500).input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." })
    s.input({ _tag: "SpeechStarted", id: "u2" })
    expect(s.state.latencies).toMatchObject([{ turn: 1, response_ms: 2000 }])
  })

  it("does not suppress the apology for a model that fails after it", () => {
    const s = slow()
    s.wait(1500).fire("filler").input({ _tag: "ModelFailed", turn: 1, reason: "x" })
    expect(s.take().some((c) => c.includes("something went wrong"))).toBe(true)
  })

  it("is off by default", () => {
    const s = Script.greeted()
    s.say("Hi")
    expect(s.take().filter((c) => c.includes("filler"))).toEqual([])
  })
})
