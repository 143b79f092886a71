import { connectionReason } from "@svc/urls/ConnectionError"
import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer } from "effect"
import { Agent, type Dispatcher } from "undici"
import type { DeliveryRequest } from "./DeliveryRequest.ts"

/** The result of one request: success when `error` is null. The status is null when there was no response. */
export interface AttemptResult {
  readonly status_code: number | null
  readonly error: string | null
}

/** How long an attempt may take, in milliseconds. */
export const attemptTimeoutMs = 10_000

/** The result of an attempt that was cancelled before its answer came. */
export const timedOut: AttemptResult = { status_code: null, error: "no answer within 10 seconds" }

/** Maximum number of response bytes that are read. */
const maxResponseBytes = 4096
const connectTimeoutMs = 5_000

/**
 * HTTP client for requests to receivers, with a connection pool per origin. Callbacks and no fibers, for thousands of
 * attempts a second. It does not follow redirects; addresses of private networks are refused when a connection is made.
 */
export class ReceiverClient extends Context.Tag("@svc/webhooks/ReceiverClient")<
  ReceiverClient,
  {
    /**
     * Sends a request and calls `done` once, later, with its result. The caller measures the time: the returned
     * function cancels the request, and `done` then gets the status, if one has arrived, or {@link timedOut}.
     */
    readonly post: (request: DeliveryRequest, done: (result: AttemptResult) => void) => () => void
  }
>() {
  static readonly layer: Layer.Layer<ReceiverClient, never, UrlSafety> = Layer.scoped(
    ReceiverClient,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect: safety.connector({ timeout: connectTimeoutMs }), pipelining: 1 })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      const targetOf = targetCache()
      return { post: (request, done) => exchange(agent, targetOf(request.url), request, done) }
    })
  )
}

const resultOf = (status: number): AttemptResult => {
  if (status >= 200 && status < 300) return { status_code: status, error: null }
  if (status >= 300 && status < 400) return { status_code: status, error: `redirects are not followed (${status})` }
  return { status_code: status, error: `status ${status}` }
}

/** A URL in the parts that undici takes. */
interface Target {
  readonly origin: string
  readonly path: string
}

const maxCachedTargets = 1000

/** Parses URLs and caches the results: most requests go to the same few. Undefined for an invalid URL. */
const targetCache = (): ((url: string) => Target | undefined) => {
  const targets = new Map<string, Target>()
  return (url) => {
    const cached = targets.get(url)
    if (cached !== undefined || !URL.canParse(url)) return cached
    const { origin, pathname, search } = new URL(url)
    const target = { origin, path: `${pathname}${search}` }
    if (targets.size >= maxCachedTargets) targets.clear()
    targets.set(url, target)
    return target
  }
}

const exchange = (
  agent: Agent,
  target: Target | undefined,
  { body, headers }: DeliveryRequest,
  done: (result: AttemptResult) => void
): (() => void) => {
  let controller: Dispatcher.DispatchController | undefined
  let abortReason: Error | undefined
  let status: number | undefined
  let bytesRead = 0
  let isDone = false
  const finish = (result: AttemptResult) => {
    if (isDone) return
    isDone = true
    done(result)
  }
  const abort = (reason: string) => {
    abortReason = new Error(reason)
    controller?.abort(abortReason)
  }
  if (target === undefined) {
    queueMicrotask(() => finish({ status_code: null, error: "not a URL" }))
    return () => undefined
  }
  agent.dispatch(
    { ...target, method: "POST", headers, body },
    {
      onRequestStart: (started) => {
        controller = started
        // The request was cancelled while the connection was being made.
        if (abortReason !== undefined) started.abort(abortReason)
      },
      onResponseStart: (_, code) => {
        // Ignores informational responses (1xx).
        if (code >= 200) status = code
      },
      onResponseData: (_, chunk) => {
        bytesRead += chunk.length
        if (bytesRead <= maxResponseBytes || status === undefined) return
        finish(resultOf(status))
        abort("the answer is too long")
      },
      onResponseEnd: () => {
        if (status !== undefined) finish(resultOf(status))
      },
      // If there is a status, the connection broke in the body, which is not needed.
      onResponseError: (_, error) =>
        finish(status === undefined ? { status_code: null, error: connectionReason(error, 500) } : resultOf(status))
    }
  )
  return () => {
    finish(status === undefined ? timedOut : resultOf(status))
    abort("cancelled")
  }
}
