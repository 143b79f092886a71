import { type AudioSink, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { apart } from "./Apart.ts"
import { makeCircuit } from "./Circuit.ts"
import { fencedCall } from "./FencedCall.ts"
import { watch } from "./Watch.ts"

type Service = Context.Tag.Service<TextToSpeech>

/** How long a synthesizer may go without writing, while there is room, in milliseconds. */
export const speechIdleMs = 10_000

/**
 * A synthesizer behind a fence: silence beyond the deadline, throws and defects become `TextToSpeechError`; failures open a
 * circuit breaker; nothing is written after the end or the interruption of its request. Time spent waiting for room is not
 * counted against it.
 */
export const fencedTextToSpeech = Effect.fnUntraced(function* (speech: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new TextToSpeechError({ reason: `${speech.id}: ${reason}`, retryable: true })

  const synthesize: Service["synthesize"] = (request) =>
    Effect.suspend(() => {
      let live = true
      let seen = circuit.now()
      let full = false
      const { sink } = request
      const guarded: AudioSink = {
        write: (samples) => {
          // "Full" also stops one that goes on writing after it was interrupted.
          if (!live) return false
          seen = circuit.now()
          full = !sink.write(samples)
          return !full
        },
        align: (characters) => {
          if (live) sink.align(characters)
        },
        drained: Effect.suspend(() => (live ? sink.drained : Effect.never)).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              seen = circuit.now()
              full = false
            })
          )
        )
      }
      return apart(() => speech.synthesize({ ...request, sink: guarded }), failed).pipe(
        Effect.raceFirst(
          watch(
            () => (full ? null : seen),
            speechIdleMs,
            () => failed(`wrote nothing for ${speechIdleMs / 1000} s`)
          )
        ),
        Effect.onExit(() =>
          Effect.sync(() => {
            live = false
          })
        ),
        fencedCall(circuit, failed)
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
