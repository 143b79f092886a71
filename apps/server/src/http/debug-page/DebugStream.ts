import type { BodyWriter } from "@svc/api/PlainRoutes"
import type { DebugLink } from "@svc/call-engine/record/DebugLinksRepo"
import { Effect } from "effect"
import { endedLink, type RenderedCall, withPlayer } from "./DebugPage.ts"
import type { WatchedCall } from "./DebugWatch.ts"

/** Reads without a change after which a comment is sent, so that no proxy closes the stream as idle. */
const commentAfter = 15
/** Reads for which the stream of an ended call stays open: for a slow client, and for its recording. */
const readsAfterEnd = 30
/** Reads without a change after which an ended call is complete: its last deliveries have been made by then. */
const readsWithoutChange = 3

const over = "event: over\ndata: {}\n\n"

/**
 * Sends the page's content as server-sent events whenever it changed, until the call has ended and is complete, or the
 * link has ended. `path` is that of the page.
 */
export const stream = (watched: WatchedCall, link: DebugLink, path: string, writer: BodyWriter): Effect.Effect<void> =>
  Effect.gen(function* () {
    let snapshot = watched.latest()
    let sent: RenderedCall | undefined
    let unchanged = 0
    let readsSinceEnd = 0
    while (true) {
      if (!snapshot.open.has(link.id)) {
        writer.push(`data: ${JSON.stringify(endedLink)}\n\n${over}`)
        return
      }
      const { timeline } = snapshot
      const { call } = timeline
      // A slow client gets the newest content when it is ready for it; nothing is buffered until then.
      const behind = writer.isBehind()
      if (!behind) {
        const now = yield* snapshot.content(link.scope)
        unchanged = now.top === sent?.top && now.rest === sent.rest ? unchanged + 1 : 0
        if (unchanged === 0) writer.push(`data: ${withPlayer(now, timeline, path).json}\n\n`)
        else if (unchanged % commentAfter === 0) writer.push(": still here\n\n")
        sent = now
      }
      const isComplete = (call.has_recording || !call.recording_enabled) && unchanged >= readsWithoutChange
      const isOver = call.ended_at !== null && ((!behind && isComplete) || ++readsSinceEnd > readsAfterEnd)
      if (isOver || writer.isStopping()) {
        if (call.ended_at !== null) writer.push(over)
        return
      }
      snapshot = yield* watched.next
    }
  })
