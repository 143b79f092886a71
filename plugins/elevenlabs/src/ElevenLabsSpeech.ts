import * as CallConnections from "@svc/providers/CallConnections"
import { contextTurn, type SpeechContext } from "@svc/providers/ContextTurn"
import { mulawToPcm } from "@svc/providers/G711"
import type { Host } from "@svc/providers/Host"
import { pcm16Reader, type StreamedAudio } from "@svc/providers/StreamedAudio"
import { type SpeechRequest, TextToSpeech, TextToSpeechError } from "@svc/providers/TextToSpeech"
import type { VendorServer } from "@svc/providers/VendorServer"
import { type Context, Duration, Effect, type Scope } from "effect"
import { CharacterPositions } from "./CharacterPositions.ts"
import type { AccountVoice, VoiceSettings, Voices } from "./ElevenLabsVoices.ts"
import { languagesOf } from "./ModelLanguages.ts"
import { type ConnectionKey, open, sampleRates, type VoiceConnection } from "./VoiceConnection.ts"

/** Longer than most callers speak; idle connections cost nothing. */
const idle = Duration.minutes(2)
/** The vendor's range of speeds. */
const slowest = 0.7
const fastest = 1.2

/** The settings of a voice at another speed than its own; undefined: the server's. */
const settingsAt = (speed: number, settings: VoiceSettings | undefined): VoiceSettings | undefined =>
  speed === 1 ? undefined : { ...settings, speed: Math.min(fastest, Math.max(slowest, (settings?.speed ?? 1) * speed)) }

const readMulaw = (bytes: Buffer): Int16Array => {
  const samples = new Int16Array(bytes.length)
  mulawToPcm(bytes, 0, bytes.length, samples, 0)
  return samples
}

/** Text-to-speech with one context for each turn. */
export const make = (options: {
  readonly server: VendorServer
  readonly model: string
  readonly voices: Voices
  readonly host: Host
}): Effect.Effect<Context.Tag.Service<TextToSpeech>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { host, model, server, voices } = options
    const sent = host.metrics.counter("characters", {
      description: "Characters that were sent to be spoken: what ElevenLabs charges for"
    })
    const opened = host.metrics.counter("connections", { description: "WebSockets that were opened" })
    const waits = host.metrics.counter("rate_limit_waits", {
      description: "Connections that were opened after the time that the server asked for"
    })
    const connections = yield* CallConnections.make({
      idle,
      nameOf: ({ callId, language, sampleRate, voiceId }: ConnectionKey) =>
        [callId, voiceId, language, sampleRate].join(" "),
      open: (key, retire) =>
        Effect.tap(open(server, model, key, { retire, retryWait: () => waits.add() }), () =>
          Effect.sync(() => opened.add())
        )
    })
    const languages = languagesOf(model)

    /** A turn as a context of a connection. */
    const contextOf: (
      connection: VoiceConnection,
      audio: StreamedAudio,
      request: SpeechRequest,
      voice: AccountVoice
    ) => Effect.Effect<SpeechContext, Effect.Effect.Error<ReturnType<VoiceConnection["begin"]>>, Scope.Scope> =
      Effect.fnUntraced(function* (connection, audio, { sampleRate, speed }, { settings }) {
        const positions = new CharacterPositions(sampleRate)
        const decode = sampleRate === 8000 ? readMulaw : pcm16Reader()
        const context = yield* connection.begin({
          settings: settingsAt(speed, settings),
          onMessage: ({ audio: bytes, timed }) => {
            const samples = decode(bytes)
            const before = audio.pushed()
            audio.push(samples)
            if (timed !== undefined) positions.place(timed, before, samples.length, audio.align)
          }
        })
        return {
          say: (text) => {
            positions.append(text)
            // The vendor wants a space after each piece, and ours may begin with one.
            const piece = text.toWellFormed().trim()
            if (piece === "") return
            sent.add(piece.length + 1)
            context.say(`${piece} `)
          },
          end: context.end,
          finished: context.finished
        }
      })

    const refuse = (reason: string) => new TextToSpeechError({ reason, retryable: false })
    return TextToSpeech.of({
      id: "elevenlabs",
      get voices() {
        return voices.list()
      },
      sampleRates,
      cacheKey: ({ voice }) => {
        const known = voices.find(voice)
        return known === undefined ? undefined : JSON.stringify([model, known.id, known.settings ?? null])
      },
      health: voices.health,
      open: (request) => {
        const { callId, language, sampleRate } = request
        const voice = voices.find(request.voice)
        if (voice === undefined) return refuse(`there is no voice "${request.voice}"`)
        if (languages !== "*" && !languages.includes(language)) {
          return refuse(`the model "${model}" does not speak the language "${language}"`)
        }
        if (!sampleRates.includes(sampleRate)) return refuse(`${sampleRate} Hz is not supported`)
        const key = { callId, voiceId: voice.id, language, sampleRate }
        return contextTurn(request, (audio) =>
          Effect.flatMap(connections.acquire(key), (connection) => contextOf(connection, audio, request, voice))
        )
      }
    })
  })
