import type { Capabilities, PluginError } from "@svc/providers/Plugin"
import { type EmulatedBehaviour, type EmulatedPeer, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { speechToTextSuite } from "@svc/providers/testing/SpeechToTextSuite"
import { textToSpeechSuite } from "@svc/providers/testing/TextToSpeechSuite"
import { Effect, Layer } from "effect"
import { framesOf } from "../src/testing/Ear.ts"
import { after, emulatedDeepgram, heardIn } from "../src/testing/EmulatedDeepgram.ts"
import { apiKey, provided, type Settings } from "./Provided.ts"

let open = () => 0

/** The plugin at a server of its own. */
const capabilities = (behaviour: EmulatedBehaviour, settings: Settings) =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(behaviour)
    open = server.openPeers
    return yield* provided({ apiKey, url: server.origin, ...settings }, yield* makeHostDouble())
  })
/** A capability of the plugin at a server of its own. */
const at = <I>(
  pick: (capabilities: Capabilities) => Layer.Layer<I, PluginError> | undefined,
  behaviour: EmulatedBehaviour,
  settings: Settings = {}
) =>
  Layer.unwrapScoped(
    Effect.map(capabilities(behaviour, settings), (all) => pick(all) ?? Layer.die("it does not provide the capability"))
  )
const speechToText = (settings: Settings) => (behaviour: EmulatedBehaviour) =>
  at((all) => all.speechToText, behaviour, settings)
const textToSpeech = (behaviour: EmulatedBehaviour) => at((all) => all.textToSpeech, behaviour)

const works = () => emulatedDeepgram({ key: apiKey })
const refuses = () => emulatedDeepgram({ key: apiKey, refuse: () => ({ status: 500, body: "no" }) })
const hangs = () => emulatedDeepgram({ key: apiKey, refuse: () => "hang" })
const neverAnswers = () => emulatedDeepgram({ key: apiKey, fault: () => Effect.never })
/** Does something else after so many messages of the client. */
const breaks = (messages: number, breakIt: (peer: EmulatedPeer) => void) =>
  emulatedDeepgram({
    key: apiKey,
    fault: (_, peer, work) =>
      after(
        messages,
        peer,
        work,
        Effect.sync(() => breakIt(peer))
      )
  })
const closesEarly = (messages: number) => breaks(messages, (peer) => peer.close(1011, "NET-0000"))
const sendsGarbage = (messages: number) => breaks(messages, (peer) => peer.send("<html>"))

for (const [model, hanging] of [
  ["nova-3", hangs()],
  ["flux-general-en", neverAnswers()]
] as const) {
  const layer = speechToText({ model })
  speechToTextSuite({
    name: `speech-to-text by ${model}`,
    layer: layer(works()),
    speak: (text, sampleRate) => Effect.sync(() => framesOf(text, sampleRate)),
    phrases: ["hello world", "good bye"],
    pauseFrames: 40,
    sessions: 200,
    openAtPeer: Effect.sync(() => open()),
    faults: {
      refuses: layer(refuses()),
      hangs: layer(hanging),
      closesEarly: layer(closesEarly(5)),
      sendsGarbage: layer(sendsGarbage(5))
    }
  })
}

textToSpeechSuite({
  name: "text-to-speech by Aura-2",
  layer: textToSpeech(works()),
  hear: (samples, sampleRate) => Effect.sync(() => heardIn(samples, sampleRate)),
  sessions: 200,
  openAtPeer: Effect.sync(() => open()),
  faults: {
    refuses: textToSpeech(refuses()),
    hangs: textToSpeech(neverAnswers()),
    closesEarly: textToSpeech(closesEarly(1)),
    sendsGarbage: textToSpeech(sendsGarbage(1))
  }
})
