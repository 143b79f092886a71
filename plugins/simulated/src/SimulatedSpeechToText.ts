import { healthy } from "@svc/providers/Health"
import { type SpeechEvent, SpeechToText, SpeechToTextError } from "@svc/providers/SpeechToText"
import { Effect, Layer } from "effect"
import { CallRequests } from "./CallRequests.ts"
import { languages } from "./Languages.ts"
import { type Outcome, ToneDecoder } from "./ToneSpeech/ToneDecoder.ts"
import { sampleRates } from "./ToneSpeech/ToneFrames.ts"

/** The confidence of an utterance by its outcome. */
const confidence: { readonly [K in Outcome]: number } = { ok: 1, cut: 0.7, bad: 0.5 }

/**
 * Transcribes tone speech in any supported language. `SpeechStarted` comes with the first symbol, a `Partial` with the
 * first character and with every complete word, `Final` and `EndOfTurn` at the end of the utterance, or 200 ms after it
 * stopped early. Speech without a recognized character ends without further events.
 */
export const SimulatedSpeechToText: Layer.Layer<SpeechToText, never, CallRequests> = Layer.effect(
  SpeechToText,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    return {
      id: "simulated",
      capabilities: { languages, endpointing: "provider", sampleRates, keyterms: true },
      health: Effect.succeed(healthy),
      open: Effect.fn("SimulatedSpeechToText.open")(function* (options) {
        requests.record(options.callId, {
          stt: { language: options.language, format: options.format, keyterms: options.keyterms }
        })
        if (!languages.includes(options.language)) {
          const reason = `the language "${options.language}" is not supported`
          return yield* new SpeechToTextError({ reason, retryable: false })
        }
        if (!sampleRates.includes(options.sampleRate)) {
          return yield* new SpeechToTextError({ reason: `${options.sampleRate} Hz is not supported`, retryable: false })
        }
        let open = true
        yield* Effect.addFinalizer(() => Effect.sync(() => (open = false)))
        const emit = (event: SpeechEvent): void => {
          if (open) options.onEvent(event)
        }
        const decoder = new ToneDecoder({
          started: () => emit({ _tag: "SpeechStarted" }),
          progressed: (text) => emit({ _tag: "Partial", text }),
          ended: (text, outcome) => {
            if (text.trim() === "") return
            emit({ _tag: "Final", text, confidence: confidence[outcome] })
            emit({ _tag: "EndOfTurn" })
          }
        })
        const step = options.sampleRate / 8000
        const frameLength = options.sampleRate / 50
        return {
          push: (frame) => {
            if (!open) return
            for (let offset = 0; offset + frameLength <= frame.length; offset += frameLength) {
              decoder.push(frame, offset, step)
            }
          },
          finish: Effect.sync(() => {
            decoder.cut()
            open = false
          })
        }
      })
    }
  })
)
