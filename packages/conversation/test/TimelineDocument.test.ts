import { noLine } from "@svc/api/calls/CallUsage"
import { callSummary } from "@svc/api/testing/CallFixtures"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { resolve } from "../src/answers/CallConfig.ts"
import { timelineLimits, timelineOf } from "../src/CallTimeline.ts"
import { start, step } from "../src/Conversation.ts"
import { digest, type RecordedInput } from "../src/Replay.ts"
import { documentOf, type TimelineSources } from "../src/TimelineDocument.ts"
import { facts, Script } from "../src/testing/Script.ts"

const journalOf = (s: Script): ReadonlyArray<RecordedInput> => {
  let [state, commands] = start(facts)
  const rows: Array<RecordedInput> = [{ seq: 0, input: facts, commands: digest(commands) }]
  for (const [i, input] of s.inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ seq: i + 1, input, commands: digest(commands) })
  }
  return rows
}

const started_at = new Date(facts.started_at).toISOString()

const stored: TimelineSources["call"] = {
  ...callSummary({ rate_per_minute: 0.1, started_at }),
  transcript: [],
  failure: null,
  warnings: [],
  warnings_dropped: 0,
  usage: null,
  line: { telephony: "simulated", ...noLine },
  llm_cost: 0
}

const sources = (s: Script | undefined, change: Partial<TimelineSources> = {}): TimelineSources => ({
  call: stored,
  journal: s === undefined ? undefined : timelineOf(journalOf(s)),
  serverRequests: [],
  serverRequestsLeftOut: 0,
  deliveries: [],
  pluginOf: ({ capability, provider }) => `${capability}-${provider}`,
  ...change
})

const played = () => {
  const s = Script.live()
  s.play("u0").wait(500).say("Look it up")
  s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: { a: 1 } }] })
  s.input({ _tag: "ModelDone", turn: 1 })
    .wait(80)
    .input({ _tag: "ToolAnswered", id: "t", result: { n: 1 } })
  s.input({ _tag: "ModelStarted", turn: 2 }).wait(20).input({ _tag: "ModelSentence", turn: 2, text: "It is one." })
  return s.input({ _tag: "ModelDone", turn: 2 }).play("u1")
}

describe("the timeline document of a call", () => {
  it("says which settings apply, and which of them were left out and why", () => {
    const answer = {
      system_prompt: "Hi",
      turn_taking: { interrupt_after_ms: 800, resume_after_ms: 1 },
      model: { temperature: 0.5, name: "huge" },
      platform_tools: ["switch_language", "dance"],
      languages: ["nl-NL"],
      first_message: 7
    }
    const abilities = { speaks: () => true, voiceFor: () => "Klara", models: ["small"] }
    const read = Either.getOrThrow(resolve(answer, facts.agent, abilities))
    const { settings } = documentOf(sources(Script.live(read)), "full")
    expect(settings).toEqual({
      language: "en-US",
      voice: "Sarah",
      turn_taking: {
        end_of_turn_ms: null,
        interrupt_after_ms: 800,
        interrupt_min_words: 0,
        resume_after_ms: 2000,
        preemptive: true
      },
      first_message_interruptible: true,
      silence_prompts: null,
      model: { name: null, temperature: 0.5, max_tokens: null },
      speech: { speed: 1, pronunciations: [] },
      platform_tools: ["switch_language"],
      languages: [{ language: "nl-NL", voice: "Klara" }],
      left_out: [
        {
          field: "turn_taking.resume_after_ms",
          reason: "must be null, or a whole number from 500 to 10000 (it is the number 1)"
        },
        { field: "model.name", reason: "no loaded plugin offers this model (there is small)" },
        {
          field: "platform_tools.1",
          reason: "must be one of press_keys, switch_language"
        }
      ]
    })
    expect(documentOf(sources(undefined), "full").settings).toBeNull()
  })

  it("has the turns with their times, stages and tools, and counts of a live call", () => {
    const document = documentOf(sources(played()), "full")
    expect(document).toMatchObject({
      version: 1,
      failure: null,
      line: { telephony: "simulated", codec: null },
      usage: { llm: { requests: 2 } }
    })
    expect(document.turns.map(({ index, role, text }) => [index, role, text])).toEqual([
      [0, "assistant", "Hello there."],
      [1, "user", "Look it up"],
      [2, "assistant", "It is one."]
    ])
    expect(document.turns[2]).toMatchObject({ started_at: 600, ended_at: 600, interrupted: false })
    expect(document.turns[2]?.stages).toMatchObject({ llm_ttfb_ms: 0, tts_start_ms: 20 })
    expect(document.tools).toEqual([
      {
        id: "t",
        name: "lookup",
        started_at: 500,
        ended_at: 580,
        status: "completed",
        arguments: { a: 1 },
        result: { n: 1 }
      }
    ])
    expect(document.call).toMatchObject({ turn_count: 3, tools_called: ["lookup"], started_at })
    expect(document.provider_requests.map(({ capability }) => capability)).toEqual([
      "speech-to-text",
      "text-to-speech",
      "language-model",
      "language-model",
      "text-to-speech"
    ])
    expect(document.provider_requests[3]).toMatchObject({ started_at: 580, first_at: 580, ended_at: 600, error: null })
    expect(document.events.map(({ what }) => what)).toContain("tool.completed")
  })

  it("has no bodies for a read key", () => {
    const request = {
      event: "tool.call",
      started_at: facts.started_at + 510,
      duration_ms: 60,
      status: 200,
      content_type: "application/json",
      error: null,
      request: "{}",
      response: `{"result":1}`
    }
    const full = documentOf(sources(played(), { serverRequests: [request] }), "full")
    const read = documentOf(sources(played(), { serverRequests: [request] }), "read")
    expect(full.server_requests).toEqual([{ ...request, started_at: 510 }])
    expect(read.server_requests).toEqual([{ ...request, started_at: 510, request: null, response: null }])
    expect(read.tools).toMatchObject([{ arguments: null, result: null }])
    expect(read.events.filter(({ data }) => data !== null)).toEqual([])
    expect(full.events.some(({ data }) => data !== null)).toBe(true)
    expect(read.turns).toEqual(full.turns)
    expect(JSON.stringify(read)).not.toContain("You answer the phone.")
  })

  it("has the failure and warnings of the record, in milliseconds, and those of the journal while the call is live", () => {
    const failure = { stage: "server", reason: "x", hint: "y" } as const
    const warnings = [{ at: 1.5, what: "a", reason: "b" }]
    const call = { ...stored, ended_at: started_at, failure, warnings, warnings_dropped: 2 }
    const ended = documentOf(sources(undefined, { call }), "full")
    expect(ended).toMatchObject({ failure, warnings: [{ at: 1500, what: "a" }], left_out: { warnings: 2 } })
    const s = Script.greeted().wait(1000).input({ _tag: "RecognizerFailed", reason: "gone" })
    expect(documentOf(sources(s), "full").warnings).toMatchObject([{ at: 1000, what: "speech-to-text" }])
  })

  it("has the stored transcript of a call without a journal", () => {
    const transcript = [{ role: "user" as const, content: "Hi", timestamp: 1.5 }]
    const document = documentOf(sources(undefined, { call: { ...stored, transcript } }), "full")
    expect(document.turns).toEqual([
      { index: 0, role: "user", text: "Hi", started_at: 1500, ended_at: null, interrupted: false, stages: null }
    ])
    expect(document.events).toEqual([])
  })

  it("marks a tool that failed, one that timed out, and one that the end of the call cut off", () => {
    const s = Script.greeted().say("Hi")
    const calls = ["a", "b", "c"].map((id) => ({ id, name: "lookup", arguments: {} }))
    s.input({ _tag: "ModelToolCalls", turn: 1, calls }).input({ _tag: "ToolFailed", id: "a", reason: "gone" })
    s.fire("tool:b").input({ _tag: "CallerHungUp" })
    const { tools } = documentOf(sources(s), "full")
    expect(tools.map(({ id, status }) => [id, status])).toEqual([
      ["a", "failed"],
      ["b", "timeout"],
      ["c", "failed"]
    ])
  })

  it("says when another version of Svc held the call", () => {
    const [first, second, ...rest] = journalOf(played())
    if (first === undefined || second === undefined) throw new Error("a journal has rows")
    const journal = timelineOf([first, { ...second, commands: "other" }, ...rest])
    expect(documentOf(sources(undefined, { journal }), "full").warnings).toMatchObject([
      { what: "server", reason: expect.stringContaining("another version of Svc") }
    ])
  })

  it("keeps its size in a long call: the newest entries, and the number of the others", () => {
    const s = Script.greeted()
    for (let n = 0; n < 210; n++) {
      const turn = s.state.next_turn
      const utterance = `u${s.state.next_utterance}`
      s.wait(1000).say(`Question ${n} ${"x".repeat(500)}`)
      s.input({ _tag: "ModelToolCalls", turn, calls: [{ id: `t${n}`, name: "lookup", arguments: {} }] })
      s.input({ _tag: "ModelDone", turn })
      s.input({ _tag: "ToolAnswered", id: `t${n}`, result: "y".repeat(2000) })
      s.input({ _tag: "ModelSentence", turn: turn + 1, text: `Answer ${n}` })
      s.input({ _tag: "ModelDone", turn: turn + 1 }).play(utterance)
      s.commands.length = 0
    }
    const document = documentOf(sources(s), "full")
    expect(JSON.stringify(document).length).toBeLessThan(1_200_000)
    expect(document.turns.at(-1)?.text).toBe("Answer 209")
    expect(document.turns.length + document.left_out.turns).toBe(421)
    expect(document.tools).toHaveLength(timelineLimits.tools)
    expect(document.left_out.tools).toBe(210 - timelineLimits.tools)
    expect(document.tools.at(-1)?.result).toBe("y".repeat(2000))
  })
})
