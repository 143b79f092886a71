import { describe, expect, it } from "@effect/vitest"
import { Script } from "@svc/conversation/testing/Script"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

const slow = (): Script => {
  const s = Script.greeted({}, { filler_ms: 1500 })
  s.say("Hi").take()
  return s
}

describe("a filler", () => {
  it("is spoken once per turn and is not sent to the model", () => {
    const s = slow()
    s.wait(1500).fire("filler")
    expect(s.take()).toContain("Speak u1 One moment, please.")
    s.play("u1").input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: {} }] })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: 1 })
    const asked = s.commands.findLast((c) => c._tag === "AskModel")
    expect(asked?._tag === "AskModel" && asked.messages.map((m) => m.content)).not.toContain("One moment, please.")
    expect(s.take().filter((c) => c.includes("filler"))).toEqual([])
    s.input({ _tag: "ModelSentence", turn: 3, text: "It is one." }).input({ _tag: "ModelDone", turn: 3 }).play("u2")
    s.say("And now?")
    expect(s.take()).toContain("StartTimer filler 1500")
  })

  it("is not spoken once the model speaks or calls a tool, nor while the caller speaks", () => {
    const spoken = slow().input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." })
    expect(spoken.take()).toContain("StopTimer filler")
    const called = slow().input({
      _tag: "ModelToolCalls",
      turn: 1,
      calls: [{ id: "t", name: "lookup", arguments: {} }]
    })
    expect(called.take()).toContain("StopTimer filler")
    const talking = slow().input({ _tag: "CallerSpeechStarted" }).fire("filler")
    expect(talking.take().filter((c) => c.startsWith("Speak"))).toEqual([])
  })

  it("does not end the latency of the turn, which lasts until the model's first sentence", () => {
    const s = slow()
    s.wait(1500).fire("filler").play("u1")
    expect(s.state.latencies).toEqual([])
    s.wait(500).input({ _tag: "ModelSentence", turn: 1, text: "Hello, friend." })
    s.input({ _tag: "SpeechStarted", id: "u2" })
    expect(s.state.latencies).toMatchObject([{ turn: 1, response_ms: 2000 }])
  })

  it("does not suppress the apology for a model that fails after it", () => {
    const s = slow()
    s.wait(1500).fire("filler").input({ _tag: "ModelFailed", turn: 1, reason: "x" })
    expect(s.take().some((c) => c.includes("something went wrong"))).toBe(true)
  })

  it("is off by default", () => {
    const s = Script.greeted()
    s.say("Hi")
    expect(s.take().filter((c) => c.includes("filler"))).toEqual([])
  })
})

describe("SVC_FILLER_AFTER_MS", () => {
  const answer = configuration({ otherwise: "Ok.", first_token_ms: 3000 }).json

  it.live("enables fillers in calls", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        () => ({}),
        ({ say, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* say("Hi")
            yield* wait("6 seconds")
            return turns()
          }),
        answer,
        [["SVC_FILLER_AFTER_MS", "800"]]
      )
      expect(result).toEqual(["assistant: Hello.", "user: Hi", "assistant: One moment, please.", "assistant: Ok."])
    })
  )

  it.live("stops the start when it is invalid", () =>
    Effect.gen(function* () {
      for (const value of ["soon", "-1", "50", "60000"]) {
        const call = during(
          () => ({}),
          () => Effect.void,
          answer,
          [["SVC_FILLER_AFTER_MS", value]]
        )
        expect(String(yield* Effect.flip(call))).toContain("SVC_FILLER_AFTER_MS")
      }
    })
  )
})
