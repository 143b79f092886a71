import { describe, expect, it } from "vitest"
import { timelineOf } from "../src/CallTimeline.ts"
import { start, step } from "../src/Conversation.ts"
import { digest, type RecordedInput } from "../src/Replay.ts"
import { config, facts, Script } from "../src/testing/Script.ts"

/** The journal of a call in which the caller asks, a tool answers, and the caller hangs up. */
const journal = (): ReadonlyArray<RecordedInput> => {
  const s = Script.live()
  s.play("u0").wait(500).say("Look it up")
  s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: { a: 1 } }] })
  s.input({ _tag: "ModelDone", turn: 1 })
    .wait(80)
    .input({ _tag: "ToolAnswered", id: "t", result: { n: 1 } })
  s.input({ _tag: "ModelSentence", turn: 2, text: "It is one." }).input({ _tag: "ModelDone", turn: 2 })
  return journalOf(s.play("u1").wait(900).input({ _tag: "CallerHungUp" }))
}

const journalOf = (s: Script): ReadonlyArray<RecordedInput> => {
  let [state, commands] = start(facts)
  const rows: Array<RecordedInput> = [{ seq: 0, input: facts, commands: digest(commands) }]
  for (const [i, input] of s.inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ seq: i + 1, input, commands: digest(commands) })
  }
  return rows
}

describe("the timeline of a call", () => {
  const timeline = timelineOf(journal())
  const textsOf = (actor: string) =>
    timeline?.events.entries.filter((line) => line.actor === actor).map(({ what }) => what)

  it("has an actor and a text for each entry, in order of time", () => {
    expect(timeline?.isFromOtherVersion).toBe(false)
    expect(textsOf("caller")).toEqual(["Look it up", "hung up"])
    expect(textsOf("tool")).toEqual(["lookup", "result"])
    expect(textsOf("event")).toContain("tool.invoked")
    expect(textsOf("call")?.at(-1)).toBe("ended: completed, answered, caller-hangup")
    const times = timeline?.events.entries.map(({ at }) => at) ?? []
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it("has each request to a provider with the agent's turn that it was for, its text's length, and its tokens", () => {
    const s = Script.live()
    const used = (input_tokens: number, output_tokens: number) => ({
      _tag: "ModelUsed" as const,
      input_tokens,
      cached_input_tokens: 1,
      output_tokens
    })
    s.play("u0").wait(500).say("Look it up")
    s.input(used(50, 5)).input({ ...used(1000, 1000), of: "summary" })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: { n: 1 } })
    s.input({ _tag: "ModelSentence", turn: 2, text: "It is one." }).input(used(60, 6)).input(used(0, 1))
    s.input({ _tag: "ModelDone", turn: 2 })
    const before = timelineOf(journalOf(s))
    const texts = (timeline = before) =>
      timeline?.provider_requests.entries.map(({ capability, characters, tokens, turn }) => ({
        capability,
        characters,
        tokens,
        turn
      }))
    const said = { capability: "text-to-speech", tokens: null }
    const asked = { capability: "language-model", characters: null }
    const first = { input: 50, cached_input: 1, output: 5 }
    const second = { input: 60, cached_input: 2, output: 7 }
    // The answer is not in the transcript before it was spoken.
    expect(texts()).toEqual([
      { capability: "speech-to-text", characters: null, tokens: null, turn: null },
      { ...said, characters: "Hello there.".length, turn: 0 },
      { ...asked, tokens: first, turn: null },
      { ...asked, tokens: second, turn: null },
      { ...said, characters: "It is one.".length, turn: null }
    ])
    const after = timelineOf(journalOf(s.play("u1").wait(900).input({ _tag: "CallerHungUp" })))
    const turns = after?.turns.entries.map(({ index, text }) => [index, text])
    expect(turns).toEqual([
      [0, "Hello there."],
      [1, "Look it up"],
      [2, "It is one."]
    ])
    expect(texts(after)?.map(({ turn }) => turn)).toEqual([null, 0, 2, 2, 2])
    expect(after?.tools.entries.map(({ id, turn }) => [id, turn])).toEqual([["t", 2]])
  })

  it("shows the arguments of tools and the messages of the model", () => {
    expect(timeline?.events.entries.find(({ what }) => what === "lookup")?.data).toEqual({ a: 1 })
    expect(timeline?.events.entries.find(({ actor, what }) => actor === "tool" && what === "result")?.data).toEqual({
      n: 1
    })
    expect(
      JSON.stringify(timeline?.events.entries.find(({ what }) => what.startsWith("asked for turn"))?.data)
    ).toContain("Look it up")
  })

  it("shows a menu, its choice, requested digits, and the warnings about the menu", () => {
    const rules = { prompt: "1?", voice: null, language: null, max_digits: 1, terminator: "", timeout_seconds: 5 }
    const warnings = [{ field: "pre_gather.digits", reason: "not valid" }]
    const s = new Script().input({ _tag: "MenuAnswered", menu: { rules, max_retries: 0 }, warnings })
    s.input({ _tag: "Answered" }).input({ _tag: "Dtmf", digit: "2" }).input({ _tag: "ConfigAnswered", config })
    s.input({ _tag: "GatherRequested", rules }).input({ _tag: "CallerHungUp" })
    const timeline = timelineOf(journalOf(s))
    const lines = timeline?.events.entries ?? []
    const whats = lines.map(({ what }) => what)
    expect(whats).toEqual(
      expect.arrayContaining([
        "answered call.started with a menu",
        "digit 2",
        "requested the configuration after the menu",
        "answered call.started",
        "digits requested through the API"
      ])
    )
    expect(lines.find(({ what }) => what === "requested the configuration after the menu")?.data).toMatchObject({
      gathered_digit: "2"
    })
    expect(timeline?.state.warnings).toMatchObject([{ what: "call.started: pre_gather.digits" }])
  })

  it("has isFromOtherVersion when the call ran on another version", () => {
    const [first, second, ...rest] = journal()
    if (first === undefined || second === undefined) throw new Error("a journal has rows")
    expect(timelineOf([first, { ...second, commands: "other" }, ...rest])?.isFromOtherVersion).toBe(true)
  })

  it("is undefined without the facts of a call", () => {
    expect(timelineOf([])).toBeUndefined()
    expect(timelineOf(journal().slice(1))).toBeUndefined()
  })
})
