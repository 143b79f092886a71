import { createHmac, timingSafeEqual } from "node:crypto"
import { type Host, maxTokenLength } from "@svc/providers/Host"
import { Option, Schema } from "effect"

/** The signed part of a token. */
const Signed = Schema.parseJson(Schema.Struct({ expires: Schema.Number, payload: Schema.Unknown }))
const decode = Schema.decodeUnknownOption(Signed)

/**
 * Signs and verifies the tokens of one plugin: `<claims>.<HMAC-SHA256>`, both base64url. The key is derived from the
 * installation's secret and the plugin's name, so that no plugin accepts a token of another. `now` is in milliseconds.
 */
export const pluginTokens = (plugin: string, secret: string, now: () => number): Pick<Host, "sign" | "verify"> => {
  const key = createHmac("sha256", secret).update(`plugin ${plugin}`).digest()
  const signatureOf = (claims: string) => createHmac("sha256", key).update(claims).digest()

  return {
    sign: (payload, expiresInSeconds) => {
      const json: unknown = JSON.stringify(payload)
      if (typeof json !== "string") throw new TypeError("the payload of a token must be a value of JSON")
      if (!Number.isFinite(expiresInSeconds) || expiresInSeconds <= 0) {
        throw new RangeError("the seconds until a token expires must be a positive number")
      }
      const expires = now() + expiresInSeconds * 1000
      const claims = Buffer.from(`{"expires":${expires},"payload":${json}}`).toString("base64url")
      const token = `${claims}.${signatureOf(claims).toString("base64url")}`
      if (token.length > maxTokenLength) {
        throw new RangeError(`a token may have ${maxTokenLength} characters; the payload is too large`)
      }
      return token
    },
    verify: (token) => {
      if (typeof token !== "string" || token.length > maxTokenLength) return undefined
      const [claims = "", signature = "", ...more] = token.split(".")
      if (more.length > 0) return undefined
      const received = Buffer.from(signature, "base64url")
      const expected = signatureOf(claims)
      if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined
      const signed = Option.getOrUndefined(decode(Buffer.from(claims, "base64url").toString()))
      return signed === undefined || signed.expires <= now() ? undefined : signed.payload
    }
  }
}
