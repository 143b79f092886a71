import type { ServerResponse } from "node:http"
import { type RecordingFile, Recordings } from "@svc/call-engine/recording/Recordings"
import type { ObjectRange } from "@svc/providers/ObjectStore"
import { Effect, Stream } from "effect"
import { byteRange } from "./ByteRange.ts"
import { answerFailure, type RunRequest, type Serve, type ServedRoutes } from "./Dispatcher.ts"
import type { Exchange } from "./Exchange.ts"
import { promise, send } from "./Responses.ts"

const path = "/v1/recordings/:file"

/** Sends bytes as fast as the client takes them. */
const pour = (response: ServerResponse, { read }: RecordingFile, range: ObjectRange) =>
  Stream.runForEach(read(range), (bytes) =>
    Effect.async<void>((resume) => {
      response.write(bytes, () => resume(Effect.void))
    })
  )

/** Sends a recording as players want it: whole or in part, and its head alone. */
export const sendRecording = (exchange: Exchange, file: RecordingFile, run: RunRequest): void => {
  const { request, response } = exchange
  const { size } = file
  const known = {
    "Accept-Ranges": "bytes",
    "Content-Type": "audio/mpeg",
    // It is personal, and its link expires.
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff"
  }
  const isHead = request.method === "HEAD"
  const asked = isHead ? undefined : byteRange(request.headers.range, size)
  if (asked === "unsatisfiable") {
    send(exchange, 416, { ...known, "Content-Range": `bytes */${size}` }, "")
    return
  }
  const range = asked ?? { start: 0, end: size }
  if (response.destroyed) return
  promise(exchange, { ...known, "Content-Length": String(range.end - range.start) })
  if (asked === undefined) response.writeHead(200)
  else response.writeHead(206, { "Content-Range": `bytes ${range.start}-${range.end - 1}/${size}` })
  if (isHead) {
    response.end()
    return
  }
  const sending = pour(response, file, range).pipe(
    Effect.catchAllCause((cause) => Effect.zipRight(Effect.logWarning("A recording could not be read", cause), broken))
  )
  const broken = Effect.sync(() => void response.destroy())
  const fiber = run(
    Effect.zipRight(
      sending,
      Effect.sync(() => void response.end())
    )
  )
  response.once("close", () => response.writableFinished || fiber.unsafeInterruptAsFork(fiber.id()))
}

/** `GET /v1/recordings/<call_id>.mp3` with a link's query (decisions §4.7). It needs no key: the signature is one. */
export const recordingRoutes: ServedRoutes<Recordings> = ({ run }) =>
  Effect.map(Recordings, (recordings) => {
    const serve: Serve = (exchange, { file = "" }, search) => {
      run(recordings.open(file, new URLSearchParams(search))).addObserver((exit) => {
        if (exit._tag === "Success") sendRecording(exchange, exit.value, run)
        else answerFailure(exchange, path, exit.cause, run)
      })
    }
    return [{ method: "GET", path, serve }]
  })
