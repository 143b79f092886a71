import { describe, expect, it } from "vitest"
import { floorOf } from "../src/Floor.ts"
import { config, facts, Script } from "../src/testing/Script.ts"

const rules = { prompt: "Digits?", voice: null, language: null, max_digits: 2, terminator: "#", timeout_seconds: 5 }
const message = "Please call us back."

/** An answered outbound call with a queued first message. */
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

  it("is menu before the configuration", () => {
    const s = new Script().input({ _tag: "MenuAnswered", menu: { rules, max_retries: 0 }, warnings: [] })
    expect(floorOf(s.input({ _tag: "Answered" }).state)).toBe("menu")
  })

  it("is agent while the agent speaks, and nobody after that", () => {
    const s = Script.live()
    expect(floorOf(s.state)).toBe("agent")
    expect(floorOf(s.play("u0").state)).toBe("nobody")
  })

  it("is both greeting while the caller says hello over first_message, then caller greeting", () => {
    const s = outbound()
    expect(floorOf(s.state)).toBe("both greeting")
    expect(floorOf(s.play("u0").state)).toBe("caller greeting")
  })

  it("is possibly interrupted after sound, interrupted after words, and caller after SpeechCleared", () => {
    const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" })
    expect(floorOf(s.fire("barge_in").state)).toBe("possibly interrupted")
    expect(floorOf(s.input({ _tag: "CallerPartial", text: "Wait" }).state)).toBe("interrupted")
    expect(floorOf(s.input({ _tag: "SpeechCleared", cuts: [] }).state)).toBe("caller")
  })

  it("is generating while the model is asked, and caller while generating when the caller speaks again", () => {
    const s = asked()
    expect(floorOf(s.state)).toBe("generating")
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("caller while generating")
  })

  it("is running tools while tools run, and caller while tools run when the caller speaks", () => {
    const s = withTool("lookup")
    expect(floorOf(s.state)).toBe("running tools")
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("caller while tools run")
  })

  it("is prompting while the prompt of a gather is spoken, then collecting", () => {
    const s = Script.greeted().input({ _tag: "GatherRequested", rules })
    expect(floorOf(s.state)).toBe("prompting")
    expect(floorOf(s.play("u1").state)).toBe("collecting")
  })

  it("is transferring during a transfer, also while the caller speaks", () => {
    const s = Script.greeted().input({ _tag: "TransferRequested", destination: "+15550003333" })
    expect(floorOf(s.input({ _tag: "CallerSpeechStarted" }).state)).toBe("transferring")
  })

  it("is voicemail until the message, which is the farewell", () => {
    const s = outbound().play("u0").input({ _tag: "CallerFinal", text: "Leave a message after the tone" })
    expect(floorOf(s.state)).toBe("voicemail")
    expect(floorOf(s.input({ _tag: "BeepHeard" }).state)).toBe("farewell")
  })

  it("of a voicemail prevents the prompt of a gather", () => {
    const s = outbound().play("u0").input({ _tag: "CallerFinal", text: "Leave a message after the tone" })
    s.take()
    s.input({ _tag: "GatherRequested", rules })
    expect(s.take()).toEqual([])
    s.input({ _tag: "BeepHeard" })
    expect(s.take()).toContain(`Speak u1 ${message}`)
    expect(s.events.filter((event) => event === "call.gather.completed")).toEqual([])
  })
})
