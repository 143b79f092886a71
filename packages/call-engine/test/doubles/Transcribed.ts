import { codecOf } from "@svc/audio/Codec"
import { type AudioFormat, frameSamples } from "@svc/providers/Audio"
import type { SpeechToText } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"

/** What the frames say, by the simulated recognizer. */
export const transcribed = (
  recognizer: Context.Tag.Service<SpeechToText>,
  format: AudioFormat,
  frames: ReadonlyArray<Uint8Array>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const texts: Array<string> = []
    const session = yield* recognizer.open({
      callId: "caller",
      language: "en-US",
      sampleRate: format.sampleRate,
      format: "raw",
      keyterms: [],
      onEvent: (event) => void (event._tag === "Final" && texts.push(event.text))
    })
    const pcm = new Int16Array(frameSamples(format))
    for (const frame of frames) {
      codecOf(format).decode(frame, 0, pcm.length, pcm, 0)
      session.push(pcm)
    }
    yield* session.finish
    return texts
  }).pipe(Effect.scoped, Effect.orDie)
