import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { keysOf, readCrypto, writeCrypto } from "../../src/rtp/SdesCrypto.ts"

/** 30 bytes. */
const key = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz"

describe("the attribute a=crypto", () => {
  it("is read with its lifetime and window hint", () => {
    const line = readCrypto(`1 AES_CM_128_HMAC_SHA1_80 inline:${key}|2^20 WSH=128`)
    expect(line?.tag).toBe(1)
    expect(line?.keys.suite).toBe("AES_CM_128_HMAC_SHA1_80")
    expect(line?.keys.masterKey).toHaveLength(16)
    expect(line?.keys.masterSalt).toHaveLength(14)
    expect(readCrypto(`2 AES_CM_128_HMAC_SHA1_32 inline:${key}|1048576`)?.keys.suite).toBe("AES_CM_128_HMAC_SHA1_32")
  })

  it.each([
    ["nothing", ""],
    ["no tag", `AES_CM_128_HMAC_SHA1_80 inline:${key}`],
    ["another suite", `1 F8_128_HMAC_SHA1_80 inline:${key}`],
    ["a key that is too short", `1 AES_CM_128_HMAC_SHA1_80 inline:${key.slice(4)}`],
    ["a key that is no Base64", `1 AES_CM_128_HMAC_SHA1_80 inline:${key.replace("W", "%")}`],
    ["another key method", `1 AES_CM_128_HMAC_SHA1_80 uri:${key}`],
    ["a key identifier", `1 AES_CM_128_HMAC_SHA1_80 inline:${key}|2^20|1:4`],
    ["several keys", `1 AES_CM_128_HMAC_SHA1_80 inline:${key}|2^20;inline:${key}|2^20`],
    ["unencrypted packets", `1 AES_CM_128_HMAC_SHA1_80 inline:${key} UNENCRYPTED_SRTP`],
    ["a key derivation rate", `1 AES_CM_128_HMAC_SHA1_80 inline:${key} KDR=16`]
  ])("is refused: %s", (_name, value) => {
    expect(readCrypto(value)).toBeUndefined()
  })

  it("is read as it was written", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 30, maxLength: 30 }),
        fc.constantFrom("AES_CM_128_HMAC_SHA1_80" as const, "AES_CM_128_HMAC_SHA1_32" as const),
        fc.integer({ min: 0, max: 999_999_999 }),
        (random, suite, tag) => {
          const line = { tag, keys: keysOf(suite, random) }
          expect(readCrypto(writeCrypto(line))).toEqual(line)
        }
      )
    )
  })

  it("does not make the parser fail, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        expect(readCrypto(text)).toBeUndefined()
      })
    )
  })
})
