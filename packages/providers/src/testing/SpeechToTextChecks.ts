import { Effect, Exit, Scope } from "effect"
import { type SpeechEvent, SpeechToText, SpeechToTextError } from "../SpeechToText.ts"
import {
  type Check,
  CheckFailed,
  type CheckOptions,
  makeHarness,
  must,
  mustNotThrow,
  mustSucceed,
  normalized
} from "./Check.ts"
import { mustStop } from "./Interruption.ts"
import { mustNotLeak } from "./Leaks.ts"

type Service = typeof SpeechToText.Service

export interface SpeechToTextCheckOptions extends CheckOptions<SpeechToText> {
  /** 20 ms frames of PCM16 that speak `text`. */
  readonly speak: (text: string, sampleRate: number) => Effect.Effect<ReadonlyArray<Int16Array>>
  /** Two phrases that the provider transcribes reliably. */
  readonly phrases?: readonly [string, string]
  /** The silence that ends an utterance, in 20 ms frames; 100 (2 s) by default. */
  readonly pauseFrames?: number
  /** A pause after each frame; none by default. Providers that work in real time need 20 ms. */
  readonly pace?: Effect.Effect<void>
}

/** The requirements on a speech-to-text provider. */
export const speechToTextChecks = (options: SpeechToTextCheckOptions): ReadonlyArray<Check> => {
  const harness = makeHarness(SpeechToText, options)
  const { check, eventually, fault, quiet, within } = harness
  const [first, second] = options.phrases ?? ["hello world", "good bye"]
  const pace = options.pace ?? Effect.yieldNow()

  const openWith = (service: Service, sampleRate: number, onEvent: (event: SpeechEvent) => void) =>
    Effect.suspend(() =>
      service.open({
        callId: "call_conformance",
        language: service.capabilities.languages[0] ?? "en-US",
        sampleRate,
        format: "smart",
        keyterms: [],
        onEvent
      })
    )
  const open = (service: Service, sampleRate: number) =>
    Effect.gen(function* () {
      const events: Array<SpeechEvent> = []
      const session = yield* within(
        "open",
        openWith(service, sampleRate, (event) => events.push(event))
      )
      return { session, events }
    })
  type Listening = Effect.Effect.Success<ReturnType<typeof open>>
  const listen = (service: Service, sampleRate = service.capabilities.sampleRates[0] ?? 8000) =>
    mustSucceed("open")(open(service, sampleRate))

  const isSilent = (frame: Int16Array) => frame.every((sample) => sample === 0)
  const feed = ({ session }: Listening, frames: ReadonlyArray<Int16Array>) =>
    Effect.forEach(
      frames,
      (frame) =>
        Effect.zipLeft(
          mustNotThrow("push", () => {
            session.voiceActivity?.(!isSilent(frame))
            session.push(frame.slice())
          }),
          pace
        ),
      { discard: true }
    )
  const rateOf = (service: Service) => service.capabilities.sampleRates[0] ?? 8000
  const pause = (sampleRate: number) =>
    Array.from({ length: options.pauseFrames ?? 100 }, () => new Int16Array(sampleRate / 50))
  const finals = ({ events }: Listening) =>
    normalized(events.flatMap((event) => (event._tag === "Final" ? [event.text] : [])).join(" "))
  /** Eager ends of turns, their withdrawal, and the times of words and of transcripts. */
  const wellFormed = ({ events }: Listening, pushedMs: number) =>
    Effect.gen(function* () {
      let eager: string | undefined
      let said: Array<string> = []
      let spokenUntil = 0
      for (const event of events) {
        if (event._tag === "EagerEndOfTurn") eager = event.text
        if (event._tag === "TurnResumed") {
          yield* must(eager !== undefined, "it emitted TurnResumed without EagerEndOfTurn")
          eager = undefined
        }
        if (event._tag === "EndOfTurn") {
          const turn = normalized(said.join(" "))
          yield* must(
            eager === undefined || normalized(eager) === turn,
            `it emitted EagerEndOfTurn with "${eager}", but the words of the turn are "${turn}"`
          )
          eager = undefined
          said = []
        }
        if (event._tag !== "Final") continue
        said.push(event.text)
        yield* must(
          event.confidence >= 0 && event.confidence <= 1,
          `the confidence ${event.confidence} is not between 0 and 1`
        )
        const { end = 0 } = event
        yield* must(end >= 0 && end <= pushedMs, `a Final ends at ${end} ms, in ${pushedMs} ms of audio`)
        for (const { end, start, text } of event.words ?? []) {
          yield* must(
            start >= spokenUntil && end >= start && end <= pushedMs,
            `the word "${text}" is at ${start} to ${end} ms, after ${spokenUntil} ms, in ${pushedMs} ms of audio`
          )
          spokenUntil = start
        }
      }
    })
  const finish = ({ session }: Listening) => within("finish", session.finish)
  const failures = ({ events }: Listening) => events.filter(({ _tag }) => _tag === "Failed").length

  /** When the peer fails, a session may emit Failed once as its last event, or continue to transcribe. */
  const failsOrContinues = (service: Service) =>
    Effect.gen(function* () {
      const opened = yield* Effect.either(open(service, rateOf(service)))
      if (opened._tag === "Left") {
        const error = opened.left
        return yield* error instanceof CheckFailed
          ? error
          : must(error instanceof SpeechToTextError, `open failed with ${error}`)
      }
      const listening = opened.right
      yield* feed(listening, yield* options.speak(first, rateOf(service)))
      yield* feed(listening, pause(rateOf(service)))
      yield* quiet
      yield* feed(listening, pause(rateOf(service)))
      yield* finish(listening)
      yield* quiet
      const count = failures(listening)
      yield* must(count <= 1, `it emitted Failed ${count} times`)
      if (count === 1) {
        return yield* must(listening.events.at(-1)?._tag === "Failed", "it emitted an event after Failed")
      }
      yield* must(finals(listening).includes(normalized(first)), "it emitted neither Failed nor the words")
    })

  return [
    check("declares at least one language and one sample rate, and is healthy", (service) =>
      Effect.gen(function* () {
        yield* must(service.capabilities.languages.length > 0, "it declares no language")
        yield* must(service.capabilities.sampleRates.length > 0, "it declares no sample rate")
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("transcribes speech at every declared sample rate", (service) =>
      Effect.forEach(service.capabilities.sampleRates, (rate) =>
        Effect.gen(function* () {
          const listening = yield* listen(service, rate)
          yield* feed(listening, yield* options.speak(first, rate))
          yield* feed(listening, pause(rate))
          yield* eventually(`the transcript "${first}" at ${rate} Hz`, () =>
            finals(listening).includes(normalized(first))
          )
        }).pipe(Effect.scoped)
      )
    ),
    check("emits the words of each utterance once and in order", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const rate = rateOf(service)
        let pushed = 0
        for (const phrase of [first, second]) {
          const spoken = [...(yield* options.speak(phrase, rate)), ...pause(rate)]
          pushed += spoken.reduce((sum, { length }) => sum + length, 0)
          yield* feed(listening, spoken)
        }
        yield* eventually(`the transcript "${second}"`, () => finals(listening).includes(normalized(second)))
        yield* finish(listening)
        const heard = finals(listening)
        yield* must(heard === `${normalized(first)} ${normalized(second)}`, `it transcribed "${heard}"`)
        yield* wellFormed(listening, (pushed / rate) * 1000)
      })
    ),
    check("emits the rest of the transcript before finish completes, and nothing afterwards", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* finish(listening)
        const [heard, count] = [finals(listening), listening.events.length]
        yield* must(heard.includes(normalized(first)), `when finish completed, the transcript was "${heard}"`)
        yield* quiet
        yield* must(listening.events.length === count, "it emitted an event after finish had completed")
      })
    ),
    check("makes words final when it is asked to, if it can", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const { flush } = listening.session
        if (flush === undefined) return
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* mustNotThrow("flush", () => listening.session.flush?.())
        yield* eventually(`the transcript "${first}" after flush`, () => finals(listening).includes(normalized(first)))
      })
    ),
    check("goes on after a change of its keyterms and language, or says that it cannot", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const language = service.capabilities.languages.at(-1) ?? "en-US"
        for (const change of [{ keyterms: ["Svc"] }, { language: service.capabilities.languages[0] ?? language }]) {
          const answer = yield* mustNotThrow("update", () => listening.session.update?.(change) ?? false)
          yield* must(typeof answer === "boolean", `update returned ${String(answer)}`)
        }
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* finish(listening)
        const heard = finals(listening)
        yield* must(heard.includes(normalized(first)), `after update, the transcript was "${heard}"`)
        yield* mustNotThrow("flush and update after finish", () => {
          listening.session.flush?.()
          listening.session.update?.({ language })
          listening.session.voiceActivity?.(true)
        })
      })
    ),
    check("emits EndOfTurn after the words of a turn if and only if it declares endpointing", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* feed(listening, pause(rateOf(service)))
        yield* eventually(`the transcript "${first}"`, () => finals(listening).includes(normalized(first)))
        const ends = () => listening.events.findIndex(({ _tag }) => _tag === "EndOfTurn")
        if (service.capabilities.endpointing === "none") {
          yield* quiet
          return yield* must(ends() < 0, "it emitted EndOfTurn, but declares no endpointing")
        }
        yield* eventually("the event EndOfTurn", () => ends() >= 0)
        yield* must(
          listening.events.findIndex(({ _tag }) => _tag === "Final") < ends(),
          "EndOfTurn came before the words of the turn"
        )
      })
    ),
    check("push does not keep a reference to the frame", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const rate = rateOf(service)
        const shared = new Int16Array(rate / 50)
        for (const frame of [...(yield* options.speak(first, rate)), ...pause(rate)]) {
          shared.set(frame)
          yield* mustNotThrow("push", () => {
            listening.session.voiceActivity?.(!isSilent(frame))
            listening.session.push(shared)
          })
          shared.fill(0x55)
          yield* pace
        }
        yield* eventually(`the transcript "${first}"`, () => finals(listening).includes(normalized(first)))
      })
    ),
    check("push accepts empty, odd-sized and late frames without throwing", (service) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const listening = yield* Scope.extend(listen(service), scope)
        const odd = [new Int16Array(0), new Int16Array(7), new Int16Array(4001), new Int16Array(160).fill(-32768)]
        yield* feed(listening, odd)
        yield* finish(listening)
        yield* feed(listening, odd)
        yield* finish(listening)
        yield* Scope.close(scope, Exit.void)
        yield* feed(listening, odd)
      })
    ),
    check("emits no event after the session's scope was closed", (service) =>
      Effect.gen(function* () {
        const frames = yield* options.speak(first, rateOf(service))
        const scope = yield* Scope.make()
        const listening = yield* Scope.extend(listen(service), scope)
        yield* feed(listening, frames)
        yield* feed(listening, pause(rateOf(service)))
        yield* within("closing the scope", Scope.close(scope, Exit.void))
        const count = listening.events.length
        yield* feed(listening, [...pause(rateOf(service)), ...frames])
        yield* quiet
        yield* must(listening.events.length === count, "it emitted an event after its scope was closed")
      })
    ),
    check("keeps two concurrent sessions separate", (service) =>
      Effect.gen(function* () {
        const rate = rateOf(service)
        const both = [yield* listen(service), yield* listen(service)] as const
        const spoken = [yield* options.speak(first, rate), yield* options.speak(second, rate)] as const
        const silent = pause(rate)
        const length = Math.max(spoken[0].length, spoken[1].length) + silent.length
        for (let index = 0; index < length; index++) {
          for (const side of [0, 1] as const) {
            const frame = spoken[side][index] ?? silent[0]
            if (frame !== undefined) yield* feed(both[side], [frame])
          }
        }
        yield* finish(both[0])
        yield* finish(both[1])
        const heard = `${finals(both[0])} | ${finals(both[1])}`
        yield* must(heard === `${normalized(first)} | ${normalized(second)}`, `two sessions transcribed "${heard}"`)
      })
    ),
    check("many sessions leave no fibers, timers or sockets behind", (service) =>
      mustNotLeak(
        harness,
        options,
        Effect.scoped(
          Effect.flatMap(listen(service), (listening) =>
            mustNotThrow("push", () => listening.session.push(new Int16Array(rateOf(service) / 50)))
          )
        )
      )
    ),
    ...fault(
      options.faults?.refuses,
      "open fails with SpeechToTextError or the session emits Failed when the peer refuses",
      (service) =>
        Effect.gen(function* () {
          const opened = yield* Effect.either(open(service, rateOf(service)))
          if (opened._tag === "Right") {
            return yield* eventually("the event Failed", () => failures(opened.right) === 1)
          }
          const error = opened.left
          if (error instanceof CheckFailed) return yield* error
          yield* must(error instanceof SpeechToTextError, `open failed with ${error}`)
        })
    ),
    ...fault(options.faults?.hangs, "open and finish can be interrupted when the peer hangs", (service) =>
      Effect.gen(function* () {
        // It may hang in open or in finish.
        const fiber = yield* openWith(service, rateOf(service), () => {}).pipe(
          Effect.flatMap((session) => session.finish),
          Effect.scoped,
          Effect.forkDaemon
        )
        yield* quiet
        yield* mustStop(harness, fiber, () => 0)
      })
    ),
    ...fault(
      options.faults?.closesEarly,
      "a session emits Failed once or continues when the peer closes the connection early",
      failsOrContinues
    ),
    ...fault(
      options.faults?.sendsGarbage,
      "a session emits Failed once or continues when the peer sends malformed data",
      failsOrContinues
    )
  ]
}
