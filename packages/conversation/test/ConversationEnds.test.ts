import { describe, expect, it } from "vitest"
import { Script, tool } from "../src/testing/Script.ts"

describe("the end", () => {
  it.each([
    ["by the API", (s: Script) => s.input({ _tag: "EndRequested", by: "api" }), "api", "completed answered api"],
    ["by max_duration", (s: Script) => s.fire("max_duration"), "timeout", "completed answered timeout"],
    [
      "by a shutdown",
      (s: Script) => s.input({ _tag: "EndRequested", by: "shutdown" }),
      "agent-hangup",
      "completed answered agent-hangup"
    ]
  ])("%s comes after the farewell", (_, cause, reason, outcome) => {
    const s = Script.greeted()
    cause(s)
    expect(s.take()).toContain("Speak u1 Goodbye.")
    s.play("u1")
    expect(s.take().filter((c) => /^(Hangup|Finish)/.test(c))).toEqual([`Hangup ${reason}`, `Finish ${outcome}`])
    expect(s.transcript.at(-1)).toBe("assistant: Goodbye.")
  })

  it("by inactivity_timeout comes only while the agent waits for the caller", () => {
    const s = Script.live({ inactivity_timeout: 4 })
    expect(s.take()).not.toContain("StartTimer inactivity 4000")
    s.play("u0")
    expect(s.take()).toContain("StartTimer inactivity 4000")
    s.input({ _tag: "CallerSpeechStarted" })
    expect(s.take()).toContain("StopTimer inactivity")
    s.input({ _tag: "CallerFinal", text: "Hi" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.take().filter((c) => c.includes("inactivity"))).toEqual([])
    s.input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." }).input({ _tag: "ModelDone", turn: 1 }).play("u1")
    s.fire("inactivity").play("u2")
    expect(s.take().at(-1)).toBe("Finish completed answered silence-timeout")
  })

  it("by end_call comes after the agent has finished speaking", () => {
    const s = Script.greeted()
    s.say("Bye").input({ _tag: "ModelSentence", turn: 1, text: "Have a nice day." }).take()
    s.input({
      _tag: "ModelToolCalls",
      turn: 1,
      calls: [{ id: "e", name: "end_call", arguments: { disposition: "resolved" } }]
    })
    s.input({ _tag: "ModelDone", turn: 1 })
    const commands = s.take()
    expect(commands).not.toContain("StopSpeaking")
    expect(commands).toContain("Speak u2 Goodbye.")
    s.play("u1").play("u2")
    expect(s.take().at(-1)).toBe("Finish completed answered agent-hangup")
    expect(s.transcript.slice(-2)).toEqual(["assistant: Have a nice day.", "assistant: Goodbye."])
  })

  it("by end_call is not possible when end_call was not offered", () => {
    const s = Script.greeted({ end_call: false })
    s.say("Bye")
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "e", name: "end_call", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 })
    expect(s.state.phase).toBe("live")
  })

  it("keeps its reason when the caller hangs up during the farewell", () => {
    const s = Script.greeted()
    s.input({ _tag: "EndRequested", by: "api" }).take()
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "Good" }] }).input({ _tag: "CallerHungUp" })
    expect(s.take().at(-1)).toBe("Finish completed answered api")
  })

  it("is not stopped by a caller who talks over the farewell; the words are kept", () => {
    const s = Script.greeted()
    s.input({ _tag: "EndRequested", by: "api" }).take()
    s.say("Wait, one more thing")
    const commands = s.take()
    expect(commands).not.toContain("StopSpeaking")
    expect(commands.some((c) => c.startsWith("AskModel"))).toBe(false)
    s.play("u1")
    expect(s.take().at(-1)).toBe("Finish completed answered api")
    expect(s.transcript).toContain("user: Wait, one more thing")
  })

  it("comes after the time limit when the farewell never ends", () => {
    const s = Script.greeted()
    s.input({ _tag: "EndRequested", by: "api" }).take()
    s.fire("farewell")
    expect(s.take()).toContain("StopSpeaking")
    s.fire("farewell")
    expect(s.take().at(-1)).toBe("Finish completed answered api")
  })

  it("keeps the words that the caller had not finished", () => {
    const s = Script.greeted()
    s.input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "I want to" })
    s.input({ _tag: "CallerHungUp" })
    expect(s.transcript.at(-1)).toBe("user: I want to")
    expect(s.take().at(-1)).toBe("Finish completed answered caller-hangup")
  })

  it("keeps the played part of current speech", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] }).input({ _tag: "CallerHungUp" })
    expect(s.transcript).toEqual(["assistant: Hello"])
    expect(s.events).toContain("ai.speech.ended")
  })

  it("by a crash keeps finished turns only", () => {
    const s = Script.greeted()
    s.input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "I want to" })
    s.input({ _tag: "Crashed", reason: "killed" })
    expect(s.transcript).toEqual(["assistant: Hello there."])
    expect(s.take().at(-1)).toBe("Finish failed failed error")
  })

  it("cancels running tools", () => {
    const s = Script.greeted()
    s.say("Go")
      .input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
      .take()
    s.input({ _tag: "CallerHungUp" })
    expect(s.take()).toContain("CancelTool t")
  })
})

describe("text-to-speech or speech-to-text that fails", () => {
  it("ends the call without a farewell when two utterances in a row could not be spoken", () => {
    const s = Script.live()
    // The first is tried twice.
    s.input({ _tag: "SpeechFailed", id: "u0", reason: "x" }).input({ _tag: "SpeechCleared", cuts: [] })
    s.input({ _tag: "SpeechFailed", id: "u1", reason: "x" }).say("Hi")
    s.input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." }).take()
    s.input({ _tag: "SpeechFailed", id: "u2", reason: "x" })
    const commands = s.take()
    expect(commands.some((c) => c.startsWith("Speak"))).toBe(false)
    expect(commands.at(-1)).toBe("Finish failed failed error")
  })

  it("is opened again twice within a minute; then the call ends with an apology and the farewell", () => {
    const s = Script.greeted()
    for (let n = 0; n < 2; n++) {
      s.input({ _tag: "RecognizerFailed", reason: "x" })
      expect(s.take()).toEqual(["Listen"])
    }
    s.input({ _tag: "RecognizerFailed", reason: "x" }).play("u1").play("u2")
    expect(s.transcript.slice(-2)).toEqual([
      "assistant: I'm sorry, I can't hear you properly because of a technical problem. Please call again later.",
      "assistant: Goodbye."
    ])
    expect(s.take().at(-1)).toBe("Finish failed failed error")
  })
})

describe("digits", () => {
  it("are emitted with their action", () => {
    const s = Script.greeted({ tools: [tool("a")] })
    s.input({ _tag: "Dtmf", digit: "1" }).input({ _tag: "Dtmf", digit: "2" })
    const actions = s.commands.flatMap((c) =>
      c._tag === "Emit" && c.event === "call.dtmf.received" ? [c.data.action] : []
    )
    expect(actions).toEqual(["sales", "unmapped"])
  })
})
