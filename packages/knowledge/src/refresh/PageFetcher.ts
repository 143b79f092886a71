import { UrlSafety } from "@svc/urls/UrlSafety"
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import { Agent, type Dispatcher } from "undici"
import { maxPageBytes, tooLarge, userAgent } from "./ReaderMessages.ts"
import { requestFault } from "./SourceFaults.ts"

/** The response to a request, as it was sent. */
export interface Fetched {
  readonly status: number
  readonly location: string | null
  readonly contentType: string | null
  readonly contentEncoding: string | null
  readonly bytes: Uint8Array
  /** Whether the response was longer, and these bytes are its beginning. */
  readonly isPart: boolean
}

/** What a request is for: of a robots.txt over 1 MB the beginning is returned, a page is refused. */
export type Purpose = "page" | "robots"

/** No response that can be used. The reason is the end of a sentence that begins with the URL. */
export class FetchFailed extends Data.TaggedError("FetchFailed")<{
  readonly reason: string
  /** Whether it concerns the host, and so each of its pages. */
  readonly isOfHost: boolean
}> {}

const connectTimeoutMs = 5_000
/** How long a request may take, with its body. */
const requestTimeout = "30 seconds"
/** Milliseconds between two requests to one host, unless its robots.txt asks for more. */
const defaultDelayMs = 200
/** Hosts whose last request is remembered. */
const maxHosts = 1000

/**
 * Requests pages of other servers for all refreshes of the process: one address check per connection, at most 1 MB, 30
 * seconds, and a pause between requests to one host. Redirects are returned.
 */
export class PageFetcher extends Context.Tag("@svc/knowledge/PageFetcher")<
  PageFetcher,
  {
    /** `delayMs`: the pause that the host asks for; at least 200 ms pass between two requests. */
    readonly get: (url: URL, delayMs: number, purpose: Purpose) => Effect.Effect<Fetched, FetchFailed>
  }
>() {
  static readonly layer: Layer.Layer<PageFetcher, never, UrlSafety> = Layer.scoped(
    PageFetcher,
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect: safety.connector({ timeout: connectTimeoutMs }), pipelining: 1 })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      /** The time of the next request to each host, in Unix milliseconds. */
      const next = new Map<string, number>()

      const pace = (host: string, delayMs: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (next.size >= maxHosts) for (const [other, at] of next) if (at <= now) next.delete(other)
          const at = Math.max(now, next.get(host) ?? 0)
          next.set(host, at + Math.max(defaultDelayMs, delayMs))
          return Effect.sleep(Duration.millis(at - now))
        })

      return {
        get: (url, delayMs, purpose) =>
          Effect.zipRight(
            pace(url.host, delayMs),
            exchange(agent, url, purpose).pipe(
              Effect.timeoutFail({
                duration: requestTimeout,
                onTimeout: () =>
                  new FetchFailed({ reason: `did not answer completely within ${requestTimeout}`, isOfHost: false })
              })
            )
          )
      }
    })
  )
}

const headers = {
  "user-agent": `Mozilla/5.0 (compatible; ${userAgent}/1.0)`,
  accept: "text/html, application/xhtml+xml, text/markdown, text/plain, application/xml, text/xml;q=0.9, */*;q=0.1",
  "accept-encoding": "gzip, deflate, br"
}

const exchange = (agent: Agent, url: URL, purpose: Purpose): Effect.Effect<Fetched, FetchFailed> =>
  Effect.async((resume) => {
    let controller: Dispatcher.DispatchController | undefined
    let isCancelled = false
    let head: Omit<Fetched, "bytes" | "isPart"> | undefined
    const chunks: Array<Uint8Array> = []
    let length = 0
    const succeed = (isPart: boolean) => {
      if (head !== undefined) resume(Effect.succeed({ ...head, bytes: Buffer.concat(chunks), isPart }))
    }
    const fail = (reason: string, isOfHost = false) => resume(Effect.fail(new FetchFailed({ reason, isOfHost })))
    const header = (value: string | ReadonlyArray<string> | undefined): string | null =>
      (typeof value === "string" ? value : value?.[0]) ?? null
    const abort = () => {
      isCancelled = true
      controller?.abort(new Error("cancelled"))
    }
    agent.dispatch(
      { origin: url.origin, path: `${url.pathname}${url.search}`, method: "GET", headers },
      {
        onRequestStart: (started) => {
          controller = started
          if (isCancelled) started.abort(new Error("cancelled"))
        },
        onResponseStart: (_, status, received) => {
          // Ignores informational responses (1xx).
          if (status < 200) return
          head = {
            status,
            location: header(received["location"]),
            contentType: header(received["content-type"]),
            contentEncoding: header(received["content-encoding"])
          }
          // Only the body of a successful response is read.
          if (status >= 300) {
            succeed(false)
            abort()
          } else if (purpose === "page" && Number(header(received["content-length"])) > maxPageBytes) {
            fail(tooLarge)
            abort()
          }
        },
        onResponseData: (_, chunk) => {
          length += chunk.length
          if (length <= maxPageBytes) {
            chunks.push(chunk)
            return
          }
          if (purpose === "page") fail(tooLarge)
          else {
            chunks.push(chunk.subarray(0, chunk.length - (length - maxPageBytes)))
            succeed(true)
          }
          abort()
        },
        onResponseEnd: () => succeed(false),
        onResponseError: (_, error) => {
          const { isOfHost, words } = requestFault(error)
          fail(words, isOfHost)
        }
      }
    )
    return Effect.sync(abort)
  })
