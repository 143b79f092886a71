import { describe, expect, it } from "vitest"
import type { Command } from "../../src/Command.ts"
import { maxRounds } from "../../src/machines/Model.ts"
import { Script } from "../../src/testing/Script.ts"

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const spoken = (s: Script) => commandsOf(s, "Speak").map(({ text }) => text)
const apology = "I'm sorry, something went wrong. Could you please say that again?"
const providers = { recognizers: ["provider" as const], models: 2, voices: 1 }
const lookup = (id: string, name = "lookup") => ({ id, name, arguments: {} })

/** Calls a tool in the current turn, which ends, and answers it. */
const round = (s: Script, id: string) => {
  const turn = s.state.model?.turn ?? 0
  s.input({ _tag: "ModelToolCalls", turn, calls: [lookup(id)] }).input({ _tag: "ModelDone", turn })
  return s.input({ _tag: "ToolAnswered", id, result: 1 })
}

describe("a turn of the model", () => {
  it("starts once: a second ModelStarted, and one of another turn, change nothing", () => {
    const s = Script.greeted().say("Hi")
    s.commands.length = 0
    expect(s.input({ _tag: "ModelStarted", turn: 0 }).take()).toEqual([])
    expect(s.input({ _tag: "ModelStarted", turn: 1 }).take()).toEqual(["StartTimer model 10000"])
    expect(s.input({ _tag: "ModelStarted", turn: 1 }).take()).toEqual([])
  })

  it("takes no sentence, tool call, end or failure of another turn", () => {
    const s = Script.greeted().say("Hi")
    s.commands.length = 0
    s.input({ _tag: "ModelSentence", turn: 0, text: "No." })
    s.input({ _tag: "ModelToolCalls", turn: 0, calls: [lookup("t")] })
    s.input({ _tag: "ModelDone", turn: 0 }).input({ _tag: "ModelFailed", turn: 0, reason: "gone" })
    expect(s.take()).toEqual([])
  })

  it("takes nothing after its end", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Yes." })
    s.input({ _tag: "ModelDone", turn: 1 })
    s.commands.length = 0
    s.input({ _tag: "ModelSentence", turn: 1, text: "No." }).input({ _tag: "ModelStarted", turn: 1 })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ModelFailed", turn: 1, reason: "gone" })
    expect(s.take()).toEqual([])
  })

  it("is one turn of the transcript, whenever its sentences are played", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "One." }).play("u1")
    s.input({ _tag: "ModelSentence", turn: 1, text: "Two." }).play("u2").input({ _tag: "ModelDone", turn: 1 })
    expect(s.transcript.at(-1)).toBe("assistant: One. Two.")
  })

  it("has the tts_start_ms of its first sentence", () => {
    const s = Script.greeted().say("Hi").wait(100).input({ _tag: "ModelSentence", turn: 1, text: "One." })
    s.wait(100).input({ _tag: "ModelSentence", turn: 1, text: "Two." }).wait(50).play("u1")
    expect(s.state.latencies).toEqual([expect.objectContaining({ llm_ttfb_ms: 100, tts_start_ms: 100 })])
  })

  it("without a sentence and without calls is a failure, after which the next model is asked", () => {
    const s = Script.greeted({}, { providers }).say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls: [] })
    s.input({ _tag: "ModelDone", turn: 1 })
    expect(commandsOf(s, "AskModel").map(({ provider }) => provider)).toEqual([undefined, 1])
    expect(s.state.failures.model).toBe(1)
  })

  it("that fails after it started is a failure, after which the next model is asked", () => {
    const s = Script.greeted({}, { providers }).say("Hi").input({ _tag: "ModelStarted", turn: 1 })
    s.input({ _tag: "ModelFailed", turn: 1, reason: "gone" })
    expect(commandsOf(s, "AskModel").map(({ provider }) => provider)).toEqual([undefined, 1])
    expect(s.state.failures.model).toBe(1)
  })

  it("stops the filler timer with its first sentence, and with its failure", () => {
    const s = Script.greeted({}, { filler_ms: 800 }).say("Hi")
    s.commands.length = 0
    expect(s.input({ _tag: "ModelSentence", turn: 1, text: "Yes." }).take()).toContain("StopTimer filler")
    const failed = Script.greeted({}, { filler_ms: 800 }).say("Hi")
    failed.commands.length = 0
    expect(failed.input({ _tag: "ModelFailed", turn: 1, reason: "gone" }).take()).toContain("StopTimer filler")
  })

  it("is not asked for while digits are requested", () => {
    const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" })
    const rules = {
      prompt: "Type it.",
      voice: null,
      language: null,
      max_digits: 4,
      terminator: "#",
      timeout_seconds: 5
    }
    s.input({ _tag: "GatherRequested", rules })
    s.say("What is this about?")
    expect(commandsOf(s, "AskModel")).toEqual([])
  })
})

describe("failures of the model", () => {
  const failing = (calls: ReadonlyArray<ReturnType<typeof lookup>>) => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelFailed", turn: 1, reason: "gone" }).play("u1").say("Hi")
    const turn = s.state.model?.turn ?? 0
    s.input({ _tag: "ModelToolCalls", turn, calls })
    return s.input({ _tag: "ModelFailed", turn, reason: "gone" })
  }

  it("are not in a row when it called a tool that it was offered, among others too", () => {
    expect(failing([lookup("a"), lookup("b", "unknown")]).state.phase).toBe("live")
  })

  it("are in a row when it called only what it was not offered", () => {
    expect(failing([lookup("b", "unknown")]).state.phase).toBe("ending")
  })
})

describe("tool rounds", () => {
  it("end with a failure when the model calls tools that it is not offered, and no other model is asked", () => {
    const s = Script.greeted({}, { providers }).say("Look it up")
    for (let n = 1; n <= maxRounds; n++) round(s, `t${n}`)
    expect(s.state.model?.offered).toEqual([])
    round(s, "t")
    expect(spoken(s)).toEqual([apology])
    expect(s.state.model).toBeNull()
    expect(s.state.must_ask_model).toBe(false)
    expect(s.state.provider_index.model).toBe(0)
    expect(s.state.failures.model).toBe(1)
  })

  it("end without a failure when the model speaks and calls tools that it is not offered", () => {
    const s = Script.greeted().say("Look it up")
    for (let n = 1; n <= maxRounds; n++) round(s, `t${n}`)
    const turn = s.state.model?.turn ?? 0
    round(s.input({ _tag: "ModelSentence", turn, text: "Found it." }), "t")
    expect(spoken(s)).toEqual(["Found it."])
    expect(s.state.model).toBeNull()
    expect(s.state.failures.model).toBe(0)
  })

  it("are not used up by a model that fails at once, and no round is added", () => {
    const s = Script.greeted({}, { providers }).say("Look it up")
    for (let n = 1; n < maxRounds; n++) round(s, `t${n}`)
    s.input({ _tag: "ModelFailed", turn: s.state.model?.turn ?? 0, reason: "gone" })
    expect(s.state.model?.offered).toContain("lookup")
    expect(round(s, "t").state.model?.offered).toEqual([])
  })
})
