import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { byText, type TextRequest } from "../src/SpeechTurn.ts"
import { type AudioSink, TextToSpeechError } from "../src/TextToSpeech.ts"

const recorder = () => {
  const log: Array<string> = []
  const sink: AudioSink = {
    write: (samples) => log.push(`write ${samples.length}`) > 0,
    align: (characters, atSample) => void log.push(`align ${characters} ${atSample}`),
    drained: Effect.void
  }
  return { log, sink }
}

const requestTo = (sink: AudioSink) => ({
  callId: "call_1",
  turn: "turn_1",
  voice: "Sarah",
  language: "en-US",
  sampleRate: 8000,
  speed: 1,
  sink
})

/** Ten samples a character, aligned after each text. */
const speak = ({ sink, text }: TextRequest) =>
  Effect.sync(() => {
    sink.write(new Int16Array(text.length * 10))
    sink.align(text.length, text.length * 10)
  })

describe("byText", () => {
  it.scoped("speaks texts in order, and aligns from the beginning of the turn", () =>
    Effect.gen(function* () {
      const { log, sink } = recorder()
      const turn = yield* byText(speak)(requestTo(sink))
      turn.say("ab")
      turn.say("c")
      yield* Effect.yieldNow()
      turn.say("def")
      turn.end()
      yield* turn.done
      expect(log).toEqual(["write 20", "align 2 20", "write 10", "align 3 30", "write 30", "align 6 60"])
    })
  )

  it.scoped("fails when a text fails or throws, and does not speak the next", () =>
    Effect.gen(function* () {
      const error = new TextToSpeechError({ reason: "broke", retryable: true })
      for (const fail of [() => Effect.fail(error), () => Effect.die(error)]) {
        const { log, sink } = recorder()
        const turn = yield* byText((request) => (request.text === "bad" ? fail() : speak(request)))(requestTo(sink))
        for (const text of ["a", "bad", "b"]) turn.say(text)
        turn.end()
        expect(Exit.isFailure(yield* Effect.exit(turn.done))).toBe(true)
        expect(log).toEqual(["write 10", "align 1 10"])
      }
    })
  )

  it.effect("interrupts the text that is spoken when its scope closes", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let interrupted = 0
      const hangs = byText(() =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => interrupted++))
        )
      )
      const scope = yield* Scope.make()
      const turn = yield* Scope.extend(hangs(requestTo(recorder().sink)), scope)
      turn.say("a")
      const done = yield* Effect.fork(turn.done)
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      expect(interrupted).toBe(1)
      turn.say("b")
      turn.end()
      expect(Exit.isInterrupted(yield* Fiber.await(done))).toBe(true)
    })
  )
})
