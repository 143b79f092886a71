import type { EmulatedPeer } from "@svc/providers/testing/EmulatedServer"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { speechToTextSuite } from "@svc/providers/testing/SpeechToTextSuite"
import { Effect, Layer } from "effect"
import { type EmulatedRealtimeOptions, emulatedRealtime } from "../src/testing/EmulatedRealtime.ts"
import { spelledFrames } from "../src/testing/SpelledEar.ts"
import { apiKey, provided } from "./Provided.ts"

let open = () => 0

/** The plugin at a server of its own. */
const layerOf = (model: string) => (options: Partial<EmulatedRealtimeOptions>) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const server = yield* emulatedServer(emulatedRealtime({ key: apiKey, ...options }))
      open = server.openPeers
      const settings = { baseUrl: `${server.origin}/v1`, apiKey, sttModel: model, sttStreaming: "true" }
      const { speechToText } = yield* provided(settings, yield* makeHostDouble())
      return speechToText ?? Layer.die("it provides no speech-to-text")
    })
  )

/** Does something else after so many messages of the client. */
const breaks = (messages: number, breakIt: (peer: EmulatedPeer) => void): Partial<EmulatedRealtimeOptions> => ({
  fault: (_, peer, work) =>
    Effect.raceFirst(
      work,
      Effect.zipRight(
        Effect.repeat(Effect.sleep(1), { until: () => peer.received.length >= messages }),
        Effect.sync(() => breakIt(peer))
      )
    )
})

for (const [model, streams] of [
  ["gpt-live-transcribe", true],
  ["gpt-4o-mini-transcribe", false]
] as const) {
  const layer = layerOf(model)
  speechToTextSuite({
    name: `streaming speech-to-text by ${model}`,
    layer: layer({ streams }),
    speak: (text, sampleRate) => Effect.sync(() => spelledFrames(text, sampleRate)),
    phrases: ["hello world", "good bye"],
    pauseFrames: 30,
    sessions: streams ? 100 : 20,
    openAtPeer: Effect.sync(() => open()),
    faults: {
      refuses: layer({ refuse: () => ({ status: 500, body: "no" }) }),
      hangs: layer({ fault: () => Effect.never }),
      closesEarly: layer(breaks(5, (peer) => peer.close(1011, "gone"))),
      sendsGarbage: layer(breaks(5, (peer) => peer.send("<html>")))
    }
  })
}
