import { Data, Duration, Effect, Redacted } from "effect"
import type { HostLog } from "./Host.ts"
import { monotonicMillis } from "./MonotonicTime.ts"

/** A request to a vendor's server failed. `reason` is one plain sentence without secrets. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly reason: string
  /** Whether another attempt may work. */
  readonly retryable: boolean
  /** Of the HTTP answer; absent when there was none. */
  readonly status?: number
  /** Milliseconds after which the server wants to be asked again. */
  readonly retryAfterMs?: number
}> {}

/** Headers with names in lower case, as Node.js gives them. */
export interface ResponseHeaders {
  readonly [name: string]: string | ReadonlyArray<string> | undefined
}

/** Makes the errors of requests to one server. What they say never contains the key. */
export interface RequestFailures {
  /** An answer with another status than 2xx. `body` as text; `now` in Unix milliseconds. 401 and 403 refuse the key. */
  readonly ofStatus: (answer: {
    readonly status: number
    readonly headers: ResponseHeaders
    readonly body: string
    readonly now: number
  }) => RequestFailed
  /** There was no answer: `error` is what the connection failed with. */
  readonly ofConnection: (error: unknown) => RequestFailed
  /** Text of a server as it may be shown: one line of at most 300 characters, without the key. */
  readonly shown: (text: string) => string
  /** The server accepted the key. */
  readonly accepted: () => void
  /** The reason why the server refused the key, if it did so the last time. */
  readonly refused: () => string | undefined
}

export interface RequestFailuresOptions {
  /** The server as it is named to the operator, without secrets: `https://api.example.com`. */
  readonly server: string
  readonly key: Redacted.Redacted | undefined
  /** The setting of the key: `SVC_EXAMPLE_API_KEY`. */
  readonly keySetting: string
  /** Gets one error when the key is refused. */
  readonly log: HostLog
  /** What a JSON body says about the error, where that is not in one of the usual fields. */
  readonly messageOf?: (body: unknown) => string | undefined
}

/** Characters of a server's message that are passed on. */
const longestMessage = 300

const usualFields = ["message", "detail", "error", "err_msg", "reason", "title"]

/** The first text in one of the fields in which servers explain errors, also one level deeper. */
const usualMessage = (body: unknown): string | undefined => {
  for (const field of usualFields) {
    const value: unknown = Object(body)[field]
    if (typeof value === "string" && value !== "") return value
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue
    const inner = usualMessage(value)
    if (inner !== undefined) return inner
  }
  return undefined
}

/** Milliseconds to wait by the headers of an answer (RFC 9110, 10.2.3): seconds, a date, or OpenAI's milliseconds. */
export const retryAfterMs = (headers: ResponseHeaders, now: number): number | undefined => {
  const exact = headers["retry-after-ms"]
  const value = headers["retry-after"]
  if (typeof exact === "string" && /^\d+(\.\d+)?$/.test(exact)) return Number(exact)
  if (typeof value !== "string") return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

export const makeFailures = (options: RequestFailuresOptions): RequestFailures => {
  const { keySetting, log, messageOf, server } = options
  const key = options.key === undefined ? undefined : Redacted.value(options.key)
  let refusal: string | undefined

  // Servers repeat keys in their messages.
  const shown = (text: string): string =>
    (key === undefined ? text : text.replaceAll(key, "…")).replace(/\s+/g, " ").trim().slice(0, longestMessage)

  const explained = (text: string): string => {
    if (text.trim() === "") return ""
    try {
      const body: unknown = JSON.parse(text)
      return `: ${shown(messageOf?.(body) ?? usualMessage(body) ?? JSON.stringify(body))}`
    } catch {
      return `: ${shown(text)}`
    }
  }

  return {
    ofStatus: ({ body, headers, now, status }) => {
      if (status === 401 || status === 403) {
        const how = key === undefined ? `${keySetting} is not set, and` : `${keySetting} was refused:`
        const reason = `${how} ${server} answered ${status}`
        if (refusal === undefined) log.error(`${reason}. Set a valid key and restart the server`)
        refusal = reason
        // Not the fault of one request: the provider counts as failing, and the next one is asked.
        return new RequestFailed({ reason, retryable: true, status })
      }
      // A status that the request causes: another attempt with the same request gives the same.
      const retryable = status === 408 || status === 409 || status === 429 || status >= 500
      const wait = retryable ? retryAfterMs(headers, now) : undefined
      const reason = `${server} answered ${status}${explained(body)}`
      return new RequestFailed({ reason, retryable, status, ...(wait === undefined ? {} : { retryAfterMs: wait }) })
    },
    ofConnection: (error) => {
      const { code, message } = Object(error)
      const what = typeof code === "string" && code !== "" ? code : shown(String(message ?? error))
      return new RequestFailed({ reason: `the connection to ${server} failed: ${what}`, retryable: true })
    },
    shown,
    accepted: () => {
      refusal = undefined
    },
    refused: () => refusal
  }
}

/**
 * Makes a request again after the time that the server asked for, if that is over within `within` of the first attempt;
 * otherwise it fails at once, so that the next provider is asked. `onWait` is called before each wait.
 */
export const obeyRetryAfter =
  (within: Duration.DurationInput, onWait: () => void = () => {}) =>
  <A, R>(request: Effect.Effect<A, RequestFailed, R>): Effect.Effect<A, RequestFailed, R> =>
    Effect.flatMap(Effect.clock, (clock) => {
      const deadline = monotonicMillis(clock) + Duration.toMillis(within)
      const attempt: Effect.Effect<A, RequestFailed, R> = Effect.catchAll(request, (failure) => {
        const { retryAfterMs: wait } = failure
        if (wait === undefined || monotonicMillis(clock) + wait > deadline) return failure
        onWait()
        return Effect.zipRight(Effect.sleep(Duration.millis(wait)), attempt)
      })
      return attempt
    })
