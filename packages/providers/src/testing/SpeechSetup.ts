import { Effect, Layer, Schema, type Scope } from "effect"
import type { Plugin } from "../Plugin.ts"
import { speakText } from "../SpeechTurn.ts"
import { type SpeechRequest, TextToSpeech } from "../TextToSpeech.ts"
import type { EmulatedServer } from "./EmulatedServer.ts"
import { type HostDouble, makeHostDouble } from "./HostDouble.ts"

/** A sink that is never full, and what was written and aligned. */
export interface SpeechRecording {
  readonly sink: SpeechRequest["sink"]
  readonly samples: () => Int16Array
  readonly aligned: ReadonlyArray<readonly [characters: number, atSample: number]>
}

export const recording = (): SpeechRecording => {
  const chunks: Array<Int16Array> = []
  const aligned: Array<readonly [characters: number, atSample: number]> = []
  return {
    sink: {
      write: (samples) => chunks.push(samples.slice()) > 0,
      align: (characters, atSample) => void aligned.push([characters, atSample]),
      drained: Effect.void
    },
    samples: () => Int16Array.from(chunks.flatMap((chunk) => [...chunk])),
    aligned
  }
}

/** A plugin of a vendor and the emulated server that it speaks with. */
export interface SpeechSetup {
  readonly server: EmulatedServer
  readonly double: HostDouble
  readonly speech: typeof TextToSpeech.Service
  /** A turn of one call: `Sarah` in English at 8 kHz, unless `more` says something else. */
  readonly request: (to: SpeechRecording, more?: Partial<SpeechRequest>) => SpeechRequest
  /** Speaks a text as a whole turn. */
  readonly speak: (
    text: string,
    more?: Partial<SpeechRequest>
  ) => Effect.Effect<SpeechRecording, { readonly reason: string; readonly retryable: boolean }>
}

/** The text-to-speech of a plugin with these settings. */
export const textToSpeechOf = (
  plugin: Plugin,
  settings: Readonly<Record<string, string>>,
  { host }: HostDouble
): Layer.Layer<TextToSpeech> =>
  Layer.unwrapEffect(
    Effect.orDie(
      Effect.map(
        Schema.decodeUnknown(plugin.config)(settings),
        (decoded) => plugin.provides(decoded, host).textToSpeech ?? Layer.die("it provides no text-to-speech")
      )
    )
  ).pipe(Layer.orDie)

export const speechSetup = (
  plugin: Plugin,
  settings: Readonly<Record<string, string>>,
  server: EmulatedServer
): Effect.Effect<SpeechSetup, never, Scope.Scope> =>
  Effect.gen(function* () {
    const double = yield* makeHostDouble()
    const context = yield* Layer.build(textToSpeechOf(plugin, settings, double))
    const speech = yield* Effect.provide(TextToSpeech, context)
    let turns = 0
    const request: SpeechSetup["request"] = ({ sink }, more) => ({
      callId: "call_1",
      turn: `turn_${++turns}`,
      voice: "Sarah",
      language: "en-US",
      sampleRate: 8000,
      speed: 1,
      sink,
      ...more
    })
    return {
      server,
      double,
      speech,
      request,
      speak: (text, more) =>
        Effect.suspend(() => {
          const to = recording()
          return Effect.as(speakText(speech, { ...request(to, more), text }), to)
        })
    }
  })

/** How tests get the plugin of a vendor with an emulated server; `Behaviour`: what that server is made with. */
export interface VendorSpeech<Behaviour extends ReadonlyArray<unknown>> {
  /** The plugin with a server of its own. */
  readonly speechOf: (...behaviour: Behaviour) => Layer.Layer<TextToSpeech>
  /** The plugin and a server of its own. */
  readonly setUp: (...behaviour: Behaviour) => Effect.Effect<SpeechSetup, never, Scope.Scope>
  /** The plugin at a server. */
  readonly setUpAt: (
    server: EmulatedServer,
    settings?: Readonly<Record<string, string>>
  ) => Effect.Effect<SpeechSetup, never, Scope.Scope>
}

export const vendorSpeech = <Behaviour extends ReadonlyArray<unknown>>(given: {
  readonly plugin: Plugin
  readonly apiKey: string
  readonly vendorServer: (...behaviour: Behaviour) => Effect.Effect<EmulatedServer, never, Scope.Scope>
}): VendorSpeech<Behaviour> => {
  const { apiKey, plugin, vendorServer } = given
  const setUpAt: VendorSpeech<Behaviour>["setUpAt"] = (server, settings = {}) =>
    speechSetup(plugin, { apiKey, url: server.origin, ...settings }, server)
  return {
    speechOf: (...behaviour) =>
      Layer.unwrapScoped(
        Effect.gen(function* () {
          const { origin } = yield* vendorServer(...behaviour)
          return textToSpeechOf(plugin, { apiKey, url: origin }, yield* makeHostDouble())
        })
      ),
    setUp: (...behaviour) => Effect.flatMap(vendorServer(...behaviour), (server) => setUpAt(server)),
    setUpAt
  }
}
