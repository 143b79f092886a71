import { describe, expect, it } from "@effect/vitest"
import { codecs } from "../../src/Codec.ts"
import * as Description from "../../src/sdp/Description.ts"
import { MediaKeys } from "../../src/sdp/MediaKeys.ts"
import * as Negotiation from "../../src/sdp/Negotiation.ts"

/** 30 bytes in Base64; the digit makes them differ. */
const key = (digit: number): string => `inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGV${digit}`

const line = (tag: number, digit = tag, suite = "AES_CM_128_HMAC_SHA1_80"): string =>
  `a=crypto:${tag} ${suite} ${key(digit)}`

const described = (...media: ReadonlyArray<string>): Description.Description => {
  const head = ["v=0", "o=- 1 1 IN IP4 192.0.2.1", "s=-", "c=IN IP4 192.0.2.1", "t=0 0"]
  const parsed = Description.parse(Buffer.from(`${[...head, ...media].join("\r\n")}\r\n`))
  if (parsed === undefined) throw new Error("the description does not parse")
  return parsed
}

const wanted = (encryption: Negotiation.Encryption): Negotiation.Wanted => ({
  codecs: [codecs.PCMA],
  direction: "sendrecv",
  encryption
})

const agreed = (peer: Description.Description, encryption: Negotiation.Encryption = "optional"): Negotiation.Agreed => {
  const found = Negotiation.agree(peer, wanted(encryption))
  if (found === undefined) throw new Error("nothing in common")
  return found
}

const local = { address: "198.51.100.1", port: 20_000, sessionId: "1", version: 1, ...wanted("off") }

const linesOf = (sdp: Uint8Array): ReadonlyArray<string> =>
  Buffer.from(sdp)
    .toString()
    .split("\r\n")
    .filter((each) => each.startsWith("m=") || each.startsWith("a=crypto:"))

const avp = "m=audio 4000 RTP/AVP 8"
const savp = "m=audio 4000 RTP/SAVP 8"

describe("An offer with or without keys", () => {
  it("is taken or refused as the setting says", () => {
    const outcome = (encryption: Negotiation.Encryption, ...media: ReadonlyArray<string>) => {
      const found = Negotiation.agree(described(...media), wanted(encryption))
      return found === undefined ? "refused" : found.srtp === undefined ? "plain" : "encrypted"
    }
    const each = (...media: ReadonlyArray<string>) =>
      (["off", "optional", "required"] as const).map((encryption) => outcome(encryption, ...media))
    expect(each(avp)).toEqual(["plain", "plain", "refused"])
    expect(each(avp, line(1))).toEqual(["plain", "encrypted", "encrypted"])
    expect(each(savp, line(1))).toEqual(["refused", "encrypted", "encrypted"])
    // Without a key that can be used RTP/SAVP is no call.
    expect(each(savp)).toEqual(["refused", "refused", "refused"])
    expect(each(savp, line(1, 1, "F8_128_HMAC_SHA1_80"))).toEqual(["refused", "refused", "refused"])
    expect(each(savp, `${line(1)} WSH=64 UNENCRYPTED_SRTP`)).toEqual(["refused", "refused", "refused"])
    expect(each("m=audio 4000 UDP/TLS/RTP/SAVPF 8", line(1))).toEqual(["refused", "refused", "refused"])
  })

  it("is taken with its first key that can be used, in the section with keys where there are two", () => {
    const found = agreed(
      described(avp, "m=audio 4002 RTP/SAVP 8", line(3, 1, "AES_256_CM_HMAC_SHA1_80"), line(7), line(8))
    )
    expect(found).toMatchObject({ section: 1, srtp: { protocol: "RTP/SAVP", line: { tag: 7 } } })
    expect(agreed(described(avp, "m=audio 4002 RTP/SAVP 8", line(7)), "off").section).toBe(0)
  })
})

describe("MediaKeys", () => {
  it("answers under the tag of the offer with a key of its own and the same suite", () => {
    const offer = described(savp, line(5, 1, "AES_CM_128_HMAC_SHA1_32"))
    const keys = new MediaKeys("optional")
    const pair = keys.answered(agreed(offer))
    const own = keys.line
    expect(pair?.incoming).toEqual(agreed(offer).srtp?.line.keys)
    expect(pair?.outgoing.masterKey).not.toEqual(pair?.incoming.masterKey)
    if (own === undefined) return expect.fail("there is no key")
    const answer = linesOf(Negotiation.answer(offer, agreed(offer), { ...local, crypto: [own] }))
    expect(answer[0]).toBe("m=audio 20000 RTP/SAVP 8")
    expect(answer[1]).toMatch(/^a=crypto:5 AES_CM_128_HMAC_SHA1_32 inline:[A-Za-z0-9+/]{40}$/)
  })

  it("offers both suites with different keys, as RTP/SAVP only where encryption is required, and nothing when it is off", () => {
    const offered = (encryption: Negotiation.Encryption) =>
      linesOf(Negotiation.offer({ ...local, ...new MediaKeys(encryption).offer(false) }))
    expect(offered("off")).toEqual(["m=audio 20000 RTP/AVP 8 101"])
    expect(offered("optional").map((each) => each.replace(/inline:.*/, ""))).toEqual([
      "m=audio 20000 RTP/AVP 8 101",
      "a=crypto:1 AES_CM_128_HMAC_SHA1_80 ",
      "a=crypto:2 AES_CM_128_HMAC_SHA1_32 "
    ])
    expect(offered("required")[0]).toBe("m=audio 20000 RTP/SAVP 8 101")
    expect(new Set(offered("required").map((each) => each.split("inline:")[1])).size).toBe(3)
  })

  it("takes an answer only under a tag and suite that were offered, and goes on with that key in further offers", () => {
    const keys = new MediaKeys("required")
    const { crypto } = keys.offer(false)
    const accept = (...media: ReadonlyArray<string>) =>
      Negotiation.agree(described(...media), { ...wanted("required"), offered: keys.answerable })
    expect(accept(savp, line(3))).toBeUndefined()
    expect(accept(savp, line(1, 1, "AES_CM_128_HMAC_SHA1_32"))).toBeUndefined()
    expect(accept(avp)).toBeUndefined()
    const found = accept(savp, line(2, 1, "AES_CM_128_HMAC_SHA1_32"))
    if (found === undefined) return expect.fail("the answer is not taken")
    expect(keys.accepted(found)?.outgoing).toEqual(crypto[1]?.keys)
    expect(keys.offer(true)).toEqual({ protocol: "RTP/SAVP", crypto: [crypto[1]] })
  })

  it("keeps its key when the peer changes its own, and has another one when the peer moves", () => {
    const keys = new MediaKeys("optional")
    const first = keys.answered(agreed(described(savp, line(1))))
    const second = keys.answered(agreed(described(savp, line(1, 2))))
    expect(second?.outgoing).toEqual(first?.outgoing)
    expect(second?.incoming).not.toEqual(first?.incoming)
    const held = keys.answered(agreed(described(savp, "c=IN IP4 0.0.0.0", line(1, 2))))
    expect(held?.outgoing).toEqual(first?.outgoing)
    const moved = keys.answered(agreed(described("m=audio 4010 RTP/SAVP 8", line(1, 3))))
    expect(moved?.outgoing).not.toEqual(first?.outgoing)
    expect(keys.answered(agreed(described(avp)))).toBeUndefined()
    expect(keys.offer(true)).toEqual({ protocol: "RTP/AVP", crypto: [] })
  })
})
