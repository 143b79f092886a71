import { mulaw8k } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import { Data, Deferred, Effect } from "effect"
import { CallMedia } from "../media/CallMedia.ts"
import { Ticker } from "../media/Ticker.ts"
import * as Recognition from "../session/Recognition.ts"
import * as SpeechOutput from "../session/SpeechOutput.ts"

/** The text that is spoken and must be recognized. */
const text = "Testing, one two three."
const timeout = "20 seconds"

/** The loopback call failed; `reason` is one plain sentence. */
export class LoopbackFailed extends Data.TaggedError("LoopbackFailed")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/**
 * Tests the media path end to end without a network: text-to-speech speaks, its frames are paced, encoded, looped back
 * and decoded, and speech-to-text transcribes them. Returns the spoken text and its transcript.
 */
export const loopbackCall: Effect.Effect<
  { readonly said: string; readonly heard: string },
  LoopbackFailed,
  Providers | Ticker
> = Effect.scoped(
  Effect.gen(function* () {
    const { speechToText, textToSpeech } = yield* Providers
    const ticker = yield* Ticker
    const [stt] = speechToText
    const [tts] = textToSpeech
    if (stt === undefined || tts === undefined) {
      return yield* new LoopbackFailed({ reason: "there is no plugin for speech" })
    }
    const heard = yield* Deferred.make<string, LoopbackFailed>()
    const fail = (reason: string): void => Deferred.unsafeDone(heard, new LoopbackFailed({ reason }))
    const recognition = yield* Recognition.make({
      callId: "loopback",
      providers: [stt],
      format: mulaw8k,
      now: ticker.now,
      onEvent: (event) => {
        if (event._tag === "Final") Deferred.unsafeDone(heard, Effect.succeed(event.text))
      },
      onOpened: () => {},
      onFailed: (reason) => fail(`speech-to-text failed: ${reason}`),
      onFinished: () => {}
    })
    const silence = new Uint8Array(160).fill(0xff)
    const media: CallMedia = new CallMedia({
      format: mulaw8k,
      wheel: ticker.wheel,
      now: ticker.now,
      send: (frame) => media.receive(frame),
      // Only the transcript counts.
      detector: { push: () => "silence" },
      listener: {
        onFrame: recognition.push,
        onCleanFrame: () => {},
        onVoiceActivity: () => {},
        onStarted: () => {},
        // Half a second of silence, so that speech-to-text detects the end.
        onPlayed: () => {
          for (let i = 0; i < 25; i++) media.receive(silence)
        }
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => media.stop()))
    const voice = tts.voices.find((v) => v.languages === "*" || v.languages.includes("en-US"))
    const speech = yield* SpeechOutput.make({
      callId: "loopback",
      media,
      sampleRate: mulaw8k.sampleRate,
      chooseVoice: (command) => ({ provider: tts, voice: command.voice }),
      onFailed: (_, reason) => fail(`the voice failed: ${reason}`),
      now: ticker.now
    })
    recognition.listen({ language: "en-US", format: "smart", keyterms: [] })
    speech.speak({ _tag: "Speak", id: "loopback", text, voice: voice?.name ?? "Sarah", language: "en-US" })
    return { said: text, heard: yield* Deferred.await(heard) }
  })
).pipe(
  Effect.timeoutFail({
    duration: timeout,
    onTimeout: () => new LoopbackFailed({ reason: `nothing was heard within ${timeout}` })
  })
)
