import { describe, expect, it } from "vitest"
import { Script } from "../src/testing/Script.ts"

/** The caller has asked, and the model was asked as turn 1. */
const asked = () => Script.greeted().wait(1000).say("Hello").wait(300)

const spoken = (s: Script) =>
  s.commands.flatMap((command) => (command._tag === "Speak" ? [command.id] : [])).at(-1) ?? "none"

describe("latency_data of a turn", () => {
  it("has the first sentence in llm_ttfb_ms when no token was reported before it", () => {
    const s = asked().input({ _tag: "ModelSentence", turn: 1, text: "Yes." }).wait(200)
    s.input({ _tag: "SpeechStarted", id: spoken(s) })
    expect(s.state.latencies.at(-1)).toMatchObject({
      turn: 1,
      llm_ttfb_ms: 300,
      tts_start_ms: 300,
      tts_ttfb_ms: 200,
      response_ms: 500,
      platform_ms: null
    })
  })

  it("is rounded to a tenth of a millisecond", () => {
    const s = asked().input({ _tag: "ModelStarted", turn: 1 }).input({ _tag: "ModelSentence", turn: 1, text: "Yes." })
    s.wait(50).input({ _tag: "SpeechStarted", id: spoken(s), voice: { asked_at: 1300, audio_at: 1320.16 } })
    expect(s.state.latencies.at(-1)).toMatchObject({ tts_ttfb_ms: 20.2, platform_ms: 29.8 })
    expect(s.state.unplayed).toEqual([])
  })

  it("has response_ms and endpointing_ms null for a second turn that answers the same words", () => {
    const s = asked().input({ _tag: "ModelSentence", turn: 1, text: "One moment." })
    s.play(spoken(s))
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    s.wait(100).input({ _tag: "ModelSentence", turn: 2, text: "It is one." })
    s.wait(50).input({ _tag: "SpeechStarted", id: spoken(s) })
    expect(s.state.latencies.at(-1)).toEqual({
      turn: 2,
      ts: 1.3,
      llm_ttfb_ms: 100,
      tts_start_ms: 100,
      tts_ttfb_ms: 50,
      response_ms: null,
      endpointing_ms: null,
      platform_ms: null
    })
  })

  it("is not measured for a text of our own when the caller does not wait for an answer", () => {
    const s = Script.greeted()
    const before = s.state.latencies
    s.input({ _tag: "EndRequested", by: "api" })
    s.input({ _tag: "SpeechStarted", id: spoken(s) })
    expect(s.state.latencies).toEqual(before)
  })

  it("is measured for a text of our own when it answers the caller, without the model's times", () => {
    const s = asked().input({ _tag: "ModelFailed", turn: 1, reason: "gone" })
    const turn = s.state.model?.turn
    if (turn !== undefined) s.input({ _tag: "ModelFailed", turn, reason: "gone" })
    s.wait(100).input({ _tag: "SpeechStarted", id: spoken(s), voice: { asked_at: 1300, audio_at: 1350 } })
    expect(s.state.latencies.at(-1)).toMatchObject({ llm_ttfb_ms: null, tts_start_ms: null, platform_ms: null })
    expect(s.state.unanswered).toBeNull()
  })

  it.each([
    [0, 40, "and has it when the speech before ended with the sentence"],
    [100, null, "and is null when the speech before went on after the sentence"]
  ])("has platform_ms only when nothing else was spoken (%i ms): %j, %s", (ms, platform_ms, _) => {
    const s = asked().input({ _tag: "ModelSentence", turn: 1, text: "One moment." })
    const first = spoken(s)
    s.input({ _tag: "SpeechStarted", id: first })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).wait(500).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    const sentenceAt = s.wait(100).at
    s.input({ _tag: "ModelSentence", turn: 2, text: "It is one." })
    s.wait(ms).input({ _tag: "SpeechPlayed", id: first })
    const voice = { asked_at: sentenceAt + 10, audio_at: sentenceAt + ms + 20 }
    s.at = sentenceAt + ms + 50
    s.input({ _tag: "SpeechStarted", id: spoken(s), voice })
    expect(s.state.latencies.at(-1)).toMatchObject({ turn: 2, platform_ms })
  })

  it("has the time from the end of sound to the end of turn in endpointing_ms", () => {
    const s = Script.greeted()
    s.wait(1000).input({ _tag: "CallerSpeechStarted" }).wait(500).input({ _tag: "CallerSpeechStopped", late: 160 })
    s.wait(200).input({ _tag: "CallerFinal", text: "Hi" }).wait(40).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." }).wait(10)
    s.input({ _tag: "SpeechStarted", id: "u1" })
    expect(s.state.latencies[0]).toMatchObject({ endpointing_ms: 400, response_ms: 10 })
  })
})
