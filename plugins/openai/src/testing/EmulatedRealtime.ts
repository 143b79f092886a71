import { mulawToPcm } from "@svc/providers/G711"
import type { EmulatedBehaviour, EmulatedPeer, Refusal } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { type Ear, spelledEar } from "./SpelledEar.ts"

/** An error as the server sends it. */
export interface EmulatedProblem {
  readonly type?: string
  readonly code?: string
  readonly message: string
  readonly param?: string
}

/** What a client has configured, as it was sent. */
export interface EmulatedConfiguration {
  readonly format: { readonly type: string; readonly rate?: number }
  readonly transcription: Readonly<Record<string, unknown>>
  readonly turn_detection: unknown
}

export interface EmulatedRealtimeOptions {
  readonly key: string
  /** How the audio of an item is heard; by default as spelled sound. */
  readonly ear?: () => Ear
  /** Text comes while the audio does, and not only after a commit. True by default. */
  readonly streams?: boolean
  /** How long the transcript of the n-th item takes, from 1 on, in milliseconds; 2 by default. Undefined: for ever. */
  readonly transcriptMs?: (nth: number) => number | undefined
  /** What the transcript of the n-th item is, in place of what was heard. */
  readonly transcript?: (nth: number, heard: string) => string
  /** Why a configuration is refused. */
  readonly refuses?: (configuration: EmulatedConfiguration) => EmulatedProblem | undefined
  /** What happens to the n-th WebSocket, from 1 on, in place of an answer. */
  readonly refuse?: (nth: number) => Refusal | "hang" | undefined
  /** What the server does on the n-th WebSocket; `work` is what it should do. */
  readonly fault?: (nth: number, peer: EmulatedPeer, work: Effect.Effect<void>) => Effect.Effect<void>
  /** What other requests get; `GET /v1/models` by default. */
  readonly request?: EmulatedBehaviour["request"]
}

const invalid = JSON.stringify({
  error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key", param: null }
})

/** Frames of 20 ms from the audio of a client. */
const framesFrom = (format: EmulatedConfiguration["format"], onFrame: (frame: Int16Array) => void) => {
  const isMulaw = format.type === "audio/pcmu"
  let frame = new Int16Array(isMulaw ? 160 : 480)
  let length = 0
  return (bytes: Buffer): void => {
    const samples = new Int16Array(isMulaw ? bytes.length : bytes.length >> 1)
    if (isMulaw) mulawToPcm(bytes, 0, bytes.length, samples, 0)
    else for (let i = 0; i < samples.length; i++) samples[i] = bytes.readInt16LE(2 * i)
    for (const sample of samples) {
      frame[length++] = sample
      if (length < frame.length) continue
      onFrame(frame)
      frame = new Int16Array(frame.length)
      length = 0
    }
  }
}

/** A transcription session: items by commits, with the events that the vendor's reference describes. */
const session = (peer: EmulatedPeer, options: EmulatedRealtimeOptions): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { ear = spelledEar, streams = true, transcriptMs = () => 2 } = options
    let events = 0
    let items = 0
    let heard = ear()
    let frames = 0
    let told = ""
    let push: ((bytes: Buffer) => void) | undefined
    const send = (type: string, fields: object) => peer.send({ type, event_id: `event_${++events}`, ...fields })
    const fail = (problem: EmulatedProblem, event_id: unknown): void =>
      send("error", { error: { type: "invalid_request_error", code: null, param: null, ...problem, event_id } })
    const textEvent = (what: string, item: number, fields: object) =>
      send(`conversation.item.input_audio_transcription.${what}`, {
        item_id: `item_${item}`,
        content_index: 0,
        ...fields
      })
    const tell = (text: string, item: number): void => {
      if (text.length <= told.length) return
      textEvent("delta", item, { delta: text.slice(told.length) })
      told = text
    }
    const onFrame = (frame: Int16Array): void => {
      frames++
      heard.push(frame)
      const text = heard.text()
      // The word that is being said may change yet.
      if (streams) tell(text.slice(0, text.lastIndexOf(" ") + 1), items + 1)
    }
    const configure = (configuration: EmulatedConfiguration, event_id: unknown): void => {
      const { format, turn_detection } = configuration
      const problem =
        turn_detection !== null
          ? { message: "Turn detection is not supported for this transcription model" }
          : format.type === "audio/pcm" && format.rate !== 24_000
            ? { message: "Invalid rate", param: "session.audio.input.format.rate" }
            : options.refuses?.(configuration)
      if (problem !== undefined) {
        fail(problem, event_id)
        return
      }
      push = framesFrom(format, onFrame)
      send("session.updated", { session: { type: "transcription", audio: { input: configuration } } })
    }
    const commit = (event_id: unknown): Effect.Effect<void> => {
      if (frames < 5) {
        const message = "buffer too small. Expected at least 100ms of audio"
        return Effect.sync(() => fail({ code: "input_audio_buffer_commit_empty", message }, event_id))
      }
      const item = ++items
      const text = options.transcript?.(item, heard.text()) ?? heard.text()
      const length = frames / 50
      if (streams) tell(text, item)
      heard = ear()
      frames = 0
      told = ""
      send("input_audio_buffer.committed", {
        item_id: `item_${item}`,
        previous_item_id: item === 1 ? null : `item_${item - 1}`
      })
      const delay = transcriptMs(item)
      const done = Effect.sync(() => {
        if (!streams) textEvent("delta", item, { delta: text })
        textEvent("completed", item, { transcript: text, usage: { type: "duration", seconds: length } })
      })
      if (delay === undefined) return Effect.void
      return delay === 0 ? done : Effect.asVoid(Effect.fork(Effect.delay(done, delay)))
    }
    send("session.created", { session: { type: "transcription", object: "realtime.transcription_session" } })
    while (true) {
      const next = yield* peer.next
      if (next === null) return
      const message = JSON.parse(String(next))
      const { event_id = null, type } = message
      if (type === "session.update") configure(message.session.audio.input, event_id)
      else if (type === "input_audio_buffer.append") push?.(Buffer.from(message.audio, "base64"))
      else if (type === "input_audio_buffer.commit") yield* commit(event_id)
      else fail({ message: `no event ${type}`, param: "type" }, event_id)
    }
  })

/** The Realtime API as the plugin uses it, at `/v1/realtime?intent=transcription`. */
export const emulatedRealtime = (options: EmulatedRealtimeOptions): EmulatedBehaviour => {
  const isAllowed = (authorization: string | undefined) => authorization === `Bearer ${options.key}`
  let [asked, opened] = [0, 0]
  return {
    request: (request, response) => {
      if (!isAllowed(request.headers.authorization)) {
        return void response.writeHead(401, { "content-type": "application/json" }).end(invalid)
      }
      if (options.request !== undefined) return options.request(request, response)
      const models = { object: "list", data: [{ id: "gpt-live-transcribe" }] }
      const isList = request.path === "/v1/models"
      response.writeHead(isList ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify(models))
    },
    upgrade: ({ headers, path, query }) => {
      if (!isAllowed(headers.authorization)) return { status: 401, body: invalid }
      if (path !== "/v1/realtime" || query.get("intent") !== "transcription") return { status: 404 }
      return options.refuse?.(++asked) ?? "accept"
    },
    connection: (peer) => {
      const work = Effect.scoped(session(peer, options))
      return options.fault?.(++opened, peer, work) ?? work
    }
  }
}
