import { DebugLinks } from "@svc/call-engine/record/DebugLinks"
import { Recordings } from "@svc/call-engine/recording/Recordings"
import { Deliveries } from "@svc/webhooks/Deliveries"
import { Effect } from "effect"
import { policy } from "./DebugLook.ts"
import { content, page } from "./DebugPage.ts"
import { answerFailure, type Serve, type ServedRoutes } from "./Dispatcher.ts"
import type { Exchange } from "./Exchange.ts"
import { sendRecording } from "./RecordingRoutes.ts"
import { type ResponseHeaders, send } from "./Responses.ts"

const headers: ResponseHeaders = {
  "Content-Security-Policy": policy,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex"
}

/** How often a call that runs is looked at for those who watch it. */
const lookEvery = "1 second"
/** Looks without news after which a comment is sent, so that no proxy takes the stream for dead. */
const silence = 15

/** Looks for which a call that is over is still watched: for one that does not read, and for its recording. */
const patience = 30
/** Looks without news after which nothing more is expected of a call that is over: its last webhooks are on their way. */
const calm = 3

/** Whether the server has begun to stop: it then tells every response under way not to keep its connection. */
const stopping = ({ response }: Exchange, kept: boolean): boolean => kept && !response.shouldKeepAlive

/**
 * `GET /debug/calls/<token>`, a page on which a call can be looked into; `…/live`, server-sent events with the page's
 * content whenever there is more of it, until the call is over; and `…/recording.mp3` (decisions §4.9). The token stands for
 * a key.
 */
export const debugRoutes: ServedRoutes<DebugLinks | Recordings | Deliveries> = ({ run }) =>
  Effect.map(Effect.all([DebugLinks, Recordings, Deliveries]), ([links, recordings, deliveries]) => {
    const path = "/debug/calls/:token"
    const pathOf = (token: string): string => `/debug/calls/${encodeURIComponent(token)}`
    const look = (token: string) =>
      Effect.flatMap(links.view(token), (view) =>
        Effect.map(deliveries.ofCall(view.call.call_id), (told) => ({ ...view, deliveries: told, path: pathOf(token) }))
      )
    const serve: Serve = (exchange, { token = "" }) => {
      run(look(token)).addObserver((exit) => {
        if (exit._tag === "Failure") answerFailure(exchange, path, exit.cause, run)
        else send(exchange, 200, { ...headers, "Content-Type": "text/html; charset=utf-8" }, page(exit.value))
      })
    }

    const stream = (exchange: Exchange, token: string) =>
      Effect.gen(function* () {
        const { response } = exchange
        const kept = response.shouldKeepAlive
        let view = yield* look(token)
        response.writeHead(200, { ...headers, "Content-Type": "text/event-stream" })
        let sent = ""
        let quiet = 0
        let late = 0
        while (true) {
          // Who does not read gets the newest when it does, and nothing piles up for it until then.
          const behind = response.writableNeedDrain
          if (!behind) {
            const now = content(view)
            quiet = now === sent ? quiet + 1 : 0
            if (quiet === 0) response.write(`data: ${JSON.stringify(now)}\n\n`)
            else if (quiet % silence === 0) response.write(": still here\n\n")
            sent = now
          }
          const isComplete = (view.call.has_recording || !view.call.recording_enabled) && quiet >= calm
          const isOver = view.call.ended_at !== null && ((!behind && isComplete) || ++late > patience)
          if (isOver || stopping(exchange, kept)) break
          yield* Effect.sleep(lookEvery)
          view = yield* look(token)
        }
        response.end(view.call.ended_at === null ? "" : "event: over\ndata: {}\n\n")
      })

    const live: Serve = (exchange, { token = "" }) => {
      const { response } = exchange
      const fiber = run(stream(exchange, token))
      fiber.addObserver((exit) => {
        if (exit._tag === "Success") return
        if (response.headersSent) response.end()
        else answerFailure(exchange, `${path}/live`, exit.cause, run)
      })
      response.once("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
    }
    const recording: Serve = (exchange, { token = "" }) => {
      const file = Effect.flatMap(links.view(token), ({ call }) => recordings.fileOf(call.call_id))
      run(file).addObserver((exit) => {
        if (exit._tag === "Success") sendRecording(exchange, exit.value, run)
        else answerFailure(exchange, `${path}/recording.mp3`, exit.cause, run)
      })
    }
    return [
      { method: "GET", path: `${path}/recording.mp3`, serve: recording },
      { method: "GET", path, serve },
      { method: "GET", path: `${path}/live`, serve: live }
    ]
  })
