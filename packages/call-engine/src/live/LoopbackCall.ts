import { EnergyVoice } from "@svc/audio/EnergyDetector"
import { mulaw8k } from "@svc/providers/Audio"
import { Providers } from "@svc/providers/Providers"
import { Data, Deferred, Effect } from "effect"
import { CallMedia } from "../media/CallMedia.ts"
import { Ticker } from "../media/Ticker.ts"
import * as Ears from "../session/Recognition.ts"
import * as Speaker from "../session/SpeechOutput.ts"

/** What the agent says to itself. */
const text = "Testing, one two three."
const patience = "20 seconds"

/** The loopback call failed; `reason` is one plain sentence. */
export class LoopbackFailed extends Data.TaggedError("LoopbackFailed")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/**
 * A call of the agent with itself, through the whole media path: the preferred voice speaks, its frames are paced,
 * encoded, sent, come back, are decoded, and go to the preferred recognizer. Gives what was heard.
 */
export const loopbackCall: Effect.Effect<
  { readonly said: string; readonly heard: string },
  LoopbackFailed,
  Providers | Ticker
> = Effect.scoped(
  Effect.gen(function* () {
    const { speechToText, textToSpeech } = yield* Providers
    const ticker = yield* Ticker
    const [recognizer] = speechToText
    const [synthesizer] = textToSpeech
    if (recognizer === undefined || synthesizer === undefined) {
      return yield* new LoopbackFailed({ reason: "there is no plugin for speech" })
    }
    const heard = yield* Deferred.make<string, LoopbackFailed>()
    const fail = (reason: string): void => Deferred.unsafeDone(heard, new LoopbackFailed({ reason }))
    const ears = yield* Ears.make({
      callId: "loopback",
      recognizers: [recognizer],
      sampleRate: mulaw8k.sampleRate,
      onEvent: (event) => {
        if (event._tag === "Final") Deferred.unsafeDone(heard, Effect.succeed(event.text))
      },
      onFailed: (reason) => fail(`the recognizer failed: ${reason}`),
      onFinished: () => {}
    })
    const silence = new Uint8Array(160).fill(0xff)
    const media: CallMedia = new CallMedia({
      format: mulaw8k,
      wheel: ticker.wheel,
      now: ticker.now,
      send: (frame) => media.receive(frame),
      detector: new EnergyVoice(),
      listener: {
        onFrame: ears.hear,
        onVoice: () => {},
        onStarted: () => {},
        // Half a second of silence, so that a recognizer notices the end.
        onPlayed: () => {
          for (let i = 0; i < 25; i++) media.receive(silence)
        }
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => media.stop()))
    const voice = synthesizer.voices.find((v) => v.languages === "*" || v.languages.includes("en-US"))
    const speaker = yield* Speaker.make({
      callId: "loopback",
      media,
      sampleRate: mulaw8k.sampleRate,
      voiceFor: (command) => ({ synthesizer, voice: command.voice }),
      onFailed: (_, reason) => fail(`the voice failed: ${reason}`),
      now: ticker.now
    })
    ears.listen({ language: "en-US", format: "smart", keyterms: [] })
    speaker.speak({ _tag: "Speak", id: "loopback", text, voice: voice?.name ?? "Sarah", language: "en-US" })
    return { said: text, heard: yield* Deferred.await(heard) }
  })
).pipe(
  Effect.timeoutFail({
    duration: patience,
    onTimeout: () => new LoopbackFailed({ reason: `nothing was heard within ${patience}` })
  })
)
