import { expect, it } from "@effect/vitest"
import { recordOf } from "@svc/conversation/CallRecord"
import { mulaw8k } from "@svc/providers/Audio"
import { LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import type { LineCodec } from "@svc/providers/Telephony"
import { Effect } from "effect"
import { during } from "../doubles/VirtualProviders.ts"

/** What whole calls in virtual time have used. */

it.effect("counts requests that fail and that are interrupted, tokens as reported, speech and the line", () =>
  Effect.gen(function* () {
    const failing = () => Effect.fail(new LanguageModelError({ reason: "503", retryable: true }))
    let requests = 0
    /** Answers once; then reports its usage before the end, and again with more, and hangs. */
    const answering = (_: unknown, onDelta: (delta: ModelDelta) => void) =>
      Effect.suspend(() => {
        requests++
        onDelta({ _tag: "Text", text: "Second." })
        onDelta({ _tag: "Usage", inputTokens: 80, outputTokens: 2 })
        if (requests === 1) return Effect.sync(() => onDelta({ _tag: "Done", reason: "stop" }))
        onDelta({ _tag: "Usage", inputTokens: 100, outputTokens: 3, cachedInputTokens: 64 })
        return Effect.never
      })
    const { state } = yield* during(
      ({ languageModel: [model] }) => ({
        languageModel:
          model === undefined
            ? []
            : [
                { ...model, generate: failing },
                { ...model, generate: answering }
              ]
      }),
      ({ say, wait }) =>
        Effect.gen(function* () {
          yield* wait("3 seconds")
          yield* say("One")
          yield* wait("5 seconds")
          yield* say("Two")
          yield* wait("5 seconds")
        })
    )
    const { line, usage } = recordOf(state)
    expect(usage.llm).toEqual({ requests: 3, input_tokens: 180, cached_input_tokens: 64, output_tokens: 5 })
    // "Hello." and "Second.": of the second answer no sentence was complete.
    expect(usage.tts).toEqual({ characters: 13, cached_characters: 0 })
    expect(usage.stt.seconds).toBeGreaterThan(0.5)
    expect(line).toMatchObject({ codec: "PCMU" })
  })
)

it.effect(
  "has the codec that the network tells, also when it changes in the call or is not agreed, and not the leg's",
  () =>
    Effect.gen(function* () {
      const codecOf = (codecs: ReadonlyArray<LineCodec | null>) =>
        Effect.gen(function* () {
          let codec = codecs[0] ?? null
          const quality = () => ({ packetsLost: 0, packetsLate: 0, jitterMs: null, codec })
          const { state } = yield* during(
            () => ({}),
            ({ wait }) =>
              Effect.forEach(codecs, (next) => {
                codec = next
                return wait("2 seconds")
              }),
            undefined,
            [],
            { format: mulaw8k, quality }
          )
          return recordOf(state).line.codec
        })
      expect(yield* codecOf(["PCMU", "PCMA"])).toBe("PCMA")
      expect(yield* codecOf([null])).toBe(null)
    })
)
