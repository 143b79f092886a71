import { createHash, createHmac } from "node:crypto"

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest()
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** What a signature covers. */
export interface Signed {
  readonly method: string
  /** Of the URL, encoded. */
  readonly path: string
  /** Without the signature itself. */
  readonly query: ReadonlyArray<readonly [string, string]>
  readonly headers: Readonly<Record<string, string>>
  /** `host;x-amz-date`. */
  readonly signedHeaders: string
  /** SHA-256 of the body in hexadecimal digits, or `UNSIGNED-PAYLOAD`. */
  readonly payload: string
  /** `20130524T000000Z` */
  readonly date: string
  readonly region: string
}

/** The signature as the store computes it. Source: Amazon S3 API Reference, Signature Version 4. */
export const signatureOf = (signed: Signed, secret: string): string => {
  const day = signed.date.slice(0, 8)
  const scope = `${day}/${signed.region}/s3/aws4_request`
  const query = signed.query
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&")
  const headers = signed.signedHeaders.split(";").map((name) => `${name}:${(signed.headers[name] ?? "").trim()}\n`)
  const canonical = [signed.method, signed.path, query, headers.join(""), signed.signedHeaders, signed.payload].join(
    "\n"
  )
  const digest = createHash("sha256").update(canonical).digest("hex")
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), signed.region), "s3"), "aws4_request")
  return hmac(key, ["AWS4-HMAC-SHA256", signed.date, scope, digest].join("\n")).toString("hex")
}
