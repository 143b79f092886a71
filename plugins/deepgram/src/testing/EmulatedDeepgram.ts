import type { EmulatedBehaviour, EmulatedPeer, Refusal } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { type Ear, framesOf, levelEar } from "./Ear.ts"
import { listenV1, listenV2 } from "./EmulatedListen.ts"

/** What the audio of the emulated voices says; an emulated recognizer hears it as well. */
export const heardIn = (samples: Int16Array, sampleRate: number): string => {
  const ear = levelEar()
  const length = sampleRate / 50
  for (let from = 0; from < samples.length; from += length) ear.push(samples.subarray(from, from + length))
  return ear.text()
}

/** The voice of {@link heardIn}. */
const levelVoice = (text: string, sampleRate: number): Int16Array =>
  Int16Array.from(framesOf(text, sampleRate).flatMap((frame) => [...frame]))

/** `/v1/speak`: speaks its buffer at a `Flush`, in pieces of odd lengths with a pause after each. */
const speakV1 = (peer: EmulatedPeer, voice: typeof levelVoice, pauseMs: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const sampleRate = Number(peer.request.query.get("sample_rate"))
    let [text, sequence] = ["", 0]
    peer.send({ type: "Metadata", request_id: "0", model_name: peer.request.query.get("model"), model_version: "1" })
    while (true) {
      const next = yield* peer.next
      if (next === null) return
      const { text: said, type } = Object(JSON.parse(String(next)))
      if (type === "Speak") text += said
      else if (type === "Flush") {
        const samples = voice(text, sampleRate)
        const bytes = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
        text = ""
        for (let from = 0; from < bytes.length; from += 9601) {
          peer.send(bytes.subarray(from, from + 9601))
          yield* Effect.sleep(pauseMs)
        }
        peer.send({ type: "Flushed", sequence_id: sequence++ })
      } else if (type === "Close") return peer.close(1000)
      else return peer.close(1008, "DATA-0000")
    }
  })

const models = {
  stt: [
    { name: "general", canonical_name: "nova-3-general", architecture: "nova-3", languages: ["en"], streaming: true }
  ],
  tts: [
    ["zeus", "en", "masculine"],
    ["thalia", "en", "feminine"],
    ["viktoria", "de", "feminine"],
    ["lara", "de", "feminine"],
    ["ama", "ja", "feminine"]
  ].map(([name, language, tag]) => ({
    name,
    canonical_name: `aura-2-${name}-${language}`,
    architecture: "aura-2",
    languages: [language],
    metadata: { tags: [tag, "American"] }
  }))
}

export interface EmulatedDeepgramOptions {
  readonly key: string
  /** How audio is heard; by default as frames of `framesOf`. */
  readonly ear?: () => Ear
  /** PCM16 that speaks a text; by default what {@link heardIn} hears. */
  readonly voice?: (text: string, sampleRate: number) => Int16Array
  /** After 9,600 bytes of speech, in milliseconds: 600 is as fast as people speak at 8 kHz; 1 by default. */
  readonly pauseMs?: number
  /** What happens to the n-th WebSocket, from 1 on, in place of an answer. */
  readonly refuse?: (nth: number) => Refusal | "hang" | undefined
  /** What the server does on the n-th WebSocket; `work` is what it should do. */
  readonly fault?: (nth: number, peer: EmulatedPeer, work: Effect.Effect<void>) => Effect.Effect<void>
}

/** Works until the client has sent so many messages, and then does something else. */
export const after = (
  messages: number,
  peer: EmulatedPeer,
  work: Effect.Effect<void>,
  then: Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.raceFirst(
    work,
    Effect.zipRight(Effect.repeat(Effect.sleep(1), { until: () => peer.received.length >= messages }), then)
  )

const invalid = JSON.stringify({ err_code: "INVALID_AUTH", err_msg: "Invalid credentials.", request_id: "0" })

/** The endpoints of Deepgram that the plugin uses, as its documents describe them. */
export const emulatedDeepgram = (options: EmulatedDeepgramOptions): EmulatedBehaviour => {
  const { key } = options
  const isAllowed = (authorization: string | undefined) => authorization === `Token ${key}`
  let [asked, opened] = [0, 0]
  return {
    request: ({ headers, path }, response) => {
      const isKnown = path === "/v1/auth/token" || path === "/v1/models"
      const status = !isAllowed(headers.authorization) ? 401 : isKnown ? 200 : 404
      const body = path === "/v1/models" ? JSON.stringify(models) : JSON.stringify({ scopes: ["usage:write"] })
      response.writeHead(status, { "content-type": "application/json" }).end(status === 401 ? invalid : body)
    },
    upgrade: ({ headers, path }) => {
      if (!isAllowed(headers.authorization)) return { status: 401, body: invalid }
      if (!["/v1/listen", "/v2/listen", "/v1/speak"].includes(path)) return { status: 404 }
      return options.refuse?.(++asked) ?? "accept"
    },
    connection: (peer) => {
      const { path } = peer.request
      const work =
        path === "/v1/speak"
          ? speakV1(peer, options.voice ?? levelVoice, options.pauseMs ?? 1)
          : (path === "/v2/listen" ? listenV2 : listenV1)(peer, (options.ear ?? levelEar)())
      return options.fault?.(++opened, peer, work) ?? work
    }
  }
}
