import { describe, expect, it } from "@effect/vitest"
import { Script } from "@svc/conversation/testing/Script"
import { SpeechToTextError } from "@svc/providers/SpeechToText"
import { Deferred, Effect } from "effect"
import { during, scriptedSpeechToText, together } from "../doubles/VirtualProviders.ts"

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
    s.input({ _tag: "RecognizerFailed", reason: "x" }).input({ _tag: "RecognizerFailed", reason: "x" })
    s.take()
    s.input({ _tag: "CallerHungUp" })
    expect(s.take()).not.toContain("StopListening")
    expect(s.state.phase).toBe("over")
  })
})

describe("the last words of a call", () => {
  const speaks = (
    frame: number,
    emit: Parameters<NonNullable<Parameters<typeof scriptedSpeechToText>[0]["onFrame"]>>[1]
  ) => {
    if (frame === 10) emit({ _tag: "Partial", text: "I want" })
  }

  it.live("are taken from slow speech-to-text after the leg has ended", () =>
    Effect.gen(function* () {
      const stt = scriptedSpeechToText({
        onFrame: speaks,
        finish: (emit) =>
          Effect.delay(
            Effect.sync(() => emit({ _tag: "Final", text: "I want out", confidence: 1 })),
            "900 millis"
          )
      })
      const { result, state } = yield* during(
        () => ({ speechToText: [stt] }),
        ({ hangups, say, session, turns, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("I want out now")
            yield* wait("400 millis")
            session.end("api")
            yield* wait("3 seconds")
            return { hangups: [...hangups], turns: turns() }
          })
      )
      expect(result.hangups).toEqual(["api"])
      expect(result.turns.at(-1)).toBe("user: I want out")
      expect(state.outcome?.ended_reason).toBe("api")
    })
  )

  it.live("are the last partial when speech-to-text hangs or fails, and do not delay the call's end", () =>
    Effect.gen(function* () {
      const broken = new SpeechToTextError({ reason: "broken", retryable: true })
      for (const [finish, within] of [
        [() => Effect.never, "1600 millis"],
        [
          (emit: (event: { readonly _tag: "Failed"; readonly error: SpeechToTextError }) => void) =>
            Effect.sync(() => emit({ _tag: "Failed", error: broken })),
          "20 millis"
        ]
      ] as const) {
        const { result } = yield* during(
          () => ({ speechToText: [scriptedSpeechToText({ onFrame: speaks, finish })] }),
          ({ hangup, say, session, turns, wait }) =>
            Effect.gen(function* () {
              yield* wait("3 seconds")
              yield* say("I want out now")
              yield* wait("400 millis")
              yield* hangup
              yield* wait(within)
              expect((yield* Effect.timeoutOption(session.over, 0))._tag).toBe("Some")
              return turns()
            })
        )
        expect(result.at(-1)).toBe("user: I want")
      }
    })
  )

  it.live("do not delay fifty calls that are hung up at once while all speech-to-text hangs", () =>
    Effect.gen(function* () {
      const stt = scriptedSpeechToText({ onFrame: speaks, finish: () => Effect.never })
      const { result } = yield* together(
        50,
        () => ({ speechToText: [stt] }),
        (calls, wait) =>
          Effect.gen(function* () {
            yield* wait("2 seconds")
            yield* Effect.forEach(calls, (call) => call.say("I want out now"))
            yield* wait("400 millis")
            yield* Effect.forEach(calls, (call) => call.hangup)
            yield* wait("1600 millis")
            const over = yield* Effect.forEach(calls, ({ session }) => Effect.timeoutOption(session.over, 0))
            return calls.map((call, i) => `${over[i]?._tag} ${call.turns().at(-1)}`)
          })
      )
      expect(new Set(result)).toEqual(new Set(["Some user: I want"]))
      expect(result.length).toBe(50)
    })
  )

  it.live("may come from speech-to-text that is still being opened when the caller hangs up", () =>
    Effect.gen(function* () {
      const opened = yield* Deferred.make<void>()
      let heard = 0
      const stt = scriptedSpeechToText({
        opens: Deferred.await(opened),
        onFrame: () => void heard++,
        finish: (emit) => Effect.sync(() => emit({ _tag: "Final", text: "Hello", confidence: 1 }))
      })
      const { state } = yield* during(
        () => ({ speechToText: [stt] }),
        ({ hangup, say, wait }) =>
          Effect.gen(function* () {
            yield* wait("3 seconds")
            yield* say("Hello")
            yield* wait("500 millis")
            yield* hangup
            yield* wait("500 millis")
            yield* Deferred.succeed(opened, undefined)
            yield* wait("100 millis")
          })
      )
      expect(heard).toBeGreaterThan(0)
      expect(state.transcript.at(-1)?.content).toBe("Hello")
    })
  )
})
