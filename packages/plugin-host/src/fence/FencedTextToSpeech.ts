import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { type AudioSink, type SpeechTurn, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { Context, Deferred, Effect, FiberId, Scope } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import { type RequestState, startRequest } from "./FencedRequest.ts"
import { makeCircuit, type ProviderCircuit } from "./ProviderCircuit.ts"
import { problemOf } from "./Shapes.ts"
import { alignment, samples, speechTurn } from "./SpeechShapes.ts"

type Service = Context.Tag.Service<TextToSpeech>

/** Milliseconds that may pass without a write while there is text to speak and the sink has room. */
export const speechIdleMs = 10_000

/** The sink that the provider gets: checks what is written, and drops it once the turn is over. */
const fencedSink = (sink: AudioSink, state: RequestState, circuit: ProviderCircuit, isWaiting: () => boolean) => {
  let isFull = false
  const active = () => {
    state.lastActivity = isFull || isWaiting() ? null : circuit.now()
  }
  const fenced: AudioSink = {
    write: (written) => {
      // "Full" also stops a provider that continues to write after its turn was cancelled.
      if (!state.live) return false
      const problem = problemOf(samples, written)
      if (problem !== undefined) {
        state.abort(`wrote something invalid: ${problem}`)
        return false
      }
      isFull = !sink.write(written)
      active()
      return !isFull
    },
    align: (characters, atSample) => {
      if (!state.live) return
      const problem = problemOf(alignment, characters) ?? problemOf(alignment, atSample)
      if (problem === undefined) sink.align(characters, atSample)
      else state.abort(`reported something invalid: ${problem}`)
    },
    drained: Effect.suspend(() => (state.live ? sink.drained : Effect.never)).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          isFull = false
          active()
        })
      )
    )
  }
  return { sink: fenced, active }
}

/**
 * A fenced text-to-speech provider: idle timeouts, throws, defects and invalid audio become `TextToSpeechError`,
 * failures open a circuit breaker, and nothing is written after its turn has ended or was cancelled. A turn is open at once;
 * what is said before the provider has opened its own waits. Time in which the sink is full, or in which a turn that was
 * not ended has spoken since the last text, does not count as idle.
 */
export const fencedTextToSpeech = Effect.fnUntraced(function* (speech: Service) {
  const circuit = yield* makeCircuit("text_to_speech")
  const timeout = yield* SharedTimeout.make(speechIdleMs)
  const failed = (reason: string) => new TextToSpeechError({ reason: `${speech.id}: ${reason}`, retryable: true })

  const open: Service["open"] = (request) =>
    Effect.flatMap(Effect.runtime<Scope.Scope>(), (runtime) => {
      const waiting: Array<string> = []
      let turn: SpeechTurn | undefined
      let state: RequestState | undefined
      let isEnded = false
      /** Nothing was written since the last text was said. */
      let isOwing = false
      let said = () => {}
      const use = (run: (turn: SpeechTurn) => void) => {
        if (turn === undefined || state?.live !== true) return
        try {
          run(turn)
        } catch (defect) {
          state.abort(`crashed: ${errorSummary(defect)}`)
        }
      }
      const work = (running: RequestState) =>
        Effect.suspend(() => {
          state = running
          const { active, sink } = fencedSink(
            {
              ...request.sink,
              write: (written) => {
                isOwing = false
                return request.sink.write(written)
              }
            },
            running,
            circuit,
            () => !isEnded && !isOwing
          )
          said = active
          active()
          return Effect.flatMap(speech.open({ ...request, sink }), (opened) => {
            const problem = problemOf(speechTurn, opened)
            if (problem !== undefined) return failed(`opened something invalid: ${problem}`)
            turn = opened
            for (const text of waiting.splice(0)) use((opened) => opened.say(text))
            if (isEnded) use((opened) => opened.end())
            return opened.done
          })
        }).pipe(Effect.scoped)
      const done = Deferred.unsafeMake<void, TextToSpeechError>(FiberId.none)
      const giveUp = startRequest(circuit, failed, { timeout, reason: "wrote no audio" }, work, runtime, (exit) =>
        Deferred.unsafeDone(done, exit)
      )
      const fenced: SpeechTurn = {
        say: (text) => {
          if (isEnded) return
          isOwing = true
          said()
          if (turn === undefined) waiting.push(text)
          else use((opened) => opened.say(text))
        },
        end: () => {
          if (isEnded) return
          isEnded = true
          said()
          use((opened) => opened.end())
        },
        done: Deferred.await(done)
      }
      return Effect.as(Scope.addFinalizer(Context.get(runtime.context, Scope.Scope), Effect.sync(giveUp)), fenced)
    }).pipe(Effect.uninterruptible)

  /** Those of the provider when it throws, or names others. */
  const sampleRatesFor: NonNullable<Service["sampleRatesFor"]> = (turn) => {
    try {
      const rates = speech.sampleRatesFor?.(turn).filter((rate) => speech.sampleRates.includes(rate)) ?? []
      return rates.length === 0 ? speech.sampleRates : rates
    } catch {
      // The turn itself shows what is wrong with the provider.
      return speech.sampleRates
    }
  }

  /** Nothing is kept of a provider that throws, or names something else than a text. */
  const cacheKey: NonNullable<Service["cacheKey"]> = (turn) => {
    try {
      const key: unknown = speech.cacheKey?.(turn)
      return typeof key === "string" ? key : undefined
    } catch {
      return undefined
    }
  }

  return {
    id: speech.id,
    get voices() {
      return speech.voices
    },
    sampleRates: speech.sampleRates,
    ...(speech.sampleRatesFor && { sampleRatesFor }),
    ...(speech.cacheKey && { cacheKey }),
    health: circuit.health(Effect.suspend(() => speech.health)),
    open
  } satisfies Service
})
