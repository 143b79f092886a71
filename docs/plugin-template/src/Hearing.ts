import { healthy } from "@svc/providers/Health"
import * as Plugin from "@svc/providers/Plugin"
import { bySegments, type SpeechSegment, type Transcript } from "@svc/providers/SpeechSegments"
import { SpeechToText, SpeechToTextError } from "@svc/providers/SpeechToText"
import { Effect, Layer, Redacted, Schema } from "effect"

/** Settings: `SVC_HEARING_URL`, `SVC_HEARING_API_KEY`. */
const Settings = Schema.Struct({
  url: Schema.String,
  apiKey: Schema.Redacted(Schema.NonEmptyString)
})

/** What the vendor answers. */
const Answer = Schema.Struct({ text: Schema.String, confidence: Schema.optional(Schema.Number) })

/** How long the vendor may take for one stretch of speech: the caller waits for it. */
const deadline = "5 seconds"

/** `retryable`: another request may succeed. The server then opens another session, and in the end uses the next plugin. */
const failed = (reason: string, retryable = true) => new SpeechToTextError({ reason: `hearing: ${reason}`, retryable })

/**
 * Sends a finished stretch of speech, which the server's voice activity has cut, as `POST <url>?language=…&rate=…` with 16-bit
 * samples, least significant byte first.
 */
const transcribe =
  ({ apiKey, url }: typeof Settings.Type) =>
  ({ options: { language, sampleRate }, samples }: SpeechSegment): Effect.Effect<Transcript, SpeechToTextError> =>
    Effect.gen(function* () {
      const response = yield* Effect.tryPromise({
        // The signal ends the request when the call ends.
        try: (signal) =>
          fetch(`${url}?language=${encodeURIComponent(language)}&rate=${sampleRate}`, {
            method: "POST",
            signal,
            headers: {
              authorization: `Bearer ${Redacted.value(apiKey)}`,
              "content-type": "application/octet-stream"
            },
            body: new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength).slice()
          }),
        catch: (cause) => failed(String(cause))
      })
      if (!response.ok) {
        // Its body is not used; without this the connection stays busy.
        yield* Effect.promise(() => response.body?.cancel() ?? Promise.resolve())
        return yield* failed(`the vendor answered ${response.status}`, response.status >= 500)
      }
      const body = yield* Effect.tryPromise({
        try: (): Promise<unknown> => response.json(),
        catch: (cause) => failed(String(cause))
      })
      const { confidence = 1, text } = yield* Schema.decodeUnknown(Answer)(body).pipe(
        Effect.mapError(() => failed("the vendor's answer has no text"))
      )
      return { text, confidence: Math.min(1, Math.max(0, confidence)) }
    }).pipe(Effect.timeoutFail({ duration: deadline, onTimeout: () => failed(`no answer within ${deadline}`) }))

export const layer = (settings: typeof Settings.Type): Layer.Layer<SpeechToText> =>
  Layer.succeed(SpeechToText, {
    id: "hearing",
    capabilities: {
      // BCP-47.
      languages: ["en-US", "de-DE"],
      // The server detects the end of a turn. "provider": this plugin emits EndOfTurn.
      endpointing: "none",
      sampleRates: [16_000],
      keyterms: false
    },
    health: Effect.succeed(healthy),
    open: bySegments(transcribe(settings))
  })

export default Plugin.make({
  name: "hearing",
  apiVersion: "^2.0.0",
  config: Settings,
  provides: (settings) => ({ speechToText: layer(settings) })
})
