import { expect, it } from "@effect/vitest"
import { LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import { type SpeechEvent, SpeechToTextError } from "@svc/providers/SpeechToText"
import { byText, speakText } from "@svc/providers/SpeechTurn"
import type { AudioSink } from "@svc/providers/TextToSpeech"
import { makeSteppedClock } from "@svc/providers/testing/SteppedClock"
import { Deferred, Effect, Exit, Fiber, Option, Scope, TestClock } from "effect"
import { describe } from "vitest"
import { fencedLanguageModel, modelIdleMs } from "../../src/fence/FencedLanguageModel.ts"
import { fencedSpeechToText } from "../../src/fence/FencedSpeechToText.ts"
import { fencedTextToSpeech } from "../../src/fence/FencedTextToSpeech.ts"
import { fencedVoiceActivity } from "../../src/fence/FencedVoiceActivity.ts"
import { HasAlternative } from "../../src/fence/ProviderCircuit.ts"
import { languageModel, speechToText, textToSpeech } from "../fixtures/Parts.ts"

const request = { callId: "call_1", messages: [], tools: [], variables: {} }
const settle = Effect.yieldNow().pipe(Effect.repeatN(20))
const down = new LanguageModelError({ reason: "503", retryable: true })

describe("a fenced language model", () => {
  const fenced = (generate: (typeof languageModel)["generate"]) => fencedLanguageModel({ ...languageModel, generate })

  it.effect("generate forwards deltas, and the error with which the model fails", () =>
    Effect.gen(function* () {
      const good = yield* fenced((_, emit) =>
        Effect.sync(() => {
          emit({ _tag: "Text", text: "hi" })
          emit({ _tag: "Done", reason: "stop" })
        })
      )
      const deltas: Array<ModelDelta> = []
      yield* good.generate(request, (delta) => deltas.push(delta))
      expect(deltas.map(({ _tag }) => _tag)).toEqual(["Text", "Done"])
      const bad = yield* fenced(() => Effect.fail(down))
      expect(yield* Effect.flip(bad.generate(request, () => {}))).toBe(down)
    })
  )

  it.effect("a throw, a defect or an interruption inside generate becomes LanguageModelError", () =>
    Effect.gen(function* () {
      const failures: ReadonlyArray<(typeof languageModel)["generate"]> = [
        () => {
          throw new Error("boom\nat x")
        },
        () => Effect.die(new Error("boom")),
        () => Effect.interrupt
      ]
      for (const failure of failures) {
        const error = yield* Effect.flip((yield* fenced(failure)).generate(request, () => {}))
        expect(error._tag).toBe("LanguageModelError")
        expect(error.reason).toMatch(/^silent: crashed: .+$/)
        expect(error.retryable).toBe(true)
      }
    })
  )

  it.effect("generate fails when no delta comes within the idle timeout, and not while deltas keep coming", () =>
    Effect.gen(function* () {
      const hanging = yield* fenced(() => Effect.uninterruptible(Effect.never))
      const fiber = yield* Effect.fork(Effect.flip(hanging.generate(request, () => {})))
      yield* TestClock.adjust(modelIdleMs)
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: generated nothing for 20 s")

      const slow = yield* fenced((_, emit) =>
        Effect.sync(() => emit({ _tag: "Text", text: "." })).pipe(Effect.delay(modelIdleMs - 1), Effect.repeatN(4))
      )
      const speaking = yield* Effect.fork(slow.generate(request, () => {}))
      yield* TestClock.adjust(modelIdleMs * 5)
      expect(Exit.isSuccess(yield* Fiber.await(speaking))).toBe(true)
    })
  )

  it.effect("the idle timeout of generate is the same when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        const pausing = yield* fenced((_, emit) =>
          Effect.zipRight(
            Effect.sync(() => emit({ _tag: "Text", text: "." })).pipe(Effect.delay(modelIdleMs / 2)),
            Effect.never
          )
        ).pipe(Effect.withClock(system.clock))
        const fiber = yield* Effect.fork(Effect.flip(pausing.generate(request, () => {})))
        yield* TestClock.adjust(modelIdleMs / 4)
        yield* system.step(step)
        yield* TestClock.adjust(modelIdleMs / 2)
        yield* system.step(step)
        yield* TestClock.adjust((modelIdleMs * 3) / 4 - 1)
        expect(yield* Fiber.poll(fiber)).toEqual(Option.none())
        yield* TestClock.adjust(1)
        expect((yield* Fiber.join(fiber)).reason).toBe("silent: generated nothing for 20 s")
      }
    })
  )

  it.effect("generate returns at once when interrupted, and later deltas are dropped", () =>
    Effect.gen(function* () {
      let late: (delta: ModelDelta) => void = () => {}
      const stubborn = yield* fenced((_, emit) => {
        late = emit
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

  it.effect(
    "after five failures generate fails at once, health reports it, and a call is tried after ten seconds",
    () =>
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
        expect(refused.reason).toBe("silent: circuit breaker open after 5 consecutive failures; last failure: 503")
        expect(calls).toBe(5)
        expect(yield* model.health).toEqual({
          healthy: false,
          reason: "circuit breaker open after 5 consecutive failures"
        })
        works = true
        yield* TestClock.adjust("10 seconds")
        yield* ask
        expect(calls).toBe(6)
        expect((yield* model.health).healthy).toBe(true)
      })
  )

  it.effect(
    "a call that is given up after ten seconds of silence costs the next calls no time if there is another model",
    () =>
      Effect.gen(function* () {
        let calls = 0
        const hangs = () => {
          calls++
          return Effect.never
        }
        const model = yield* Effect.provideService(fenced(hangs), HasAlternative, true)
        const asked = (seconds: number) =>
          Effect.gen(function* () {
            const fiber = yield* Effect.fork(model.generate(request, () => {}))
            yield* TestClock.adjust(`${seconds} seconds`)
            return yield* Fiber.interrupt(fiber)
          })
        // The caller spoke again, or hung up: that says nothing about the model.
        yield* asked(5)
        yield* asked(10)
        expect(calls).toBe(2)
        const refused = yield* Effect.flip(model.generate(request, () => {}))
        expect(refused.reason).toBe(
          "silent: circuit breaker open because it did not respond; last failure: generated nothing for 10 s"
        )
        expect(yield* model.health).toEqual({
          healthy: false,
          reason: "circuit breaker open because it did not respond"
        })
        expect(calls).toBe(2)

        // The only model is asked again.
        const only = yield* fenced(hangs)
        for (let n = 0; n < 6; n++) {
          const fiber = yield* Effect.fork(only.generate(request, () => {}))
          yield* settle
          yield* TestClock.adjust("10 seconds")
          yield* Fiber.interrupt(fiber)
        }
        expect(calls).toBe(8)
        expect((yield* only.health).healthy).toBe(true)
      })
  )

  it.effect("interruptions and errors that are not retryable do not open the circuit", () =>
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

  it.effect("health is unhealthy when the health check crashes or hangs", () =>
    Effect.gen(function* () {
      const crashing = yield* fencedLanguageModel({ ...languageModel, health: Effect.die(new Error("boom")) })
      expect(yield* crashing.health).toEqual({ healthy: false, reason: "its health check crashed; the log says why" })
      const hanging = yield* fencedLanguageModel({ ...languageModel, health: Effect.never })
      const fiber = yield* Effect.fork(hanging.health)
      yield* TestClock.adjust("3 seconds")
      expect((yield* Fiber.join(fiber)).healthy).toBe(false)
    })
  )
})

describe("a fenced text-to-speech provider", () => {
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
  const speech = {
    callId: "call_1",
    turn: "turn_1",
    text: "hello",
    voice: "Sarah",
    language: "en-US",
    sampleRate: 8000,
    speed: 1
  }

  it.effect("time in which the sink is full does not count as idle", () =>
    Effect.gen(function* () {
      const room = yield* Deferred.make<void>()
      const target = sink(() => false, Deferred.await(room))
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        open: byText(({ sink }) =>
          Effect.gen(function* () {
            sink.write(new Int16Array(160))
            yield* sink.drained
            sink.write(new Int16Array(80))
          })
        )
      })
      const fiber = yield* Effect.fork(speakText(fenced, { ...speech, sink: target.sink }))
      yield* TestClock.adjust("1 minute")
      expect(target.written).toEqual([160])
      yield* Deferred.succeed(room, undefined)
      expect(Exit.isSuccess(yield* Fiber.await(fiber))).toBe(true)
      expect(target.written).toEqual([160, 80])
    })
  )

  it.scoped("what is said before the provider has opened its turn reaches it in order, and then its end", () =>
    Effect.gen(function* () {
      const opened = yield* Deferred.make<void>()
      const log: Array<string> = []
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        open: () =>
          Effect.as(Deferred.await(opened), {
            say: (text: string) => void log.push(text),
            end: () => void log.push("end"),
            done: Effect.void
          })
      })
      const turn = yield* fenced.open({ ...speech, sink: sink(() => true, Effect.void).sink })
      turn.say("a")
      turn.say("b")
      turn.end()
      turn.say("after the end")
      turn.end()
      yield* settle
      expect(log).toEqual([])
      yield* Deferred.succeed(opened, undefined)
      yield* turn.done
      expect(log).toEqual(["a", "b", "end"])
    })
  )

  it.scoped("a turn that has spoken may wait for text for long, but not owe audio for 10 s", () =>
    Effect.gen(function* () {
      let own: AudioSink | undefined
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        open: (given) => {
          own = given.sink
          return Effect.succeed({ say: () => {}, end: () => {}, done: Effect.never })
        }
      })
      const turn = yield* fenced.open({ ...speech, sink: sink(() => true, Effect.void).sink })
      const done = yield* Effect.fork(Effect.flip(turn.done))
      yield* TestClock.adjust("1 minute")
      turn.say("hello")
      yield* TestClock.adjust("9 seconds")
      own?.write(new Int16Array(160))
      yield* TestClock.adjust("1 minute")
      expect(done.unsafePoll()).toBeNull()
      turn.say("more")
      yield* TestClock.adjust("10 seconds")
      expect((yield* Fiber.join(done)).reason).toBe("silent: wrote no audio for 10 s")
    })
  )

  it.effect("a turn fails when nothing is written within the idle timeout", () =>
    Effect.gen(function* () {
      const fenced = yield* fencedTextToSpeech({ ...textToSpeech, open: byText(() => Effect.never) })
      const fiber = yield* Effect.fork(
        Effect.flip(speakText(fenced, { ...speech, sink: sink(() => true, Effect.void).sink }))
      )
      yield* TestClock.adjust("10 seconds")
      expect((yield* Fiber.join(fiber)).reason).toBe("silent: wrote no audio for 10 s")
    })
  )

  it.effect("writes after a turn was cancelled are dropped", () =>
    Effect.gen(function* () {
      let own: AudioSink | undefined
      const fenced = yield* fencedTextToSpeech({
        ...textToSpeech,
        open: (given) => {
          own = given.sink
          return Effect.uninterruptible(Effect.never)
        }
      })
      const target = sink(() => true, Effect.void)
      const fiber = yield* Effect.fork(speakText(fenced, { ...speech, sink: target.sink }))
      yield* settle
      yield* Fiber.interrupt(fiber)
      expect(own?.write(new Int16Array(160))).toBe(false)
      expect(target.written).toEqual([])
    })
  )
})

describe("a fenced speech-to-text provider", () => {
  const listening = (events: Array<SpeechEvent>) => ({
    callId: "call_1",
    language: "en-US",
    sampleRate: 8000,
    format: "smart" as const,
    keyterms: [],
    onEvent: (event: SpeechEvent) => void events.push(event)
  })
  const fenced = (open: (typeof speechToText)["open"]) => fencedSpeechToText({ ...speechToText, open })

  it.scoped("open fails after five seconds and releases what it had acquired", () =>
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
      // The next call waits too: there is no other recognizer.
      const next = yield* Effect.fork(Effect.flip(speech.open(listening([]))))
      yield* TestClock.adjust("5 seconds")
      expect((yield* Fiber.join(next)).reason).toBe("silent: did not open within 5s")
    })
  )

  it.scoped("a push that throws emits Failed once, and no event follows", () =>
    Effect.gen(function* () {
      let emit: (event: SpeechEvent) => void = () => {}
      let pushed = 0
      const speech = yield* fenced(({ onEvent }) => {
        emit = onEvent
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
      emit({ _tag: "Partial", text: "late" })
      yield* session.finish
      expect(pushed).toBe(1)
      expect(events.map(({ _tag }) => _tag)).toEqual(["Failed"])
    })
  )

  it.scoped("a flush, an update or voice activity that throws emits Failed once", () =>
    Effect.gen(function* () {
      const boom = () => {
        throw new Error("boom")
      }
      for (const method of ["flush", "update", "voiceActivity"] as const) {
        const speech = yield* fenced(() => Effect.succeed({ push: () => {}, finish: Effect.void, [method]: boom }))
        const events: Array<SpeechEvent> = []
        const session = yield* speech.open(listening(events))
        const use = () => [session.flush?.(), session.update?.({ language: "de-DE" }), session.voiceActivity?.(true)]
        expect(use()).toEqual([undefined, method === "update" ? false : undefined, undefined])
        use()
        expect(events.map(({ _tag }) => _tag)).toEqual(["Failed"])
      }
    })
  )

  it.scoped("Failed is emitted when finish crashes or hangs", () =>
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

  it.scoped("no event passes after the scope was closed, and a finalizer that hangs is not awaited", () =>
    Effect.gen(function* () {
      let emit: (event: SpeechEvent) => void = () => {}
      const speech = yield* fenced(({ onEvent }) => {
        emit = onEvent
        return Effect.as(
          Effect.addFinalizer(() => Effect.never),
          { push: () => {}, finish: Effect.void }
        )
      })
      const events: Array<SpeechEvent> = []
      const scope = yield* Scope.make()
      yield* Scope.extend(speech.open(listening(events)), scope)
      yield* Scope.close(scope, Exit.void)
      emit({ _tag: "Partial", text: "late" })
      expect(events).toEqual([])
    })
  )

  it.scoped("the circuit opens when five sessions fail after they were opened", () =>
    Effect.gen(function* () {
      const error = new SpeechToTextError({ reason: "socket closed", retryable: true })
      const speech = yield* fenced(({ onEvent }) =>
        Effect.succeed({ push: () => onEvent({ _tag: "Failed", error }), finish: Effect.void })
      )
      for (let n = 0; n < 5; n++) (yield* speech.open(listening([]))).push(new Int16Array(160))
      const refused = yield* Effect.flip(speech.open(listening([])))
      expect(refused.reason).toContain("circuit breaker open after 5 consecutive failures; last failure: socket closed")
    })
  )
})

describe("a fenced voice activity detector", () => {
  it("passes on what was sent, until it throws, and is closed nevertheless", () => {
    const told: Array<string> = []
    const detector = fencedVoiceActivity({
      open: () => ({
        push: () => "speech",
        sent: (frame) => {
          told.push(`sent ${frame?.length}`)
          if (frame === undefined) throw new Error("boom")
        },
        close: () => {
          told.push("closed")
          throw new Error("boom")
        }
      })
    }).open(8000)
    detector.sent?.(new Int16Array(160))
    expect(detector.push(new Int16Array(160))).toBe("speech")
    detector.sent?.(undefined)
    detector.sent?.(new Int16Array(160))
    expect(detector.push(new Int16Array(160))).toBe("silence")
    detector.close?.()
    expect(told).toEqual(["sent 160", "sent undefined", "closed"])
  })

  it("does not ask for what was sent when the detector does not", () => {
    expect(fencedVoiceActivity({ open: () => ({ push: () => "silence" }) }).open(8000).sent).toBeUndefined()
  })

  it("a detector that throws reports silence", () => {
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
