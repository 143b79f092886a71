import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { signatureOf } from "./Signature.ts"

/** A request that the server got. */
export interface Received {
  readonly method: string
  /** Without the bucket; empty for the bucket itself. */
  readonly key: string
  readonly query: URLSearchParams
  readonly request: IncomingMessage
}

/**
 * When a fault can happen: before the body is read, after it was read, or after the store did what it was asked for and
 * before it answers.
 */
export type Phase = "head" | "body" | "done"

/** A fault takes the place of the answer. */
export type Fault = (response: ServerResponse, received: Received) => unknown
export type Faults = (received: Received, phase: Phase) => Fault | undefined

export interface EmulatedS3 {
  readonly url: string
  readonly objects: ReadonlyMap<string, { readonly bytes: Buffer; readonly writer: string | undefined }>
  /** Unfinished multipart uploads. */
  readonly uploads: ReadonlyMap<string, { readonly key: string; readonly parts: ReadonlyMap<number, Buffer> }>
  /** Each request, as `PUT recordings/a.mp3 partNumber=1`. */
  readonly log: ReadonlyArray<string>
  /** Chooses what goes wrong from now on. */
  readonly misbehave: (faults: Faults) => void
  /** Cuts all connections. */
  readonly hangUp: () => void
}

export const keyId = "AKIATESTKEY0123456789"
export const secretKey = "wJalrXUtnFEMI+K7MDENG/bPxRfiCYTESTKEY"
export const bucketName = "recordings"

interface Upload {
  readonly key: string
  readonly parts: Map<number, Buffer>
  readonly headers: IncomingMessage["headers"]
}

const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex")
const partLimit = 5 * 1024 * 1024

export const xml = (
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {}
) => response.writeHead(status, { "content-type": "application/xml", ...headers }).end(`<?xml version="1.0"?>\n${body}`)

/** An error as S3 writes it. */
export const s3Error =
  (status: number, code: string, more = "", headers: Readonly<Record<string, string>> = {}): Fault =>
  (response) =>
    xml(
      response,
      status,
      `<Error><Code>${code}</Code><Message>Test: ${code} &amp; more</Message>${more}<RequestId>1</RequestId></Error>`,
      headers
    )

/** Ends the connection without an answer. */
export const cut: Fault = (response) => response.destroy()
export const hang: Fault = () => {}

const short = ({ key, method, query }: Received): string =>
  [method, key, ...[...query].map(([name, value]) => (name === "partNumber" ? `${name}=${value}` : name))]
    .filter((part) => part !== "")
    .join(" ")

/**
 * A store on a real socket that speaks S3 as Amazon documents it, multipart uploads and their rules included, with one
 * bucket. It checks signatures and the hashes of bodies.
 */
export const emulatedS3: Effect.Effect<EmulatedS3, never, Scope.Scope> = Effect.gen(function* () {
  const objects = new Map<
    string,
    { readonly bytes: Buffer; readonly writer: string | undefined; readonly etag: string; readonly type: string }
  >()
  const uploads = new Map<string, Upload>()
  const log: Array<string> = []
  let faults: Faults = () => undefined

  const put = (key: string, bytes: Buffer, headers: IncomingMessage["headers"], etag: string) => {
    const writer = headers["x-amz-meta-svc-writer"]
    objects.set(key, {
      bytes,
      writer: typeof writer === "string" ? writer : undefined,
      etag,
      type: headers["content-type"] ?? "binary/octet-stream"
    })
  }

  const read = (response: ServerResponse, { key, method, request }: Received) => {
    const object = objects.get(key)
    if (object === undefined) {
      if (method === "HEAD") return response.writeHead(404).end()
      return xml(response, 404, "<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? []
    const part = from === undefined ? object.bytes : object.bytes.subarray(Number(from), Number(to) + 1)
    response.writeHead(from === undefined ? 200 : 206, {
      etag: `"${object.etag}"`,
      "content-length": part.length,
      "content-type": object.type,
      ...(object.writer === undefined ? {} : { "x-amz-meta-svc-writer": object.writer })
    })
    return response.end(method === "HEAD" ? undefined : part)
  }

  /** The error of a request that is not signed with the key, or whose link has expired. */
  const refusal = ({ method, query, request }: Received): Fault | undefined => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const isLink = query.has("X-Amz-Signature")
    const [, credential = "", signedHeaders = "", inHeader = ""] =
      /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(headers["authorization"] ?? "") ?? []
    const [id, , region = ""] = (isLink ? (query.get("X-Amz-Credential") ?? "") : credential).split("/")
    if (id !== keyId) return s3Error(403, "InvalidAccessKeyId")
    const date = (isLink ? query.get("X-Amz-Date") : headers["x-amz-date"]) ?? ""
    const signature = signatureOf(
      {
        method,
        path: (request.url ?? "").split("?")[0] ?? "",
        query: [...query].filter(([name]) => name !== "X-Amz-Signature"),
        headers,
        signedHeaders: isLink ? (query.get("X-Amz-SignedHeaders") ?? "") : signedHeaders,
        payload: isLink ? "UNSIGNED-PAYLOAD" : (headers["x-amz-content-sha256"] ?? ""),
        date,
        region
      },
      secretKey
    )
    if (signature !== (isLink ? query.get("X-Amz-Signature") : inHeader)) return s3Error(403, "SignatureDoesNotMatch")
    const signedAt = Date.parse(date.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, "$1-$2-$3T$4:$5:$6Z"))
    if (isLink && Date.now() >= signedAt + Number(query.get("X-Amz-Expires")) * 1000)
      return s3Error(403, "AccessDenied")
    return undefined
  }

  /** Does what is asked for, and returns the answer. */
  const act = (received: Received, body: Buffer): Fault => {
    const { key, method, query, request } = received
    const { headers } = request
    const isWhole =
      headers["x-amz-content-sha256"] === createHash("sha256").update(body).digest("hex") &&
      (headers["content-md5"] === undefined ||
        headers["content-md5"] === Buffer.from(md5(body), "hex").toString("base64"))
    const refused = refusal(received)
    if (refused !== undefined) return refused
    if (!query.has("X-Amz-Signature") && !isWhole) return s3Error(400, "BadDigest")
    const id = query.get("uploadId")
    const upload = id === null ? undefined : uploads.get(id)
    if (id !== null && upload?.key !== key) return s3Error(404, "NoSuchUpload")
    if (key === "") {
      if (method === "GET" && query.has("uploads")) {
        const prefix = query.get("prefix") ?? ""
        const list = [...uploads].filter(([, one]) => one.key.startsWith(prefix))
        const items = list.map(([id, one]) => `<Upload><Key>${one.key}</Key><UploadId>${id}</UploadId></Upload>`)
        return (response) =>
          xml(response, 200, `<ListMultipartUploadsResult>${items.join("")}</ListMultipartUploadsResult>`)
      }
      return (response) => xml(response, 200, "<ListBucketResult></ListBucketResult>")
    }
    if (method === "POST" && query.has("uploads")) {
      const made = randomUUID()
      uploads.set(made, { key, parts: new Map(), headers })
      return (response) =>
        xml(
          response,
          200,
          `<InitiateMultipartUploadResult><UploadId>${made}</UploadId></InitiateMultipartUploadResult>`
        )
    }
    if (method === "PUT" && upload !== undefined) {
      upload.parts.set(Number(query.get("partNumber")), body)
      return (response) => response.writeHead(200, { etag: `"${md5(body)}"` }).end()
    }
    if (method === "POST" && id !== null && upload !== undefined) {
      const text = body.toString("utf8")
      const listed = [...text.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"?([0-9a-f]+)"?<\/ETag>/g)]
      const parts = listed.map(([, number, etag]) => {
        const part = upload.parts.get(Number(number))
        return part !== undefined && md5(part) === etag ? part : undefined
      })
      const whole = parts.filter((part) => part !== undefined)
      if (whole.length === 0 || whole.length < parts.length) return s3Error(400, "InvalidPart")
      if (whole.slice(0, -1).some((part) => part.length < partLimit)) return s3Error(400, "EntityTooSmall")
      const etag = `${md5(Buffer.concat(whole.map((part) => Buffer.from(md5(part), "hex"))))}-${whole.length}`
      put(key, Buffer.concat(whole), upload.headers, etag)
      uploads.delete(id)
      return (response) =>
        xml(response, 200, `<CompleteMultipartUploadResult><ETag>"${etag}"</ETag></CompleteMultipartUploadResult>`)
    }
    if (method === "PUT") {
      put(key, body, headers, md5(body))
      return (response) => response.writeHead(200, { etag: `"${md5(body)}"` }).end()
    }
    if (method === "DELETE") {
      if (id === null) objects.delete(key)
      else uploads.delete(id)
      return (response) => response.writeHead(204).end()
    }
    return (response) => read(response, received)
  }

  const server = yield* Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const made = createServer((request, response) => {
        const url = new URL(request.url ?? "/", "http://localhost")
        const key = decodeURIComponent(url.pathname.slice(`/${bucketName}`.length + 1))
        const received: Received = { method: request.method ?? "", key, query: url.searchParams, request }
        log.push(short(received))
        request.on("error", () => {})
        response.on("error", () => {})
        const early = faults(received, "head")
        if (early !== undefined) {
          early(response, received)
          request.resume()
          return
        }
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const before = faults(received, "body")
          if (before !== undefined) return void before(response, received)
          const answer = act(received, Buffer.concat(chunks))
          const late = faults(received, "done") ?? answer
          late(response, received)
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.async<void>((resume) => {
        made.close(() => resume(Effect.void))
        made.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    objects,
    uploads,
    log,
    misbehave: (next) => {
      faults = next
    },
    hangUp: () => server.closeAllConnections()
  }
})
