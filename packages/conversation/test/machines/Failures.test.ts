import { describe, expect, it } from "vitest"
import { maxRounds } from "../../src/machines/Model.ts"
import { Script } from "../../src/testing/Script.ts"

const providers = { recognizers: ["provider" as const], models: 2, voices: 1 }
const failed = (turn: number) => ({ _tag: "ModelFailed", turn, reason: "it broke" }) as const

/** The models that were asked, by turn. */
const asked = (s: Script): ReadonlyArray<string> =>
  s.commands.flatMap((c) => (c._tag === "AskModel" ? [`turn ${c.turn}, model ${c.provider ?? 0}`] : []))

describe("a model that fails without output", () => {
  it("is replaced by the next one in the same turn, without an apology", () => {
    const s = Script.greeted({}, { providers }).say("When are you open?").input(failed(1))
    expect(asked(s)).toEqual(["turn 1, model 0", "turn 2, model 1"])
    expect(s.take().filter((c) => c.startsWith("Speak"))).toEqual([])
    expect(s.state.failures.model).toBe(0)
  })

  it("counts as one failure with all other models: the second such failure ends the call", () => {
    const s = Script.greeted({}, { providers }).say("When are you open?").input(failed(1)).input(failed(2))
    expect(s.take()).toContain("Speak u1 I'm sorry, something went wrong. Could you please say that again?")
    s.play("u1").say("When are you open?")
    expect(asked(s)).toEqual(["turn 4, model 0"])
    s.input(failed(4))
    expect(s.state.phase).toBe("live")
    s.input(failed(5))
    expect(s.state.phase).toBe("ending")
  })

  it("uses no tool round: the last round still offers the tools", () => {
    const s = Script.greeted({}, { providers }).say("Look it up")
    for (let round = 1; round < maxRounds; round++) {
      const turn = s.state.model?.turn ?? 0
      const id = `t${round}`
      s.input({ _tag: "ModelToolCalls", turn, calls: [{ id, name: "lookup", arguments: {} }] })
      s.input({ _tag: "ModelDone", turn }).input({ _tag: "ToolAnswered", id, result: 1 })
    }
    s.input(failed(s.state.model?.turn ?? 0))
    expect(s.state.model?.offered).toContain("lookup")
  })

  it("is replaced while the agent still speaks the text from before the tools", () => {
    const s = Script.greeted({}, { providers }).say("Look it up")
    s.input({ _tag: "ModelSentence", turn: 1, text: "Let me see." }).input({ _tag: "SpeechStarted", id: "u1" })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    s.input(failed(2))
    expect(asked(s).at(-1)).toBe("turn 3, model 1")
  })

  it("after a noticeable delay is replaced with an apology", () => {
    const s = Script.greeted({}, { providers }).say("When are you open?").wait(3000).input(failed(1))
    expect(s.take()).toContain("Speak u1 I'm sorry, one moment please.")
  })
})
