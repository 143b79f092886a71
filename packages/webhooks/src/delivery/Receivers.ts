import { UrlSafety } from "@svc/urls/UrlSafety"
import { Context, Effect, Layer } from "effect"
import { Agent, type Dispatcher } from "undici"

/** A request to a receiver. */
export interface Letter {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What came of it: a success when `error` is null. The status is null when there was no answer. */
export interface Reply {
  readonly status_code: number | null
  readonly error: string | null
}

/** How long an attempt may take (spec 6.5), in milliseconds. */
export const attemptMs = 10_000

/** What an attempt is that was given up. */
export const tooLate: Reply = { status_code: null, error: "no answer within 10 seconds" }

/** Bytes of an answer that are read. */
const mostRead = 4096
const connectMs = 5_000

/**
 * The servers that get our webhooks. The edge to the HTTP client: callbacks and no fibers, because thousands of
 * deliveries a second go through here. Redirects are not followed, and addresses are checked by the connection itself.
 */
export class Receivers extends Context.Tag("@svc/webhooks/Receivers")<
  Receivers,
  {
    /**
     * Sends a letter and calls `done` once, later, with what came of it. The caller keeps the time: the function that is
     * returned gives up, and `done` then hears the status if there was one, or {@link tooLate}.
     */
    readonly post: (letter: Letter, done: (reply: Reply) => void) => () => void
  }
>() {
  static readonly layer: Layer.Layer<Receivers, never, UrlSafety> = Layer.scoped(
    Receivers,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect: safety.connector({ timeout: connectMs }), pipelining: 1 })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      const placeOf = rememberPlaces()
      return { post: (letter, done) => exchange(agent, placeOf(letter.url), letter, done) }
    })
  )
}

/** An answer with this status, judged (decisions §5.2). */
const judged = (status: number): Reply => {
  if (status >= 200 && status < 300) return { status_code: status, error: null }
  if (status >= 300 && status < 400) return { status_code: status, error: `redirects are not followed (${status})` }
  return { status_code: status, error: `status ${status}` }
}

/** Where a letter goes, in the parts that the HTTP client wants. */
interface Place {
  readonly origin: string
  readonly path: string
}

const mostPlaces = 1000

/** Parses addresses, and remembers them: the same few get nearly all letters. Undefined for what is no URL. */
const rememberPlaces = (): ((url: string) => Place | undefined) => {
  const places = new Map<string, Place>()
  return (url) => {
    const known = places.get(url)
    if (known !== undefined || !URL.canParse(url)) return known
    const { origin, pathname, search } = new URL(url)
    const place = { origin, path: `${pathname}${search}` }
    if (places.size >= mostPlaces) places.clear()
    places.set(url, place)
    return place
  }
}

const exchange = (
  agent: Agent,
  place: Place | undefined,
  { body, headers }: Letter,
  done: (reply: Reply) => void
): (() => void) => {
  let controller: Dispatcher.DispatchController | undefined
  let unwanted: Error | undefined
  let status: number | undefined
  let read = 0
  let over = false
  const finish = (reply: Reply) => {
    if (over) return
    over = true
    done(reply)
  }
  const stop = (reason: string) => {
    unwanted = new Error(reason)
    controller?.abort(unwanted)
  }
  if (place === undefined) {
    queueMicrotask(() => finish({ status_code: null, error: "not a URL" }))
    return () => undefined
  }
  agent.dispatch(
    { ...place, method: "POST", headers, body },
    {
      onRequestStart: (started) => {
        controller = started
        // It was given up while the connection was being made.
        if (unwanted !== undefined) started.abort(unwanted)
      },
      onResponseStart: (_, code) => {
        // Not what is only informational.
        if (code >= 200) status = code
      },
      onResponseData: (_, chunk) => {
        read += chunk.length
        if (read <= mostRead || status === undefined) return
        finish(judged(status))
        stop("the answer is longer than is read")
      },
      onResponseEnd: () => {
        if (status !== undefined) finish(judged(status))
      },
      // With a status the answer broke off in its body, of which nothing is needed.
      onResponseError: (_, error) =>
        finish(status === undefined ? { status_code: null, error: reasonOf(error) } : judged(status))
    }
  )
  return () => {
    finish(status === undefined ? tooLate : judged(status))
    stop("given up")
  }
}

/** One line on what went wrong. An error of several addresses has an empty message of its own. */
const reasonOf = (error: Error): string => {
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const text = first.message === "" ? first.name : first.message
  return text.replace(/[\p{Cc}\p{Surrogate}]+/gu, " ").slice(0, 500)
}
