import { describe, expect, it } from "@effect/vitest"
import { SpeechToTextError } from "@svc/providers/SpeechToText"
import { Deferred, Effect } from "effect"
import { during, scriptedSpeechToText, together } from "../doubles/VirtualProviders.ts"

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
