import { Clock, Data, Duration, Effect } from "effect"
import { CarrierRefused, CarrierUnavailable } from "./Carrier.ts"
import { monotonicMillis } from "./MonotonicTime.ts"
import { RequestFailed, type RequestFailures } from "./RequestFailed.ts"

/** A request to a carrier failed. `reason` is one plain sentence without secrets. */
export class CarrierRequestFailed extends Data.TaggedError("CarrierRequestFailed")<{
  readonly reason: string
  /**
   * `refused`: the carrier refuses it for good. `not-done`: it was not carried out, and may be later. In both cases nothing
   * has changed. `unknown`: the answer was lost, so that it may have been carried out.
   */
  readonly outcome: "refused" | "not-done" | "unknown"
  /** Of the HTTP answer; absent when there was none. */
  readonly status?: number
  /** The carrier's code of the error. */
  readonly code?: string
}> {}

export interface CarrierRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** An absolute URL of the carrier. Redirects are not followed, because they get the key. */
  readonly url: string
  /** A body of `application/x-www-form-urlencoded`. */
  readonly form?: ReadonlyArray<readonly [string, string]>
  /** A body of JSON. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the request can be made twice without harm. Absent: GET and DELETE can. */
  readonly isRepeatable?: boolean
}

export interface CarrierAnswer {
  readonly status: number
  /** The JSON of the body; null without one. */
  readonly body: unknown
}

/** The REST interface of a carrier. */
export interface CarrierApi {
  /**
   * Makes a request. After 429 the request is repeated when the time that the carrier asks for has passed. When the answer
   * was lost (no answer, 408, 5xx), the request is repeated only if it is repeatable.
   */
  readonly request: (request: CarrierRequest) => Effect.Effect<CarrierAnswer, CarrierRequestFailed>
}

export interface CarrierApiOptions {
  /** Of each request, such as `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  readonly failures: RequestFailures
  /** The carrier's code in the body of an error. */
  readonly codeOf: (body: unknown) => string | undefined
  /** How long one attempt may take. 10 s by default. */
  readonly attempt?: Duration.DurationInput
  /** How long all attempts together may take, from the first until the last begins. 8 s by default. */
  readonly within?: Duration.DurationInput
}

/** Characters of an error that are read. */
const longestError = 65_536
/** Milliseconds before the second and the third attempt, where the carrier asks for no other time. */
const waits = [250, 1000]
/** Errors of connections that were never made (Node.js, undici). */
const neverConnected: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const formOf = (pairs: ReadonlyArray<readonly [string, string]>): string => {
  const form = new URLSearchParams()
  for (const [name, value] of pairs) form.append(name, value)
  return form.toString()
}

/** A failed attempt. */
interface Attempt {
  readonly failure: CarrierRequestFailed
  readonly retryAfterMs: number | undefined
}

export const make = (options: CarrierApiOptions): CarrierApi => {
  const { codeOf, failures } = options
  const attemptLimit = Duration.decode(options.attempt ?? "10 seconds")
  const within = Duration.toMillis(options.within ?? "8 seconds")

  const lost = (error: unknown): Attempt => {
    // The reason of a failed fetch is the cause of its error.
    const cause = Object(error).cause ?? error
    const outcome = neverConnected.has(Object(cause).code) ? "not-done" : "unknown"
    const { reason } = failures.ofConnection(cause)
    return { failure: new CarrierRequestFailed({ reason, outcome }), retryAfterMs: undefined }
  }
  const refused = (error: RequestFailed, body: string): Attempt => {
    const { reason, retryAfterMs, status = 0 } = error
    const code = codeOf(jsonOf(body))
    const outcome =
      status === 401 || status === 403 || status === 429
        ? "not-done"
        : status === 408 || status >= 500
          ? "unknown"
          : "refused"
    return {
      failure: new CarrierRequestFailed({ reason, outcome, status, ...(code === undefined ? {} : { code }) }),
      retryAfterMs
    }
  }

  const attempt = ({ form, headers, json, method, url }: CarrierRequest): Effect.Effect<CarrierAnswer, Attempt> =>
    Effect.gen(function* () {
      const content =
        form !== undefined
          ? {
              type: "application/x-www-form-urlencoded",
              body: formOf(form)
            }
          : json !== undefined
            ? { type: "application/json", body: JSON.stringify(json) }
            : undefined
      const response = yield* Effect.tryPromise({
        try: (signal) =>
          fetch(url, {
            method,
            headers: {
              accept: "application/json",
              ...options.headers,
              ...headers,
              ...(content && { "content-type": content.type })
            },
            redirect: "manual",
            signal,
            ...(content && { body: content.body })
          }),
        catch: lost
      })
      const body = yield* Effect.tryPromise({ try: () => response.text(), catch: lost })
      const { status } = response
      if (!response.ok) {
        const now = yield* Clock.currentTimeMillis
        const error = failures.ofStatus({
          status,
          headers: Object.fromEntries(response.headers),
          body: body.slice(0, longestError),
          now
        })
        return yield* Effect.fail(refused(error, body.slice(0, longestError)))
      }
      failures.accepted()
      if (body === "") return { status, body: null }
      const parsed = jsonOf(body)
      if (parsed !== undefined) return { status, body: parsed }
      const reason = `${new URL(url).origin} answered with no JSON`
      return yield* Effect.fail({
        failure: new CarrierRequestFailed({ reason, outcome: "unknown", status }),
        retryAfterMs: undefined
      })
    }).pipe(
      Effect.timeoutFail({
        duration: attemptLimit,
        onTimeout: (): Attempt => ({
          failure: new CarrierRequestFailed({
            reason: `${new URL(url).origin} did not answer within ${Duration.format(attemptLimit)}`,
            outcome: "unknown"
          }),
          retryAfterMs: undefined
        })
      })
    )

  const request = (one: CarrierRequest): Effect.Effect<CarrierAnswer, CarrierRequestFailed> =>
    Effect.flatMap(Effect.clock, (clock) => {
      const deadline = monotonicMillis(clock) + within
      const isRepeatable = one.isRepeatable ?? (one.method === "GET" || one.method === "DELETE")
      const make = (made: number): Effect.Effect<CarrierAnswer, CarrierRequestFailed> =>
        Effect.catchAll(attempt(one), ({ failure, retryAfterMs }) => {
          // A refused key would be refused again.
          const mayRepeat =
            failure.outcome === "not-done"
              ? failure.status === undefined || failure.status === 429
              : failure.outcome === "unknown" && isRepeatable
          const wait = retryAfterMs ?? waits[made]
          if (!mayRepeat || made >= waits.length || wait === undefined) return failure
          if (monotonicMillis(clock) + wait > deadline) return failure
          return Effect.zipRight(Effect.sleep(Duration.millis(wait)), make(made + 1))
        })
      return make(0)
    })

  return { request }
}

/** The errors of `Carrier` for a request that failed: callers repeat all but what is refused for good. */
export const carrierError = ({ outcome, reason }: CarrierRequestFailed): CarrierRefused | CarrierUnavailable =>
  outcome === "refused" ? new CarrierRefused({ reason }) : new CarrierUnavailable({ reason })

/** The same for operations that have no refusal in the contract. */
export const carrierUnavailable = ({ reason }: { readonly reason: string }): CarrierUnavailable =>
  new CarrierUnavailable({ reason })

/** The same for `ServerHealth`. */
export const requestFailed = ({ outcome, reason, status }: CarrierRequestFailed): RequestFailed =>
  new RequestFailed({ reason, retryable: outcome !== "refused", ...(status === undefined ? {} : { status }) })
