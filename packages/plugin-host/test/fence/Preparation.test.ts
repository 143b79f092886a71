import { expect, it } from "@effect/vitest"
import { LanguageModelError, type ModelPreparation } from "@svc/providers/LanguageModel"
import { Effect, Fiber, TestClock } from "effect"
import { describe } from "vitest"
import { fencedLanguageModel, prepareDeadline } from "../../src/fence/FencedLanguageModel.ts"
import { fencedTextToSpeech } from "../../src/fence/FencedTextToSpeech.ts"
import { languageModel, textToSpeech } from "../fixtures/Parts.ts"

/** What a plugin prepares or declares for one call. */

const call: ModelPreparation = { callId: "call_1", systemPrompt: "You answer the phone.", tools: [] }
const boom = (): never => {
  throw new Error("boom\nat x")
}

describe("prepare of a fenced language model", () => {
  const fenced = (prepare: NonNullable<(typeof languageModel)["prepare"]>) =>
    Effect.flatMap(fencedLanguageModel({ ...languageModel, prepare }), ({ generate, prepare }) =>
      prepare === undefined ? Effect.dieMessage("it has no prepare") : Effect.succeed({ generate, prepare })
    )

  it.effect("is absent where the model has none", () =>
    Effect.gen(function* () {
      expect(yield* fencedLanguageModel(languageModel)).not.toHaveProperty("prepare")
    })
  )

  it.effect("does what comes before the first asynchronous step at once, and the rest beside its caller", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const { prepare } = yield* fenced(({ systemPrompt }) =>
        Effect.gen(function* () {
          done.push(systemPrompt)
          yield* Effect.sleep("1 second")
          done.push("later")
        })
      )
      const fiber = Effect.runFork(prepare(call).pipe(Effect.withClock(yield* Effect.clock)))
      expect(done).toEqual(["You answer the phone."])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      expect(done).toEqual(["You answer the phone.", "later"])
    })
  )

  it.effect("fails with LanguageModelError when the model throws, dies, fails or hangs", () =>
    Effect.gen(function* () {
      const reason = "the cache is full"
      const failures = [
        [boom, /^silent: crashed: boom$/],
        [() => Effect.die(new Error("boom")), /^silent: crashed: boom$/],
        [() => Effect.interrupt, /^silent: crashed: .+$/],
        [() => Effect.fail(new LanguageModelError({ reason, retryable: true })), /^the cache is full$/]
      ] as const
      for (const [failure, message] of failures) {
        const error = yield* Effect.flip((yield* fenced(failure)).prepare(call))
        expect([error._tag, error.reason]).toEqual(["LanguageModelError", expect.stringMatching(message)])
      }
      const hanging = yield* fenced(() => Effect.uninterruptible(Effect.never))
      const fiber = yield* Effect.fork(Effect.flip(hanging.prepare(call)))
      yield* TestClock.adjust(prepareDeadline)
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: did not prepare within 10s")
    })
  )

  it.effect("is stopped with the call, and its failures do not open the circuit breaker", () =>
    Effect.gen(function* () {
      let stopped = false
      const { prepare } = yield* fenced(() =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => (stopped = true)))
      )
      yield* Fiber.interrupt(yield* Effect.fork(Effect.zipRight(Effect.yieldNow(), prepare(call))))
      const started = yield* Effect.fork(prepare(call))
      yield* Effect.yieldNow().pipe(Effect.repeatN(20))
      yield* Fiber.interrupt(started)
      yield* Effect.yieldNow().pipe(Effect.repeatN(20))
      expect(stopped).toBe(true)
      const failing = yield* fenced(boom)
      for (let attempt = 0; attempt < 20; attempt++) yield* Effect.flip(failing.prepare(call))
      const deltas: Array<string> = []
      yield* failing.generate({ callId: "call_1", messages: [], tools: [], variables: {} }, ({ _tag }) =>
        deltas.push(_tag)
      )
      expect(deltas).toEqual(["Done"])
    })
  )
})

describe("sampleRatesFor of a fenced text-to-speech provider", () => {
  const turn = { callId: "call_1", voice: "Sarah", language: "en-US" }
  const provider = { ...textToSpeech, sampleRates: [8000, 24_000] }

  it.effect.each([
    ["names the rates of the call", () => [24_000], [24_000]],
    ["is ignored where it names other rates than the provider's", () => [11_025], [8000, 24_000]],
    ["is ignored when it throws", boom, [8000, 24_000]],
    ["is ignored when it returns no list", () => undefined as unknown as Array<number>, [8000, 24_000]]
  ] as const)("%s", ([, sampleRatesFor, expected]) =>
    Effect.gen(function* () {
      const fenced = yield* fencedTextToSpeech({ ...provider, sampleRatesFor })
      expect(fenced.sampleRatesFor?.(turn)).toEqual(expected)
    })
  )

  it.effect("is absent where the provider has none", () =>
    Effect.gen(function* () {
      expect(yield* fencedTextToSpeech(provider)).not.toHaveProperty("sampleRatesFor")
    })
  )
})
