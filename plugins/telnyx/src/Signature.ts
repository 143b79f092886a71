import { createPublicKey, type KeyObject, verify } from "node:crypto"

/** Seconds that the time of a webhook may differ from ours, in either direction (Telnyx, "Webhook Fundamentals"). */
const tolerance = 300
/** Bytes of a public key and of a signature (RFC 8032, 5.1.5 and 5.1.6). */
const keyBytes = 32
const signatureBytes = 64
/** What comes before the bytes of a public key of Ed25519 in its DER form (RFC 8410, 4). */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex")

/** The public key as Mission Control shows it: 32 bytes in base64. Undefined: it is none. */
export const publicKeyOf = (text: string): KeyObject | undefined => {
  const bytes = Buffer.from(text, "base64")
  if (!/^[A-Za-z0-9+/]{43}=?$/.test(text) || bytes.length !== keyBytes) return undefined
  try {
    return createPublicKey({ key: Buffer.concat([derPrefix, bytes]), format: "der", type: "spki" })
  } catch {
    return undefined
  }
}

export interface SignedRequest {
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** As it was received. */
  readonly body: Uint8Array
}

/** Why a webhook is refused; undefined: Telnyx has signed it, and it is not older than 300 s. `now` in milliseconds. */
export const problemOf = (key: KeyObject, { body, headers }: SignedRequest, now: number): string | undefined => {
  const signature = headers["telnyx-signature-ed25519"]
  const timestamp = headers["telnyx-timestamp"]
  if (signature === undefined || timestamp === undefined) {
    return "telnyx-signature-ed25519 or telnyx-timestamp is missing"
  }
  if (!/^\d{1,12}$/.test(timestamp)) return "telnyx-timestamp is no time in seconds"
  if (Math.abs(now / 1000 - Number(timestamp)) > tolerance) {
    return `telnyx-timestamp differs by more than ${tolerance} s from the time of this server`
  }
  const bytes = Buffer.from(signature, "base64")
  if (bytes.length !== signatureBytes) return "telnyx-signature-ed25519 is no signature of Ed25519 in base64"
  const signed = Buffer.concat([Buffer.from(`${timestamp}|`), body])
  return verify(null, signed, key, bytes)
    ? undefined
    : "the signature is not one of SVC_TELNYX_PUBLIC_KEY over this body"
}
