import { Effect, Exit, Scope } from "effect"
import { type SpeechEvent, SpeechToText, SpeechToTextError } from "../SpeechToText.ts"
import { bench, type Check, CheckFailed, type CheckOptions, must, mustNotThrow, noError } from "./Check.ts"
import { stops } from "./Interruption.ts"
import { leavesNothing } from "./Leaks.ts"
import { words } from "./Words.ts"

type Service = typeof SpeechToText.Service

export interface SpeechToTextCheckOptions extends CheckOptions<SpeechToText> {
  /** 20 ms frames of PCM16 in which a voice says `text`. */
  readonly speak: (text: string, sampleRate: number) => Effect.Effect<ReadonlyArray<Int16Array>>
  /** Two phrases that the recognizer is sure to understand. */
  readonly phrases?: readonly [string, string]
  /** Silence that ends an utterance, in 20 ms frames; 100 (2 s) by default. */
  readonly pauseFrames?: number
  /** Time to let pass after each frame; none by default. Recognizers that live in real time want 20 ms. */
  readonly pace?: Effect.Effect<void>
}

/** What every recognizer must do. */
export const speechToTextChecks = (options: SpeechToTextCheckOptions): ReadonlyArray<Check> => {
  const tools = bench(SpeechToText, options)
  const { check, eventually, fault, quiet, within } = tools
  const [first, second] = options.phrases ?? ["hello world", "good bye"]
  const pace = options.pace ?? Effect.yieldNow()

  const raw = (service: Service, sampleRate: number, onEvent: (event: SpeechEvent) => void) =>
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
        raw(service, sampleRate, (event) => events.push(event))
      )
      return { session, events }
    })
  type Listening = Effect.Effect.Success<ReturnType<typeof open>>
  const listen = (service: Service, sampleRate = service.capabilities.sampleRates[0] ?? 8000) =>
    noError("open")(open(service, sampleRate))

  const feed = ({ session }: Listening, frames: ReadonlyArray<Int16Array>) =>
    Effect.forEach(
      frames,
      (frame) =>
        Effect.zipLeft(
          mustNotThrow("push", () => session.push(frame.slice())),
          pace
        ),
      { discard: true }
    )
  const rateOf = (service: Service) => service.capabilities.sampleRates[0] ?? 8000
  const pause = (sampleRate: number) =>
    Array.from({ length: options.pauseFrames ?? 100 }, () => new Int16Array(sampleRate / 50))
  const finals = ({ events }: Listening) =>
    words(events.flatMap((event) => (event._tag === "Final" ? [event.text] : [])).join(" "))
  const finish = ({ session }: Listening) => within("finish", session.finish)
  const failures = ({ events }: Listening) => events.filter(({ _tag }) => _tag === "Failed").length

  /** What a session may do when its peer breaks: say so once and then nothing, or go on hearing. */
  const survives = (service: Service) =>
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
      yield* must(count <= 1, `it told ${count} failures`)
      if (count === 1) {
        return yield* must(listening.events.at(-1)?._tag === "Failed", "it told something after Failed")
      }
      yield* must(finals(listening).includes(words(first)), "it neither told Failed nor heard the words")
    })

  return [
    check("declares languages and sample rates", (service) =>
      Effect.gen(function* () {
        yield* must(service.capabilities.languages.length > 0, "it declares no language")
        yield* must(service.capabilities.sampleRates.length > 0, "it declares no sample rate")
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("hears at every sample rate that it declares", (service) =>
      Effect.forEach(service.capabilities.sampleRates, (rate) =>
        Effect.gen(function* () {
          const listening = yield* listen(service, rate)
          yield* feed(listening, yield* options.speak(first, rate))
          yield* feed(listening, pause(rate))
          yield* eventually(`"${first}" at ${rate} Hz`, () => finals(listening).includes(words(first)))
        }).pipe(Effect.scoped)
      )
    ),
    check("tells what was said in order, each utterance once", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const rate = rateOf(service)
        for (const phrase of [first, second]) {
          yield* feed(listening, yield* options.speak(phrase, rate))
          yield* feed(listening, pause(rate))
        }
        yield* eventually(`"${second}"`, () => finals(listening).includes(words(second)))
        yield* finish(listening)
        const heard = finals(listening)
        yield* must(heard === `${words(first)} ${words(second)}`, `it heard "${heard}"`)
        for (const event of listening.events) {
          if (event._tag !== "Final") continue
          yield* must(event.confidence >= 0 && event.confidence <= 1, `a confidence is ${event.confidence}`)
        }
      })
    ),
    check("gives the last words before finish completes", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* finish(listening)
        const [heard, count] = [finals(listening), listening.events.length]
        yield* must(heard.includes(words(first)), `when finish completed it had heard "${heard}"`)
        yield* quiet
        yield* must(listening.events.length === count, "it told something after finish had completed")
      })
    ),
    check("tells the end of a turn after its words, if and only if it says that it does", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        yield* feed(listening, yield* options.speak(first, rateOf(service)))
        yield* feed(listening, pause(rateOf(service)))
        yield* eventually(`"${first}"`, () => finals(listening).includes(words(first)))
        const ends = () => listening.events.findIndex(({ _tag }) => _tag === "EndOfTurn")
        if (service.capabilities.endpointing === "none") {
          yield* quiet
          return yield* must(ends() < 0, "it told the end of a turn, but declares no endpointing")
        }
        yield* eventually("the end of the turn", () => ends() >= 0)
        yield* must(
          listening.events.findIndex(({ _tag }) => _tag === "Final") < ends(),
          "the end of the turn came before its words"
        )
      })
    ),
    check("does not keep the frames that it is given", (service) =>
      Effect.gen(function* () {
        const listening = yield* listen(service)
        const rate = rateOf(service)
        const shared = new Int16Array(rate / 50)
        for (const frame of [...(yield* options.speak(first, rate)), ...pause(rate)]) {
          shared.set(frame)
          yield* mustNotThrow("push", () => listening.session.push(shared))
          shared.fill(0x55)
          yield* pace
        }
        yield* eventually(`"${first}"`, () => finals(listening).includes(words(first)))
      })
    ),
    check("takes every frame without throwing, also empty, odd and late ones", (service) =>
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
    check("tells nothing after its scope is closed", (service) =>
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
        yield* must(listening.events.length === count, "it told something after its scope was closed")
      })
    ),
    check("keeps sessions apart", (service) =>
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
        yield* must(heard === `${words(first)} | ${words(second)}`, `two sessions heard "${heard}"`)
      })
    ),
    check("leaves nothing behind after many sessions", (service) =>
      leavesNothing(
        tools,
        options,
        Effect.scoped(
          Effect.flatMap(listen(service), (listening) =>
            mustNotThrow("push", () => listening.session.push(new Int16Array(rateOf(service) / 50)))
          )
        )
      )
    ),
    ...fault(options.faults?.refuses, "peer refuses: says so with a typed error", (service) =>
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
    ...fault(options.faults?.hangs, "peer hangs: opening and finishing can be interrupted", (service) =>
      Effect.gen(function* () {
        // Uninterrupted until now, wherever it hangs: in open or in finish.
        const fiber = yield* raw(service, rateOf(service), () => {}).pipe(
          Effect.flatMap((session) => session.finish),
          Effect.scoped,
          Effect.forkDaemon
        )
        yield* quiet
        yield* stops(tools, fiber, () => 0)
      })
    ),
    ...fault(options.faults?.closesEarly, "peer closes early: tells Failed once, or goes on hearing", survives),
    ...fault(options.faults?.sendsGarbage, "peer sends garbage: tells Failed once, or goes on hearing", survives)
  ]
}
