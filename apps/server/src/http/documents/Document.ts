import { createHash } from "node:crypto"
import { gunzip, gzip } from "node:zlib"
import { matchesEntityTag } from "@svc/api/EntityTag"
import type { PlainRequest, PlainResponse } from "@svc/api/PlainRoutes"
import { Effect } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"

interface Representation {
  readonly bytes: Uint8Array
  readonly etag: string
}

/** A finished document, as it is and compressed. The two have different entity tags (RFC 9110, 8.8.3.3). */
export interface Document {
  readonly plain: Representation
  readonly compressed: Representation
}

const represent = (bytes: Uint8Array): Representation => ({
  bytes,
  etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`
})

const zipped = (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.async((resume) =>
    gzip(bytes, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
  )

/** Compresses outside the main thread. */
export const finish = (content: string | Uint8Array): Effect.Effect<Document> =>
  Effect.suspend(() => {
    const bytes = Buffer.from(content)
    return Effect.map(zipped(bytes), (small) => ({ plain: represent(bytes), compressed: represent(small) }))
  })

/** A document that is compressed already. Dies when `bytes` is no gzip file. */
export const unzip = (bytes: Uint8Array): Effect.Effect<Document> =>
  Effect.map(
    Effect.async<Uint8Array>((resume) =>
      gunzip(bytes, (error, result) => resume(error === null ? Effect.succeed(result) : Effect.die(error)))
    ),
    (plain) => ({ plain: represent(plain), compressed: represent(bytes) })
  )

/** Whether the client takes gzip (RFC 9110, 12.5.3). */
const takesGzip = (accepted: string | undefined): boolean =>
  (accepted ?? "").split(",").some((coding) => {
    const [name = "", ...parameters] = coding.toLowerCase().split(";")
    return /^(gzip|x-gzip|\*)$/.test(name.trim()) && !parameters.some((each) => /^\s*q=0(\.0*)?\s*$/.test(each))
  })

/** The document for a client: 304 when it has it already. `headers` may replace `Cache-Control`. */
export const serve = (document: Document, headers: ResponseHeaders, request: PlainRequest): PlainResponse => {
  const compressed = takesGzip(request.headers["accept-encoding"])
  const { bytes, etag } = compressed ? document.compressed : document.plain
  const all = { "Cache-Control": "no-cache", ...headers, ETag: etag, Vary: "Accept-Encoding" }
  if (matchesEntityTag(request.headers["if-none-match"], etag)) return { status: 304, headers: all }
  return { status: 200, headers: { ...all, ...(compressed && { "Content-Encoding": "gzip" }) }, body: bytes }
}
