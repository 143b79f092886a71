import { describe, expect, it } from "vitest"
import type { Command, CommandOf } from "../src/Command.ts"
import { Script } from "../src/testing/Script.ts"

const asked = (commands: ReadonlyArray<Command>): CommandOf<"AskModel"> => {
  const last = commands.findLast((c) => c._tag === "AskModel")
  if (last === undefined) throw new Error("the model was not asked")
  return last
}

describe("the beginning of a call", () => {
  it("rings, requests its configuration, is answered, and the agent says first_message", () => {
    const s = new Script()
    expect(s.take()).toEqual(["Emit call.ringing", "FetchConfig"])
    const live = Script.live()
    expect(live.take()).toEqual([
      "Emit call.ringing",
      "FetchConfig",
      "Answer",
      "Emit call.started",
      "Listen",
      "StartTimer max_duration 1800000",
      "Speak u0 Hello there."
    ])
  })

  it("waits for the caller when there is no first message", () => {
    expect(Script.live({ first_message: null }).take()).not.toContain("Speak u0 Hello there.")
  })

  it("fails when no configuration comes", () => {
    const s = new Script()
    s.take()
    s.input({ _tag: "ConfigFailed", reason: "timeout" })
    expect(s.take()).toEqual(["Hangup error", "Finish failed failed error"])
  })

  it.each(["fetching", "answering"])("is canceled when the caller hangs up while %s", (when) => {
    const s = new Script()
    if (when === "answering") {
      s.input({ _tag: "ConfigAnswered", config: Script.live().state.config ?? never() })
    }
    s.take()
    s.input({ _tag: "CallerHungUp" })
    expect(s.take().at(-1)).toBe("Finish canceled no-answer caller-hangup")
    s.input({ _tag: "Answered" })
    expect(s.take()).toEqual([])
  })
})

describe("a turn", () => {
  it("puts the greeting, the caller's words and the answer into the transcript, in order", () => {
    const s = Script.greeted()
    s.wait(1000).say("What time is it?")
    s.input({ _tag: "ModelStarted", turn: 1 }).input({ _tag: "ModelSentence", turn: 1, text: "It is noon." })
    s.input({ _tag: "ModelDone", turn: 1 }).play("u1")
    expect(s.transcript).toEqual(["assistant: Hello there.", "user: What time is it?", "assistant: It is noon."])
    expect(asked(s.commands).messages).toEqual([
      { role: "system", content: "You answer the phone." },
      { role: "assistant", content: "Hello there." },
      { role: "user", content: "What time is it?" }
    ])
  })

  it("numbers its transcript events from 0", () => {
    const s = Script.live()
    s.play("u0").say("Hi")
    const indices = s.commands.flatMap((c) =>
      c._tag === "Emit" && c.event === "transcript.updated" ? [c.data.turn_index] : []
    )
    expect(indices).toEqual([0, 1])
  })

  it("has its latencies in the record", () => {
    const s = Script.greeted()
    s.wait(5000).say("Hi")
    s.wait(30).input({ _tag: "ModelStarted", turn: 1 })
    s.wait(10).input({ _tag: "ModelSentence", turn: 1, text: "Hello again." })
    s.wait(20).input({ _tag: "SpeechStarted", id: "u1", voice: { asked_at: 5041, audio_at: 5057 } })
    expect(s.state.latencies).toEqual([
      {
        turn: 1,
        ts: 5,
        llm_ttfb_ms: 30,
        tts_start_ms: 40,
        tts_ttfb_ms: 16,
        response_ms: 60,
        endpointing_ms: 0,
        platform_ms: 4
      }
    ])
  })

  it("has a response_ms that includes tools, until the agent speaks", () => {
    const s = Script.greeted()
    s.wait(1000).say("Look it up")
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).wait(400).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    s.wait(100).input({ _tag: "ModelSentence", turn: 2, text: "Found it." }).input({ _tag: "SpeechStarted", id: "u1" })
    expect(s.state.latencies.map((l) => [l.turn, l.llm_ttfb_ms, l.response_ms])).toEqual([[2, 100, 500]])
  })

  it("ends half a second after the last final transcript when speech-to-text has no endpointing", () => {
    const s = Script.greeted({}, { endpointing: "none" })
    s.input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerSpeechStopped" })
    s.take()
    s.input({ _tag: "CallerFinal", text: "Book a table" })
    expect(s.take()).toEqual(["StartTimer endpoint 500"])
    s.fire("endpoint")
    expect(s.take()).toContain("AskModel 1")
  })

  it("with words that come while the model generates is asked again with all words", () => {
    const s = Script.greeted()
    s.say("Book a table").say("for two")
    expect(s.take().filter((c) => c.includes("Model"))).toEqual(["AskModel 1", "CancelModel", "AskModel 2"])
    s.input({ _tag: "ModelSentence", turn: 1, text: "Late." })
    expect(s.take()).toEqual([])
  })

  it("of noise without words leads only to speech.ended with a null transcript", () => {
    const s = Script.greeted()
    s.input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerSpeechStopped" }).fire("endpoint")
    expect(s.take()).toEqual([
      "Emit speech.started",
      "StartTimer barge_in 500",
      "StopTimer barge_in",
      "StartTimer endpoint 2000",
      "Emit speech.ended"
    ])
  })
})

describe("barge-in", () => {
  it("stops the agent at the first word, and the transcript has only what was played", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).take()
    s.wait(300).input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "Stop" })
    expect(s.take()).toContain("StopSpeaking")
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    const barge = s.commands.find((c) => c._tag === "Emit" && c.event === "barge_in")
    expect(barge).toMatchObject({ data: { user_text: "Stop", interrupted_text: "Hello there." } })
    s.input({ _tag: "CallerFinal", text: "Stop it" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.transcript).toEqual(["assistant: Hello", "user: Stop it"])
    expect(asked(s.commands).messages.at(1)).toEqual({ role: "assistant", content: "Hello" })
  })

  it("stops the agent after half a second of sound, and resumes when no words follow", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" }).take()
    s.fire("barge_in")
    expect(s.take()).toEqual(["StopSpeaking"])
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello " }] })
    expect(s.take()).toEqual(["StartTimer resume 2000"])
    s.input({ _tag: "CallerSpeechStopped" }).wait(2000).fire("resume")
    expect(s.take()).toContain("Speak u1 there.")
    s.play("u1").fire("endpoint")
    expect(s.transcript).toEqual(["assistant: Hello there."])
    expect(s.events).not.toContain("barge_in")
  })

  it("repeats a word that a false interruption had cut", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" }).fire("barge_in")
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello th" }] })
    s.input({ _tag: "CallerSpeechStopped" }).wait(2000).fire("resume")
    expect(s.take()).toContain("Speak u1 there.")
    s.play("u1")
    expect(s.transcript).toEqual(["assistant: Hello there."])
  })

  it("is not caused by a short noise", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).take()
    s.input({ _tag: "CallerSpeechStarted" }).wait(200).input({ _tag: "CallerSpeechStopped" })
    expect(s.take()).not.toContain("StopSpeaking")
  })

  it("holds new sentences while it is undecided, and drops them when words follow", () => {
    const s = Script.greeted()
    s.say("Tell me a story").input({ _tag: "ModelSentence", turn: 1, text: "Once upon a time." })
    s.input({ _tag: "SpeechStarted", id: "u1" }).input({ _tag: "CallerSpeechStarted" }).fire("barge_in")
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "Once" }] }).take()
    s.input({ _tag: "ModelSentence", turn: 1, text: "There was a king." })
    expect(s.take().filter((c) => c.startsWith("Speak"))).toEqual([])
    s.input({ _tag: "CallerPartial", text: "No" })
    expect(s.take()).toContain("CancelModel")
    s.input({ _tag: "CallerFinal", text: "No kings" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.transcript.slice(1)).toEqual(["user: Tell me a story", "assistant: Once", "user: No kings"])
  })
})

describe("tools", () => {
  const calls = (...names: ReadonlyArray<string>) =>
    names.map((name, i) => ({ id: `t${i}`, name, arguments: { n: i } }))

  it("run in parallel, and the model continues when all have answered", () => {
    const s = Script.greeted()
    s.say("Look it up").take()
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: calls("lookup", "slow") }).input({ _tag: "ModelDone", turn: 1 })
    expect(s.take().filter((c) => /Tool|tool/.test(c))).toEqual([
      "Emit tool.invoked",
      "InvokeTool t0",
      "StartTimer tool:t0 5000",
      "Emit tool.invoked",
      "InvokeTool t1",
      "StartTimer tool:t1 2000"
    ])
    s.input({ _tag: "ToolAnswered", id: "t0", result: { found: true } })
    expect(s.take()).not.toContain("AskModel 2")
    s.fire("tool:t1")
    const commands = [...s.commands]
    expect(s.take()).toEqual(["CancelTool t1", "Emit tool.timeout", "AskModel 2", "StartTimer model 10000"])
    expect(asked(commands).messages.slice(-3)).toEqual([
      {
        role: "assistant",
        content: "",
        tool_calls: [
          { id: "t0", name: "lookup", arguments: { n: 0 } },
          { id: "t1", name: "slow", arguments: { n: 1 } }
        ]
      },
      { role: "tool", tool_call_id: "t0", name: "lookup", content: '{"found":true}' },
      { role: "tool", tool_call_id: "t1", name: "slow", content: '{"error":"The tool did not answer in time."}' }
    ])
  })

  it("that answer after their timeout have no effect", () => {
    const s = Script.greeted()
    s.say("Go")
      .input({ _tag: "ModelToolCalls", turn: 1, calls: calls("slow") })
      .input({ _tag: "ModelDone", turn: 1 })
    s.fire("tool:t0").take()
    s.input({ _tag: "ToolAnswered", id: "t0", result: 1 })
    expect(s.take()).toEqual([])
  })

  it("that are not defined are never sent to the server", () => {
    const s = Script.greeted()
    s.say("Go").take()
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: calls("rm_rf") }).input({ _tag: "ModelDone", turn: 1 })
    const commands = s.take()
    expect(commands.some((c) => c.startsWith("InvokeTool"))).toBe(false)
    expect(commands).toContain("AskModel 2")
  })

  it("are not offered after five rounds, so that the model must speak", () => {
    const s = Script.greeted()
    s.say("Loop")
    for (let turn = 1; turn <= 5; turn++) {
      s.input({ _tag: "ModelToolCalls", turn, calls: [{ id: `r${turn}`, name: "lookup", arguments: {} }] })
      s.input({ _tag: "ModelDone", turn }).input({ _tag: "ToolAnswered", id: `r${turn}`, result: null })
    }
    expect(asked(s.commands).tools).toEqual([])
    expect(asked(s.commands).turn).toBe(6)
  })

  it("keep running while the caller speaks, and the model gets the words with the results", () => {
    const s = Script.greeted()
    s.say("Look").input({ _tag: "ModelSentence", turn: 1, text: "One moment please." })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: calls("lookup") }).input({ _tag: "ModelDone", turn: 1 })
    s.input({ _tag: "SpeechStarted", id: "u1" }).take()
    s.input({ _tag: "CallerPartial", text: "Hurry" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "One" }] })
    s.input({ _tag: "CallerFinal", text: "Hurry up" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.take().some((c) => c.startsWith("AskModel") || c.startsWith("CancelTool"))).toBe(false)
    s.input({ _tag: "ToolAnswered", id: "t0", result: "42" })
    expect(
      asked(s.commands)
        .messages.slice(-3)
        .map((m) => [m.role, m.content])
    ).toEqual([
      ["assistant", "One"],
      ["tool", "42"],
      ["user", "Hurry up"]
    ])
  })

  it("with a repeated id get different ids", () => {
    const s = Script.greeted()
    s.say("Go").take()
    const twice = [
      { id: "same", name: "lookup", arguments: {} },
      { id: "same", name: "lookup", arguments: {} }
    ]
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: twice }).input({ _tag: "ModelDone", turn: 1 })
    const invoked = s.commands.flatMap((c) => (c._tag === "InvokeTool" ? [c.id] : []))
    expect(new Set(invoked).size).toBe(2)
    for (const id of invoked) s.input({ _tag: "ToolAnswered", id, result: 1 })
    expect(s.take()).toContain("AskModel 2")
  })
})

describe("a model that fails", () => {
  it("leads to an apology, and the second failure in a row to the farewell and the end of the call", () => {
    const s = Script.greeted()
    s.say("Hi").input({ _tag: "ModelFailed", turn: 1, reason: "boom" })
    expect(s.take().some((c) => c.startsWith("Speak u1 I'm sorry"))).toBe(true)
    s.play("u1").say("Hello?").input({ _tag: "ModelDone", turn: 3 })
    expect(s.take()).toContain("Speak u2 Goodbye.")
    s.play("u2")
    expect(s.take().filter((c) => /^(Hangup|Finish)/.test(c))).toEqual(["Hangup error", "Finish failed failed error"])
  })

  it("by silence counts as failed after ten seconds", () => {
    const s = Script.greeted()
    s.say("Hi").take()
    s.fire("model")
    expect(s.take()).toContain("CancelModel")
  })

  it("has no counted failures after it has spoken again", () => {
    const s = Script.greeted()
    s.say("Hi").input({ _tag: "ModelFailed", turn: 1, reason: "boom" }).play("u1")
    s.say("Hi").input({ _tag: "ModelSentence", turn: 3, text: "Hello, friend." }).input({ _tag: "ModelDone", turn: 3 })
    s.play("u2").say("Hi").input({ _tag: "ModelFailed", turn: 4, reason: "boom" })
    expect(s.state.phase).toBe("live")
  })
})

const never = (): never => {
  throw new Error("unreachable")
}
