import {
  type EmulatedBehaviour,
  type EmulatedPeer,
  type EmulatedRequest,
  type EmulatedServer,
  emulatedServer
} from "@svc/providers/testing/EmulatedServer"
import { characterMs, spelledPcm } from "@svc/providers/testing/SpelledSound"
import { Duration, Effect, Fiber, type Scope } from "effect"

export const apiKey = "sk_car_0123456789abcdef"
/** The voice that the plugin calls Sarah. */
export const katieId = "f786b574-daa5-4673-aa0c-cbe3e8534c02"

/** Characters of a message of audio. */
const characterCount = 7

/** What a test may change in how the vendor speaks. */
export interface Manner {
  /** Before the audio of a text; when it completes with false, there is none. */
  readonly before?: (peer: EmulatedPeer, contextId: string, text: string) => Effect.Effect<boolean>
  /** Milliseconds before the first audio of a text, and between messages. */
  readonly pauseMs?: number
  /** Milliseconds after its last audio at which a context ends by itself. */
  readonly expireMs?: number
}

interface Open {
  readonly fixed: string
  text: string
  /** Characters that were spoken. */
  spoken: number
  /** Nothing follows. */
  isEnded: boolean
  speaking: Fiber.RuntimeFiber<void> | undefined
  expiring: Fiber.RuntimeFiber<void> | undefined
}

export const errorMessage = (
  context_id: string | undefined,
  status_code: number,
  error_code: string,
  title: string,
  message: string
) => ({ type: "error", done: true, status_code, error_code, title, message, request_id: "1", context_id })

/** The words of a text and when each begins and ends, after some characters of the context. */
export const wordsMessage = (context_id: string, text: string, before: number) => {
  const found = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
    word,
    start: ((before + index) * characterMs) / 1000,
    end: ((before + index + word.length) * characterMs) / 1000
  }))
  return {
    type: "timestamps",
    done: false,
    status_code: 206,
    context_id,
    word_timestamps: {
      words: found.map(({ word }) => word),
      start: found.map(({ start }) => start),
      end: found.map(({ end }) => end)
    }
  }
}

const chunkMessage = (context_id: string, text: string, sampleRate: number) => ({
  type: "chunk",
  done: false,
  status_code: 206,
  step_time: 5,
  context_id,
  data: Buffer.from(spelledPcm(text, sampleRate)).toString("base64")
})

const doneMessage = (context_id: string) => ({ type: "done", done: true, status_code: 206, context_id })

/** Speaks by the documented protocol: the times of words come after the audio of each text. */
export const speaks =
  ({ before = () => Effect.succeed(true), expireMs = 1000, pauseMs = 1 }: Manner = {}) =>
  (peer: EmulatedPeer): Effect.Effect<void> =>
    Effect.gen(function* () {
      const contexts = new Map<string, Open>()
      /** Contexts that have ended take no input any more. */
      const gone = new Set<string>()
      const end = (id: string) => {
        contexts.delete(id)
        gone.add(id)
        peer.send(doneMessage(id))
      }
      const speak = (id: string, context: Open, sampleRate: number): Effect.Effect<void> =>
        Effect.gen(function* () {
          while (context.text !== "") {
            const text = context.text
            context.text = ""
            if (!(yield* before(peer, id, text))) return yield* Effect.never
            for (let at = 0; at < text.length; at += characterCount) {
              yield* Effect.sleep(Duration.millis(pauseMs))
              peer.send(chunkMessage(id, text.slice(at, at + characterCount), sampleRate))
            }
            peer.send(wordsMessage(id, text, context.spoken))
            context.spoken += text.length
          }
          context.speaking = undefined
          if (context.isEnded) return end(id)
          context.expiring = yield* Effect.forkDaemon(
            Effect.delay(
              Effect.sync(() => end(id)),
              Duration.millis(expireMs)
            )
          )
        })
      for (;;) {
        const data = yield* peer.next
        if (data === null) return
        const { cancel, continue: continues, context_id, transcript, ...fixed } = JSON.parse(String(data))
        const known: Open | undefined = contexts.get(context_id)
        if (cancel === true) {
          // What is just generated comes to its end.
          if (known !== undefined) {
            known.text = ""
            known.isEnded = true
            if (known.speaking === undefined) end(context_id)
          }
          continue
        }
        if (gone.has(context_id)) {
          peer.send(errorMessage(context_id, 400, "context_closed", "Invalid context", "The context has expired."))
          continue
        }
        const context: Open = known ?? {
          fixed: JSON.stringify(fixed),
          text: "",
          spoken: 0,
          isEnded: false,
          speaking: undefined,
          expiring: undefined
        }
        contexts.set(context_id, context)
        if (context.fixed !== JSON.stringify(fixed)) {
          peer.send(errorMessage(context_id, 400, "invalid", "Invalid input", "Inputs of a context must be alike."))
          continue
        }
        if (continues === true && transcript.trim() === "") {
          peer.send(errorMessage(context_id, 400, "invalid", "Invalid transcript", "The transcript is empty."))
          continue
        }
        if (context.expiring !== undefined) yield* Fiber.interrupt(context.expiring)
        context.expiring = undefined
        context.text += transcript
        context.isEnded = continues !== true
        if (context.text !== "") {
          context.speaking ??= yield* Effect.fork(speak(context_id, context, fixed.output_format.sample_rate))
        } else if (context.speaking === undefined) end(context_id)
      }
    })

/** A voice as `GET /voices` lists it. */
export const listed = (id: string, name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  id,
  name,
  description: "A voice",
  is_owner: false,
  is_public: true,
  created_at: "2026-01-01T00:00:00Z",
  language: "en",
  country: "US",
  gender: "feminine",
  ...more
})

export const voices = [
  listed(katieId, "Katie - Friendly Fixer"),
  listed("0c7f1f5e-0000-4000-8000-000000000002", "Oliver - Customer Chap", { country: "GB", gender: "masculine" }),
  listed("0c7f1f5e-0000-4000-8000-000000000003", "Lena - Muse", { language: "de", country: "DE" }),
  listed("0c7f1f5e-0000-4000-8000-000000000004", "Yuki - Calm Woman", { language: "ja", country: "JP" })
]

const isAuthorized = ({ headers }: EmulatedRequest): boolean =>
  headers.authorization === `Bearer ${apiKey}` && headers["cartesia-version"] === "2026-03-01"

const unauthorized = { error_code: null, title: "Unauthorized", message: "Invalid API key", request_id: "1" }

/** Lists voices in pages, and accepts WebSockets with the right key. */
export const vendor = (
  connection: NonNullable<EmulatedBehaviour["connection"]>,
  more: Omit<EmulatedBehaviour, "connection"> & { readonly listed?: () => ReadonlyArray<unknown> } = {}
): EmulatedBehaviour => ({
  request: (request, response) => {
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    if (request.path !== "/voices") return void answer(404, { title: "Not found", message: request.path })
    if (!isAuthorized(request)) {
      return void answer(401, { ...unauthorized, message: `Invalid API key ${request.headers.authorization}` })
    }
    const all = more.listed?.() ?? voices
    const after = all.findIndex((voice) => Object(voice).id === request.query.get("starting_after"))
    const size = Math.min(2, Number(request.query.get("limit") ?? 10))
    answer(200, { data: all.slice(after + 1, after + 1 + size), has_more: after + 1 + size < all.length })
  },
  upgrade: (request) => (isAuthorized(request) ? "accept" : { status: 401, body: JSON.stringify(unauthorized) }),
  ...more,
  connection
})

export const vendorServer = (...args: Parameters<typeof vendor>): Effect.Effect<EmulatedServer, never, Scope.Scope> =>
  emulatedServer(vendor(...args))
