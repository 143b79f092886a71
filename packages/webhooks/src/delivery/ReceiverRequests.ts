import { connectionFault, withAdvice } from "@svc/urls/ConnectionFault"
import { Agent, type buildConnector, type Dispatcher } from "undici"
import type { DeliveryRequest } from "./DeliveryRequest.ts"

/** The result of one request: success when `error` is null. The status is null when there was no response. */
export interface AttemptResult {
  readonly status_code: number | null
  readonly error: string | null
}

/** How long an attempt may take, in milliseconds. */
export const attemptTimeoutMs = 10_000
/** How long a connection may take, in milliseconds. */
export const connectTimeoutMs = 5_000

/** The result of an attempt that was cancelled before its answer came. */
export const timedOut: AttemptResult = { status_code: null, error: "no answer within 10 seconds" }

/** Sends a request and returns a function that cancels it. Either way `done` is called once, later. */
export type Post = (request: DeliveryRequest, done: (result: AttemptResult) => void) => () => void

/** Maximum number of response bytes that are read. */
const maxResponseBytes = 4096

/**
 * Requests to receivers over these connections, with a pool of them per origin. Redirects are not followed. Callbacks
 * and no fibers, for thousands of attempts a second.
 */
export const receiverRequests = (
  connect: buildConnector.connector
): { readonly post: Post; readonly close: () => Promise<void> } => {
  const agent = new Agent({ connect, pipelining: 1 })
  const targetOf = targetCache()
  return {
    post: (request, done) => exchange(agent, targetOf(request.url), request, done),
    close: () => agent.destroy()
  }
}

const resultOf = (status: number): AttemptResult => {
  if (status >= 200 && status < 300) return { status_code: status, error: null }
  if (status >= 300 && status < 400) return { status_code: status, error: `redirects are not followed (${status})` }
  return { status_code: status, error: `status ${status}` }
}

/** Why there was no answer, without addresses and without text of a library. */
const noAnswer = (error: Error): AttemptResult => {
  const fault = connectionFault(error)
  const setting =
    fault.cause === "blocked" ? ", or have the operator of this server set SVC_ALLOW_PRIVATE_URLS=true" : ""
  return { status_code: null, error: `the URL could not be reached: ${withAdvice(fault)}${setting}` }
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
      onResponseError: (_, error) => finish(status === undefined ? noAnswer(error) : resultOf(status))
    }
  )
  return () => {
    finish(status === undefined ? timedOut : resultOf(status))
    abort("cancelled")
  }
}
