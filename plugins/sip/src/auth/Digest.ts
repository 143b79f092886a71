import { createHash } from "node:crypto"
import { isToken, type Params, paramOf, quote, split, unquote } from "../message/Syntax.ts"

/** Digest authentication for SIP (RFC 8760, which takes RFC 7616 and RFC 3261, 22), with quality of protection `auth`. */

export type Algorithm = "MD5" | "SHA-256" | "SHA-512-256"

const hashes: { readonly [K in Algorithm]: string } = { MD5: "md5", "SHA-256": "sha256", "SHA-512-256": "sha512-256" }

/** A hash of UTF-8 text, in hexadecimal digits. */
const digest = (algorithm: Algorithm, text: string): string => createHash(hashes[algorithm]).update(text).digest("hex")

/** The parameters of a Digest header, after the scheme; undefined when it is of another scheme or malformed. */
export const parameters = (value: string): Params | undefined => {
  const match = /^Digest\s+(\S[\s\S]*)$/i.exec(value.trim())
  const parts = match?.[1] === undefined ? undefined : split(match[1], ",")
  if (parts === undefined) return undefined
  const found: Array<{ readonly name: string; readonly value: string }> = []
  for (const part of parts) {
    const equals = part.indexOf("=")
    const name = part.slice(0, Math.max(equals, 0)).trim().toLowerCase()
    const text = part.slice(equals + 1).trim()
    if (part === "") continue
    if (!isToken(name) || found.some((each) => each.name === name)) return undefined
    found.push({ name, value: text.startsWith('"') && text.endsWith('"') && text.length > 1 ? unquote(text) : text })
  }
  return found
}

/** Names an algorithm as headers do, case ignored; absent is MD5. */
const algorithmOf = (
  text: string | undefined
): { readonly algorithm: Algorithm; readonly session: boolean } | undefined => {
  const upper = (text ?? "MD5").toUpperCase()
  const session = upper.endsWith("-SESS")
  const name = session ? upper.slice(0, -5) : upper
  return name === "MD5" || name === "SHA-256" || name === "SHA-512-256" ? { algorithm: name, session } : undefined
}

/** What a server asks for, in WWW-Authenticate or Proxy-Authenticate. */
export interface Challenge {
  readonly realm: string
  readonly nonce: string
  readonly opaque: string | undefined
  readonly algorithm: Algorithm
  /** Whether the hash of the password is bound to the nonce (`-sess`). */
  readonly session: boolean
  /** Whether `qop=auth` is offered; else the form of RFC 2069 is used. */
  readonly qop: boolean
  /** The credentials were right and the nonce too old. */
  readonly stale: boolean
}

/** A challenge; undefined when it is malformed, or asks for what is not supported. */
export const parseChallenge = (value: string): Challenge | undefined => {
  const found = parameters(value)
  const [realm, nonce, qops] = ["realm", "nonce", "qop"].map((name) =>
    found === undefined ? "" : paramOf(found, name)
  )
  const algorithm = algorithmOf(found === undefined ? undefined : paramOf(found, "algorithm"))
  if (found === undefined || realm === undefined || nonce === undefined || algorithm === undefined) return undefined
  const offered = qops?.split(",").map((each) => each.trim().toLowerCase())
  if (offered !== undefined && !offered.includes("auth")) return undefined
  return {
    realm,
    nonce,
    opaque: paramOf(found, "opaque"),
    ...algorithm,
    qop: offered !== undefined,
    stale: paramOf(found, "stale")?.toLowerCase() === "true"
  }
}

/** The first challenge that is supported: servers order them by preference (RFC 8760, 2.4). */
export const chosen = (values: ReadonlyArray<string>): Challenge | undefined => {
  for (const value of values) {
    const challenge = parseChallenge(value)
    if (challenge !== undefined) return challenge
  }
  return undefined
}

/** What a response is computed from. */
export interface Credentials {
  readonly username: string
  readonly password: string
  readonly method: string
  /** The Request-URI. */
  readonly uri: string
  /** How often the nonce was used with this, from 1. */
  readonly count: number
  /** Random text of the client. */
  readonly cnonce: string
}

const countText = (count: number): string => count.toString(16).padStart(8, "0")

/** The `response` parameter: hexadecimal digits. */
export const response = (challenge: Omit<Challenge, "opaque" | "stale">, credentials: Credentials): string => {
  const { algorithm, nonce, realm } = challenge
  const { cnonce, count, method, password, uri, username } = credentials
  const secret = digest(algorithm, `${username}:${realm}:${password}`)
  const first = challenge.session ? digest(algorithm, `${secret}:${nonce}:${cnonce}`) : secret
  const second = digest(algorithm, `${method}:${uri}`)
  const between = challenge.qop ? `${nonce}:${countText(count)}:${cnonce}:auth` : nonce
  return digest(algorithm, `${first}:${between}:${second}`)
}

/** The value of Authorization or Proxy-Authorization that answers a challenge. */
export const authorization = (challenge: Challenge, credentials: Credentials): string => {
  const { algorithm, nonce, opaque, qop, realm, session } = challenge
  const { cnonce, count, uri, username } = credentials
  return [
    `Digest username=${quote(username)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(uri)}`,
    `response="${response(challenge, credentials)}"`,
    `algorithm=${algorithm}${session ? "-sess" : ""}`,
    ...(opaque === undefined ? [] : [`opaque=${quote(opaque)}`]),
    ...(qop
      ? ["qop=auth", `nc=${countText(count)}`, `cnonce=${quote(cnonce)}`]
      : session
        ? [`cnonce=${quote(cnonce)}`]
        : [])
  ].join(", ")
}
