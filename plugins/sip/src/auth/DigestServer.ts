import { createHmac, timingSafeEqual } from "node:crypto"
import { paramOf, quote } from "../message/Syntax.ts"
import * as Uri from "../message/Uri.ts"
import { type Algorithm, parameters, response } from "./Digest.ts"

/** Milliseconds for which a nonce may be used. */
export const nonceLifetimeMs = 60_000

/** The algorithms that a server checks. */
export type ServerAlgorithm = Extract<Algorithm, "MD5" | "SHA-256">

const allAlgorithms: ReadonlyArray<ServerAlgorithm> = ["SHA-256", "MD5"]

/** What a server knows to check credentials with. */
export interface Realm {
  readonly realm: string
  /** Random bytes of this process, with which nonces are signed. */
  readonly key: Uint8Array
  /** The password of a user; undefined when there is no such user. */
  readonly password: (username: string) => string | undefined
  /** Those that clients may use, the preferred one first; absent: SHA-256 and MD5. */
  readonly algorithms?: ReadonlyArray<ServerAlgorithm>
}

/** Which counts of which nonces were used. */
export interface NonceCounts {
  /** The highest count of each nonce, the oldest use first. */
  readonly counts: ReadonlyMap<string, number>
  /** Nonces made until this time in ms, whose counts are not there, were dropped and may not be used again. */
  readonly droppedUntilMs: number
}

export const noCounts: NonceCounts = { counts: new Map(), droppedUntilMs: 0 }

/** Nonces whose counts are kept at once. */
const maxCounts = 1000

const signature = (key: Uint8Array, at: string, salt: string): string =>
  createHmac("sha256", key).update(`${at}.${salt}`).digest("base64url").slice(0, 22)

/** A nonce that only this process makes; it holds the time in ms, so that the server need not remember it. `salt` is random text. */
export const nonce = (key: Uint8Array, nowMs: number, salt: string): string => {
  const at = nowMs.toString(36)
  return `${at}.${salt}.${signature(key, at, salt)}`
}

const sameText = (one: string, other: string): boolean => {
  const left = Buffer.from(one)
  const right = Buffer.from(other)
  return left.length === right.length && timingSafeEqual(left, right)
}

const madeAt = (text: string): number => Number.parseInt(text.split(".", 1)[0] ?? "", 36)

/** `old`: it is ours and expired. `unknown`: it is not ours. */
const stateOf = (key: Uint8Array, text: string, nowMs: number): "valid" | "old" | "unknown" => {
  const [at = "", salt = "", signed = "", ...rest] = text.split(".")
  if (rest.length > 0 || !sameText(signed, signature(key, at, salt))) return "unknown"
  const age = nowMs - Number.parseInt(at, 36)
  return age >= 0 && age <= nonceLifetimeMs ? "valid" : "old"
}

/** The values of WWW-Authenticate for a new nonce, the preferred algorithm first. */
export const challenges = (
  { algorithms = allAlgorithms, key, realm }: Realm,
  nowMs: number,
  salt: string,
  stale: boolean
): ReadonlyArray<string> => {
  const text = nonce(key, nowMs, salt)
  return algorithms.map(
    (algorithm) =>
      `Digest realm=${quote(realm)}, nonce=${quote(text)}, algorithm=${algorithm}, qop="auth"${stale ? ", stale=true" : ""}`
  )
}

/** `stale`: right, but the nonce has expired or was used with this count before; the client may try again at once. */
export type Verdict = "right" | "stale" | "wrong"

/** A request with credentials, as far as they matter. */
export interface Attempt {
  readonly method: string
  /** The Request-URI. */
  readonly uri: string
  /** The value of Authorization. */
  readonly authorization: string
}

/** Whether credentials for a URI are for this request: it is the Request-URI, or, as some clients write, its host alone. */
const isFor = (given: string, requested: string): boolean => {
  if (given === requested) return true
  const [one, other] = [Uri.parse(given), Uri.parse(requested)]
  if (one?._tag !== "Sip" || other?._tag !== "Sip") return false
  return one.user === undefined && one.host.toLowerCase() === other.host.toLowerCase() && one.port === other.port
}

/** Checks credentials. A count must be higher than those before it with the same nonce (RFC 7616, 3.4). */
export const verify = (
  realm: Realm,
  used: NonceCounts,
  { authorization, method, uri }: Attempt,
  nowMs: number
): readonly [NonceCounts, Verdict] => {
  const found = parameters(authorization)
  const value = (name: string): string => (found === undefined ? "" : (paramOf(found, name) ?? ""))
  const named = value("algorithm").toUpperCase() || "MD5"
  const algorithm = (realm.algorithms ?? allAlgorithms).find((each) => each === named)
  const count = /^[0-9a-f]{8}$/i.test(value("nc")) ? Number.parseInt(value("nc"), 16) : 0
  const password = realm.password(value("username"))
  const nonceText = value("nonce")
  const state = stateOf(realm.key, nonceText, nowMs)
  if (algorithm === undefined) return [used, "wrong"]
  if (state === "unknown" || value("qop").toLowerCase() !== "auth" || count === 0) return [used, "wrong"]
  if (value("realm") !== realm.realm || !isFor(value("uri"), uri)) return [used, "wrong"]
  const expected = response(
    { realm: realm.realm, nonce: nonceText, algorithm, session: false, qop: true },
    { username: value("username"), password: password ?? "", method, uri: value("uri"), count, cnonce: value("cnonce") }
  )
  // The comparison also runs for unknown users, so that its time does not tell them apart.
  if (!sameText(expected, value("response").toLowerCase()) || password === undefined) return [used, "wrong"]
  const { counts, droppedUntilMs } = used
  const last = counts.get(nonceText) ?? (madeAt(nonceText) <= droppedUntilMs ? Number.POSITIVE_INFINITY : 0)
  if (state === "old" || count <= last) return [used, "stale"]
  const next = new Map([...counts].filter(([each]) => each !== nonceText))
  next.set(nonceText, count)
  const [oldest] = next.keys()
  if (next.size <= maxCounts || oldest === undefined) return [{ counts: next, droppedUntilMs }, "right"]
  next.delete(oldest)
  return [{ counts: next, droppedUntilMs: Math.max(droppedUntilMs, madeAt(oldest)) }, "right"]
}
