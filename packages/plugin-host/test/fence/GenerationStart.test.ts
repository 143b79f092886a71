import { describe, expect, it } from "@effect/vitest"
import { LanguageModelError, type ModelDelta, type ModelRequest } from "@svc/providers/LanguageModel"
import { startGeneration } from "@svc/providers/LoadedLanguageModel"
import { Cause, Effect, Exit, TestClock } from "effect"
import { fencedLanguageModel, modelIdleMs } from "../../src/fence/FencedLanguageModel.ts"
import { languageModel } from "../fixtures/Parts.ts"

const request: ModelRequest = { callId: "call_1", messages: [], tools: [], variables: {} }
const text = (text: string): ModelDelta => ({ _tag: "Text", text })

/** A fenced model that is started with callbacks, and what it reported. */
const fenced = (generate: (typeof languageModel)["generate"]) =>
  Effect.gen(function* () {
    const model = yield* fencedLanguageModel({ ...languageModel, generate })
    const runtime = yield* Effect.runtime<never>()
    const start = () => {
      const deltas: Array<ModelDelta> = []
      const ends: Array<Exit.Exit<void, LanguageModelError>> = []
      const giveUp = startGeneration(model, request, runtime, {
        onDelta: (delta) => deltas.push(delta),
        onEnd: (exit) => ends.push(exit)
      })
      return { deltas, ends, giveUp }
    }
    return start
  })

const reasonOf = (exit: Exit.Exit<void, LanguageModelError> | undefined) =>
  exit !== undefined && Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit

describe("a generation of a fenced language model that is started with callbacks", () => {
  it.effect("reports its deltas, and its end once, also when it is given up afterwards", () =>
    Effect.gen(function* () {
      const start = yield* fenced((_, onDelta) => Effect.sync(() => onDelta(text("Hi"))))
      const { deltas, ends, giveUp } = start()
      yield* TestClock.adjust("1 second")
      giveUp()
      expect([deltas, ends]).toEqual([[text("Hi")], [Exit.void]])
    })
  )

  it.effect("reports nothing but its interruption after it was given up, although the model goes on", () =>
    Effect.gen(function* () {
      let interrupted = false
      const start = yield* fenced((_, onDelta) =>
        Effect.sleep("1 second").pipe(
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              interrupted = true
              onDelta(text("too late"))
            })
          )
        )
      )
      const { deltas, ends, giveUp } = start()
      yield* TestClock.adjust("500 millis")
      giveUp()
      giveUp()
      yield* TestClock.adjust("5 seconds")
      expect([interrupted, deltas, ends.map(Exit.isInterrupted)]).toEqual([true, [], [true]])
    })
  )

  it.effect("fails after 20 seconds without a delta, although the model cannot be interrupted", () =>
    Effect.gen(function* () {
      const start = yield* fenced(() => Effect.uninterruptible(Effect.sleep("1 minute")))
      const { ends } = start()
      yield* TestClock.adjust(modelIdleMs - 1)
      expect(ends).toEqual([])
      yield* TestClock.adjust("2 seconds")
      expect(ends.map(reasonOf)).toMatchObject([{ reason: "silent: generated nothing for 20 s" }])
    })
  )

  it.effect("is refused before the start returns when the circuit breaker is open", () =>
    Effect.gen(function* () {
      const start = yield* fenced(() => new LanguageModelError({ reason: "503", retryable: true }))
      for (let failure = 0; failure < 5; failure++) {
        start()
        yield* TestClock.adjust("1 millis")
      }
      const { ends } = start()
      expect(ends.map(reasonOf)).toMatchObject([{ reason: expect.stringContaining("circuit breaker open") }])
    })
  )
})
