import { expect, it } from "@effect/vitest"
import { LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import { type SpeechEvent, SpeechToTextError } from "@svc/providers/SpeechToText"
import type { AudioSink } from "@svc/providers/TextToSpeech"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { describe } from "vitest"
import { fencedLanguageModel, modelIdleMs } from "../../src/fence/FencedLanguageModel.ts"
import { fencedSpeechToText } from "../../src/fence/FencedSpeechToText.ts"
import { fencedTextToSpeech } from "../../src/fence/FencedTextToSpeech.ts"
import { fencedVoiceActivity } from "../../src/fence/FencedVoiceActivity.ts"
import { languageModel, speechToText, textToSpeech } from "../fixtures/Parts.ts"

const request = { callId: "call_1", messages: [], tools: [], variables: {} }
const settle = Effect.yieldNow().pipe(Effect.repeatN(20))
const down = new LanguageModelError({ reason: "503", retryable: true })

describe("a fenced language model", () => {
  const fenced = (generate: (typeof languageModel)["generate"]) => fencedLanguageModel({ ...languageModel, generate })

  it.effect("passes deltas on at once, and what the model fails with", () =>
    Effect.gen(function* () {
      const good = yield* fenced((_, tell) =>
        Effect.sync(() => {
          tell({ _tag: "Text", text: "hi" })
          tell({ _tag: "Done", reason: "stop" })
        })
      )
      const deltas: Array<ModelDelta> = []
      yield* good.generate(request, (delta) => deltas.push(delta))
      expect(deltas.map(({ _tag }) => _tag)).toEqual(["Text", "Done"])
      const bad = yield* fenced(() => Effect.fail(down))
      expect(yield* Effect.flip(bad.generate(request, () => {}))).toBe(down)
    })
  )

  it.effect("turns a throw, a defect and an interruption of its own into typed errors", () =>
    Effect.gen(function* () {
      const ways: ReadonlyArray<(typeof languageModel)["generate"]> = [
        () => {
          throw new Error("boom\nat x")
        },
        () => Effect.die(new Error("boom")),
        () => Effect.interrupt
      ]
      for (const way of ways) {
        const error = yield* Effect.flip((yield* fenced(way)).generate(request, () => {}))
        expect(error._tag).toBe("LanguageModelError")
        expect(error.reason).toMatch(/^silent: crashed: .+$/)
        expect(error.retryable).toBe(true)
      }
    })
  )

  it.effect("gives up a model that says nothing, and waits for one that is slow but speaks", () =>
    Effect.gen(function* () {
      const hanging = yield* fenced(() => Effect.uninterruptible(Effect.never))
      const fiber = yield* Effect.fork(Effect.flip(hanging.generate(request, () => {})))
      yield* TestClock.adjust(modelIdleMs)
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: said nothing for 20 s")

      const slow = yield* fenced((_, tell) =>
        Effect.sync(() => tell({ _tag: "Text", text: "." })).pipe(Effect.delay(modelIdleMs - 1), Effect.repeatN(4))
      )
      const speaking = yield* Effect.fork(slow.generate(request, () => {}))
      yield* TestClock.adjust(modelIdleMs * 5)
      expect(Exit.isSuccess(yield* Fiber.await(speaking))).toBe(true)
    })
  )

  it.effect("lets go at once when interrupted, and passes nothing on afterwards", () =>
    Effect.gen(function* () {
      let late: (delta: ModelDelta) => void = () => {}
      const stubborn = yield* fenced((_, tell) => {
        late = tell
        return Effect.uninterruptible(Effect.never)
      })
      const deltas: Array<ModelDelta> = []
      const fiber = yield* Effect.fork(stubborn.generate(request, (delta) => deltas.push(delta)))
      yield* settle
      yield* Fiber.interrupt(fiber)
      late({ _tag: "Text", text: "late" })
      expect(deltas).toEqual([])
    })
  )

  it.effect("fails fast after five failures, tells so in its health, and tries again after ten seconds", () =>
    Effect.gen(function* () {
      let calls = 0
      let works = false
      const model = yield* fenced(() => {
        calls++
        return works ? Effect.void : Effect.fail(down)
      })
      const ask = Effect.either(model.generate(request, () => {}))
      yield* Effect.repeatN(ask, 4)
      const refused = yield* Effect.flip(model.generate(request, () => {}))
      expect(refused.reason).toBe("silent: not used for a while after 5 failures in a row; the last: 503")
      expect(calls).toBe(5)
      expect(yield* model.health).toEqual({
        healthy: false,
        reason: "not used for a while after 5 failures in a row; the last: 503"
      })
      works = true
      yield* TestClock.adjust("10 seconds")
      yield* ask
      expect(calls).toBe(6)
      expect((yield* model.health).healthy).toBe(true)
    })
  )

  it.effect("counts neither interruptions nor requests that were refused as wrong", () =>
    Effect.gen(function* () {
      const model = yield* fenced(({ callId }) =>
        callId === "hang" ? Effect.never : Effect.fail(new LanguageModelError({ reason: "400", retryable: false }))
      )
      for (let n = 0; n < 10; n++) {
        const fiber = yield* Effect.fork(model.generate({ ...request, callId: "hang" }, () => {}))
        yield* settle
        yield* Fiber.interrupt(fiber)
        yield* Effect.either(model.generate(request, () => {}))
      }
      expect((yield* model.health).healthy).toBe(true)
    })
  )

  it.effect("is ill when its health check crashes or hangs", () =>
    Effect.gen(function* () {
      const crashing = yield* fencedLanguageModel({ ...languageModel, health: Effect.die(new Error("boom")) })
      expect(yield* crashing.health).toEqual({ healthy: false, reason: "its health check crashed: boom" })
      const hanging = yield* fencedLanguageModel({ ...languageModel, health: Effect.never })
      const fiber = yield* Effect.fork(hanging.health)
      yield* TestClock.adjust("3 seconds")
      expect((yield* Fiber.join(fiber)).healthy).toBe(false)
    })
  )
})

describe("a fenced synthesizer", () => {
  const sink = (room: () => boolean, drained: Effect.Effect<void>) => {
    const written: Array<number> = []
    const made: AudioSink = {
      write: (samples) => {
        written.push(samples.length)
        return room()
      },
      align: () => {},
      drained
    }
    return { sink: made, written }
  }
  const speech = { callId: "call_1", text: "hello", voice: "Sarah", language: "en-US", sampleRate: 8000 }

  it.effect("is not blamed for the time in which the sink is full", () =>
    Effect.gen(function* () {
      const room = yield* Deferred.make<void>()
      const target = sink(() => false, Deferred.await(room))
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        synthesize: ({ sink }) =>
          Effect.gen(function* () {
            sink.write(new Int16Array(160))
            yield* sink.drained
            sink.write(new Int16Array(80))
          })
      })
      const fiber = yield* Effect.fork(fenced.synthesize({ ...speech, sink: target.sink }))
      yield* TestClock.adjust("1 minute")
      expect(target.written).toEqual([160])
      yield* Deferred.succeed(room, undefined)
      expect(Exit.isSuccess(yield* Fiber.await(fiber))).toBe(true)
      expect(target.written).toEqual([160, 80])
    })
  )

  it.effect("is given up when it writes nothing though there is room", () =>
    Effect.gen(function* () {
      const fenced = yield* fencedTextToSpeech({ ...textToSpeech, synthesize: () => Effect.never })
      const fiber = yield* Effect.fork(
        Effect.flip(fenced.synthesize({ ...speech, sink: sink(() => true, Effect.void).sink }))
      )
      yield* TestClock.adjust("10 seconds")
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: wrote nothing for 10 s")
    })
  )

  it.effect("cannot write after it was interrupted", () =>
    Effect.gen(function* () {
      let own: AudioSink | undefined
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        synthesize: (given) => {
          own = given.sink
          return Effect.uninterruptible(Effect.never)
        }
      })
      const target = sink(() => true, Effect.void)
      const fiber = yield* Effect.fork(fenced.synthesize({ ...speech, sink: target.sink }))
      yield* settle
      yield* Fiber.interrupt(fiber)
      expect(own?.write(new Int16Array(160))).toBe(false)
      expect(target.written).toEqual([])
    })
  )
})

describe("a fenced recognizer", () => {
  const listening = (events: Array<SpeechEvent>) => ({
    callId: "call_1",
    language: "en-US",
    sampleRate: 8000,
    format: "smart" as const,
    keyterms: [],
    onEvent: (event: SpeechEvent) => void events.push(event)
  })
  const fenced = (open: (typeof speechToText)["open"]) => fencedSpeechToText({ ...speechToText, open })

  it.scoped("gives up an open that takes longer than five seconds, and releases what it had opened", () =>
    Effect.gen(function* () {
      const released = yield* Deferred.make<void>()
      const speech = yield* fenced(() =>
        Effect.zipRight(
          Effect.addFinalizer(() => Deferred.succeed(released, undefined)),
          Effect.never
        )
      )
      const fiber = yield* Effect.fork(Effect.flip(speech.open(listening([]))))
      yield* TestClock.adjust("5 seconds")
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: did not open within 5s")
      yield* Deferred.await(released)
    })
  )

  it.scoped("turns a push that throws into one Failed event, after which nothing passes", () =>
    Effect.gen(function* () {
      let tell: (event: SpeechEvent) => void = () => {}
      let pushed = 0
      const speech = yield* fenced(({ onEvent }) => {
        tell = onEvent
        return Effect.succeed({
          push: () => {
            pushed++
            throw new Error("boom")
          },
          finish: Effect.die("boom")
        })
      })
      const events: Array<SpeechEvent> = []
      const session = yield* speech.open(listening(events))
      session.push(new Int16Array(160))
      session.push(new Int16Array(160))
      tell({ _tag: "Partial", text: "late" })
      yield* session.finish
      expect(pushed).toBe(1)
      expect(events.map(({ _tag }) => _tag)).toEqual(["Failed"])
    })
  )

  it.scoped("tells Failed when finish crashes or hangs", () =>
    Effect.gen(function* () {
      for (const finish of [Effect.die("boom"), Effect.never]) {
        const speech = yield* fenced(() => Effect.succeed({ push: () => {}, finish }))
        const events: Array<SpeechEvent> = []
        const session = yield* speech.open(listening(events))
        const fiber = yield* Effect.fork(session.finish)
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        expect(events.map(({ _tag }) => _tag)).toEqual(["Failed"])
      }
    })
  )

  it.scoped("passes no event after its scope is closed, and does not wait for a plugin that clings", () =>
    Effect.gen(function* () {
      let tell: (event: SpeechEvent) => void = () => {}
      const speech = yield* fenced(({ onEvent }) => {
        tell = onEvent
        return Effect.as(
          Effect.addFinalizer(() => Effect.never),
          { push: () => {}, finish: Effect.void }
        )
      })
      const events: Array<SpeechEvent> = []
      const scope = yield* Scope.make()
      yield* Scope.extend(speech.open(listening(events)), scope)
      yield* Scope.close(scope, Exit.void)
      tell({ _tag: "Partial", text: "late" })
      expect(events).toEqual([])
    })
  )

  it.scoped("opens the circuit when sessions open but break one after the other", () =>
    Effect.gen(function* () {
      const error = new SpeechToTextError({ reason: "socket closed", retryable: true })
      const speech = yield* fenced(({ onEvent }) =>
        Effect.succeed({ push: () => onEvent({ _tag: "Failed", error }), finish: Effect.void })
      )
      for (let n = 0; n < 5; n++) (yield* speech.open(listening([]))).push(new Int16Array(160))
      const refused = yield* Effect.flip(speech.open(listening([])))
      expect(refused.reason).toContain("not used for a while after 5 failures in a row; the last: socket closed")
    })
  )
})

describe("a fenced voice activity detector", () => {
  it("hears silence where the plugin throws", () => {
    const boom = () => {
      throw new Error("boom")
    }
    expect(fencedVoiceActivity({ open: boom }).open(8000).push(new Int16Array(160))).toBe("silence")
    expect(
      fencedVoiceActivity({ open: () => ({ push: boom }) })
        .open(8000)
        .push(new Int16Array(160))
    ).toBe("silence")
    expect(
      fencedVoiceActivity({ open: () => ({ push: () => "speech" }) })
        .open(8000)
        .push(new Int16Array(160))
    ).toBe("speech")
  })
})
