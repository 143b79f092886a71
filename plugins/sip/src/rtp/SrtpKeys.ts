import { createCipheriv } from "node:crypto"

/** The suites of RFC 4568, 6.2, and the bytes of their authentication tags. */
export type SrtpSuite = "AES_CM_128_HMAC_SHA1_80" | "AES_CM_128_HMAC_SHA1_32"

/** The master key and salt of one direction. */
export interface SrtpKeys {
  readonly suite: SrtpSuite
  /** 16 bytes. */
  readonly masterKey: Uint8Array
  /** 14 bytes. */
  readonly masterSalt: Uint8Array
}

/** Whether both are the same key, salt and suite. */
export const areSameKeys = (one: SrtpKeys, other: SrtpKeys): boolean =>
  one.suite === other.suite &&
  Buffer.compare(one.masterKey, other.masterKey) === 0 &&
  Buffer.compare(one.masterSalt, other.masterSalt) === 0

export const masterKeyBytes = 16
export const masterSaltBytes = 14
const authKeyBytes = 20

/** What encrypts and authenticates packets. */
export interface SessionKeys {
  readonly cipherKey: Uint8Array
  readonly authKey: Uint8Array
  readonly salt: Uint8Array
}

/** Labels of RFC 3711, 4.3.1: cipher key, authentication key and salt. */
const labels = { rtp: [0, 1, 2], rtcp: [3, 4, 5] } as const

/** `length` bytes of the key stream of AES in counter mode (RFC 3711, 4.1.1). */
export const keyStream = (key: Uint8Array, iv: Uint8Array, length: number): Uint8Array =>
  createCipheriv("aes-128-ctr", key, iv).update(new Uint8Array(length))

/** The session keys for RTP or RTCP, with a key derivation rate of 0 (RFC 3711, 4.3). */
export const deriveKeys = ({ masterKey, masterSalt }: SrtpKeys, of: keyof typeof labels): SessionKeys => {
  const derive = (label: number, length: number): Uint8Array => {
    const iv = new Uint8Array(16)
    iv.set(masterSalt)
    iv[7] = (iv[7] ?? 0) ^ label
    return keyStream(masterKey, iv, length)
  }
  const [cipher, auth, salt] = labels[of]
  return {
    cipherKey: derive(cipher, masterKeyBytes),
    authKey: derive(auth, authKeyBytes),
    salt: derive(salt, masterSaltBytes)
  }
}

/** Writes the initial counter of a packet (RFC 3711, 4.1.1). `index`: 48 bits. */
export const packetIv = (iv: Uint8Array, salt: Uint8Array, ssrc: number, index: number): void => {
  iv.fill(0)
  iv.set(salt)
  const high = Math.floor(index / 0x1_0000_0000)
  for (let byte = 0; byte < 4; byte++) {
    const shift = 24 - byte * 8
    iv[4 + byte] = (iv[4 + byte] ?? 0) ^ (ssrc >>> shift)
    iv[10 + byte] = (iv[10 + byte] ?? 0) ^ (index >>> shift)
  }
  iv[8] = (iv[8] ?? 0) ^ (high >>> 8)
  iv[9] = (iv[9] ?? 0) ^ high
}
