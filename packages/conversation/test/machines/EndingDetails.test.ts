import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import type { Command } from "../../src/Command.ts"
import { config, facts, Script } from "../../src/testing/Script.ts"

const dataOf = (s: Script, event: string) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const spoken = (s: Script) => commandsOf(s, "Speak").map(({ text }) => text)
const calls = [{ id: "t", name: "lookup", arguments: {} }]
const byApi = { _tag: "EndRequested", by: "api" } as const

describe("the end of a call", () => {
  it("by the API cancels tools that run, and their results change nothing", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls })
    s.input({ _tag: "ModelDone", turn: 1 }).input(byApi)
    expect(s.take()).toContain("CancelTool t")
    s.input({ _tag: "ToolAnswered", id: "t", result: 1 })
    expect(s.take()).toEqual([])
  })

  it("by the API fails a transfer under way, whose failure_reason says that the call ended", () => {
    const s = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550003333" }).input(byApi)
    expect(dataOf(s, "transfer.failed")).toEqual([expect.objectContaining({ failure_reason: "the call ended" })])
  })

  it("is requested once: a second request changes nothing", () => {
    const s = Script.greeted().input(byApi)
    s.commands.length = 0
    expect(s.input(byApi).take()).toEqual([])
  })

  it("by a shutdown leaves 6 s for the farewell, and then 1 s to stop it", () => {
    const s = Script.greeted().input({ _tag: "EndRequested", by: "shutdown" })
    expect(s.take()).toContain("StartTimer farewell 6000")
    s.input({ _tag: "SpeechStarted", id: "u1" }).wait(6000).fire("farewell")
    expect(s.take()).toEqual(expect.arrayContaining(["StopSpeaking", "StartTimer farewell 1000"]))
    expect(s.wait(1000).fire("farewell").take()).toContain("Hangup agent-hangup")
  })

  it("waits for what was played of a farewell that took too long", () => {
    const s = Script.greeted().input(byApi).input({ _tag: "SpeechStarted", id: "u1" }).wait(15_000).fire("farewell")
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "Good" }] })
    expect(s.take()).toContain("Hangup api")
    expect(s.transcript.at(-1)).toBe("assistant: Good")
  })

  it("keeps unfinished words of the caller, partial and final, that come after the hang-up", () => {
    const s = Script.greeted()
    s.feedsRecognizerFinished = true
    s.input({ _tag: "CallerHungUp" }).input({ _tag: "CallerFinal", text: "Never" })
    s.input({ _tag: "CallerFinal", text: "mind" }).input({ _tag: "CallerPartial", text: "then" })
    s.input({ _tag: "RecognizerFinished" })
    expect(s.transcript.at(-1)).toBe("user: Never mind then")
  })

  it("after which the process dies in the last words is the end decided before", () => {
    const s = Script.greeted()
    s.feedsRecognizerFinished = true
    s.input({ _tag: "CallerHungUp" }).input({ _tag: "Crashed", reason: "gone" })
    expect(s.take()).toContain("Finish completed answered caller-hangup")
  })

  it("by a crash waits for nothing and loses unfinished words", () => {
    const s = Script.greeted()
    s.feedsRecognizerFinished = true
    s.input({ _tag: "CallerFinal", text: "Hello" }).input({ _tag: "CallerPartial", text: "there" })
    s.input({ _tag: "Crashed", reason: "gone" })
    const taken = s.take()
    expect(taken).not.toContain("StopListening")
    expect(taken).toContain("Finish failed failed error")
    expect(s.transcript).toEqual(["assistant: Hello there."])
  })

  it("emits ai.speech.ended with the time of the hang-up", () => {
    const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" }).wait(300).input({ _tag: "CallerHungUp" })
    expect(dataOf(s, "ai.speech.ended")).toEqual([expect.objectContaining({ duration_ms: 300 })])
  })
})

describe("the beginning of a call", () => {
  it("is not repeated by inputs that come late", () => {
    const s = Script.greeted()
    s.input({ _tag: "Answered" }).input({ _tag: "ConfigAnswered", config })
    s.input({ _tag: "ConfigFailed", reason: "late" }).input({ _tag: "AnswerFailed", reason: "late" })
    s.input({ _tag: "DialFailed", outcome: "busy", reason: "late" })
    expect(s.take()).toEqual([])
    expect(s.state.phase).toBe("live")
  })
})

describe("inactivity_timeout", () => {
  it("starts once, and again with a digit", () => {
    const s = Script.live({ inactivity_timeout: 10 })
    expect(s.take()).not.toContain("StartTimer inactivity 10000")
    expect(s.play("u0").take()).toContain("StartTimer inactivity 10000")
    expect(s.input({ _tag: "ToolAnswered", id: "x", result: 1 }).take()).toEqual([])
    const taken = s.input({ _tag: "Dtmf", digit: "5" }).take()
    expect(taken).toContain("StopTimer inactivity")
    expect(taken).toContain("StartTimer inactivity 10000")
  })
})

describe("speak_during_tool_call", () => {
  const during = (speak_during_tool_call: string) => Script.greeted({ speak_during_tool_call }).say("Please")

  it("auto says nothing when the agent has spoken in this turn", () => {
    const s = during("auto").input({ _tag: "ModelSentence", turn: 1, text: "Let me see." })
    expect(spoken(s.input({ _tag: "ModelToolCalls", turn: 1, calls }))).toEqual(["Let me see."])
  })

  it("with words of its own says them once in a turn of the caller, whatever the agent said", () => {
    const s = during("Please hold.").input({ _tag: "ModelSentence", turn: 1, text: "Please hold." })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [...calls, { id: "b", name: "slow", arguments: {} }] })
    expect(spoken(s)).toEqual(["Please hold.", "Please hold."])
  })
})

describe("a transferred call", () => {
  const completed = { _tag: "TransferProgressed", state: "completed", reason: null } as const

  it("ends after 4 hours, and no other timer of the call runs on", () => {
    const s = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550003333" })
    s.input({ _tag: "CallerFinal", text: "Thanks" }).input(completed)
    expect(s.state.timers).toEqual(["transfer"])
    expect(s.take()).toContain(`StartTimer transfer ${4 * 60 * 60 * 1000}`)
    expect(s.transcript.at(-1)).toBe("user: Thanks")
  })

  it("that completes after it was given up cancels tools that run", () => {
    const s = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550003333" })
    s.wait(35_000).fire("transfer")
    const turn = s.state.model?.turn ?? 0
    s.input({ _tag: "ModelToolCalls", turn, calls })
    s.commands.length = 0
    s.input(completed)
    expect(s.take()).toContain("CancelTool t")
  })
})

describe("a voicemail", () => {
  const outbound = (change: Partial<CallConfig> = {}) => {
    const s = new Script({ ...facts, outbound: { ring_timeout_seconds: 30, metadata: {} } }).input({ _tag: "Answered" })
    return s.input({ _tag: "ConfigAnswered", config: { ...config, voicemail_message: "Call us.", ...change } })
  }
  const timersOf = (s: Script) => commandsOf(s, "StartTimer").map(({ ms, timer }) => `${timer} ${ms}`)

  it("has 30 s to be recognized, 2.5 s of silence, 40 s to let us speak, and 2 minutes for the message", () => {
    const s = outbound()
    expect(timersOf(s)).toContain("voicemail_doubt 30000")
    s.input({ _tag: "CallerFinal", text: "Please leave a message after the tone." })
    expect(s.state.voicemail).toBe("machine")
    expect(timersOf(s)).toEqual(expect.arrayContaining(["voicemail_silence 2500", "voicemail_patience 40000"]))
    s.fire("voicemail_silence")
    expect(timersOf(s)).toContain("farewell 120000")
    expect(spoken(s).at(-1)).toBe("Call us.")
  })

  it("that speaks again stops the wait for silence", () => {
    const s = outbound().input({ _tag: "CallerFinal", text: "Please leave a message after the tone." })
    s.commands.length = 0
    expect(s.input({ _tag: "CallerSpeechStarted" }).take()).toContain("StopTimer voicemail_silence")
    expect(s.input({ _tag: "CallerSpeechStopped" }).take()).toContain("StartTimer voicemail_silence 2500")
  })

  it("is recognized by words that came in two transcripts", () => {
    const s = outbound().input({ _tag: "CallerFinal", text: "Please leave a" })
    expect(s.state.voicemail).toBe("unknown")
    s.input({ _tag: "CallerFinal", text: "message after the tone." })
    expect(s.state.voicemail).toBe("machine")
  })

  it("is not recognized by its words or a beep once a person was", () => {
    const s = outbound().wait(30_000).fire("voicemail_doubt")
    s.input({ _tag: "CallerFinal", text: "Please leave a message after the tone." }).input({ _tag: "BeepHeard" })
    expect(s.state.voicemail).toBe("person")
  })

  it("is not recognized by the length of a second speech, nor of a first that is over", () => {
    const s = outbound().play("u0").wait(1000).input({ _tag: "CallerSpeechStarted" })
    expect(timersOf(s)).toContain("voicemail_greeting 7000")
    s.commands.length = 0
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerSpeechStarted" })
    expect(timersOf(s)).not.toContain("voicemail_greeting 7000")
    s.input({ _tag: "CallerFinal", text: "Who is this?" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" }).wait(3000).input({ _tag: "CallerSpeechStarted" }).wait(4000)
    s.fire("voicemail_greeting")
    expect(s.state.voicemail).toBe("unknown")
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerEndOfTurn" })
    s.commands.length = 0
    s.input({ _tag: "CallerSpeechStarted" })
    expect(timersOf(s)).not.toContain("voicemail_greeting 7000")
  })

  it("that is recognized cancels the tools that run", () => {
    const s = outbound().play("u0").wait(1000).say("Who is this?")
    s.input({ _tag: "ModelToolCalls", turn: s.state.model?.turn ?? 0, calls })
    expect(s.state.voicemail).toBe("unknown")
    s.commands.length = 0
    expect(s.input({ _tag: "CallerFinal", text: "Please leave a message after the tone." }).take()).toContain(
      "CancelTool t"
    )
  })

  it("for which there is no voicemail_message is hung up at once", () => {
    const s = outbound({ voicemail_message: null })
      .input({ _tag: "BeepHeard" })
      .input({ _tag: "SpeechCleared", cuts: [] })
    expect(s.take().some((c) => c.startsWith("Hangup"))).toBe(true)
    expect(spoken(s)).not.toContain("Goodbye.")
  })
})
