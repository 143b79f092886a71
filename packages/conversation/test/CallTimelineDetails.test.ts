import { describe, expect, it } from "vitest"
import { timelineOf } from "../src/CallTimeline.ts"
import type { Facts, UntimedInput } from "../src/Input.ts"
import { config, facts, Script } from "../src/testing/Script.ts"

/** The timeline of the inputs of a conversation. */
const timeline = (s: Script, given: Facts = facts) => {
  const rows = [given, ...s.inputs].map((input, seq) => ({ seq, input, commands: "" }))
  const read = timelineOf(rows)
  if (read === undefined) throw new Error("the rows begin with facts")
  return read
}

const whats = (...inputs: ReadonlyArray<UntimedInput>) => {
  const s = Script.greeted()
  for (const input of inputs) s.input(input)
  return timeline(s).events.entries.map(({ what }) => what)
}

describe("the timeline of a call", () => {
  it.each([
    [{}, "call from +15550001111 to +15550002222"],
    [{ from: null }, "call from an unknown number to +15550002222"],
    [{ to: null }, "call from +15550001111 to an unknown number"],
    [{ outbound: { ring_timeout_seconds: 30, metadata: {} } }, "outbound call from +15550001111 to +15550002222"]
  ])("begins with the numbers and the direction of a call with %j", (change, what) => {
    const given: Facts = { ...facts, ...change }
    expect(timeline(new Script(given), given).events.entries[0]).toMatchObject({ at: 0, actor: "call", what })
  })

  it("has each line at the time of its input", () => {
    const s = Script.live()
    s.wait(1500).input({ _tag: "Dtmf", digit: "2" }).wait(700).input({ _tag: "CallerHungUp" })
    const lines = timeline(s).events.entries
    const at = (text: string) => lines.find(({ what }) => what === text)?.at
    expect([at("digit 2"), at("hung up")]).toEqual([1500, 2200])
  })

  it("says whether the message of post_call.sms was sent, or why not", () => {
    expect(whats({ _tag: "PostCallSmsDone", failed: null })).toContain("post_call_sms sent")
    expect(whats({ _tag: "PostCallSmsDone", failed: "refused" })).toContain("post_call_sms failed: refused")
  })

  it("has the state of a transfer, with its reason if there is one", () => {
    expect(whats({ _tag: "TransferProgressed", state: "ringing", reason: null })).toContain("transfer: ringing")
    expect(whats({ _tag: "TransferProgressed", state: "failed", reason: "no route" })).toContain(
      "transfer: failed (no route)"
    )
  })

  it("names the model and the speech recognition that are used after a failed one, and no fallback for the preferred one", () => {
    const given: Facts = { ...facts, providers: { recognizers: ["provider", "provider"], models: 2, voices: 1 } }
    const s = Script.greeted({}, given)
    s.say("Hello").input({ _tag: "ModelFailed", turn: 1, reason: "gone" })
    s.input({ _tag: "RecognizerFailed", reason: "gone" })
    const lines = timeline(s, given).events.entries.map(({ what }) => what)
    expect(lines.filter((what) => what.startsWith("asked for turn"))).toEqual([
      "asked for turn 1",
      expect.stringMatching(/^asked for turn \d+, fallback 1$/)
    ])
    expect(lines.filter((what) => what.startsWith("speech is recognized"))).toEqual([
      "speech is recognized, fallback 1"
    ])
  })

  it("has the warnings of the configuration, and none before there is one", () => {
    const warnings = [{ field: "voice", reason: "voice not available for the selected language" }]
    const s = new Script().input({ _tag: "ConfigAnswered", config: { ...config, warnings } })
    expect(timeline(s).state.warnings).toMatchObject([{ what: "call.started: voice" }])
    expect(timeline(new Script()).state.warnings).toEqual([])
  })

  it("has the transcript of the conversation", () => {
    const s = Script.greeted().say("Hello")
    expect(timeline(s).turns.entries.map(({ text }) => text)).toEqual(["Hello there.", "Hello"])
  })
})
