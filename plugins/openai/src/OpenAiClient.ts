import type { Readable } from "node:stream"
import type { Host } from "@svc/providers/Host"
import { Clock, Data, Duration, Effect, Redacted, type Scope } from "effect"
import { Agent, type Dispatcher, errors, request } from "undici"
import { errorMessageOf } from "./ChatStream.ts"

/** A request failed. `reason` is one plain sentence without secrets. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly reason: string
  readonly retryable: boolean
  /** Of the answer; undefined when there was none. */
  readonly status?: number
}> {}

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
  /** The key was refused: the reason. */
  readonly refused: () => string | undefined
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
/** Characters of a server's message that are passed on. */
const longestMessage = 300

const codeOf = (error: unknown): string => {
  const { code } = Object(error)
  return typeof code === "string" ? code : ""
}

/** A connection that the server had closed while it was kept: another attempt opens a new one. */
const isStale = (error: unknown): boolean => ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(codeOf(error))

const isTimeout = (error: unknown): boolean =>
  error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError

/** Milliseconds to wait by the headers of an answer: seconds, a date, or OpenAI's milliseconds. */
const retryAfterMs = (headers: Dispatcher.ResponseData["headers"], now: number): number | undefined => {
  const exact = headers["retry-after-ms"]
  const value = headers["retry-after"]
  if (typeof exact === "string" && /^\d+(\.\d+)?$/.test(exact)) return Number(exact)
  if (typeof value !== "string") return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

const ignoreError = () => {}

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
    let refusal: string | undefined

    /** Servers repeat keys in their messages. */
    const withoutKey = (text: string): string => (key === undefined ? text : text.replaceAll(key, "…"))
    const short = (text: string): string => withoutKey(text).replace(/\s+/g, " ").slice(0, longestMessage)

    const connectionFailed = (error: unknown): RequestFailed => {
      if (isTimeout(error)) {
        return new RequestFailed({ reason: `${baseUrl} gave nothing for ${silentMs / 1000} s`, retryable: true })
      }
      const what = codeOf(error) || short(error instanceof Error ? error.message : String(error))
      return new RequestFailed({ reason: `the connection to ${baseUrl} failed: ${what}`, retryable: true })
    }

    /** Reads a body; `onEnd` is called at its end. */
    const reader = (body: Readable, onEnd: () => void): Effect.Effect<Buffer | null, RequestFailed> => {
      body.on("error", ignoreError)
      const chunks = body[Symbol.asyncIterator]()
      return Effect.tryPromise({ try: () => chunks.next(), catch: connectionFailed }).pipe(
        Effect.map(({ done, value }): Buffer | null => {
          if (done !== true) return value
          onEnd()
          return null
        })
      )
    }
    const whole = (next: Effect.Effect<Buffer | null, RequestFailed>, largest: number) =>
      Effect.gen(function* () {
        const chunks: Array<Buffer> = []
        let length = 0
        for (let chunk = yield* next; chunk !== null; chunk = yield* next) {
          length += chunk.length
          if (length > largest) {
            return yield* new RequestFailed({ reason: `${baseUrl} answered with too many bytes`, retryable: false })
          }
          chunks.push(chunk)
        }
        return Buffer.concat(chunks).toString("utf8")
      })

    const messageOf = (text: string): string => {
      try {
        const body: unknown = JSON.parse(text)
        const { error, detail, message } = Object(body)
        if (error !== undefined)
          return short(
            typeof error === "string" ? error : `${errorMessageOf(error)} ${Object(error).param ?? ""}`.trim()
          )
        // FastAPI, as of vLLM and Mistral, names fields in `detail` or in the message.
        return short(typeof message === "string" ? message : JSON.stringify(detail ?? message ?? body))
      } catch {
        return short(text)
      }
    }

    const statusFailed = (status: number, text: string): RequestFailed => {
      if (status === 401 || status === 403) {
        const how = key === undefined ? "SVC_OPENAI_API_KEY is not set, and" : "SVC_OPENAI_API_KEY was refused:"
        const reason = `${how} ${baseUrl} answered ${status}`
        if (refusal === undefined) host.log.error(`${reason}. Set a valid key and restart the server`)
        refusal = reason
        // Not the fault of one request: the provider counts as failing, and the next one is asked.
        return new RequestFailed({ reason, retryable: true, status })
      }
      // A status that the request causes: another attempt with the same request gives the same.
      const retryable = status === 408 || status === 409 || status === 429 || status >= 500
      const message = text === "" ? "" : `: ${messageOf(text)}`
      return new RequestFailed({ reason: `${baseUrl} answered ${status}${message}`, retryable, status })
    }

    const once = ({ body, contentType, method, path }: ClientRequest) =>
      Effect.gen(function* () {
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
                ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
                ...(contentType === undefined ? {} : { "content-type": contentType })
              },
              body: body ?? null
            }),
          catch: (cause) => new ConnectionFailed({ cause })
        })
        const next = reader(response.body, () => {
          isRead = true
        })
        return { headers: response.headers, status: response.statusCode, next }
      })

    const send: OpenAiClient["send"] = (options) =>
      Effect.gen(function* () {
        const begun = yield* Clock.currentTimeMillis
        const deadline = begun + Duration.toMillis(options.retryWithin)
        for (;;) {
          const { headers, next, status } = yield* once(options).pipe(
            Effect.retry({ times: 1, while: ({ cause }) => isStale(cause) }),
            Effect.mapError(({ cause }) => connectionFailed(cause))
          )
          if (status >= 200 && status < 300) {
            refusal = undefined
            const type = headers["content-type"]
            return { contentType: typeof type === "string" ? type : "", next }
          }
          const failure = statusFailed(status, yield* whole(next, largestError))
          const now = yield* Clock.currentTimeMillis
          const wait = failure.retryable ? retryAfterMs(headers, now) : undefined
          if (wait === undefined || now + wait > deadline) return yield* failure
          waits.add()
          yield* Effect.sleep(Duration.millis(wait))
        }
      })

    return {
      send,
      refused: () => refusal,
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
