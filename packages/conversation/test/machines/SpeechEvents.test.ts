import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { CommandOf } from "../../src/Command.ts"
import { config, facts, Script, tool } from "../../src/testing/Script.ts"
import { PlayedCall } from "../doubles/PlayedCall.ts"
import { propertyRuns } from "../doubles/PropertyRuns.ts"

type Emitted = CommandOf<"Emit">

const emitted = (commands: PlayedCall["commands"]): ReadonlyArray<Emitted> =>
  commands.flatMap((c) => (c._tag === "Emit" ? [c] : []))

/** Milliseconds from the call's start to the `timestamp` in an event's data. */
const when = ({ data }: Emitted): number =>
  "timestamp" in data ? Date.parse(data.timestamp) - facts.started_at : Number.NaN

const one = (commands: PlayedCall["commands"], event: Emitted["event"]): Emitted => {
  const found = emitted(commands).filter((e) => e.event === event)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} ${event}`)
  return found[0]
}

describe("the times of speech events", () => {
  it("are those of the caller's sound, not of its detection", () => {
    const s = Script.greeted()
    s.wait(1000).input({ _tag: "CallerSpeechStarted", late: 60 })
    s.wait(800).input({ _tag: "CallerSpeechStopped", late: 160 })
    s.wait(300).input({ _tag: "CallerFinal", text: "Hello" }).wait(200).input({ _tag: "CallerEndOfTurn" })
    expect(when(one(s.commands, "speech.started"))).toBe(940)
    expect(when(one(s.commands, "speech.ended"))).toBe(1640)
    expect(s.state.transcript.at(-1)?.timestamp).toBe(0.94)
  })

  it("are those of the words if no sound was detected", () => {
    const s = Script.greeted()
    s.wait(500).input({ _tag: "CallerPartial", text: "Hel" })
    s.wait(300).input({ _tag: "CallerFinal", text: "Hello" }).wait(400).input({ _tag: "CallerEndOfTurn" })
    expect(when(one(s.commands, "speech.started"))).toBe(500)
    expect(when(one(s.commands, "speech.ended"))).toBe(800)
  })

  it("are those of the agent's first and last frame, although its generation ended later", () => {
    const s = Script.greeted()
    s.wait(1000).say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." })
    s.wait(100).input({ _tag: "SpeechStarted", id: "u1" }).wait(900).input({ _tag: "SpeechPlayed", id: "u1" })
    s.wait(3000).input({ _tag: "ModelDone", turn: 1 })
    const ended = one(s.commands, "ai.speech.ended")
    expect(when(ended)).toBe(2000)
    expect(ended.data).toMatchObject({ text: "Hello, friend.", duration_ms: 900 })
  })

  it("are those of the interruption, although its words came later", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).wait(300).input({ _tag: "CallerSpeechStarted", late: 60 })
    s.wait(440)
      .fire("barge_in")
      .input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    s.wait(700).input({ _tag: "CallerPartial", text: "Stop" })
    expect(when(one(s.commands, "barge_in"))).toBe(740)
    expect(when(one(s.commands, "ai.speech.ended"))).toBe(740)
    expect(one(s.commands, "ai.speech.ended").data).toMatchObject({ text: "Hello", duration_ms: 740 })
  })

  it("count half a second of speech from its first sound", () => {
    const s = Script.live()
    s.input({ _tag: "SpeechStarted", id: "u0" }).take()
    s.wait(300).input({ _tag: "CallerSpeechStarted", late: 60 })
    expect(s.take()).toContain("StartTimer barge_in 440")
  })
})

describe("an answer without audio so far", () => {
  it("is dropped without barge_in", () => {
    const s = Script.greeted()
    s.say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." }).take()
    s.input({ _tag: "CallerPartial", text: "Wait" }).input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "" }] })
    expect(s.events).not.toContain("barge_in")
    expect(s.events).not.toContain("ai.speech.ended")
    expect(s.state.model).toBe(null)
  })
})

/** Any next action, in any state of the call. */
const move = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("sound"), late: fc.constantFrom(0, 60) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("silence"), late: fc.constantFrom(0, 160) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("partial", "final"),
      text: fc.constantFrom("Yes", "uh-huh", "I want that")
    })
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("end of turn") }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom("started", "sentence", "done", "failed", "tools", "end_call") })
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tool") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("deaf", "mute", "key", "gather", "api", "hangup") }) }
)
const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 1500 }), move), { maxLength: 60 })
type Move = { readonly kind: string; readonly late?: number; readonly text?: string }

const rules = {
  prompt: "Your number?",
  voice: null,
  language: null,
  max_digits: 2,
  terminator: "#",
  timeout_seconds: 5
}

const make = (call: PlayedCall, { kind, late = 0, text = "" }: Move): void => {
  const turn = call.state.model?.turn ?? 0
  const agents = call.state.entries.flatMap((e) => (e.kind === "agent" ? [e] : []))
  const tool = agents.flatMap((e) => e.tools).find((t) => t.pending)
  const saying = agents.flatMap((e) => e.utterances).find((u) => u.state === "queued" || u.state === "playing")
  const id = `t${call.steps.length}`
  if (kind === "sound") call.input({ _tag: "CallerSpeechStarted", late })
  else if (kind === "silence") call.input({ _tag: "CallerSpeechStopped", late })
  else if (kind === "partial") call.input({ _tag: "CallerPartial", text })
  else if (kind === "final") call.input({ _tag: "CallerFinal", text })
  else if (kind === "end of turn") call.input({ _tag: "CallerEndOfTurn" })
  else if (kind === "started") call.input({ _tag: "ModelStarted", turn })
  else if (kind === "sentence") call.input({ _tag: "ModelSentence", turn, text: "It is a quarter past twelve." })
  else if (kind === "done") call.input({ _tag: "ModelDone", turn })
  else if (kind === "failed") call.input({ _tag: "ModelFailed", turn, reason: "x" })
  else if (kind === "tools" || kind === "end_call")
    call.input({
      _tag: "ModelToolCalls",
      turn,
      calls: [{ id, name: kind === "tools" ? "lookup" : kind, arguments: {} }]
    })
  else if (kind === "tool" && tool !== undefined) call.input({ _tag: "ToolAnswered", id: tool.id, result: 1 })
  else if (kind === "deaf") call.input({ _tag: "RecognizerFailed", reason: "x" })
  else if (kind === "mute" && saying !== undefined) call.input({ _tag: "SpeechFailed", id: saying.id, reason: "x" })
  else if (kind === "key") call.input({ _tag: "Dtmf", digit: "1" })
  else if (kind === "gather") call.input({ _tag: "GatherRequested", rules })
  else if (kind === "api") call.input({ _tag: "EndRequested", by: "api" })
  else if (kind === "hangup") call.input({ _tag: "CallerHungUp" })
}

const play = (script: ReadonlyArray<readonly [number, Move]>): PlayedCall => {
  const call = new PlayedCall({
    ...facts,
    providers: { recognizers: ["provider", "none"], models: 2, voices: 2 },
    filler_ms: 900
  })
  call.input({ _tag: "ConfigAnswered", config: { ...config, tools: [tool("lookup")], inactivity_timeout: 4 } })
  call.input({ _tag: "Answered" })
  let at = 0
  for (const [delay, next] of script) {
    at += delay
    call.until(at)
    make(call, next)
  }
  return call
    .until(at + 5000)
    .input({ _tag: "CallerHungUp" })
    .until(at + 10_000)
}

describe("the speech events of any call", () => {
  it("have no apology between the parts of a turn in which text-to-speech failed while it was playing", () => {
    const call = play([
      [1500, { kind: "final", text: "Yes" }],
      [0, { kind: "end of turn" }],
      [0, { kind: "failed" }],
      [0, { kind: "failed" }],
      [3000, { kind: "mute" }]
    ])
    const spoken = emitted(call.commands).filter((e) => e.event.startsWith("ai.speech."))
    expect(spoken.slice(2, 4).map((e) => e.event)).toEqual(["ai.speech.started", "ai.speech.ended"])
    expect(spoken[3]?.data).toMatchObject({
      text: "I'm sorry, something went wrong. Could you please say that again?"
    })
  })

  it("come in pairs of start and end, which are complete when the call is over", () => {
    fc.assert(
      fc.property(moves, (script) => {
        const call = play(script)
        expect(call.state.phase).toBe("over")
        const events = emitted(call.commands)
        for (const side of ["speech.", "ai.speech."]) {
          const own = events.filter((e) => e.event === `${side}started` || e.event === `${side}ended`)
          expect(own.map((e) => e.event)).toEqual(own.map((_, i) => `${side}${i % 2 === 0 ? "started" : "ended"}`))
          expect(own.length % 2).toBe(0)
          const times = own.map(when)
          expect(times).toEqual([...times].sort((a, b) => a - b))
        }
      }),
      propertyRuns(1500)
    )
  })

  it("include barge_in only while the agent is playing", () => {
    fc.assert(
      fc.property(moves, (script) => {
        let heard = false
        for (const e of emitted(play(script).commands)) {
          if (e.event === "ai.speech.started" || e.event === "ai.speech.ended") heard = e.event === "ai.speech.started"
          if (e.event === "barge_in") expect(heard).toBe(true)
        }
      }),
      propertyRuns(1500)
    )
  })

  it("lie within the call, and none is later than its emission", () => {
    fc.assert(
      fc.property(moves, (script) => {
        const call = play(script)
        for (const e of emitted(call.commands)) {
          expect(e.at).toBeLessThanOrEqual(call.state.ended_at ?? 0)
          if (!Number.isNaN(when(e))) expect(when(e)).toBeLessThanOrEqual(e.at)
        }
      }),
      propertyRuns(500)
    )
  })
})
