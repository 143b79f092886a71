import { createHash } from "node:crypto"
import type { ObjectRange } from "@svc/providers/ObjectStore"
import { Effect, Option, type Scope } from "effect"
import { type RequestBody, type S3Answer, type S3Client, S3Failed, type S3Request, textBody } from "./S3Client.ts"
import { element, elements, escaped } from "./Xml.ts"

/** What the store says about an object. */
export interface StoredObject {
  readonly size: number
  /** Who wrote it: `x-amz-meta-svc-writer`. */
  readonly writer: string | undefined
}

/** A part of a multipart upload, as the store confirmed it. */
export interface StoredPart {
  readonly number: number
  readonly etag: string
}

/**
 * The operations of S3 on one bucket, path-style. Source: Amazon S3 API Reference, of the same names (PutObject,
 * CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, ListMultipartUploads, HeadObject,
 * GetObject, DeleteObject, ListObjectsV2).
 */
export interface Bucket {
  readonly put: (key: string, type: string, writer: string, body: RequestBody) => Effect.Effect<void, S3Failed>
  /** Returns the upload's id. */
  readonly createUpload: (key: string, type: string, writer: string) => Effect.Effect<string, S3Failed>
  readonly uploadPart: (
    key: string,
    upload: string,
    number: number,
    body: RequestBody
  ) => Effect.Effect<StoredPart, S3Failed>
  readonly completeUpload: (
    key: string,
    upload: string,
    parts: ReadonlyArray<StoredPart>
  ) => Effect.Effect<void, S3Failed>
  /** Succeeds when there is no such upload. */
  readonly abortUpload: (key: string, upload: string) => Effect.Effect<void, S3Failed>
  /** The ids of the unfinished uploads of a key. */
  readonly uploads: (key: string) => Effect.Effect<ReadonlyArray<string>, S3Failed>
  readonly head: (key: string) => Effect.Effect<Option.Option<StoredObject>, S3Failed>
  /** The bytes of an object or a range of at least one byte. */
  readonly get: (key: string, range?: ObjectRange) => Effect.Effect<S3Answer, S3Failed, Scope.Scope>
  /** Succeeds when there is no such object. */
  readonly remove: (key: string) => Effect.Effect<void, S3Failed>
  /** Lists at most one object: whether address, key, bucket and region are right. */
  readonly probe: Effect.Effect<void, S3Failed>
}

/** How often a part is sent again whose ETag does not match. */
const mismatches = 2

const notS3 = (what: string) =>
  new S3Failed({ reason: `SVC_S3_ENDPOINT does not answer as S3: ${what}`, retryable: true })

/** The MD5 that an ETag is, in base64; undefined of other ETags, as those of objects that are encrypted with KMS. */
const md5In = (etag: string, { headers }: S3Answer): string | undefined => {
  const isEncrypted =
    /kms/.test(headers["x-amz-server-side-encryption"] ?? "") ||
    headers["x-amz-server-side-encryption-customer-algorithm"] !== undefined
  const [, digits] = /^"?([0-9a-f]{32})"?$/i.exec(etag) ?? []
  return isEncrypted || digits === undefined ? undefined : Buffer.from(digits, "hex").toString("base64")
}

export const make = (client: S3Client): Bucket => {
  /** Sends a request and reads its answer as text. */
  const ask = (request: S3Request): Effect.Effect<readonly [S3Answer, string], S3Failed> =>
    Effect.scoped(
      Effect.flatMap(client.send(request), (answer) => Effect.map(answer.text, (text) => [answer, text] as const))
    )

  /** Stores bytes and checks that the store has these bytes. */
  const store = (request: S3Request & { readonly body: RequestBody }) =>
    ask(request).pipe(
      Effect.flatMap(([answer]) => {
        const { etag } = answer.headers
        if (etag === undefined) return notS3("it stored bytes without an ETag")
        const md5 = md5In(etag, answer)
        return md5 === undefined || md5 === request.body.md5
          ? Effect.succeed(etag)
          : new S3Failed({
              reason: "the store has other bytes than were sent: its ETag does not match",
              retryable: true,
              code: "EtagMismatch"
            })
      }),
      Effect.retry({ times: mismatches, while: ({ code }) => code === "EtagMismatch" })
    )

  const written = (type: string, writer: string) => ({ "content-type": type, "x-amz-meta-svc-writer": writer })

  return {
    put: (key, type, writer, body) =>
      Effect.asVoid(store({ method: "PUT", key, headers: written(type, writer), body })),
    createUpload: (key, type, writer) =>
      ask({ method: "POST", key, query: { uploads: "" }, headers: written(type, writer) }).pipe(
        Effect.flatMap(([, text]) => {
          const id = element(text, "UploadId")
          return id === undefined || id === "" ? notS3("a multipart upload has no id") : Effect.succeed(id)
        })
      ),
    uploadPart: (key, upload, number, body) =>
      Effect.map(
        store({ method: "PUT", key, query: { partNumber: String(number), uploadId: upload }, body }),
        (etag): StoredPart => ({ number, etag })
      ),
    completeUpload: (key, upload, parts) => {
      const list = parts.map(
        ({ etag, number }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`
      )
      const body = textBody(
        `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join("")}</CompleteMultipartUpload>`
      )
      return ask({
        method: "POST",
        key,
        query: { uploadId: upload },
        headers: { "content-type": "application/xml" },
        body
      }).pipe(
        Effect.flatMap(([, text]) => {
          // The status is sent before the work is done, so a failure may follow a 200.
          const code = element(text, "Code")
          if (code !== undefined && /<Error[\s>]/.test(text)) {
            const message = (element(text, "Message") ?? "").slice(0, 200)
            const reason = `completing an upload failed with 200 ${code}: ${message}`
            return new S3Failed({ reason, retryable: true, code })
          }
          return text.includes("CompleteMultipartUploadResult") ? Effect.void : notS3("it completed an upload silently")
        })
      )
    },
    abortUpload: (key, upload) =>
      ask({ method: "DELETE", key, query: { uploadId: upload } }).pipe(
        Effect.asVoid,
        Effect.catchIf(
          ({ code, status }) => code === "NoSuchUpload" || status === 404,
          () => Effect.void
        )
      ),
    uploads: (key) =>
      Effect.map(ask({ method: "GET", query: { uploads: "", prefix: key } }), ([, text]) => {
        const all = text.match(/<Upload>[\s\S]*?<\/Upload>/g) ?? []
        return all.flatMap((one) => (element(one, "Key") === key ? elements(one, "UploadId").slice(0, 1) : []))
      }),
    head: (key) =>
      ask({ method: "HEAD", key }).pipe(
        Effect.flatMap(([{ headers }]) => {
          const size = Number(headers["content-length"])
          if (headers["etag"] === undefined || !Number.isSafeInteger(size))
            return notS3("an object has no ETag or size")
          return Effect.succeed(Option.some({ size, writer: headers["x-amz-meta-svc-writer"] }))
        }),
        Effect.catchIf(
          // The answer to HEAD has no body, hence no code.
          ({ status }) => status === 404,
          () => Effect.succeedNone
        )
      ),
    get: (key, range) =>
      client
        .send({
          method: "GET",
          key,
          ...(range === undefined ? {} : { headers: { range: `bytes=${range.start}-${range.end - 1}` } })
        })
        .pipe(
          Effect.filterOrElse(
            ({ headers, status }) => headers["etag"] !== undefined && (range === undefined || status === 206),
            () => notS3(range === undefined ? "an object has no ETag" : "it does not answer with ranges")
          )
        ),
    remove: (key) =>
      ask({ method: "DELETE", key }).pipe(
        Effect.flatMap(([{ status }, text]) =>
          status === 204 || text.trim() === "" ? Effect.void : notS3("it deleted an object with a body")
        ),
        Effect.catchIf(
          ({ code }) => code === "NoSuchKey",
          () => Effect.void
        )
      ),
    probe: ask({ method: "GET", query: { "list-type": "2", "max-keys": "1" } }).pipe(
      Effect.flatMap(([, text]) =>
        text.includes("ListBucketResult") ? Effect.void : notS3("it lists no objects of the bucket")
      )
    )
  }
}

/** The hashes of bytes that come in pieces. */
export class BodyHash {
  readonly #sha256 = createHash("sha256")
  readonly #md5 = createHash("md5")
  #size = 0

  add(bytes: Uint8Array): void {
    this.#sha256.update(bytes)
    this.#md5.update(bytes)
    this.#size += bytes.length
  }

  /** Called once. */
  end(): Omit<RequestBody, "open"> {
    return { size: this.#size, sha256: this.#sha256.digest("hex"), md5: this.#md5.digest("base64") }
  }
}
