import type { Host } from "@svc/providers/Host"
import { platformLanguages } from "@svc/providers/PlatformLanguages"
import { SpeechToText, SpeechToTextError } from "@svc/providers/SpeechToText"
import { type Context, Duration, Effect } from "effect"
import type { ModelList } from "./ModelList.ts"
import type { OpenAiClient } from "./OpenAiClient.ts"
import type { RealtimeServer } from "./Realtime/RealtimeConnection.ts"
import { initialDialect, mulawRate, pcmRate, takesKeyterms } from "./Realtime/RealtimeRequest.ts"
import * as RealtimeSession from "./Realtime/RealtimeSession.ts"

/** The server ends a session after 60 minutes (developers.openai.com/api/docs/guides/realtime-conversations). */
const renewAfter = Duration.minutes(55)
const sampleRates: ReadonlyArray<number> = [mulawRate, pcmRate]

/** Speech-to-text by transcription sessions of the Realtime API (`/realtime`): words come while the caller speaks. */
export const make = (options: {
  readonly client: OpenAiClient
  readonly list: ModelList
  readonly model: string
  readonly host: Host
}): Effect.Effect<Context.Tag.Service<SpeechToText>> =>
  Effect.sync(() => {
    const { client, host, list, model } = options
    const server: RealtimeServer = { client, host, model, renewAfter, dialect: initialDialect }
    return SpeechToText.of({
      id: "openai",
      capabilities: { languages: platformLanguages, endpointing: "none", sampleRates, keyterms: takesKeyterms(model) },
      health: list.health,
      open: (asked) =>
        sampleRates.includes(asked.sampleRate)
          ? RealtimeSession.open(server, asked)
          : new SpeechToTextError({ reason: `${asked.sampleRate} Hz is not supported`, retryable: false })
    })
  })
