import { Buffer } from "node:buffer"
import { createHmac, timingSafeEqual } from "node:crypto"

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

/** The URL without a port, and with one: Twilio signs either, also for the usual port. The rest stays as it is written. */
const spellings = (url: string): ReadonlyArray<string> => {
  const [, scheme, user = "", host, port, rest] = parts.exec(url) ?? []
  if (scheme === undefined) return [url]
  const usual = scheme.toLowerCase() === "https" ? "443" : "80"
  const begin = `${scheme}://${user}${host}`
  return [`${begin}${rest}`, `${begin}:${port ?? usual}${rest}`]
}

/** Whether Twilio has signed a request. See https://www.twilio.com/docs/usage/security. */
export const isSigned = (request: {
  readonly authToken: string
  readonly signature: string | undefined
  /** The public URL as Twilio requested it, with its query. */
  readonly url: string
  readonly fields: FormFields
}): boolean => {
  const { authToken, fields, signature, url } = request
  if (signature === undefined) return false
  const given = Buffer.from(signature)
  return spellings(url).some((spelling) => {
    const expected = Buffer.from(signatureOf(authToken, spelling, fields))
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
}
