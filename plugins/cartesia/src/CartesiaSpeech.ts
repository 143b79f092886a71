import * as CallConnections from "@svc/providers/CallConnections"
import { contextTurn } from "@svc/providers/ContextTurn"
import type { Host } from "@svc/providers/Host"
import { languageCode } from "@svc/providers/PlatformLanguages"
import { TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import type { VendorServer } from "@svc/providers/VendorServer"
import { type Context, Duration, Effect, type Scope } from "effect"
import { open } from "./CallConnection.ts"
import type { Voices } from "./CartesiaVoices.ts"
import { isOlder, languagesOf } from "./ModelLanguages.ts"
import type * as Message from "./SpeechMessage.ts"
import { turnContexts } from "./TurnContexts.ts"

/** In Hz, of PCM16. */
const sampleRates: ReadonlyArray<number> = [8000, 16_000, 22_050, 24_000]
/** The vendor limits open connections, to ten for each turn that may be spoken at the same time. */
const idle = Duration.seconds(30)
/** The vendor's range of speeds. */
const slowest = 0.6
const fastest = 1.5
const speedOf = (model: string, speed: number): Pick<Message.Generation, "generation_config" | "speed"> => {
  if (speed === 1) return {}
  if (isOlder(model)) return speed < 0.9 ? { speed: "slow" } : speed > 1.1 ? { speed: "fast" } : {}
  return { generation_config: { speed: Math.min(fastest, Math.max(slowest, speed)) } }
}

/** Text-to-speech with a context for each turn, or some where the model pauses. */
export const make = (options: {
  readonly server: VendorServer
  readonly model: string
  readonly voices: Voices
  readonly host: Host
}): Effect.Effect<Context.Tag.Service<TextToSpeech>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { host, model, server, voices } = options
    const sent = host.metrics.counter("characters", {
      description: "Characters that were sent to be spoken: what Cartesia charges for"
    })
    const opened = host.metrics.counter("connections", { description: "WebSockets that were opened" })
    const waits = host.metrics.counter("rate_limit_waits", {
      description: "Connections that were opened after the time that the server asked for"
    })
    const connections = yield* CallConnections.make({
      idle,
      nameOf: (callId: string) => callId,
      open: (callId, retire) =>
        Effect.tap(open(server, callId, { retire, retryWait: () => waits.add() }), () =>
          Effect.sync(() => opened.add())
        )
    })
    const languages = languagesOf(model)

    const refuse = (reason: string) => new TextToSpeechError({ reason, retryable: false })
    return TextToSpeech.of({
      id: "cartesia",
      get voices() {
        return voices.list()
      },
      sampleRates,
      cacheKey: ({ voice }) => {
        const id = voices.find(voice)
        return id === undefined ? undefined : JSON.stringify([model, id])
      },
      health: voices.health,
      open: (request) => {
        const { callId, language, sampleRate, speed } = request
        const id = voices.find(request.voice)
        if (id === undefined) return refuse(`there is no voice "${request.voice}"`)
        if (!languages.includes(language)) {
          return refuse(`the model "${model}" does not speak the language "${language}"`)
        }
        if (!sampleRates.includes(sampleRate)) return refuse(`${sampleRate} Hz is not supported`)
        const generation: Message.Generation = {
          model_id: model,
          voice: { mode: "id", id },
          language: languageCode(language),
          output_format: { container: "raw", encoding: "pcm_s16le", sample_rate: sampleRate },
          add_timestamps: true,
          use_normalized_timestamps: false,
          max_buffer_delay_ms: 0,
          ...speedOf(model, speed)
        }
        return contextTurn(request, (audio) =>
          Effect.flatMap(connections.acquire(callId), (connection) =>
            turnContexts({ connection, audio, generation, onSent: (characters) => sent.add(characters) })
          )
        )
      }
    })
  })
