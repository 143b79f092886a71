import { Language } from "@svc/api/agents/Language"
import { byteRange } from "@svc/api/ByteRange"
import { matchesEntityTag } from "@svc/api/EntityTag"
import * as Handlers from "@svc/api/Handlers"
import { type PlainRequest, type PlainResponse, plainRoutes, type RouteRegistry } from "@svc/api/PlainRoutes"
import { VoiceApi } from "@svc/api/VoiceApi"
import { ValidationError } from "@svc/api/VoiceError"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { Effect, Either, Layer, Option, Schema } from "effect"
import { type VoicePreview, VoicePreviews } from "./VoicePreviews.ts"
import { Voices } from "./Voices.ts"

/** Path and query of a voice's preview in a language. */
export const previewPath = (voice: string, language: Language): string =>
  `/v1/voices/${encodeURIComponent(voice)}/preview?language=${language}`

const handlers = Handlers.group(
  VoiceApi,
  "voices",
  Effect.gen(function* () {
    const voices = yield* Voices
    const { base } = yield* PublicUrl
    return {
      list: ({ urlParams }) =>
        Effect.sync(() => ({
          voices: voices.list(urlParams.language).map(({ gender, language, name }) => ({
            name,
            language,
            gender,
            preview_url: base + previewPath(name, language)
          }))
        }))
    }
  })
)

const unsupported = ValidationError.field("language", "language must be a supported BCP-47 code")

/** The requested language; without one, the voice's own. */
const languageOf = (query: URLSearchParams): Either.Either<Language | undefined, ValidationError> => {
  const values = query.getAll("language")
  if (values.length === 0) return Either.right(undefined)
  const language = values.length === 1 ? Schema.decodeUnknownOption(Language)(values[0]) : Option.none()
  return Either.fromOption(language, () => unsupported)
}

/** A preview as an audio element requests it: cached for a day, whole or in part. */
const responseOf = ({ bytes, etag }: VoicePreview, { headers, method }: PlainRequest): PlainResponse => {
  const common = {
    ETag: etag,
    "Cache-Control": "public, max-age=86400",
    "Accept-Ranges": "bytes",
    "Content-Type": "audio/wav",
    "X-Content-Type-Options": "nosniff",
    // Pages of other origins may play it and draw its waveform.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin"
  }
  if (matchesEntityTag(headers["if-none-match"], etag)) return { status: 304, headers: common }
  // If-Range with another entity tag: the client has a part of another file, so it gets the whole one.
  const condition = headers["if-range"]
  const partial = method === "GET" && (condition === undefined || condition === etag)
  const range = partial ? byteRange(headers["range"], bytes.length) : undefined
  if (range === undefined) return { status: 200, headers: common, body: bytes }
  if (range === "unsatisfiable") {
    return { status: 416, headers: { ...common, "Content-Range": `bytes */${bytes.length}` }, body: "" }
  }
  const part = `bytes ${range.start}-${range.end - 1}/${bytes.length}`
  return {
    status: 206,
    headers: { ...common, "Content-Range": part },
    body: bytes.subarray(range.start, range.end)
  }
}

/** `GET /v1/voices/<name>/preview`, optionally with `language`: a sample of the voice. It needs no key. */
export const previewRoute: Layer.Layer<never, never, VoicePreviews | RouteRegistry> = plainRoutes(
  Effect.map(VoicePreviews, (previews) => [
    {
      method: "GET",
      path: "/v1/voices/:name/preview",
      handle: (request) =>
        languageOf(request.query).pipe(
          Effect.flatMap((language) => previews.get(request.params["name"] ?? "", language)),
          Effect.map((preview) => responseOf(preview, request))
        )
    }
  ])
)

/** Handlers of `/v1/voices`. */
export const VoicesHttp: Layer.Layer<
  never,
  never,
  Voices | VoicePreviews | PublicUrl | Handlers.HandlerRegistry | RouteRegistry
> = Layer.merge(handlers, previewRoute)
