import { describe, expect, it } from "@effect/vitest"
import { healthy } from "@svc/providers/Health"
import { byText } from "@svc/providers/SpeechTurn"
import { Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, together, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Whole calls whose fixed texts are synthesized before the answer, and once for all. */

const timeOf = (call: VirtualCall, tag: string, n = 0): number =>
  call.log.rows.flatMap(({ input }) => (input._tag !== "Facts" && input._tag === tag ? [input.at] : [])).at(n) ?? -1

const slow = configuration({ otherwise: "Ok.", providers: { tts: { first_byte_ms: 300 } } }).json

describe("the greeting of a ringing call", () => {
  it.live("is synthesized before the answer: its first frame comes at once, with a voice that needs 300 ms", () =>
    Effect.gen(function* () {
      const { result, state } = yield* during(
        () => ({}),
        (call) =>
          Effect.gen(function* () {
            yield* call.wait("290 millis")
            const before = [timeOf(call, "Answered"), call.heard.length]
            yield* call.wait("60 millis")
            const after = [timeOf(call, "Answered"), call.heard.length]
            yield* call.wait("3 seconds")
            return {
              before,
              after,
              started: timeOf(call, "SpeechStarted"),
              turns: call.turns()
            }
          }),
        slow
      )
      expect(result.before).toEqual([-1, 0])
      expect(result.after[0]).toBe(300)
      expect(result.started - 300).toBeLessThan(60)
      expect(result.turns).toEqual(["assistant: Hello."])
      expect(state.usage.tts).toEqual({ characters: 6, cached_characters: 0 })
    })
  )

  it.live("is synthesized once for calls at the same time, and counted as cached in the others", () =>
    Effect.gen(function* () {
      const { states } = yield* together(
        3,
        () => ({}),
        (_, wait) => wait("3 seconds"),
        slow
      )
      const cached = states.map(({ usage }) => usage.tts.cached_characters)
      expect(cached.toSorted((a, b) => a - b)).toEqual([0, 6, 6])
      expect(states.map(({ usage }) => usage.tts.characters)).toEqual([6, 6, 6])
    })
  )

  it.live("does not keep a call ringing for longer than a second, and the rules for a voice that hangs hold", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        ({ textToSpeech: [voice] }) => ({
          textToSpeech:
            voice === undefined
              ? []
              : [
                  {
                    id: "hangs",
                    voices: voice.voices,
                    sampleRates: voice.sampleRates,
                    health: Effect.succeed(healthy),
                    open: byText(() => Effect.never)
                  }
                ]
        }),
        (call) =>
          Effect.gen(function* () {
            yield* call.wait("30 seconds")
            return [timeOf(call, "Answered"), timeOf(call, "SpeechFailed")]
          })
      )
      expect(result[0]).toBe(1000)
      expect(result[1]).toBe(11_000)
    })
  )

  it.live("that the caller did not wait for is not answered", () =>
    Effect.gen(function* () {
      const { result } = yield* during(
        () => ({}),
        (call) =>
          Effect.gen(function* () {
            yield* call.wait("100 millis")
            call.session.end("shutdown")
            yield* call.wait("1 second")
            return [timeOf(call, "Answered"), call.heard.length]
          }),
        slow
      )
      expect(result).toEqual([-1, 0])
    })
  )
})
