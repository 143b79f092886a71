import { healthy } from "@svc/providers/Health"
import { type SpeechEvent, SpeechToText, type SpeechToTextChange, SpeechToTextError } from "@svc/providers/SpeechToText"
import { Effect, FiberSet, Layer } from "effect"
import { CallRequests } from "./CallRequests.ts"
import { languages } from "./Languages.ts"
import { CallRealism } from "./Realism/CallRealism.ts"
import { TranscriptEvents } from "./Realism/TranscriptEvents.ts"
import { ToneDecoder } from "./ToneSpeech/ToneDecoder.ts"
import { sampleRates } from "./ToneSpeech/ToneFrames.ts"

/**
 * Transcribes tone speech in any supported language. `SpeechStarted` comes with the first symbol, a `Partial` with the
 * first character and with every complete word, `Final` and `EndOfTurn` at the end of the utterance, or 200 ms after it
 * stopped early. Speech without a recognized character ends without further events. The realism of the call changes all
 * this; see {@link TranscriptEvents}.
 */
export const SimulatedSpeechToText: Layer.Layer<SpeechToText, never, CallRealism | CallRequests> = Layer.effect(
  SpeechToText,
  Effect.gen(function* () {
    const requests = yield* CallRequests
    const calls = yield* CallRealism
    return {
      id: "simulated",
      capabilities: { languages, endpointing: "provider", sampleRates, keyterms: true },
      health: Effect.succeed(healthy),
      open: Effect.fnUntraced(function* (options) {
        const { callId, sampleRate } = options
        const record = ({ keyterms = options.keyterms, language = options.language }: SpeechToTextChange) =>
          requests.record(callId, { stt: { language, format: options.format, keyterms } })
        record({})
        if (!languages.includes(options.language)) {
          const reason = `the language "${options.language}" is not supported`
          return yield* new SpeechToTextError({ reason, retryable: false })
        }
        if (!sampleRates.includes(sampleRate)) {
          return yield* new SpeechToTextError({ reason: `${sampleRate} Hz is not supported`, retryable: false })
        }
        const realism = () => calls.of(callId).stt ?? {}
        const run = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        let open = true
        yield* Effect.addFinalizer(() => Effect.sync(() => (open = false)))
        const emit = (event: SpeechEvent): void => {
          if (open) options.onEvent(event)
        }
        const events = new TranscriptEvents({
          realism,
          emit,
          after: (ms, callback) => void run(Effect.zipRight(Effect.sleep(ms), Effect.sync(callback))),
          countFinal: () => (realism().miss_final === undefined ? 0 : calls.count(callId, "final")),
          random: calls.random(callId, "final")
        })
        const decoder = new ToneDecoder(events)
        const step = sampleRate / 8000
        const frameLength = sampleRate / 50
        let heard = 0
        const breaks = (): void => {
          const { fail_every_s } = realism()
          if (!open || fail_every_s === undefined || heard < fail_every_s * sampleRate) return
          const reason = `the connection broke after ${fail_every_s} s of audio`
          emit({ _tag: "Failed", error: new SpeechToTextError({ reason, retryable: true }) })
          open = false
        }
        return {
          endpointing: realism().endpointing ?? "provider",
          push: (frame) => {
            for (let offset = 0; open && offset + frameLength <= frame.length; offset += frameLength) {
              decoder.push(frame, offset, step)
              events.heard(20)
              heard += frameLength
              breaks()
            }
          },
          flush: () => {
            if (open) events.flush(() => decoder.cut())
          },
          // Tone speech is the same in all languages.
          update: (change) => {
            if (!open || change.endpointingMs !== undefined) return false
            if (change.language !== undefined && !languages.includes(change.language)) return false
            record(change)
            return true
          },
          finish: Effect.sync(() => {
            events.flush(() => decoder.cut())
            open = false
          })
        }
      })
    }
  })
)
