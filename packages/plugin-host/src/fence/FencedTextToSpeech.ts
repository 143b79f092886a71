import { type AudioSink, type TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import { type Context, Effect } from "effect"
import { fencedRequest } from "./FencedRequest.ts"
import { makeCircuit } from "./ProviderCircuit.ts"
import { alignment, problemOf, samples } from "./Shapes.ts"

type Service = Context.Tag.Service<TextToSpeech>

/** Milliseconds that may pass without a write while the sink has room. */
export const speechIdleMs = 10_000

/**
 * A fenced text-to-speech provider: idle timeouts, throws, defects and invalid audio become `TextToSpeechError`,
 * failures open a circuit breaker, and nothing is written after its request has ended or was interrupted. Time in which the sink is
 * full does not count as idle.
 */
export const fencedTextToSpeech = Effect.fnUntraced(function* (speech: Service) {
  const circuit = yield* makeCircuit
  const failed = (reason: string) => new TextToSpeechError({ reason: `${speech.id}: ${reason}`, retryable: true })

  const synthesize: Service["synthesize"] = (request) =>
    fencedRequest(circuit, failed, { ms: speechIdleMs, reason: "wrote no audio" }, (state) => {
      const { sink } = request
      const fenced: AudioSink = {
        write: (written) => {
          // "Full" also stops a provider that continues to write after its interruption.
          if (!state.live) return false
          const problem = problemOf(samples, written)
          if (problem !== undefined) {
            state.abort(`wrote something invalid: ${problem}`)
            return false
          }
          const hasRoom = sink.write(written)
          state.lastActivity = hasRoom ? circuit.now() : null
          return hasRoom
        },
        align: (characters) => {
          if (!state.live) return
          const problem = problemOf(alignment, characters)
          if (problem === undefined) sink.align(characters)
          else state.abort(`reported something invalid: ${problem}`)
        },
        drained: Effect.suspend(() => (state.live ? sink.drained : Effect.never)).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              state.lastActivity = circuit.now()
            })
          )
        )
      }
      return speech.synthesize({ ...request, sink: fenced })
    })

  return {
    id: speech.id,
    voices: speech.voices,
    sampleRates: speech.sampleRates,
    health: circuit.health(Effect.suspend(() => speech.health)),
    synthesize
  } satisfies Service
})
