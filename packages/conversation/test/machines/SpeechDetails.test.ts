import { describe, expect, it } from "vitest"
import type { Command } from "../../src/Command.ts"
import { facts, Script } from "../../src/testing/Script.ts"

const dataOf = (s: Script, event: string) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const spoken = (s: Script) => commandsOf(s, "Speak").map(({ text }) => text)
const timeOf = (at: number) => new Date(facts.started_at + at).toISOString()

/** A call whose greeting was stopped by sound at 500 ms, and of which `played` was played. */
const held = (played: string) => {
  const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" })
  s.input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in").wait(100)
  s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played }] }).input({ _tag: "CallerSpeechStopped" })
  s.commands.length = 0
  return s
}

describe("an utterance", () => {
  it("has the voice and the language of the configuration", () => {
    const s = Script.live({ voice: "Mia", language: "nl-NL" })
    expect(commandsOf(s, "Speak")).toEqual([expect.objectContaining({ voice: "Mia", language: "nl-NL" })])
  })

  it("that was cut is not started by a late SpeechStarted", () => {
    const s = Script.live().input({ _tag: "CallerPartial", text: "Stop" }).input({ _tag: "SpeechCleared", cuts: [] })
    s.commands.length = 0
    expect(s.input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "SpeechPlayed", id: "u9" }).take()).toEqual([])
  })

  it("that is interrupted ends, in ai.speech.ended, when it was stopped", () => {
    const s = Script.live().wait(100).input({ _tag: "SpeechStarted", id: "u0" }).wait(300)
    s.input({ _tag: "CallerPartial", text: "Stop" }).wait(200)
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    expect(dataOf(s, "ai.speech.ended")).toEqual([
      expect.objectContaining({ text: "Hello", timestamp: timeOf(400), duration_ms: 300 })
    ])
    expect(s.state.transcript).toEqual([{ role: "assistant", content: "Hello", timestamp: 0.1 }])
  })

  it("that was played ends, in ai.speech.ended, with its last frame, whenever the model is done", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Yes." })
    s.wait(100).input({ _tag: "SpeechStarted", id: "u1" }).wait(300).input({ _tag: "SpeechPlayed", id: "u1" })
    s.wait(200).input({ _tag: "ModelDone", turn: 1 })
    expect(dataOf(s, "ai.speech.ended")).toEqual([
      expect.objectContaining({ timestamp: timeOf(400), duration_ms: 300 })
    ])
  })

  it("that the voice fails to finish ends, in ai.speech.ended, at the failure", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Yes." })
    s.input({ _tag: "SpeechStarted", id: "u1" }).wait(300).input({ _tag: "SpeechFailed", id: "u1", reason: "gone" })
    s.input({ _tag: "SpeechCleared", cuts: [] }).input({ _tag: "SpeechFailed", id: "u2", reason: "gone" })
    s.wait(200).input({ _tag: "ModelDone", turn: 1 })
    expect(dataOf(s, "ai.speech.ended")).toEqual([expect.objectContaining({ text: null, duration_ms: 300 })])
  })

  it("adds a turn to the transcript whose event contains from", () => {
    const s = Script.live().play("u0")
    expect(dataOf(s, "transcript.updated")).toEqual([expect.objectContaining({ from: facts.from })])
  })
})

describe("speech that goes on after a false interruption", () => {
  it("is not spoken again when all of it was played", () => {
    const s = held("Hello there.").wait(2000).fire("resume")
    expect(spoken(s)).toEqual([])
    expect(s.transcript).toEqual(["assistant: Hello there."])
  })

  it("starts over when nothing was played, or what was played is not its beginning", () => {
    for (const played of ["", "Bye"]) {
      const s = held(played).wait(2000).fire("resume")
      expect(spoken(s)).toEqual(["Hello there."])
      expect(s.state.entries).toEqual([
        expect.objectContaining({ utterances: [expect.objectContaining({ id: "u1", said_at: 2600, played: "" })] })
      ])
    }
  })

  it("counts what was played before once when it is interrupted after all", () => {
    const s = held("Hello").wait(2000).fire("resume").input({ _tag: "CallerPartial", text: "Stop it" })
    s.input({ _tag: "SpeechCleared", cuts: [] })
    expect(dataOf(s, "barge_in")).toEqual([expect.objectContaining({ interrupted_text: "Hello there." })])
    expect(s.transcript).toEqual(["assistant: Hello"])
  })
})

describe("speech during the change to another voice", () => {
  it("waits behind what the former voice has not said", () => {
    const providers = { recognizers: ["provider" as const], models: 1, voices: 2 }
    const s = Script.greeted({}, { providers }).say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "One." })
    s.input({ _tag: "SpeechFailed", id: "u1", reason: "gone" })
    s.commands.length = 0
    s.input({ _tag: "ModelSentence", turn: 1, text: "Two." })
    expect(spoken(s)).toEqual([])
    s.input({ _tag: "SpeechCleared", cuts: [] })
    expect(spoken(s)).toEqual(["One.", "Two."])
  })
})
