import type * as Plugin from "@svc/providers/Plugin"
import { type SpeechEvent, SpeechToText, type SpeechToTextOptions } from "@svc/providers/SpeechToText"
import { TextToSpeech } from "@svc/providers/TextToSpeech"
import { type EmulatedBehaviour, type EmulatedServer, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { type HostDouble, makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import plugin from "../src/Deepgram.ts"
import { framesOf } from "../src/testing/Ear.ts"
import { type EmulatedDeepgramOptions, emulatedDeepgram } from "../src/testing/EmulatedDeepgram.ts"

export const apiKey = "dg-secret-0123456789"

export const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(1), { until: condition })

export type Settings = Readonly<Record<string, string>>

/** What the plugin provides with these settings. */
export const provided = (settings: Settings, { host }: HostDouble): Effect.Effect<Plugin.Capabilities> =>
  Effect.orDie(Effect.map(Schema.decodeUnknown(plugin.config)(settings), (decoded) => plugin.provides(decoded, host)))

export interface Setup {
  readonly server: EmulatedServer
  readonly double: HostDouble
  readonly speechToText: typeof SpeechToText.Service
  readonly textToSpeech: typeof TextToSpeech.Service
}

/** A server, and the plugin there. */
export const setUpAt = (
  behaviour: EmulatedBehaviour,
  settings: Settings = {}
): Effect.Effect<Setup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(behaviour)
    const double = yield* makeHostDouble()
    const { speechToText, textToSpeech } = yield* provided({ apiKey, url: server.origin, ...settings }, double)
    const none = Layer.die("it does not provide the capability")
    const context = yield* Effect.orDie(Layer.build(Layer.merge(speechToText ?? none, textToSpeech ?? none)))
    return {
      server,
      double,
      speechToText: Context.get(context, SpeechToText),
      textToSpeech: Context.get(context, TextToSpeech)
    }
  })

export const setUp = (options: Partial<EmulatedDeepgramOptions> = {}, settings: Settings = {}) =>
  setUpAt(emulatedDeepgram({ key: apiKey, ...options }), settings)

/** A session, and what it emitted. */
export const listen = ({ speechToText }: Setup, more: Partial<SpeechToTextOptions> = {}) =>
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
    return {
      session,
      events,
      say: (text: string) => {
        session.voiceActivity?.(true)
        for (const frame of framesOf(text, sampleRate)) session.push(frame)
        session.voiceActivity?.(false)
      },
      pause: (ms: number) => {
        for (let at = 0; at < ms; at += 20) session.push(new Int16Array(sampleRate / 50))
      },
      tags: () => events.map(({ _tag }) => _tag),
      finals: () => events.flatMap((event) => (event._tag === "Final" ? [event.text] : []))
    }
  })

/** The query of the last WebSocket that was asked for. */
export const queryOf = ({ server }: Setup) => Object.fromEntries(server.peers.at(-1)?.request.query ?? [])

/** The messages of the client on the last WebSocket that are no audio. */
export const messagesOf = ({ server }: Setup): ReadonlyArray<unknown> =>
  (server.peers.at(-1)?.received ?? []).flatMap((message) => (typeof message === "string" ? [JSON.parse(message)] : []))
