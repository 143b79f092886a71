import { type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { RateLimitExceeded } from "@svc/api/VoiceError"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import type { Timelines } from "@svc/call-engine/record/Timelines"
import { recordingResponse } from "@svc/call-engine/recording/RecordingHttp"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import type { Deliveries } from "@svc/webhooks/Deliveries"
import { type ConfigError, Effect, Layer } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { page } from "./DebugPage.ts"
import { policy } from "./DebugPageStyle.ts"
import { stream } from "./DebugStream.ts"
import { debugWatch } from "./DebugWatch.ts"

const headers: ResponseHeaders = {
  "Content-Security-Policy": policy,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex"
}

/** The most live streams of one link. */
const maxStreams = 20

const tooMany = () =>
  new RateLimitExceeded({
    message: `${maxStreams} pages follow this call by this link already: close one of them, and load this one again`,
    retryAfter: 30
  })

const base = "/debug/calls/:token"
const pathOf = (token: string) => `/debug/calls/${encodeURIComponent(token)}`

/**
 * `GET /debug/calls/<token>`, a page that shows a call; `…/live`, server-sent events with the page's content whenever
 * it changes, until the call is over; and `…/recording.mp3`. The token stands for a key. The page shows deliveries
 * beside the call, so it is not part of the call engine, which does not import webhooks.
 */
export const DebugRoutes: Layer.Layer<
  never,
  ConfigError.ConfigError,
  DebugLinks | Timelines | Recordings | Deliveries | RouteRegistry
> = Layer.unwrapScoped(
  Effect.gen(function* () {
    const links = yield* DebugLinks
    const recordings = yield* Recordings
    const watch = yield* debugWatch
    /** Live streams by the link's id. */
    const streams = new Map<number, number>()
    const isFull = (link: number) => (streams.get(link) ?? 0) >= maxStreams
    const change = (link: number, by: 1 | -1) =>
      Effect.sync(() => {
        const left = (streams.get(link) ?? 0) + by
        if (left > 0) streams.set(link, left)
        else streams.delete(link)
      })

    return plainRoutes(
      Effect.succeed([
        {
          method: "GET",
          path: `${base}/recording.mp3`,
          handle: (request) =>
            links.find(request.params["token"] ?? "").pipe(
              Effect.flatMap(({ call }) => recordings.fileOf(call.public_id)),
              Effect.map((file) => recordingResponse(file, request))
            )
        },
        {
          method: "GET",
          path: base,
          handle: ({ params }) =>
            Effect.gen(function* () {
              const token = params["token"] ?? ""
              const { call, scope } = yield* links.find(token)
              const { latest } = yield* watch(call)
              const snapshot = latest()
              return {
                status: 200,
                headers: { ...headers, "Content-Type": "text/html; charset=utf-8" },
                body: page(yield* snapshot.content(scope), snapshot.timeline, pathOf(token))
              } satisfies PlainResponse
            }).pipe(Effect.scoped)
        },
        {
          method: "GET",
          path: `${base}/live`,
          handle: ({ params }) =>
            Effect.gen(function* () {
              const token = params["token"] ?? ""
              const link = yield* links.find(token)
              if (isFull(link.id)) return yield* tooMany()
              return {
                status: 200,
                headers: { ...headers, "Content-Type": "text/event-stream" },
                // If the stream ends early, the browser connects again.
                body: (writer) =>
                  Effect.acquireRelease(change(link.id, 1), () => change(link.id, -1)).pipe(
                    Effect.zipRight(watch(link.call)),
                    Effect.flatMap((watched) => stream(watched, link, pathOf(token), writer)),
                    Effect.scoped
                  )
              } satisfies PlainResponse
            })
        }
      ])
    )
  })
)
