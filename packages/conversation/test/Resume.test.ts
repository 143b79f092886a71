import { describe, expect, it } from "vitest"
import { start, step } from "../src/Conversation.ts"
import { digest, type RecordedInput, replay } from "../src/Replay.ts"
import { unfinished } from "../src/Resume.ts"
import { config, facts, Script, tool } from "../src/testing/Script.ts"

/** What a process does first that takes over the conversation after these inputs. */
const resumed = (script: Script) => {
  let [state, commands] = start(facts)
  const rows: Array<RecordedInput> = [{ seq: 0, input: facts, commands: digest(commands) }]
  for (const [index, input] of script.inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ seq: index + 1, input, commands: digest(commands) })
  }
  const replayed = replay(rows)
  if (replayed === undefined) throw new Error("the journal cannot be replayed")
  const rest = unfinished(replayed)
  return {
    commands: rest.commands.filter(({ _tag }) => _tag !== "StartTimer").map(({ _tag }) => _tag),
    timers: rest.commands.flatMap((command) => (command._tag === "StartTimer" ? [command.timer] : [])),
    inputs: rest.inputs
  }
}

const asked = () => Script.greeted().wait(500).say("Look it up")
const called = (...names: ReadonlyArray<string>) =>
  asked().input({
    _tag: "ModelToolCalls",
    turn: 1,
    calls: names.map((name, index) => ({ id: `t${index}`, name, arguments: {} }))
  })
const lost = "the server restarted before the outcome was known"

describe("a conversation whose process died", () => {
  it("asks the agent's server again when that has not answered", () => {
    expect(resumed(new Script())).toMatchObject({ commands: ["FetchConfig"], inputs: [] })
  })

  it("that waits for the caller has nothing to do again", () => {
    expect(resumed(Script.greeted())).toMatchObject({ commands: [], inputs: [] })
    const answered = asked()
      .input({ _tag: "ModelSentence", turn: 1, text: "It is one." })
      .input({ _tag: "ModelDone", turn: 1 })
      .play("u1")
    expect(resumed(answered)).toMatchObject({ commands: [], inputs: [] })
  })

  it("asks the model again unless it had begun to speak or called tools", () => {
    expect(resumed(asked())).toMatchObject({
      commands: ["AskModel"],
      timers: expect.arrayContaining(["model"]),
      inputs: []
    })
    const spoke = asked().input({ _tag: "ModelSentence", turn: 1, text: "It is" })
    expect(resumed(spoke)).toMatchObject({ commands: [], inputs: [{ _tag: "ModelFailed", turn: 1, reason: lost }] })
    expect(resumed(called("lookup"))).toMatchObject({
      commands: [],
      inputs: [
        { _tag: "ModelDone", turn: 1 },
        { _tag: "ToolFailed", id: "t0", reason: lost }
      ]
    })
  })

  it("calls no running tool again, and keeps the results of the others", () => {
    const two = called("lookup", "slow").input({ _tag: "ModelDone", turn: 1 })
    two.wait(80).input({ _tag: "ToolAnswered", id: "t0", result: { n: 1 } })
    const rest = resumed(two)
    expect(rest.inputs).toEqual([{ _tag: "ToolFailed", id: "t1", reason: lost }])
    expect(rest.commands).toEqual([])
    // With these inputs the conversation goes on: the model is asked about both results.
    for (const input of rest.inputs) two.input(input)
    expect(two.take().at(-1)).toMatch(/AskModel|StartTimer/)
    expect(two.state.model?.turn).toBe(2)
  })

  it("goes on to collect the digits of a tool that waits for them: it was not called yet", () => {
    const gather = { prompt: "Pin?", voice: null, language: null, max_digits: 4, terminator: "#", timeout_seconds: 5 }
    const script = Script.greeted({ tools: [...config.tools, { ...tool("pin"), gather }] })
      .wait(500)
      .say("My pin")
      .input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t0", name: "pin", arguments: {} }] })
      .input({ _tag: "ModelDone", turn: 1 })
    script.play("u1").input({ _tag: "Dtmf", digit: "1" })
    expect(script.state.gathers[0]?.stage).toBe("collecting")
    expect(resumed(script)).toMatchObject({ commands: [], timers: expect.arrayContaining(["gather"]), inputs: [] })
    for (const digit of "234") script.input({ _tag: "Dtmf", digit })
    expect(resumed(script).inputs).toEqual([{ _tag: "ToolFailed", id: "t0", reason: lost }])
  })

  it("that is over has nothing to do", () => {
    const over = Script.greeted().wait(900).input({ _tag: "CallerHungUp" })
    expect(resumed(over)).toEqual({ commands: [], timers: [], inputs: [] })
  })
})
