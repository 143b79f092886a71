import { Buffer } from "node:buffer"
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { parse, stringify } from "node:querystring"

/** The fields of a form, each with its values. */
export type FormFields = ReadonlyMap<string, ReadonlyArray<string>>

/** The fields of a body of `application/x-www-form-urlencoded`. */
export const formFields = (body: string): FormFields => {
  const fields = new Map<string, Array<string>>()
  for (const [name, value] of new URLSearchParams(body)) {
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else values.push(value)
  }
  return fields
}

/** The fields of an object of JSON with plain values; undefined: the body is no object. */
export const jsonFields = (body: string): FormFields | undefined => {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    return new Map(
      Object.entries(value).flatMap(([name, one]) =>
        ["string", "number", "boolean"].includes(typeof one) ? [[name, [String(one)]] as const] : []
      )
    )
  } catch {
    return undefined
  }
}

/** Names sort by their code units, and a value that comes twice counts once. */
const signedText = (url: string, fields: FormFields): string =>
  [...fields]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .reduce(
      (text, [name, values]) =>
        text +
        [...new Set(values)]
          .sort()
          .map((value) => name + value)
          .join(""),
      url
    )

/** `X-Twilio-Signature` of a request: HMAC-SHA1 of the URL and the sorted fields, as base64. */
export const signatureOf = (authToken: string, url: string, fields: FormFields): string =>
  createHmac("sha1", authToken).update(signedText(url, fields), "utf8").digest("base64")

const parts = /^(https?):\/\/([^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?(.*)$/i

/**
 * The query as it was sent, and as common libraries write it again: Twilio signs one of them. Many clients send an apostrophe
 * as `%27` (WHATWG URL, special-query percent-encode set).
 */
const queries = (url: string): ReadonlyArray<string> => {
  const begin = url.indexOf("?") + 1
  if (begin === 0) return [url]
  const query = url.slice(begin)
  return [query, query.replaceAll("%27", "'"), stringify(parse(query)), new URLSearchParams(query).toString()].map(
    (one) => url.slice(0, begin) + one
  )
}

/** The URL without a port, and with one: Twilio signs either, also for the usual port. The rest stays as it is written. */
const ports = (url: string): ReadonlyArray<string> => {
  const [, scheme, user = "", host, port, rest] = parts.exec(url) ?? []
  if (scheme === undefined) return [url]
  const usual = scheme.toLowerCase() === "https" ? "443" : "80"
  const begin = `${scheme}://${user}${host}`
  return [`${begin}${rest}`, `${begin}:${port ?? usual}${rest}`]
}

const equal = (given: string, expected: string): boolean => {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Whether Twilio has signed a request. See https://www.twilio.com/docs/usage/security. */
export const isSigned = (request: {
  readonly authToken: string
  readonly signature: string | undefined
  /** The public URL as Twilio requested it, with its query as it was sent. */
  readonly url: string
  readonly fields: FormFields
}): boolean => {
  const { authToken, fields, signature, url } = request
  if (signature === undefined) return false
  const spellings = new Set(queries(url).flatMap(ports))
  return [...spellings].some((spelling) => equal(signature, signatureOf(authToken, spelling, fields)))
}

/**
 * Whether Twilio has signed a request with a body of JSON: the URL without fields, in which `bodySHA256` is the SHA-256 of
 * the body in hexadecimal.
 */
export const isSignedWithBody = (request: {
  readonly authToken: string
  readonly signature: string | undefined
  readonly url: string
  readonly body: Uint8Array
}): boolean => {
  const { body, url, ...rest } = request
  const begin = url.indexOf("?")
  const hash = begin < 0 ? null : new URLSearchParams(url.slice(begin)).get("bodySHA256")
  if (hash === null || !isSigned({ ...rest, url, fields: new Map() })) return false
  return equal(hash.toLowerCase(), createHash("sha256").update(body).digest("hex"))
}
