import { describe, expect, it } from "vitest"
import { floorOf } from "../src/Floor.ts"
import { config, facts, Script } from "../src/testing/Script.ts"

const rules = { prompt: "Digits?", voice: null, language: null, max_digits: 2, terminator: "#", timeout_seconds: 5 }
const message = "Please call us back."

/** A call that we placed, answered, with its greeting on the way. */
const outbound = (): Script =>
  new Script({ ...facts, outbound: { ring_timeout_seconds: 30, metadata: {} } })
    .input({ _tag: "Answered" })
    .wait(100)
    .input({ _tag: "CallerSpeechStarted" })
    .wait(100)
    .input({ _tag: "ConfigAnswered", config: { ...config, voicemail_message: message } })

const asked = (): Script => Script.greeted().say("What time is it?")
const withTool = (name: string): Script =>
  asked()
    .input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name, arguments: {} }] })
    .input({ _tag: "ModelDone", turn: 1 })

describe("the floor", () => {
  it("is closed before the conversation and after it", () => {
    expect(floorOf(new Script().state)).toBe("closed")
    expect(floorOf(Script.greeted().input({ _tag: "CallerHungUp" }).state)).toBe("closed")
  })

  it("is the menu's before the configuration", () => {
    const s = new Script().input({ _tag: "MenuAnswered", menu: { rules, max_retries: 0 }, warnings: [] })
    expect(floorOf(s.input({ _tag: "Answered" }).state)).toBe("menu")
  })

  it("is the agent's while it speaks, and nobody's after that", () => {
    const s = Script.live()
    expect(floorOf(s.state)).toBe("speaking")
    expect(floorOf(s.play("u0").state)).toBe("nobody")
  })

  it("is the greeting's while the person whom we called says hello, and then still theirs", () => {
    const s = outbound()
    expect(floorOf(s.state)).toBe("greeting")
    expect(floorOf(s.play("u0").state)).toBe("hello")
  })

  it("is held after sound stopped the agent, interrupted after words did, and the caller's once that is reported", () => {
    const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" })
    expect(floorOf(s.fire("barge_in").state)).toBe("held")
    expect(floorOf(s.input({ _tag: "CallerPartial", text: "Wait" }).state)).toBe("interrupted")
    expect(floorOf(s.input({ _tag: "SpeechCleared", cuts: [] }).state)).toBe("caller")
  })

  it("is the model's while it thinks, and the caller's when the caller speaks again", () => {
    const s = asked()
    expect(floorOf(s.state)).toBe("thinking")
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("caller while thinking")
  })

  it("is the tools' while they run, and the caller's when the caller speaks", () => {
    const s = withTool("lookup")
    expect(floorOf(s.state)).toBe("tools")
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("caller while tools run")
  })

  it("is a gather's while its prompt is spoken and digits are awaited", () => {
    const s = Script.greeted().input({ _tag: "GatherRequested", rules })
    expect(floorOf(s.state)).toBe("prompting")
    expect(floorOf(s.play("u1").state)).toBe("collecting")
  })

  it("is the transfer's, whatever the caller says", () => {
    const s = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550003333" })
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("transferring")
  })

  it("is the voicemail's until the message, which is the farewell", () => {
    const s = outbound().play("u0").input({ _tag: "CallerFinal", text: "Leave a message after the tone" })
    expect(floorOf(s.state)).toBe("machine")
    expect(floorOf(s.input({ _tag: "BeepHeard" }).state)).toBe("farewell")
  })

  it("of a voicemail keeps a gather from speaking its prompt to the machine", () => {
    const s = outbound().play("u0").input({ _tag: "CallerFinal", text: "Leave a message after the tone" })
    s.take()
    s.input({ _tag: "GatherRequested", rules })
    expect(s.take()).toEqual([])
    s.input({ _tag: "BeepHeard" })
    expect(s.take()).toContain(`Speak u1 ${message}`)
    expect(s.events.filter((event) => event === "call.gather.completed")).toEqual([])
  })
})
