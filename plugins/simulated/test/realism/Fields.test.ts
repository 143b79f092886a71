import { expect, it } from "@effect/vitest"
import { LanguageModel, type ModelRequest } from "@svc/providers/LanguageModel"
import { Effect, Fiber, Layer, TestClock } from "effect"
import { describe } from "vitest"
import { CallRealism } from "../../src/Realism/CallRealism.ts"
import { ScriptedModel } from "../../src/ScriptedModel.ts"

const Model = Layer.provideMerge(ScriptedModel, CallRealism.layer)

const promptOf = (script: unknown) => `You answer the phone.\n\`\`\`script\n${JSON.stringify(script)}\n\`\`\``

const request = (script: unknown, more: Partial<ModelRequest> = {}): ModelRequest => ({
  callId: "call_x",
  messages: [
    { role: "system", content: promptOf(script) },
    { role: "user", content: "Hi" }
  ],
  tools: [],
  variables: {},
  ...more
})

/** What the model says, or why it fails. */
const answer = (asked: ModelRequest) =>
  Effect.gen(function* () {
    const model = yield* LanguageModel
    const said: Array<string> = []
    const failed = yield* model
      .generate(asked, (delta) => delta._tag === "Text" && said.push(delta.text))
      .pipe(Effect.match({ onFailure: ({ reason }) => reason, onSuccess: () => undefined }))
    return failed ?? said.join("")
  })

const prepare = (script: unknown, callId = "call_x") =>
  Effect.gen(function* () {
    const model = yield* LanguageModel
    yield* model.prepare?.({ callId, systemPrompt: promptOf(script), tools: [] }) ?? Effect.dieMessage("no prepare")
  })

const everything = {
  stt: {
    partial_every_ms: 100,
    final_after_ms: 300,
    endpointing: "none",
    revise: true,
    miss_final: 3,
    late_final_ms: 200,
    eager: true,
    fail_every_s: 5
  },
  tts: { first_byte_ms: 100, sample_rate: 22_050, burst: true, late_align_ms: 50, fail: "garbage" },
  model: { first_token_ms: 100, tokens_per_second: 5, fail: "empty", fail_every: 2 },
  leg: { format: "alaw", dtx: true, marks: "echoed", echo_db: 30, echo_delay_ms: 80, reorder: 0.5, transfer: "refused" }
}

describe("providers in the script", () => {
  it.effect("is handed to the other providers by prepare, for its call only, and again when the prompt changes", () =>
    Effect.gen(function* () {
      const calls = yield* CallRealism
      yield* prepare({ providers: everything })
      expect(calls.of("call_x")).toEqual(everything)
      expect(calls.of("call_y")).toEqual({})
      yield* prepare({ providers: { stt: {} } })
      expect(calls.of("call_x")).toEqual({ stt: {} })
      yield* prepare({})
      expect(calls.of("call_x")).toEqual({})
    }).pipe(Effect.provide(Model))
  )

  it.effect.each([
    [{ stt: { miss_final: 0 } }, /providers\.stt\.miss_final: .*between 1 and 1000000, actual 0/],
    [{ stt: { final_after: 3 } }, /providers\.stt\.final_after: is unexpected, expected: .*"final_after_ms"/],
    [
      { tts: { sample_rate: 11_025 } },
      /providers\.tts\.sample_rate: Expected one of 8000, 16000, 22050, 24000, actual 11025/
    ],
    [{ tts: { fail: "empty" } }, /providers\.tts\.fail: Expected one of "error", "hang", "garbage", actual "empty"/],
    [{ model: { fail_every: 1.5 } }, /providers\.model\.fail_every: .*integer.*1\.5/],
    [{ leg: { marks: "late" } }, /providers\.leg\.marks: Expected one of "exact", "echoed", "none", actual "late"/],
    [{ leg: { reorder: 2 } }, /providers\.leg\.reorder: .*between 0 and 1, actual 2/],
    [{ leg: { transfer: "none" } }, /providers\.leg\.transfer: Expected one of "refused", actual "none"/],
    [{ line: {} }, /providers\.line: is unexpected, expected: .*"leg"/]
  ] as const)("%j fails every request, with an error that names the field and what is valid", ([providers, message]) =>
    Effect.gen(function* () {
      const calls = yield* CallRealism
      expect(yield* answer(request({ providers }))).toMatch(message)
      expect((yield* Effect.flip(prepare({ providers }))).reason).toMatch(message)
      expect(calls.of("call_x")).toEqual({})
    }).pipe(Effect.provide(Model))
  )

  it.effect("keeps the newest 2000 calls", () =>
    Effect.gen(function* () {
      const calls = yield* CallRealism
      for (let n = 0; n < 2001; n++) calls.set(`call_${n}`, { stt: {} })
      expect([calls.of("call_0"), calls.of("call_1")]).toEqual([{}, { stt: {} }])
    }).pipe(Effect.provide(Model))
  )
})

describe("providers.model", () => {
  it.effect.each([
    ["error", "the script tells the model to fail"],
    ["empty", ""]
  ] as const)("fail %j makes every request fail so", ([fail, expected]) =>
    Effect.gen(function* () {
      const script = { otherwise: "Ok.", providers: { model: { fail } } }
      expect([yield* answer(request(script)), yield* answer(request(script))]).toEqual([expected, expected])
    }).pipe(Effect.provide(Model))
  )

  it.effect("fail hang never answers", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(answer(request({ providers: { model: { fail: "hang" } } })))
      yield* TestClock.adjust("1 hour")
      expect(fiber.unsafePoll()).toBeNull()
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(Model))
  )

  it.effect("fail_every fails every n-th request of a call, with an error unless fail says otherwise", () =>
    Effect.gen(function* () {
      const asks = (fail: object, callId: string) =>
        Effect.forEach([1, 2, 3, 4, 5, 6], () =>
          answer(request({ otherwise: "Ok.", providers: { model: { fail_every: 3, ...fail } } }, { callId }))
        )
      const failed = "the script tells the model to fail"
      expect(yield* asks({}, "call_a")).toEqual(["Ok.", "Ok.", failed, "Ok.", "Ok.", failed])
      expect(yield* asks({ fail: "empty" }, "call_b")).toEqual(["Ok.", "Ok.", "", "Ok.", "Ok.", ""])
    }).pipe(Effect.provide(Model))
  )

  it.effect("first_token_ms and tokens_per_second override those of the script", () =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const script = {
        otherwise: "One two three",
        first_token_ms: 5000,
        tokens_per_second: 1,
        providers: { model: { first_token_ms: 300, tokens_per_second: 10 } }
      }
      const model = yield* LanguageModel
      const fiber = yield* Effect.fork(
        Effect.clockWith((clock) =>
          model.generate(request(script), ({ _tag }) => _tag === "Text" && times.push(clock.unsafeCurrentTimeMillis()))
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      expect(times).toEqual([300, 400, 500])
    }).pipe(Effect.provide(Model))
  )
})
