import { pcmToMulaw } from "@svc/providers/G711"
import {
  type EmulatedBehaviour,
  type EmulatedPeer,
  type EmulatedRequest,
  type EmulatedServer,
  emulatedServer
} from "@svc/providers/testing/EmulatedServer"
import { characterMs, spelledMulaw, spelledPcm } from "@svc/providers/testing/SpelledSound"
import { Duration, Effect, Fiber, type Scope } from "effect"

export const apiKey = "sk_test_0123456789abcdef"
/** The vendor's default voice of this name. */
export const sarahId = "EXAVITQu4vr4xnSDxMaL"

/** Characters of a message of audio. */
const characterCount = 7
/** The vendor's limit for one connection. */
const mostContexts = 5

/** Sound that spells a text in a format of the vendor. */
const soundOf = (text: string, format: string): Buffer => {
  const rate = Number(format.split("_")[1])
  return Buffer.from(format.startsWith("ulaw") ? spelledMulaw(text, rate) : spelledPcm(text, rate))
}

/** One message of audio, with the times of its characters from its own beginning. */
export const audioMessage = (contextId: string, text: string, format: string) =>
  message(contextId, text, soundOf(text, format), characterMs)

const message = (contextId: string, text: string, audio: Buffer, msOfCharacter: number) => {
  const listed = {
    chars: [...text],
    charStartTimesMs: [...text].map((_, n) => Math.round(n * msOfCharacter)),
    charDurationsMs: [...text].map(() => Math.round(msOfCharacter))
  }
  return {
    audio: audio.toString("base64"),
    isFinal: null,
    contextId,
    alignment: listed,
    normalizedAlignment: listed
  }
}

const partsOf = (text: string): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / characterCount) }, (_, n) =>
    text.slice(n * characterCount, (n + 1) * characterCount)
  )

/** An error as the vendor sends it before it closes the connection. */
export const refuse = (peer: EmulatedPeer, error: string, message: string): void => {
  peer.send({ message, error, code: 1008 })
  peer.close(1008, message.slice(0, 100))
}

/** Misbehaviour of a context, by what it is asked to speak. */
export interface Faults {
  /** Before the audio of a text; interrupts it when it completes with false. */
  readonly before?: (peer: EmulatedPeer, contextId: string, text: string) => Effect.Effect<boolean>
  /** Milliseconds before the first audio of a text, and between messages. */
  readonly pauseMs?: number
  /** PCM16 that speaks a text, in place of sound that spells it. */
  readonly voice?: (text: string, sampleRate: number) => Int16Array
}

/** The messages of a text spoken by a voice, each with as much of the sound as it has of the characters. */
const spokenBy = (contextId: string, text: string, format: string, voice: NonNullable<Faults["voice"]>) => {
  const rate = Number(format.split("_")[1])
  const samples = voice(text, rate)
  const isMulaw = format.startsWith("ulaw")
  const bytes = isMulaw ? Buffer.alloc(samples.length) : Buffer.from(samples.buffer, samples.byteOffset)
  if (isMulaw) pcmToMulaw(samples, 0, samples.length, bytes, 0)
  const sampleBytes = isMulaw ? 1 : 2
  const at = (characters: number) => sampleBytes * Math.round((samples.length * characters) / text.length)
  const msOfCharacter = (samples.length / text.length / rate) * 1000
  return partsOf(text).map((part, n) => {
    const from = n * characterCount
    return message(contextId, part, bytes.subarray(at(from), at(from + part.length)), msOfCharacter)
  })
}

interface Open {
  text: string
  isFlushed: boolean
  isClosing: boolean
  speaking: Fiber.RuntimeFiber<void> | undefined
}

/** Speaks by the documented protocol of `multi-stream-input`, with `auto_mode`. */
export const speaks =
  ({ before = () => Effect.succeed(true), pauseMs = 1, voice }: Faults = {}) =>
  (peer: EmulatedPeer): Effect.Effect<void> =>
    Effect.gen(function* () {
      const format = peer.request.query.get("output_format") ?? ""
      const contexts = new Map<string, Open>()
      const final = (id: string) => {
        contexts.delete(id)
        peer.send({ isFinal: true, contextId: id })
      }
      const speak = (id: string, context: Open): Effect.Effect<void> =>
        Effect.gen(function* () {
          while (context.text !== "") {
            const text = context.text
            context.text = ""
            if (!(yield* before(peer, id, text))) return yield* Effect.never
            const messages =
              voice === undefined
                ? partsOf(text).map((part) => audioMessage(id, part, format))
                : spokenBy(id, text, format, voice)
            for (const one of messages) {
              yield* Effect.sleep(Duration.millis(pauseMs))
              peer.send(one)
            }
          }
          context.speaking = undefined
          if (context.isClosing) final(id)
        })
      for (;;) {
        const data = yield* peer.next
        if (data === null) return
        const { close_context, close_socket, context_id, flush, text, voice_settings } = JSON.parse(String(data))
        if (close_socket === true) return peer.close(1000)
        const context = contexts.get(context_id)
        if (context === undefined) {
          // Nothing to close, or a context that has ended.
          if (text === undefined || text === "") continue
          if (text !== " ") return refuse(peer, "invalid_input_message", "A context must begin with a single space.")
          if (contexts.size === mostContexts) {
            return refuse(
              peer,
              "max_active_conversations",
              `Maximum simultaneous contexts per WebSocket connection exceeded (${mostContexts}).`
            )
          }
          contexts.set(context_id, { text: "", isFlushed: false, isClosing: false, speaking: undefined })
          continue
        }
        if (voice_settings !== undefined) {
          return refuse(peer, "invalid_input_message", "voice_settings belong into the first message of a context.")
        }
        if (typeof text === "string" && text !== "") {
          if (!text.endsWith(" ")) return refuse(peer, "invalid_input_message", "A text must end with a space.")
          context.text += text
          context.speaking ??= yield* Effect.fork(speak(context_id, context))
        }
        if (flush === true) context.isFlushed = true
        if (close_context === true) {
          context.isClosing = true
          if (context.speaking === undefined) final(context_id)
          else if (!context.isFlushed) {
            yield* Fiber.interruptFork(context.speaking)
            final(context_id)
          }
        }
      }
    })

/** A voice as `GET /v2/voices` lists it. */
export const listed = (voice_id: string, name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  voice_id,
  name,
  category: "premade",
  labels: { gender: "female", accent: "american" },
  settings: { stability: 0.4, similarity_boost: 0.8, style: 0, use_speaker_boost: true, speed: 1 },
  ...more
})

export const voices = [
  listed(sarahId, "Sarah - Mature, Reassuring, Confident"),
  listed("CwhRBWXzGAHq8TQ4Fs17", "Roger - Laid-Back, Casual, Resonant", { labels: { gender: "male" } }),
  listed("voice-with-a-slash/1", "Clara")
]

const isAuthorized = ({ headers }: EmulatedRequest): boolean => headers["xi-api-key"] === apiKey

/** Lists voices in pages, and accepts WebSockets with the right key to voices that it has. */
export const vendor = (
  connection: NonNullable<EmulatedBehaviour["connection"]>,
  more: Omit<EmulatedBehaviour, "connection"> & { readonly listed?: () => ReadonlyArray<unknown> } = {}
): EmulatedBehaviour => ({
  request: (request, response) => {
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    if (request.path !== "/v2/voices") return void answer(404, { detail: "Not Found" })
    if (!isAuthorized(request)) {
      const key = request.headers["xi-api-key"]
      return void answer(401, { detail: { status: "invalid_api_key", message: `Invalid API key ${key}` } })
    }
    const all = more.listed?.() ?? voices
    const from = Number(request.query.get("next_page_token") ?? 0)
    const size = Math.min(2, Number(request.query.get("page_size") ?? 10))
    const has_more = from + size < all.length
    answer(200, {
      voices: all.slice(from, from + size),
      has_more,
      total_count: all.length,
      next_page_token: has_more ? String(from + size) : null
    })
  },
  upgrade: (request) =>
    isAuthorized(request)
      ? "accept"
      : { status: 401, body: JSON.stringify({ detail: { status: "invalid_api_key", message: "Invalid API key" } }) },
  ...more,
  connection: (peer) =>
    Effect.suspend(() => {
      const id = decodeURIComponent(peer.request.path.split("/")[3] ?? "")
      const isKnown = (more.listed?.() ?? voices).some((voice) => Object(voice).voice_id === id)
      if (!isKnown) {
        return Effect.sync(() => refuse(peer, "voice_not_found", `A voice for the voice_id ${id} was not found.`))
      }
      return connection(peer)
    })
})

export const vendorServer = (...args: Parameters<typeof vendor>): Effect.Effect<EmulatedServer, never, Scope.Scope> =>
  emulatedServer(vendor(...args))
