import { createPrivateKey, sign } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { apiBase, Settings } from "../src/Settings.ts"
import { problemOf, publicKeyOf } from "../src/Signature.ts"

// The first key of RFC 8032, 7.1, in the forms of Node.js and of Telnyx.
const secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
const publicText = Buffer.from("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "hex").toString(
  "base64"
)
const privateKey = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${secret}`, "hex"),
  format: "der",
  type: "pkcs8"
})
const now = 1_700_000_000_000
const body = Buffer.from('{"data":{"event_type":"call.initiated"}}')
const signed = (timestamp: string, content: Uint8Array = body) => ({
  body,
  headers: {
    "telnyx-timestamp": timestamp,
    "telnyx-signature-ed25519": sign(null, Buffer.concat([Buffer.from(`${timestamp}|`), content]), privateKey).toString(
      "base64"
    )
  }
})
const problem = (request: Parameters<typeof problemOf>[1]): string | undefined => {
  const key = publicKeyOf(publicText)
  return key === undefined ? "no key" : problemOf(key, request, now)
}

describe("Signature", () => {
  it("accepts timestamp|body signed with the key of the account, up to 300 s away from now", () => {
    expect(problem(signed("1700000000"))).toBeUndefined()
    expect(problem(signed("1699999700"))).toBeUndefined()
    expect(problem(signed("1700000300"))).toBeUndefined()
  })

  it("refuses a replay that is older than 300 s, and a time from the future", () => {
    expect(problem(signed("1699999699"))).toContain("300 s")
    expect(problem(signed("1700000301"))).toContain("300 s")
  })

  it("refuses another body, another time, another signature, and none", () => {
    const valid = signed("1700000000")
    expect(problem(signed("1700000000", Buffer.from("{}")))).toContain("SVC_TELNYX_PUBLIC_KEY")
    expect(problem({ ...valid, headers: { ...valid.headers, "telnyx-timestamp": "1700000001" } })).toContain(
      "signature"
    )
    expect(problem({ ...valid, headers: { ...valid.headers, "telnyx-timestamp": "soon" } })).toContain(
      "telnyx-timestamp"
    )
    const of = (signature: string) => ({
      ...valid,
      headers: { ...valid.headers, "telnyx-signature-ed25519": signature }
    })
    expect(problem(of(Buffer.alloc(64, 1).toString("base64")))).toContain("signature")
    expect(problem(of("AAAA"))).toContain("no signature of Ed25519")
    expect(problem({ body, headers: {} })).toContain("missing")
  })
})

describe("Settings", () => {
  const decode = Schema.decodeUnknownEither(Settings)
  const valid = { apiKey: "KEY1", publicKey: publicText }

  it("need the key and the public key, and say what is wrong with them", () => {
    expect(Either.isRight(decode(valid))).toBe(true)
    expect(Either.isLeft(decode({ publicKey: publicText }))).toBe(true)
    const wrong = decode({ ...valid, publicKey: "no key" })
    expect(String(Either.isLeft(wrong) ? wrong.left : "")).toContain("Keys & Credentials")
    expect(String(decode({ ...valid, apiUrl: "https://api.telnyx.com/v1" }))).toContain("without a path")
  })

  it("take the address of the interface with and without its version", () => {
    expect(apiBase({})).toBe("https://api.telnyx.com/v2")
    expect(apiBase({ apiUrl: "http://127.0.0.1:8080" })).toBe("http://127.0.0.1:8080/v2")
    expect(apiBase({ apiUrl: "http://127.0.0.1:8080/v2/" })).toBe("http://127.0.0.1:8080/v2")
  })
})
