import * as ContextRoutes from "@svc/providers/ContextRoutes"
import { ConnectionLost } from "@svc/providers/ContextTurn"
import { RequestFailed } from "@svc/providers/RequestFailed"
import type { VendorServer } from "@svc/providers/VendorServer"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Deferred, Effect, type Scope } from "effect"
import * as Message from "./ContextMessage.ts"
import { authentication, type VoiceSettings } from "./ElevenLabsVoices.ts"
import { languageCode } from "./ModelLanguages.ts"

/** What a connection is for: the vendor has all of it in the address. */
export interface ConnectionKey {
  readonly callId: string
  readonly voiceId: string
  readonly language: string
  /** In Hz. */
  readonly sampleRate: number
}

/** A context of the vendor. All methods are synchronous and do not throw. */
export interface VendorContext {
  /** Sends text that ends with a space. */
  readonly say: (text: string) => void
  /** Nothing follows: what was said is spoken to its end. */
  readonly end: () => void
  /** Completes with the vendor's last message of this context. */
  readonly finished: Effect.Effect<void, RequestFailed | ConnectionLost>
}

/** An open multi-context WebSocket. */
export interface VoiceConnection {
  /**
   * A context, which closing the scope cancels. Waits while the vendor has as many as it takes. `onMessage` gets its
   * audio and positions.
   */
  readonly begin: (options: {
    readonly settings: VoiceSettings | undefined
    readonly onMessage: (message: Message.ServerMessage) => void
  }) => Effect.Effect<VendorContext, RequestFailed | ConnectionLost, Scope.Scope>
}

/** The vendor's limit for one connection. A context counts until the vendor has confirmed its end. */
const mostContexts = 5
/** How long a turn waits for one of them to end, before it opens another connection. */
const longestWait = "1 second"
/** Seconds without a message after which the vendor closes contexts: the longest that it takes. */
const inactivityTimeout = 180
/** An open context is kept alive long before that, when the model takes its time. */
const keepAliveMs = 60_000

/** Mu-law at 8 kHz, which telephones have; PCM16 at the others. */
const outputFormats: Readonly<Record<number, string>> = {
  8000: "ulaw_8000",
  16000: "pcm_16000",
  22050: "pcm_22050",
  24000: "pcm_24000"
}
export const sampleRates: ReadonlyArray<number> = Object.keys(outputFormats).map(Number)

const addressOf = ({ origin }: VendorServer, model: string, key: ConnectionKey): URL => {
  const url = new URL(`/v1/text-to-speech/${encodeURIComponent(key.voiceId)}/multi-stream-input`, origin)
  const code = languageCode(model, key.language)
  const query = {
    model_id: model,
    output_format: outputFormats[key.sampleRate] ?? "",
    // The engine sends whole clauses: each is spoken at once, without waiting for more text.
    auto_mode: "true",
    // Times with every message of audio.
    sync_alignment: "true",
    inactivity_timeout: String(inactivityTimeout),
    ...(code === undefined ? {} : { language_code: code })
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

/** Codes of errors that the same request meets again, such as `voice_not_found`. */
const ofRequest = /not_found|does_not_exist|invalid_input|max_character|unsupported/
const ofKey = /api_key|unauthorized|authorization|authentication|missing_permissions/

/** Opens a connection. */
export const open = (
  server: VendorServer,
  model: string,
  key: ConnectionKey,
  on: {
    /** It takes no more contexts. */
    readonly retire: () => void
    /** The vendor asks to wait before it is asked again. */
    readonly retryWait: () => void
  }
): Effect.Effect<VoiceConnection, RequestFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { failures, origin } = server
    const clock = yield* Effect.clock
    /** Contexts that wait for text, and those whose end the vendor has not confirmed although they have all of it. */
    const listening = new Set<string>()
    const closing = new Set<string>()
    let taken = 0
    const room = Effect.unsafeMakeLatch(true)
    const take = (onTaken: () => void): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (taken < mostContexts) {
          taken++
          onTaken()
          return Effect.void
        }
        room.unsafeClose()
        return Effect.zipRight(room.await, take(onTaken))
      })
    const release = (): void => {
      taken--
      room.unsafeOpen()
    }
    let socket: WebSocketClient.ClientSocket | undefined
    let begun = 0
    const routes = ContextRoutes.make<Message.ServerMessage>({
      finish: (id) => {
        listening.delete(id)
        closing.delete(id)
        release()
      },
      end: on.retire
    })

    const failureOf = ({ code, text }: { readonly code: string; readonly text: string }): RequestFailed => {
      const now = clock.unsafeCurrentTimeMillis()
      if (ofKey.test(code)) return failures.ofStatus({ status: 401, headers: {}, body: text, now })
      const reason = `${origin} answered ${failures.shown(`${code}: ${text}`)}`
      return new RequestFailed({ reason, retryable: !ofRequest.test(code) })
    }
    const onMessage = (data: string | Uint8Array): void => {
      const message = typeof data === "string" ? Message.read(data) : undefined
      if (message === undefined) {
        socket?.fail(`${origin} sent something that is no message of its protocol`)
        return
      }
      const { audio, contextId = "", error, isFinal } = message
      if (error !== undefined) {
        const failure = failureOf(error)
        if (contextId !== "") routes.finish(contextId, failure)
        else {
          routes.end(failure, false)
          socket?.fail(failure.reason)
        }
        return
      }
      // Messages of contexts that have ended may still come.
      if (!routes.pass(contextId, message, audio.length > 0) || !isFinal) return
      const early = new RequestFailed({ reason: `${origin} ended a context before its text`, retryable: true })
      routes.finish(contextId, closing.has(contextId) ? undefined : early)
    }

    socket = yield* WebSocketClient.open({
      url: addressOf(server, model, key),
      headers: authentication(server),
      failures,
      onMessage,
      onClosed: ({ failure }) => routes.end(failure, true),
      onRetryWait: on.retryWait,
      keepAlive: {
        idleMs: keepAliveMs,
        message: () => {
          const [first] = listening
          for (const id of listening) if (id !== first) socket?.send(Message.keepAlive(id))
          return first === undefined ? undefined : Message.keepAlive(first)
        }
      }
    })
    const { send } = socket

    return {
      begin: Effect.fnUntraced(function* ({ onMessage, settings }) {
        const id = `${key.callId}-${++begun}`
        let state: "waiting" | "ready" | "speaking" | "ended" = "waiting"
        const finished = yield* Deferred.make<void, RequestFailed | ConnectionLost>()
        const onEnd = (failure: ContextRoutes.ContextFailure) => Deferred.unsafeDone(finished, failure ?? Effect.void)
        const permit = take(() => {
          state = "ready"
          routes.add(id, { onMessage, onEnd })
        }).pipe(
          Effect.timeoutFail({
            duration: longestWait,
            onTimeout: () => new ConnectionLost({ reason: `${mostContexts} contexts of a call did not end` })
          }),
          Effect.tapError(() => Effect.sync(on.retire))
        )
        const cancel = Effect.sync(() => {
          // The vendor has not heard of it.
          if (state === "ready") routes.finish(id)
          if (state === "speaking") {
            send(Message.close(id))
            closing.add(id)
          }
          // It counts until the vendor confirms its end; its audio is not wanted.
          routes.mute(id)
          listening.delete(id)
          state = "ended"
        })
        yield* Effect.acquireReleaseInterruptible(permit, () => cancel)
        return {
          say: (text) => {
            if (state === "ready") {
              state = "speaking"
              listening.add(id)
              send(Message.begin(id, settings))
            }
            if (state === "speaking") send(Message.say(id, text))
          },
          end: () => {
            if (state !== "speaking") return
            state = "ended"
            listening.delete(id)
            closing.add(id)
            send(Message.flush(id))
            send(Message.close(id))
          },
          finished: Deferred.await(finished)
        } satisfies VendorContext
      })
    } satisfies VoiceConnection
  })
