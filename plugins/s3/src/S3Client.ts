import { createHash } from "node:crypto"
import type { Readable } from "node:stream"
import type { Host } from "@svc/providers/Host"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { streamedBody, wholeText } from "@svc/providers/StreamedBody"
import { AwsV4Signer } from "aws4fetch"
import { Clock, Data, Effect, Random, Redacted, type Scope } from "effect"
import { Agent, type Dispatcher, errors, request } from "undici"
import { element } from "./Xml.ts"

/** A request failed. `reason` is one plain sentence without secrets. */
export class S3Failed extends Data.TaggedError("S3Failed")<{
  readonly reason: string
  readonly retryable: boolean
  /** Of the answer; undefined when there was none. */
  readonly status?: number
  /** The error code of S3, such as `NoSuchKey`; undefined when there was none. */
  readonly code?: string
}> {}

/** A body whose bytes can be sent several times. */
export interface RequestBody {
  readonly size: number
  /** SHA-256 of the bytes, in hexadecimal digits. */
  readonly sha256: string
  /** MD5 of the bytes, in base64. */
  readonly md5: string
  readonly open: () => Readable | string
}

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** The object's key; without it the request is for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody
}

/** An answer with a status from 200 to 299. */
export interface S3Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The next bytes, null at the end. */
  readonly next: Effect.Effect<Buffer | null, S3Failed>
  /** The whole body, of at most 1 MB. */
  readonly text: Effect.Effect<string, S3Failed>
}

/** A server that speaks the protocol of S3, and one bucket there. */
export interface S3Client {
  /**
   * Sends a request, and again for about half a second while the server is overloaded or cannot be reached. It ends with
   * the scope, and its connection with it if the answer was not read to the end.
   */
  readonly send: (options: S3Request) => Effect.Effect<S3Answer, S3Failed, Scope.Scope>
  /** A URL with which anyone can download an object for `seconds`. No request is made. */
  readonly presign: (key: string, seconds: number) => Effect.Effect<string, S3Failed>
}

export interface ClientOptions {
  /** The origin of the server, as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string
  /** The origin in presigned links. */
  readonly publicEndpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: Redacted.Redacted
  readonly secretAccessKey: Redacted.Redacted
  readonly host: Host
}

/** There was no answer. */
class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{ readonly cause: unknown }> {}

/** Silence after which a request fails: shorter than the server's limit for an operation of a store. */
const silentMs = 15_000
const connectMs = 5000
/** How long requests are sent again. */
const retryMs = 600
const firstPauseMs = 100
const largestAnswer = 1024 * 1024
/** Characters of a server's message that are passed on. */
const longestMessage = 300

const emptyHash = createHash("sha256").digest("hex")

/** The body of a short text. */
export const textBody = (text: string): RequestBody => ({
  size: Buffer.byteLength(text),
  sha256: createHash("sha256").update(text).digest("hex"),
  md5: createHash("md5").update(text).digest("base64"),
  open: () => text
})

const codeOf = (error: unknown): string => {
  const { code } = Object(error)
  return typeof code === "string" ? code : ""
}

/** Codes of errors after which the same request may succeed, whatever their status. */
const passing = new Set(["SlowDown", "InternalError", "RequestTimeout", "ServiceUnavailable", "OperationAborted"])

/** Opens no connection yet. Its connections are closed with the scope. */
export const make = (options: ClientOptions): Effect.Effect<S3Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { bucket, endpoint, host, publicEndpoint, region } = options
    const accessKeyId = Redacted.value(options.accessKeyId)
    const secretAccessKey = Redacted.value(options.secretAccessKey)
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Agent({
            headersTimeout: silentMs,
            bodyTimeout: silentMs,
            connect: { timeout: connectMs, keepAlive: true, noDelay: true }
          })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const retries = host.metrics.counter("retries", {
      description: "Requests that were sent again because the store was overloaded or could not be reached"
    })
    const signingKeys = new Map<string, ArrayBuffer>()

    /** Servers repeat in their messages what they got. */
    const short = (text: string): string =>
      text
        .replaceAll(secretAccessKey, "…")
        .replaceAll(accessKeyId, "…")
        .replace(/[\s\p{Cc}]+/gu, " ")
        .slice(0, longestMessage)

    const connectionFailed = (error: unknown): S3Failed => {
      const isTimeout = error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError
      const what = codeOf(error) || short(error instanceof Error ? error.message : String(error))
      const reason = isTimeout
        ? `${endpoint} gave nothing for ${silentMs / 1000} s`
        : `the connection to ${endpoint} failed: ${what}`
      return new S3Failed({ reason, retryable: true })
    }

    const refusedBy = (code: string, text: string): string | undefined => {
      switch (code) {
        case "InvalidAccessKeyId":
        case "InvalidToken":
          return "SVC_S3_ACCESS_KEY_ID was refused"
        case "SignatureDoesNotMatch":
          return "SVC_S3_SECRET_ACCESS_KEY was refused"
        case "NoSuchBucket":
          return "SVC_S3_BUCKET names a bucket that does not exist"
        case "AuthorizationHeaderMalformed":
        case "PermanentRedirect":
        case "TemporaryRedirect": {
          const expected = element(text, "Region")
          return expected === undefined
            ? "SVC_S3_REGION or SVC_S3_ENDPOINT is not that of the bucket"
            : `SVC_S3_REGION is not ${short(expected)}, the region of the bucket`
        }
        case "RequestTimeTooSkewed":
          return "the clock of this machine is wrong"
        case "AccessDenied":
          return "the key of SVC_S3_ACCESS_KEY_ID lacks a permission"
        default:
          return undefined
      }
    }

    const statusFailed = (status: number, text: string, { method, key, query = {} }: S3Request): S3Failed => {
      const code = element(text, "Code") ?? ""
      const message = element(text, "Message") ?? ""
      const what = [
        method,
        key === undefined ? "the bucket" : "an object",
        ...Object.keys(query).filter((name) => /^upload/.test(name))
      ].join(" ")
      const answered = `${endpoint} answered ${status}${code === "" ? "" : ` ${short(code)}`} to ${what}`
      const refused =
        refusedBy(code, text) ?? (status === 401 || status === 403 ? "SVC_S3_ACCESS_KEY_ID was refused" : undefined)
      const reason =
        refused === undefined ? `${answered}${message === "" ? "" : `: ${short(message)}`}` : `${refused}: ${answered}`
      // A setting can be corrected, and then the same request works.
      const retryable = refused !== undefined || status === 408 || status === 429 || status >= 500 || passing.has(code)
      return new S3Failed({ reason, retryable, status, code })
    }

    const urlOf = (origin: string, key: string | undefined, query: Readonly<Record<string, string>>): URL => {
      const url = new URL(`${origin}/${bucket}${key === undefined ? "" : `/${key}`}`)
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url
    }

    const signer = (url: URL, method: string, headers: Readonly<Record<string, string>>, now: number, query: boolean) =>
      new AwsV4Signer({
        url: url.toString(),
        method,
        headers: { ...headers },
        accessKeyId,
        secretAccessKey,
        service: "s3",
        region,
        cache: signingKeys,
        datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ""),
        signQuery: query
      })

    const whole = (next: Effect.Effect<Buffer | null, S3Failed>) =>
      wholeText(
        next,
        largestAnswer,
        () => new S3Failed({ reason: `${endpoint} answered with too many bytes`, retryable: false })
      )

    const once = ({ body, headers = {}, key, method, query = {} }: S3Request) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const url = urlOf(endpoint, key, query)
        const signed = yield* Effect.tryPromise({
          try: () =>
            signer(
              url,
              method,
              {
                ...headers,
                ...(body === undefined ? {} : { "content-md5": body.md5 }),
                "x-amz-content-sha256": body?.sha256 ?? emptyHash
              },
              now,
              false
            ).sign(),
          catch: (cause) => new ConnectionFailed({ cause })
        })
        let isRead = false
        const controller = yield* Effect.acquireRelease(
          Effect.sync(() => new AbortController()),
          // To abort an answer that was read would close its connection.
          (controller) => Effect.sync(() => (isRead ? undefined : controller.abort()))
        )
        const response = yield* Effect.tryPromise({
          try: () =>
            request(url, {
              method,
              dispatcher: agent,
              signal: controller.signal,
              headers: {
                ...Object.fromEntries(signed.headers),
                ...(body === undefined ? {} : { "content-length": String(body.size) })
              },
              body: body?.open() ?? null
            }),
          catch: (cause) => new ConnectionFailed({ cause })
        })
        const next = streamedBody({
          body: response.body,
          failed: connectionFailed,
          onEnd: () => {
            isRead = true
          }
        })
        return { headers: singleValues(response.headers), status: response.statusCode, next }
      })

    const send: S3Client["send"] = (options) =>
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const deadline = monotonicMillis(clock) + retryMs
        for (let pause = firstPauseMs; ; pause *= 2) {
          const answer = yield* Effect.either(once(options))
          let failure: S3Failed
          let wait = Math.round(pause * (0.5 + (yield* Random.next)))
          if (answer._tag === "Right") {
            const { headers, next, status } = answer.right
            if (status >= 200 && status < 300) return { headers, status, next, text: whole(next) }
            failure = statusFailed(status, yield* whole(next), options)
            const asked = Number(headers["retry-after"])
            if (asked > 0) wait = asked * 1000
          } else failure = connectionFailed(answer.left.cause)
          const { code = "", status } = failure
          const mayPass = status === undefined || status === 408 || status === 429 || status >= 500 || passing.has(code)
          if (!mayPass || status === 501 || monotonicMillis(clock) + wait > deadline) return yield* failure
          retries.add()
          yield* Effect.sleep(wait)
        }
      })

    const presign: S3Client["presign"] = (key, seconds) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const url = urlOf(publicEndpoint, key, { "X-Amz-Expires": String(Math.round(seconds)) })
        const signed = yield* Effect.tryPromise({
          try: () => signer(url, "GET", {}, now, true).sign(),
          catch: (error) =>
            new S3Failed({ reason: `a link could not be signed: ${short(String(error))}`, retryable: false })
        })
        return signed.url.toString()
      })

    return { send, presign }
  })

/** Headers with one value each. */
const singleValues = (headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]]
    )
  )
