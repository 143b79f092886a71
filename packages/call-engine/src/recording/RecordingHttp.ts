import { byteRange } from "@svc/api/ByteRange"
import { type PlainRequest, type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { Effect, type Layer, Stream } from "effect"
import { type RecordingFile, Recordings } from "./Recordings.ts"

/** The response to a player's request: the whole recording, a byte range of it, or only the headers. */
export const recordingResponse = ({ read, size }: RecordingFile, { headers, method }: PlainRequest): PlainResponse => {
  const known = {
    "Accept-Ranges": "bytes",
    "Content-Type": "audio/mpeg",
    // A recording is personal data, and its link expires.
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff"
  }
  const requested = method === "HEAD" ? undefined : byteRange(headers["range"], size)
  if (requested === "unsatisfiable") {
    return { status: 416, headers: { ...known, "Content-Range": `bytes */${size}` }, body: "" }
  }
  const range = requested ?? { start: 0, end: size }
  const part = { "Content-Range": `bytes ${range.start}-${range.end - 1}/${size}` }
  return {
    status: requested === undefined ? 200 : 206,
    headers: {
      ...known,
      "Content-Length": String(range.end - range.start),
      ...(requested === undefined ? {} : part)
    },
    body: ({ write }) =>
      Stream.runForEach(read(range), write).pipe(
        Effect.tapErrorCause((cause) => Effect.logWarning("A recording could not be read", cause))
      )
  }
}

/**
 * `GET /v1/recordings/<call_id>.mp3` with the query of a signed link. It needs no API key: the signature grants access.
 */
export const RecordingHttp: Layer.Layer<never, never, Recordings | RouteRegistry> = plainRoutes(
  Effect.map(Recordings, (recordings) => [
    {
      method: "GET",
      path: "/v1/recordings/:file",
      handle: (request) =>
        Effect.map(recordings.open(request.params["file"] ?? "", request.query), (file) =>
          recordingResponse(file, request)
        )
    }
  ])
)
