import type { Telephony } from "@svc/providers/Telephony"
import { embeddingSuite } from "@svc/providers/testing/EmbeddingSuite"
import { languageModelSuite } from "@svc/providers/testing/LanguageModelSuite"
import type { ConnectPhone, PhoneCall } from "@svc/providers/testing/Phone"
import { speechToTextSuite } from "@svc/providers/testing/SpeechToTextSuite"
import { telephonySuite } from "@svc/providers/testing/TelephonySuite"
import { textToSpeechSuite } from "@svc/providers/testing/TextToSpeechSuite"
import { Effect, Layer } from "effect"
import { CallRequests } from "../src/CallRequests.ts"
import { CarrierRecords } from "../src/Carrier/CarrierRecords.ts"
import { HashedEmbedding } from "../src/HashedEmbedding.ts"
import { NetworkClock } from "../src/Network/NetworkClock.ts"
import { CallRealism } from "../src/Realism/CallRealism.ts"
import { ScriptedModel } from "../src/ScriptedModel.ts"
import { SimulatedSpeechToText } from "../src/SimulatedSpeechToText.ts"
import { SimulatedTelephony } from "../src/SimulatedTelephony.ts"
import { SimulatedTextToSpeech } from "../src/SimulatedTextToSpeech.ts"
import { FakeSocket, routeRequest } from "./FakeSocket.ts"
import { at8kHz, framesOf, hear, toneFrames } from "./Tones.ts"

const states = {
  ringing: "ringing",
  incoming: "ringing",
  answered: "answered",
  rejected: "rejected",
  hangup: "ended"
} as const

const socketOn = ({ routes }: typeof Telephony.Service): FakeSocket => {
  const socket = new FakeSocket()
  for (const route of routes) if (route._tag === "WebSocket") route.accept(socket, routeRequest)
  return socket
}

const phoneOf = (socket: FakeSocket): PhoneCall => {
  const state = () =>
    socket.received.reduce<"dialling" | (typeof states)[keyof typeof states]>(
      (before, { event }) =>
        event === "ringing" ||
        event === "incoming" ||
        event === "answered" ||
        event === "rejected" ||
        event === "hangup"
          ? states[event]
          : before,
      "dialling"
    )
  return {
    state,
    send: (frame) =>
      Effect.sync(() => socket.sends({ event: "media", payload: Buffer.from(frame).toString("base64") })),
    heard: () =>
      Uint8Array.from(
        socket.received.flatMap((message) =>
          message.event === "media" ? [...Buffer.from(message.payload, "base64")] : []
        )
      ),
    hangup: Effect.sync(() => socket.sends({ event: "hangup" })),
    drop: Effect.sync(() => socket.disconnects()),
    press: (digits) => Effect.sync(() => socket.sends({ event: "dtmf", digits })),
    digits: () => socket.received.flatMap((message) => (message.event === "dtmf" ? [message.digits] : [])).join(""),
    garbage: Effect.sync(() => {
      socket.sendsRaw("not even JSON")
      socket.sendsRaw('{"event":"media","payload":"*"}')
      socket.sendsRaw(new Uint8Array([0xff, 0x00, 0xfe]))
    })
  }
}

const behaviours = { answers: "answer", busy: "busy", declines: "reject", rings: "no-answer" } as const
let callablePhones = 0

const connectPhone: ConnectPhone = (telephony) => {
  const sockets: Array<FakeSocket> = []
  return Effect.succeed({
    messages: () => sockets.flatMap(({ received }) => received.flatMap((one) => (one.event === "sms" ? [one] : []))),
    dial: ({ from, to }) =>
      Effect.gen(function* () {
        const socket = socketOn(telephony)
        sockets.push(socket)
        yield* Effect.addFinalizer(() => Effect.sync(() => socket.disconnects()))
        socket.sends({ event: "dial", from, to, audio: true })
        return phoneOf(socket)
      }),
    other: (behaves) =>
      Effect.gen(function* () {
        const socket = socketOn(telephony)
        yield* Effect.addFinalizer(() => Effect.sync(() => socket.disconnects()))
        const number = `+1202555${1000 + ++callablePhones}`
        socket.sends({ event: "register", numbers: [number], behaviour: behaviours[behaves], audio: true })
        return { number, call: phoneOf(socket) }
      })
  })
}

telephonySuite({
  name: "the simulated network",
  time: "virtual",
  layer: Layer.provide(SimulatedTelephony, [
    CallRealism.layer,
    CallRequests.layer,
    NetworkClock.layer,
    CarrierRecords.layerOf({ owned: ["+31207654321"] })
  ]),
  phone: connectPhone,
  refusesSms: "+12025550000",
  forSale: { country: "NL", type: "mobile", refused: "+12125559999" }
})

speechToTextSuite({
  name: "simulated speech-to-text",
  time: "virtual",
  layer: Layer.provide(SimulatedSpeechToText, [CallRealism.layer, CallRequests.layer]),
  speak: (text, sampleRate) => Effect.sync(() => toneFrames(text, sampleRate)),
  pauseFrames: 10
})

textToSpeechSuite({
  name: "simulated text-to-speech",
  time: "virtual",
  layer: Layer.provide(SimulatedTextToSpeech, [CallRealism.layer, CallRequests.layer]),
  hear: (samples, sampleRate) =>
    Effect.sync(() =>
      hear(framesOf(at8kHz(samples, sampleRate)))
        .ended.map(({ text }) => text)
        .join(" ")
    )
})

const script = JSON.stringify({
  rules: [
    {
      user: "book",
      say: "One moment",
      tools: [
        { tool: "find", arguments: { day: "Monday" } },
        { tool: "book", arguments: { at: 10 } }
      ]
    }
  ],
  otherwise: "One two three four five six seven eight",
  first_token_ms: 20,
  tokens_per_second: 50
})
const system = { role: "system", content: `\`\`\`script\n${script}\n\`\`\`` } as const

languageModelSuite({
  name: "the scripted model",
  time: "virtual",
  layer: Layer.provide(ScriptedModel, CallRealism.layer),
  text: {
    prompt: { messages: [system, { role: "user", content: "Count" }] },
    says: "One two three four five six seven eight"
  },
  tools: {
    prompt: { messages: [system, { role: "user", content: "Please book" }] },
    calls: [
      { name: "find", arguments: { day: "Monday" } },
      { name: "book", arguments: { at: 10 } }
    ]
  }
})

embeddingSuite({ name: "the simulated embedding", time: "virtual", layer: HashedEmbedding })

embeddingSuite({
  name: "the simulated embedding of German",
  time: "virtual",
  layer: HashedEmbedding,
  near: ["Kündigungsfristen für Verträge", "Die Frist zur Kuendigung des Vertrags", "Der Hund schläft im Garten"]
})
