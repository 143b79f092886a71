import { masterKeyBytes, masterSaltBytes, type SrtpKeys, type SrtpSuite } from "./SrtpKeys.ts"

/** Keys in the session description: `a=crypto` (RFC 4568). Only as secret as the signaling that carries it. */

/** A line of an offer that we can use. */
export interface CryptoLine {
  /** It identifies the line in the answer. */
  readonly tag: number
  readonly keys: SrtpKeys
}

const suites: ReadonlyArray<SrtpSuite> = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"]

/** The lifetime of a key, in packets: a power of two or a number. It outlasts any call, so it is not kept. */
const lifetime = /^(2\^[0-9]{1,2}|[0-9]{1,20})$/

/** The session parameter that says how much may be lost before the window is left, which is a hint (6.3.7). */
const hint = /^WSH=[0-9]{1,6}$/

/**
 * The value of an `a=crypto` attribute. Undefined: it is malformed, or needs what we do not do: other suites, several
 * keys, a key identifier (MKI), or session parameters that change the packets.
 */
export const readCrypto = (value: string): CryptoLine | undefined => {
  const [tagText = "", suiteText = "", keyText = "", ...parameters] = value.trim().split(/ +/)
  const suite = suites.find((known) => known === suiteText.toUpperCase())
  if (!/^[0-9]{1,9}$/.test(tagText) || suite === undefined || !parameters.every((each) => hint.test(each))) {
    return undefined
  }
  const [method, info] = keyText.split(/:(.*)/s)
  if (method?.toLowerCase() !== "inline" || info === undefined) return undefined
  const [encoded = "", ...rest] = info.split("|")
  if (rest.length > 1 || rest.some((each) => !lifetime.test(each))) return undefined
  if (!/^[A-Za-z0-9+/]{40}$/.test(encoded)) return undefined
  const bytes = new Uint8Array(Buffer.from(encoded, "base64"))
  return {
    tag: Number(tagText),
    keys: { suite, masterKey: bytes.slice(0, masterKeyBytes), masterSalt: bytes.slice(masterKeyBytes) }
  }
}

/** What keeps us from using the value of an `a=crypto` attribute, for people. */
export const cryptoFault = (value: string): string => {
  const [, suite = "", keyText = "", ...parameters] = value.trim().split(/ +/)
  if (!suites.some((known) => known === suite.toUpperCase())) return `the suite ${suite.slice(0, 50)}`
  if (keyText.includes(";")) return "several keys in one line"
  if (keyText.split("|").some((each) => /^[0-9]+:[0-9]+$/.test(each))) return "a key with an identifier (MKI)"
  const unknown = parameters.find((each) => !hint.test(each))
  return unknown === undefined ? "a malformed key" : `the session parameter ${unknown.slice(0, 50)}`
}

/** Key and salt as `a=crypto` has them. */
export const keyTextOf = ({ masterKey, masterSalt }: SrtpKeys): string =>
  `inline:${Buffer.concat([masterKey, masterSalt]).toString("base64")}`

/** The value of an `a=crypto` attribute. */
export const writeCrypto = ({ keys, tag }: CryptoLine): string => `${tag} ${keys.suite} ${keyTextOf(keys)}`

/** Keys from 30 random bytes. */
export const keysOf = (suite: SrtpSuite, random: Uint8Array): SrtpKeys => ({
  suite,
  masterKey: random.slice(0, masterKeyBytes),
  masterSalt: random.slice(masterKeyBytes, masterKeyBytes + masterSaltBytes)
})
