import { type SpeechEvent, SpeechToText, type SpeechToTextOptions } from "@svc/providers/SpeechToText"
import { type EmulatedServer, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Context, Effect, Layer, type Scope } from "effect"
import { type EmulatedRealtimeOptions, emulatedRealtime } from "../src/testing/EmulatedRealtime.ts"
import { spelledFrames } from "../src/testing/SpelledEar.ts"
import { apiKey, provided } from "./Provided.ts"

export const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(1), { until: condition })

/** A server with transcription sessions, and the plugin there. */
export interface RealtimeSetup {
  readonly server: EmulatedServer
  readonly double: HostDouble
  readonly speechToText: typeof SpeechToText.Service
}

export const streaming = { sttModel: "gpt-live-transcribe", sttStreaming: "true" }

export const setUp = (
  options: Partial<EmulatedRealtimeOptions> = {},
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<RealtimeSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(emulatedRealtime({ key: apiKey, ...options }))
    const double = yield* makeHostDouble()
    const capabilities = yield* provided({ baseUrl: `${server.origin}/v1`, apiKey, ...streaming, ...settings }, double)
    const context = yield* Effect.orDie(Layer.build(capabilities.speechToText ?? Layer.die("it hears nothing")))
    return { server, double, speechToText: Context.get(context, SpeechToText) }
  })

/** A session, and what it emitted. */
export const listen = (
  { speechToText }: { readonly speechToText: Pick<typeof SpeechToText.Service, "open"> },
  more: Partial<SpeechToTextOptions> = {}
) =>
  Effect.gen(function* () {
    const events: Array<SpeechEvent> = []
    const sampleRate = more.sampleRate ?? 8000
    const session = yield* speechToText.open({
      callId: "call_1",
      language: "en-US",
      sampleRate,
      format: "smart",
      keyterms: [],
      onEvent: (event) => void events.push(event),
      ...more
    })
    const push = (text: string) => {
      for (const frame of spelledFrames(text, sampleRate)) session.push(frame)
    }
    return {
      session,
      events,
      push,
      /** A stretch of speech, after which the caller is silent. */
      say: (text: string) => {
        session.voiceActivity?.(true)
        push(text)
        session.voiceActivity?.(false)
      },
      pause: (ms: number) => {
        for (let at = 0; at < ms; at += 20) session.push(new Int16Array(sampleRate / 50))
      },
      tags: () => events.map(({ _tag }) => _tag),
      finals: () => events.flatMap((event) => (event._tag === "Final" ? [event.text] : [])),
      partials: () => events.flatMap((event) => (event._tag === "Partial" ? [event.text] : []))
    }
  })

interface Sent {
  readonly type: string
  readonly audio?: string
  readonly [field: string]: unknown
}

/** What the client has sent on the n-th WebSocket, from 0 on; the last one by default. */
export const sentOn = ({ server }: Pick<RealtimeSetup, "server">, nth = -1): ReadonlyArray<Sent> =>
  (server.peers.at(nth)?.received ?? []).map((message): Sent => JSON.parse(String(message)))

/** What the client has sent on the last WebSocket, without audio. */
export const messagesOf = (at: RealtimeSetup): ReadonlyArray<Sent> =>
  sentOn(at).filter(({ type }) => type !== "input_audio_buffer.append")

/** The configurations of the last WebSocket. */
export const inputsOf = (at: RealtimeSetup): ReadonlyArray<unknown> =>
  messagesOf(at).flatMap(({ session }) => (session === undefined ? [] : [Object(session).audio.input]))
