import { describe, expect, it } from "vitest"
import { Script } from "../../src/testing/Script.ts"

/** A conversation in which the caller's words are not final yet. */
const hearing = (): Script => {
  const s = Script.greeted()
  s.feedsRecognizerFinished = true
  s.wait(1000).input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "I want" })
  return s
}

describe("the last words of a conversation", () => {
  it("are awaited after the hang-up and become part of the transcript", () => {
    const s = hearing()
    s.wait(100).input({ _tag: "CallerHungUp" })
    expect(s.state.phase).toBe("draining")
    expect(s.take().slice(-3)).toEqual(["Hangup caller-hangup", "StartTimer drain 1500", "StopListening"])
    s.wait(900).input({ _tag: "CallerFinal", text: "I want my money back" }).input({ _tag: "RecognizerFinished" })
    expect(s.transcript.at(-1)).toBe("user: I want my money back")
    expect(s.state.ended_at).toBe(1100)
    expect(s.commands.flatMap((c) => (c._tag === "Emit" ? [[c.event, c.at]] : []))).toEqual([
      ["speech.ended", 1100],
      ["transcript.updated", 1100]
    ])
    expect(s.take().at(-1)).toBe("Finish completed answered caller-hangup")
  })

  it("are not heard again when their transcript becomes final after the turn and the hang-up", () => {
    const s = hearing()
    s.input({ _tag: "CallerEndOfTurn" }).wait(100).input({ _tag: "CallerHungUp" })
    s.wait(900).input({ _tag: "CallerFinal", text: "I want." }).input({ _tag: "RecognizerFinished" })
    expect(s.transcript.filter((line) => line.startsWith("user: "))).toEqual(["user: I want"])
  })

  it("are the last partial when speech-to-text does not finish within the drain time", () => {
    const s = hearing()
    s.input({ _tag: "CallerHungUp" }).wait(1500).fire("drain")
    expect(s.transcript.at(-1)).toBe("user: I want")
    expect(s.state.phase).toBe("over")
  })

  it("are the last partial when speech-to-text or the process fails, and the outcome stays", () => {
    for (const tag of ["RecognizerFailed", "Crashed"] as const) {
      const s = hearing()
      s.input({ _tag: "CallerHungUp" }).input({ _tag: tag, reason: "x" })
      expect(s.transcript.at(-1)).toBe("user: I want")
      expect(s.state.outcome).toEqual({
        status: "completed",
        disposition: "answered",
        ended_reason: "caller-hangup"
      })
    }
  })

  it("are not awaited when the process fails: the call is over at once", () => {
    const s = hearing()
    s.input({ _tag: "Crashed", reason: "x" })
    expect(s.state.phase).toBe("over")
    expect(s.state.outcome?.ended_reason).toBe("error")
    expect(s.events).toContain("speech.ended")
  })

  it("start no model request, speech or digit handling", () => {
    const s = hearing()
    s.input({ _tag: "CallerHungUp" }).take()
    s.input({ _tag: "CallerFinal", text: "Hello?" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "Dtmf", digit: "1" }).input({ _tag: "EndRequested", by: "api" }).input({ _tag: "CallerHungUp" })
    s.input({ _tag: "ModelSentence", turn: 1, text: "Hello there." })
    expect(s.take()).toEqual([])
  })

  it("are not requested from speech-to-text that was given up", () => {
    const s = hearing()
    for (let n = 0; n < 3; n++) s.input({ _tag: "RecognizerFailed", reason: "x" })
    s.take()
    s.input({ _tag: "CallerHungUp" })
    expect(s.take()).not.toContain("StopListening")
    expect(s.state.phase).toBe("over")
  })
})
