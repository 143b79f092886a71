import { describe, expect, it } from "@effect/vitest"
import { start, step } from "@svc/conversation/Conversation"
import type { Input } from "@svc/conversation/Input"
import { facts, Script } from "@svc/conversation/testing/Script"
import { HashSet, Metric } from "effect"
import { countStep } from "../../src/live/CallMetrics.ts"

/**
 * The value of a counter, or the count of a histogram, of this process. Histograms are equal only to themselves: where a
 * process has loaded the module twice, there are two of one name.
 */
const figureOf = (name: string, label: string, value: string): number => {
  let figure = 0
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const tags = [...HashSet.fromIterable(metricKey.tags)]
    if (metricKey.name !== name || !tags.some((tag) => tag.key === label && tag.value === value)) continue
    if ("count" in metricState) figure += Number(metricState.count)
  }
  return figure
}

const figures = () => ({
  barge_in: figureOf("svc_interruptions_total", "kind", "barge_in"),
  false: figureOf("svc_interruptions_total", "kind", "false"),
  response: figureOf("svc_turn_latency_seconds", "stage", "response"),
  platform: figureOf("svc_turn_latency_seconds", "stage", "platform")
})

/** How much the figures grow when these inputs are counted. */
const counted = (inputs: ReadonlyArray<Input>) => {
  const before = figures()
  let [state] = start(facts)
  for (const input of inputs) {
    const [after, commands] = step(state, input)
    countStep(state, after, commands)
    state = after
  }
  const now = figures()
  return {
    barge_in: now.barge_in - before.barge_in,
    false: now.false - before.false,
    response: now.response - before.response,
    platform: now.platform - before.platform
  }
}

/** The agent is speaking the second of two turns. */
const speaking = () => {
  const script = Script.live().play("u0").wait(500).say("Hi")
  script
    .input({ _tag: "ModelSentence", turn: 1, text: "It is a very long story." })
    .input({ _tag: "ModelDone", turn: 1 })
  return script.wait(300).input({ _tag: "SpeechStarted", id: "u1", voice: { asked_at: 500, audio_at: 700 } })
}

describe("metrics of calls", () => {
  it("svc_turn_latency_seconds has each stage of a turn once", () => {
    expect(counted(speaking().inputs)).toEqual({ barge_in: 0, false: 0, response: 1, platform: 1 })
  })

  it("svc_interruptions_total counts words that end the agent's turn as barge_in", () => {
    const script = speaking().wait(500).input({ _tag: "CallerSpeechStarted" }).wait(600)
    script.fire("barge_in").input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "It is" }] })
    script.input({ _tag: "CallerFinal", text: "Stop please" })
    expect(script.events).toContain("barge_in")
    expect(counted(script.inputs)).toMatchObject({ barge_in: 1, false: 0 })
  })

  it("svc_interruptions_total counts a sound without words, after which the agent goes on, as false", () => {
    const script = speaking().wait(500).input({ _tag: "CallerSpeechStarted" }).wait(600)
    script.fire("barge_in").input({ _tag: "SpeechCleared", cuts: [{ id: "u1", played: "It is" }] })
    script.input({ _tag: "CallerSpeechStopped" }).wait(3000).fire("resume")
    expect(script.events).not.toContain("barge_in")
    expect(counted(script.inputs)).toMatchObject({ barge_in: 0, false: 1 })
  })
})
