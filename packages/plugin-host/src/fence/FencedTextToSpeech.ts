import { type AudioSink, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { idleTimeout } from "./IdleTimeout.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { makeCircuit, throughCircuit } from "./ProviderCircuit.ts"

type Service = Context.Tag.Service<TextToSpeech>

/** Milliseconds that may pass without a write while the sink has room. */
export const speechIdleMs = 10_000

/**
 * A fenced text-to-speech provider: idle timeouts, throws and defects become `TextToSpeechError`, failures open a
 * circuit breaker, and nothing is written after its request has ended or was interrupted. Time in which the sink is
 * full does not count as idle.
 */
export const fencedTextToSpeech = Effect.fnUntraced(function* (speech: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new TextToSpeechError({ reason: `${speech.id}: ${reason}`, retryable: true })

  const synthesize: Service["synthesize"] = (request) =>
    Effect.suspend(() => {
      let live = true
      let lastActivity = circuit.now()
      let full = false
      const { sink } = request
      const guarded: AudioSink = {
        write: (samples) => {
          // "Full" also stops a provider that continues to write after its interruption.
          if (!live) return false
          lastActivity = circuit.now()
          full = !sink.write(samples)
          return !full
        },
        align: (characters) => {
          if (live) sink.align(characters)
        },
        drained: Effect.suspend(() => (live ? sink.drained : Effect.never)).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              lastActivity = circuit.now()
              full = false
            })
          )
        )
      }
      return runIsolated(() => speech.synthesize({ ...request, sink: guarded }), failed).pipe(
        Effect.raceFirst(
          idleTimeout(
            () => (full ? null : lastActivity),
            speechIdleMs,
            () => failed(`wrote no audio for ${speechIdleMs / 1000} s`)
          )
        ),
        Effect.onExit(() =>
          Effect.sync(() => {
            live = false
          })
        ),
        throughCircuit(circuit, failed)
      )
    })

  return {
    id: speech.id,
    voices: speech.voices,
    sampleRates: speech.sampleRates,
    health: circuit.health(Effect.suspend(() => speech.health)),
    synthesize
  } satisfies Service
})
