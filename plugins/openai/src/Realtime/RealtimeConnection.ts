import type { ChunkEncoding } from "@svc/providers/AudioChunks"
import type { Host } from "@svc/providers/Host"
import { RequestFailed } from "@svc/providers/RequestFailed"
import type { ClientSocket } from "@svc/providers/WebSocketClient"
import { Deferred, Duration, Effect, type Scope } from "effect"
import type { OpenAiClient } from "../OpenAiClient.ts"
import { eventOf, type Problem, type RealtimeEvent } from "./RealtimeEvents.ts"
import {
  encodingOf,
  isAboutValue,
  type RealtimeDialect,
  sessionUpdate,
  type TranscriptionHints,
  withoutRefused
} from "./RealtimeRequest.ts"

/** A server with a model that transcribes as it hears. */
export interface RealtimeServer {
  readonly client: OpenAiClient
  readonly host: Host
  readonly model: string
  /** The age at which another connection takes the place of one: less than the server allows. */
  readonly renewAfter: Duration.Duration
  /** What it accepts, as far as it is known from former sessions. */
  dialect: RealtimeDialect
}

/** A configured connection. Closing its scope closes it at once, and no callback is called after that. */
export interface RealtimeConnection {
  readonly encoding: ChunkEncoding
  readonly send: (message: string) => void
  /** Hints for what is sent from now on. What the server refuses of them is left out. */
  readonly configure: (hints: TranscriptionHints) => void
}

/** For the handshake and the configuration together: less than the engine waits. */
const deadline = Duration.millis(4500)
const update = "update"

/** Whether an error ends the session, however the server goes on. */
export const isFatal = ({ code, type }: Problem): boolean =>
  /^(invalid_api_key|session_expired|insufficient_quota|rate_limit_exceeded)$/.test(code ?? type ?? "")

/** An error event as the failure that an HTTP answer would be. `now` in Unix milliseconds. */
export const failureOf = ({ client }: RealtimeServer, problem: Problem, now: number): RequestFailed => {
  const { baseUrl, failures } = client
  const { code, message, type } = problem
  if (code === "invalid_api_key") return failures.ofStatus({ status: 401, headers: {}, body: "", now })
  const said = failures.shown(message ?? code ?? type ?? "no reason")
  return new RequestFailed({
    reason: `${baseUrl}/realtime answered with an error: ${said}`,
    retryable: isFatal(problem) || type !== "invalid_request_error"
  })
}

/** Opens a connection and waits until the server has accepted its configuration. */
export const open = (
  server: RealtimeServer,
  options: {
    readonly callId: string
    /** In Hz, of the audio of the session. */
    readonly sampleRate: number
    readonly hints: TranscriptionHints
    /** Events that are not about the configuration. What it throws fails the connection. */
    readonly onEvent: (event: RealtimeEvent) => void
    /** As the last callback, once, and only after the configuration was accepted. */
    readonly onClosed: (failure: RequestFailed) => void
  }
): Effect.Effect<RealtimeConnection, RequestFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, host, model } = server
    const clock = yield* Effect.clock
    const configured = yield* Deferred.make<void, RequestFailed>()
    let isConfigured = false
    let socket: ClientSocket | undefined
    let { hints } = options
    let { dialect } = server
    let encoding = encodingOf(options.sampleRate, dialect)
    let updates = 0

    const sendConfiguration = (): void => {
      if (!isConfigured) encoding = encodingOf(options.sampleRate, dialect)
      const eventId = `${update}_${++updates}`
      socket?.send(sessionUpdate({ eventId, model, hints, encoding, dialect }))
    }
    const onRefused = (problem: Problem): void => {
      // The format of a session that has begun does not change.
      const accepted = withoutRefused(isConfigured ? { ...dialect, mulaw: false } : dialect, problem)
      const failure = failureOf(server, problem, clock.unsafeCurrentTimeMillis())
      if (accepted === undefined) {
        if (!isConfigured) Deferred.unsafeDone(configured, failure)
        else host.log.warning(`a change was refused: ${failure.reason}`, { call_id: options.callId })
        return
      }
      dialect = isConfigured ? { ...accepted, mulaw: dialect.mulaw } : accepted
      if (!isAboutValue(problem)) server.dialect = dialect
      host.log.warning(`left out, because it was refused: ${failure.reason}`, { call_id: options.callId })
      sendConfiguration()
    }

    socket = yield* client.connect("/realtime?intent=transcription", {
      onMessage: (message) => {
        const event = eventOf(message)
        if (event?.type === "session.updated") {
          isConfigured = true
          Deferred.unsafeDone(configured, Effect.void)
        } else if (event?.type === "error" && (!isConfigured || event.error.event_id?.startsWith(update) === true)) {
          onRefused(event.error)
        } else if (event !== undefined && isConfigured) options.onEvent(event)
      },
      onClosed: ({ failure }) => {
        if (isConfigured) options.onClosed(failure)
        else Deferred.unsafeDone(configured, failure)
      }
    })
    sendConfiguration()
    yield* Deferred.await(configured)
    const connection: RealtimeConnection = {
      encoding,
      send: socket.send,
      configure: (changed) => {
        hints = changed
        sendConfiguration()
      }
    }
    return connection
  }).pipe(
    Effect.timeoutFail({
      duration: deadline,
      onTimeout: () =>
        new RequestFailed({
          reason: `${server.client.baseUrl}/realtime did not accept a session within ${Duration.format(deadline)}`,
          retryable: true
        })
    })
  )
