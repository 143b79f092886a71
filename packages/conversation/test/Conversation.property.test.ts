import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Command } from "../src/Command.ts"
import { step } from "../src/Conversation.ts"
import type { Input } from "../src/Input.ts"
import { isSpeaking } from "../src/State.ts"
import { config, Script, tool } from "../src/testing/Script.ts"

/** Inputs in any order, as no shell would give them: ids and turns that exist, and some that do not. */
const at = fc.integer({ min: 0, max: 100 })
const turn = fc.integer({ min: 0, max: 8 })
const id = fc.integer({ min: 0, max: 12 }).map((n) => `u${n}`)
const toolId = fc.constantFrom("a", "b", "c")
const text = fc.constantFrom("", " ", "Hello there.", "Yes", "Hello", "Once upon a time.")
const timer = fc.constantFrom(
  "endpoint",
  "barge_in",
  "resume",
  "model",
  "max_duration",
  "inactivity",
  "farewell",
  "gather",
  "tool:a",
  "tool:b",
  "tool:c",
  "??"
)
const toolCall = fc.record({
  id: toolId,
  name: fc.constantFrom("lookup", "slow", "pin", "unknown", "end_call"),
  arguments: fc.constant({})
})
const rules = {
  prompt: "Your number?",
  voice: null,
  language: null,
  max_digits: 2,
  terminator: "#",
  timeout_seconds: 5
}
const tools = [tool("lookup"), tool("slow"), { ...tool("pin"), gather: rules }]
const calls = fc.array(toolCall, { maxLength: 3 })
const untimed: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.record({ _tag: fc.constantFrom("CallerSpeechStarted", "CallerSpeechStopped", "CallerEndOfTurn") }),
  fc.record({ _tag: fc.constantFrom("CallerPartial", "CallerFinal"), text }),
  fc.record({ _tag: fc.constantFrom("ModelStarted", "ModelDone"), turn }),
  fc.record({ _tag: fc.constant("ModelSentence"), turn, text }),
  fc.record({ _tag: fc.constant("ModelToolCalls"), turn, calls }),
  fc.record({ _tag: fc.constant("ModelFailed"), turn, reason: text }),
  fc.record({ _tag: fc.constantFrom("SpeechStarted", "SpeechPlayed"), id }),
  fc.record({ _tag: fc.constant("SpeechFailed"), id, reason: text }),
  fc.record({
    _tag: fc.constant("SpeechCleared"),
    cuts: fc.array(fc.record({ id, played: fc.constantFrom("", "Hello", "Once", "other") }), { maxLength: 3 })
  }),
  fc.record({ _tag: fc.constant("ToolAnswered"), id: toolId, result: fc.jsonValue() }),
  fc.record({ _tag: fc.constant("ToolFailed"), id: toolId, reason: text }),
  fc.record({ _tag: fc.constant("TimerFired"), timer }),
  fc.record({ _tag: fc.constant("Dtmf"), digit: fc.constantFrom("1", "#", "*") }),
  fc.constant({ _tag: "GatherRequested", rules }),
  fc.constant({ _tag: "MenuAnswered", menu: { rules, max_retries: 1 }, warnings: [] }),
  fc.record({ _tag: fc.constant("RecognizerFailed"), reason: text }),
  fc.record({ _tag: fc.constant("EndRequested"), by: fc.constantFrom("api", "shutdown") }),
  fc.record({ _tag: fc.constantFrom("CallerHungUp", "Answered") }),
  fc.record({ _tag: fc.constantFrom("LegFailed", "ConfigFailed", "AnswerFailed"), reason: text }),
  fc.constant({
    _tag: "ConfigAnswered",
    config: { ...config, inactivity_timeout: 5, tools }
  })
)

/** A history that begins as real ones do, more often than chance would. */
const history: fc.Arbitrary<ReadonlyArray<Input>> = fc
  .tuple(fc.constantFrom("live", "menu", "new"), fc.array(fc.tuple(at, untimed), { maxLength: 60 }))
  .map(([kind, rest]) => {
    let now = 0
    const first =
      kind === "live"
        ? { _tag: "ConfigAnswered", config: { ...config, inactivity_timeout: 5, tools } }
        : { _tag: "MenuAnswered", menu: { rules, max_retries: 1 }, warnings: [] }
    const begin: ReadonlyArray<Record<string, unknown>> = kind === "new" ? [] : [first, { _tag: "Answered" }]
    const timed = rest.map(([delay, input]) => {
      now += delay
      return { ...input, at: now }
    })
    return [...begin.map((input) => ({ ...input, at: 0 })), ...timed] as unknown as ReadonlyArray<Input> // built from the schema's tags
  })

const run = (inputs: ReadonlyArray<Input>): { readonly script: Script; readonly commands: ReadonlyArray<Command> } => {
  const script = new Script()
  for (const input of inputs) {
    const [state, commands] = step(script.state, input)
    script.state = state
    script.at = input.at
    script.commands.push(...commands)
  }
  return { script, commands: script.commands }
}

/** Carries out what is asked, as a fair shell would, until nothing is left to do; then the caller hangs up. */
const settle = (script: Script): void => {
  for (let round = 0; round < 200 && script.state.phase !== "over"; round++) {
    const waiting = script.state.entries.flatMap((e) =>
      e.kind === "agent" ? e.utterances.filter((u) => u.state === "queued" || u.state === "playing") : []
    )
    const pending = script.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools.filter((t) => t.pending) : []))
    if (waiting[0] !== undefined) script.play(waiting[0].id)
    else if (pending[0] !== undefined) script.input({ _tag: "ToolAnswered", id: pending[0].id, result: 1 })
    else if (script.state.model !== null)
      script.input({ _tag: "ModelFailed", turn: script.state.model.turn, reason: "x" })
    else if (script.state.timers[0] !== undefined) script.fire(script.state.timers[0])
    else script.input({ _tag: "CallerHungUp" })
  }
}

const runs = { numRuns: 2000 }

describe("any order of inputs", () => {
  it("never throws, and gives the same commands each time", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        expect(JSON.stringify(run(inputs).commands)).toBe(JSON.stringify(run(inputs).commands))
      }),
      runs
    )
  })

  it("never speaks, asks or emits after the hang-up, and finishes at most once", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const { commands } = run(inputs)
        const end = commands.findIndex((c) => c._tag === "Finish")
        expect(commands.filter((c) => c._tag === "Finish").length).toBeLessThanOrEqual(1)
        if (end >= 0) expect(commands.slice(end + 1)).toEqual([])
      }),
      runs
    )
  })

  it("ends every call exactly once, with nothing left over, when the shell does its part", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const { commands, script } = run(inputs)
        settle(script)
        expect(script.state.phase).toBe("over")
        expect(commands.filter((c) => c._tag === "Finish").length).toBe(1)
        expect(script.state.timers).toEqual([])
        expect(isSpeaking(script.state)).toBe(false)
        const running = script.state.entries.flatMap((e) =>
          e.kind === "agent" ? e.tools.filter((t) => t.pending) : []
        )
        expect(running).toEqual([])
        expect(script.state.gathers).toEqual([])
      }),
      runs
    )
  })

  it("has every tool that was invoked answered, timed out or canceled by the end", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const { commands, script } = run(inputs)
        settle(script)
        const invoked = commands.flatMap((c) => (c._tag === "InvokeTool" ? [c.id] : []))
        expect(new Set(invoked).size).toBe(invoked.length)
        const started = commands.flatMap((c) =>
          c._tag === "StartTimer" && c.timer.startsWith("tool:") ? [c.timer] : []
        )
        expect(started.length).toBe(invoked.length)
      }),
      runs
    )
  })

  it("has a transcript event for each turn of the transcript, numbered from 0", () => {
    fc.assert(
      fc.property(history, (inputs) => {
        const { commands, script } = run(inputs)
        const told = commands.flatMap((c) => (c._tag === "Emit" && c.event === "transcript.updated" ? [c.data] : []))
        expect(told.map((d) => d.turn_index)).toEqual(told.map((_, i) => i))
        expect(told.map((d) => d.turn.content)).toEqual(script.state.transcript.map((t) => t.content))
      }),
      runs
    )
  })
})
