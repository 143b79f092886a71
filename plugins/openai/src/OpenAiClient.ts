import type { Host } from "@svc/providers/Host"
import { makeFailures, obeyRetryAfter, RequestFailed, type RequestFailures } from "@svc/providers/RequestFailed"
import { streamedBody, wholeText } from "@svc/providers/StreamedBody"
import * as WebSocketClient from "@svc/providers/WebSocketClient"
import { Clock, Data, type Duration, Effect, Redacted, type Scope } from "effect"
import { Agent, type Dispatcher, errors, request } from "undici"
import { errorMessageOf } from "./ChatStream.ts"

/** An answer with status 200. Its bytes come as they are read. */
export interface Answer {
  readonly contentType: string
  /** The next bytes, null at the end. */
  readonly next: Effect.Effect<Buffer | null, RequestFailed>
}

export interface ClientRequest {
  readonly method: "GET" | "POST"
  /** Below the base URL, with a slash. */
  readonly path: string
  readonly body?: Dispatcher.DispatchOptions["body"]
  readonly contentType?: string
  /** The request is sent again after `Retry-After` only if that is within this time. */
  readonly retryWithin: Duration.Duration
}

/** There was no answer. */
class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{ readonly cause: unknown }> {}

/** A server that speaks OpenAI's protocol. */
export interface OpenAiClient {
  /** Sends a request. It ends with the scope, and its connection with it if the answer was not read to the end. */
  readonly send: (options: ClientRequest) => Effect.Effect<Answer, RequestFailed, Scope.Scope>
  /** The whole body of an answer, as JSON. */
  readonly json: (options: ClientRequest) => Effect.Effect<unknown, RequestFailed>
  /** Opens a WebSocket at a path below the base URL, with a slash and its query. It ends with the scope. */
  readonly connect: (
    path: string,
    options: Pick<WebSocketClient.SocketOptions, "onMessage" | "onClosed">
  ) => Effect.Effect<WebSocketClient.ClientSocket, RequestFailed, Scope.Scope>
  /** The address of the server, for messages. */
  readonly baseUrl: string
  readonly failures: RequestFailures
}

export interface ClientOptions {
  /** With its path, as `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted | undefined
  readonly host: Host
}

/** Silence after which a request fails: shorter than the limits of the server for its plugins. */
const silentMs = 15_000
const connectMs = 5000
/** How long a connection that is not used is kept, where the server does not say less. */
const keepAliveMs = 60_000
/** Bytes of a whole answer, and of an error. */
const largestAnswer = 64 * 1024 * 1024
const largestError = 65_536

const codeOf = (error: unknown): string => {
  const { code } = Object(error)
  return typeof code === "string" ? code : ""
}

/** A connection that the server had closed while it was kept: another attempt opens a new one. */
const isStale = (error: unknown): boolean => ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(codeOf(error))

const isTimeout = (error: unknown): boolean =>
  error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError

/** What an error says: OpenAI's own, or those of FastAPI, as vLLM and Mistral have them, which name fields. */
const messageOf = (body: unknown): string | undefined => {
  const { detail, error, message } = Object(body)
  if (typeof error === "string") return error
  if (error !== undefined) return `${errorMessageOf(error)} ${Object(error).param ?? ""}`.trim()
  return typeof message === "string" || detail === undefined ? undefined : JSON.stringify(detail)
}

/** Opens no connection yet. Its connections are closed with the scope. */
export const make = ({ apiKey, baseUrl, host }: ClientOptions): Effect.Effect<OpenAiClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const key = apiKey === undefined ? undefined : Redacted.value(apiKey)
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Agent({
            keepAliveTimeout: keepAliveMs,
            keepAliveMaxTimeout: 10 * keepAliveMs,
            headersTimeout: silentMs,
            bodyTimeout: silentMs,
            connect: { timeout: connectMs, keepAlive: true, noDelay: true }
          })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const waits = host.metrics.counter("rate_limit_waits", {
      description: "Requests that were sent again after the time that the server asked for"
    })
    const lost = host.metrics.counter("connections_lost", {
      description: "WebSockets that the server closed in use"
    })
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const failures = makeFailures({
      server: baseUrl,
      key: apiKey,
      keySetting: "SVC_OPENAI_API_KEY",
      log: host.log,
      messageOf
    })

    const connectionFailed = (error: unknown): RequestFailed => {
      if (isTimeout(error)) {
        return new RequestFailed({ reason: `${baseUrl} gave nothing for ${silentMs / 1000} s`, retryable: true })
      }
      return failures.ofConnection(error)
    }

    const whole = (next: Effect.Effect<Buffer | null, RequestFailed>, largest: number) =>
      wholeText(
        next,
        largest,
        () => new RequestFailed({ reason: `${baseUrl} answered with too many bytes`, retryable: false })
      )

    const once = Effect.fnUntraced(function* ({ body, contentType, method, path }: ClientRequest) {
      let isRead = false
      const controller = yield* Effect.acquireRelease(
        Effect.sync(() => new AbortController()),
        // To abort an answer that was read would close its connection.
        (controller) => Effect.sync(() => (isRead ? undefined : controller.abort()))
      )
      const response = yield* Effect.tryPromise({
        try: () =>
          request(`${baseUrl}${path}`, {
            method,
            dispatcher: agent,
            signal: controller.signal,
            headers: {
              ...authorization,
              ...(contentType === undefined ? {} : { "content-type": contentType })
            },
            body: body ?? null
          }),
        catch: (cause) => new ConnectionFailed({ cause })
      })
      const next = streamedBody({
        body: response.body,
        failed: connectionFailed,
        onEnd: () => {
          isRead = true
        }
      })
      return { headers: response.headers, status: response.statusCode, next }
    })

    const attempt = Effect.fnUntraced(function* (options: ClientRequest) {
      const { headers, next, status } = yield* once(options).pipe(
        Effect.retry({ times: 1, while: ({ cause }) => isStale(cause) }),
        Effect.mapError(({ cause }) => connectionFailed(cause))
      )
      if (status >= 200 && status < 300) {
        failures.accepted()
        const type = headers["content-type"]
        return { contentType: typeof type === "string" ? type : "", next }
      }
      const body = yield* whole(next, largestError)
      return yield* failures.ofStatus({ status, headers, body, now: yield* Clock.currentTimeMillis })
    })
    const send: OpenAiClient["send"] = (options) =>
      obeyRetryAfter(options.retryWithin, () => waits.add())(attempt(options))

    return {
      baseUrl,
      send,
      failures,
      connect: (path, { onClosed, onMessage }) =>
        WebSocketClient.open({
          url: `${baseUrl}${path}`,
          headers: authorization,
          failures,
          onMessage,
          onRetryWait: () => waits.add(),
          onClosed: (closed) => {
            if (closed.code !== 1000) lost.add()
            onClosed(closed)
          }
        }),
      json: (options) =>
        Effect.scoped(Effect.flatMap(send(options), ({ next }) => whole(next, largestAnswer))).pipe(
          Effect.flatMap((text) =>
            Effect.try({
              try: (): unknown => JSON.parse(text),
              catch: () => new RequestFailed({ reason: `${baseUrl} answered with no JSON`, retryable: true })
            })
          )
        )
    }
  })
