import { type BodyWriter, type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import { recordingResponse } from "@svc/call-engine/recording/RecordingHttp"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Effect, type Layer } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { content, page, type ShownCall } from "./DebugPage.ts"
import { policy } from "./DebugPageStyle.ts"

const headers: ResponseHeaders = {
  "Content-Security-Policy": policy,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex"
}

/** How often the live stream reads the call. */
const readInterval = "1 second"
/** Reads without a change after which a comment is sent, so that no proxy closes the stream as idle. */
const commentAfter = 15
/** Reads for which the stream of an ended call stays open: for a slow client, and for its recording. */
const readsAfterEnd = 30
/** Reads without a change after which an ended call is complete: its last deliveries have been made by then. */
const readsWithoutChange = 3

/** Sends the page's content whenever it changed, until the call has ended and is complete. */
const stream = <E>(first: ShownCall, read: Effect.Effect<ShownCall, E>, writer: BodyWriter): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    let view = first
    let sent = ""
    let unchanged = 0
    let readsSinceEnd = 0
    while (true) {
      // A slow client gets the newest content when it is ready for it; nothing is buffered until then.
      const behind = writer.isBehind()
      if (!behind) {
        const now = content(view)
        unchanged = now === sent ? unchanged + 1 : 0
        if (unchanged === 0) writer.push(`data: ${JSON.stringify(now)}\n\n`)
        else if (unchanged % commentAfter === 0) writer.push(": still here\n\n")
        sent = now
      }
      const isComplete = (view.call.has_recording || !view.call.recording_enabled) && unchanged >= readsWithoutChange
      const isOver = view.call.ended_at !== null && ((!behind && isComplete) || ++readsSinceEnd > readsAfterEnd)
      if (isOver || writer.isStopping()) break
      yield* Effect.sleep(readInterval)
      view = yield* read
    }
    if (view.call.ended_at !== null) writer.push("event: over\ndata: {}\n\n")
  })

/**
 * `GET /debug/calls/<token>`, a page that shows a call; `…/live`, server-sent events with the page's content whenever
 * it changes, until the call is over; and `…/recording.mp3`. The token stands for a key. The page shows deliveries
 * beside the call, so it is not part of the call engine, which does not import webhooks.
 */
export const DebugRoutes: Layer.Layer<never, never, DebugLinks | Recordings | Deliveries | RouteRegistry> = plainRoutes(
  Effect.map(Effect.all([DebugLinks, Recordings, Deliveries]), ([links, recordings, deliveries]) => {
    const path = "/debug/calls/:token"
    const read = (token = "") =>
      Effect.flatMap(links.view(token), (view) =>
        Effect.map(
          deliveries.ofCall(view.call.call_id),
          (made): ShownCall => ({ ...view, deliveries: made, path: `/debug/calls/${encodeURIComponent(token)}` })
        )
      )
    return [
      {
        method: "GET",
        path: `${path}/recording.mp3`,
        handle: (request) =>
          links.view(request.params["token"] ?? "").pipe(
            Effect.flatMap(({ call }) => recordings.fileOf(call.call_id)),
            Effect.map((file) => recordingResponse(file, request))
          )
      },
      {
        method: "GET",
        path,
        handle: ({ params }) =>
          Effect.map(
            read(params["token"]),
            (view): PlainResponse => ({
              status: 200,
              headers: { ...headers, "Content-Type": "text/html; charset=utf-8" },
              body: page(view)
            })
          )
      },
      {
        method: "GET",
        path: `${path}/live`,
        handle: ({ params }) =>
          Effect.map(
            read(params["token"]),
            (view): PlainResponse => ({
              status: 200,
              headers: { ...headers, "Content-Type": "text/event-stream" },
              // If the stream ends early, the browser reconnects.
              body: (writer) => Effect.ignore(stream(view, read(params["token"]), writer))
            })
          )
      }
    ]
  })
)
