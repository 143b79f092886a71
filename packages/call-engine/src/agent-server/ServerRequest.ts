import { shortened } from "@svc/conversation/Shortened"
import { Effect, Exit } from "effect"

/** The longest body that is kept, in characters. */
const maxCharacters = 16_384

/** A completed request to an agent's server, for the debug page. */
export interface ServerRequest {
  readonly event: string
  /** Unix milliseconds. */
  readonly started_at: number
  /** Milliseconds until the answer had arrived or the request was given up. */
  readonly duration_ms: number
  /** The answer's status; null without an answer. */
  readonly status: number | null
  /** The media type of the answer, without parameters; null without one. */
  readonly content_type: string | null
  /** Why there is no usable answer, or null. */
  readonly error: string | null
  /** Bodies as sent and received, truncated to {@link maxCharacters}. */
  readonly request: string
  readonly response: string | null
}

/** A request in progress: what was sent and received so far. */
export interface RequestTrace {
  /** Unix milliseconds. */
  readonly started_at: number
  request: string
  status: number | null
  content_type: string | null
  response: string | null
}

/** Truncates a body, and replaces NUL and lone surrogates, which text columns reject. */
const truncated = (body: string): string =>
  (body.length <= maxCharacters ? body : `${body.slice(0, maxCharacters)}… (${body.length} characters)`).replace(
    /[\0\p{Surrogate}]/gu,
    "\uFFFD"
  )

/** Carries out a request, which fills in the trace, and reports it to `onDone`, however it ended. */
export const traced = <A, E extends { readonly reason: string }>(
  event: string,
  carryOut: (trace: RequestTrace) => Effect.Effect<A, E>,
  onDone: (request: ServerRequest) => void = () => {}
): Effect.Effect<A, E> =>
  Effect.clockWith((clock) => {
    const started_at = clock.unsafeCurrentTimeMillis()
    const trace: RequestTrace = { started_at, request: "", status: null, content_type: null, response: null }
    return Effect.onExit(carryOut(trace), (exit) =>
      Effect.sync(() =>
        onDone({
          event,
          started_at,
          duration_ms: clock.unsafeCurrentTimeMillis() - started_at,
          status: trace.status,
          content_type: trace.content_type,
          error: errorOf(exit),
          request: truncated(trace.request),
          response: trace.response === null ? null : truncated(trace.response)
        })
      )
    )
  })

const errorOf = (exit: Exit.Exit<unknown, { readonly reason: string }>): string | null =>
  Exit.match(exit, {
    onSuccess: () => null,
    onFailure: (cause) => (cause._tag === "Fail" ? cause.error.reason : "given up")
  })

/** The longest URL in {@link storyOf}, in characters. */
const maxUrl = 200

/** A URL without what may be secret: credentials, query and fragment. */
export const publicPart = (url: string): string => {
  if (!URL.canParse(url)) return "server_url"
  const { host, pathname, protocol } = new URL(url)
  return shortened(`${protocol}//${host}${pathname}`, maxUrl)
}

/** What happened to a request, for people: `POST https://example.com/agent answered 404 with text/html in 12 ms`. */
export const storyOf = (url: string, { content_type, duration_ms, status }: ServerRequest): string => {
  const type = content_type === null ? "" : ` with ${content_type}`
  const outcome = status === null ? `failed after ${duration_ms} ms` : `answered ${status}${type} in ${duration_ms} ms`
  return `POST ${publicPart(url)} ${outcome}`
}
