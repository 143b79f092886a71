import { type VoicePreview, VoicePreviews } from "@svc/agents/VoicePreviews"
import { Language } from "@svc/api/agents/Agent"
import { ValidationError } from "@svc/api/VoiceError"
import { Effect, Either, Option, Schema } from "effect"
import { byteRange } from "./ByteRange.ts"
import { answerFailure, type Serve, type ServedRoutes } from "./Dispatcher.ts"
import type { Exchange } from "./Exchange.ts"
import { send } from "./Responses.ts"

/** Path and query of a voice's preview in a language. */
export const previewPath = (voice: string, language: Language): string =>
  `/v1/voices/${encodeURIComponent(voice)}/preview?language=${language}`

const unsupported = ValidationError.field("language", "language must be a supported BCP-47 code")

/** The language that is asked for; none: the voice's own. */
const languageOf = (search: string): Either.Either<Language | undefined, ValidationError> => {
  const asked = new URLSearchParams(search).getAll("language")
  if (asked.length === 0) return Either.right(undefined)
  const language = asked.length === 1 ? Schema.decodeUnknownOption(Language)(asked[0]) : Option.none()
  return Either.fromOption(language, () => unsupported)
}

/** Whether a list of entity tags has this one. */
const lists = (tags: string | undefined, etag: string): boolean =>
  (tags ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag)

/** Sends a preview as an audio element wants it: cached for a day, whole or in part. */
const answer = (exchange: Exchange, { bytes, etag }: VoicePreview): void => {
  const { headers, method } = exchange.request
  const known = {
    ETag: etag,
    "Cache-Control": "public, max-age=86400",
    "Accept-Ranges": "bytes",
    "Content-Type": "audio/wav",
    "X-Content-Type-Options": "nosniff",
    // Pages of other origins may play and draw it.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin"
  }
  // A range of another file than the one that the client has part of is of no use.
  const condition = headers["if-range"]
  const partial = method === "GET" && (condition === undefined || condition === etag)
  const range = partial ? byteRange(headers.range, bytes.length) : undefined
  if (lists(headers["if-none-match"], etag)) send(exchange, 304, known, undefined)
  else if (range === undefined) send(exchange, 200, known, bytes)
  else if (range === "unsatisfiable") {
    send(exchange, 416, { ...known, "Content-Range": `bytes */${bytes.length}` }, "")
  } else {
    const part = `bytes ${range.start}-${range.end - 1}/${bytes.length}`
    send(exchange, 206, { ...known, "Content-Range": part }, bytes.subarray(range.start, range.end))
  }
}

/** `GET /v1/voices/<name>/preview`, optionally with `language`: what the voice sounds like (decisions §3.6). It needs no key. */
export const voicePreviewRoutes: ServedRoutes<VoicePreviews> = ({ run }) =>
  Effect.map(VoicePreviews, (previews) => {
    const path = "/v1/voices/:name/preview"
    const serve: Serve = (exchange, { name = "" }, search) => {
      const found = Effect.flatMap(languageOf(search), (language) => previews.get(name, language))
      run(found).addObserver((exit) => {
        if (exit._tag === "Success") answer(exchange, exit.value)
        else answerFailure(exchange, path, exit.cause, run)
      })
    }
    return [{ method: "GET", path, serve }]
  })
