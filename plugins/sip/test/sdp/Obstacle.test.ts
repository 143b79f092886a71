import { describe, expect, it } from "@effect/vitest"
import { obstacleText } from "../../src/AudioAdvice.ts"
import { codecs } from "../../src/Codec.ts"
import { familiesOf } from "../../src/rtp/MediaAddress.ts"
import * as Description from "../../src/sdp/Description.ts"
import * as Negotiation from "../../src/sdp/Negotiation.ts"
import { obstacleIn } from "../../src/sdp/Obstacle.ts"
import { warningOf } from "../../src/sdp/Warning.ts"

const described = (address: string, ...media: ReadonlyArray<string>): Description.Description => {
  const connection = address === "" ? [] : [`c=IN IP${address.includes(":") ? 6 : 4} ${address}`]
  const head = ["v=0", "o=- 1 1 IN IP4 192.0.2.1", "s=-", ...connection, "t=0 0"]
  const parsed = Description.parse(Buffer.from(`${[...head, ...media].join("\r\n")}\r\n`))
  if (parsed === undefined) throw new Error("the description does not parse")
  return parsed
}

const wanted: Negotiation.Wanted = { codecs: [codecs.PCMA], direction: "sendrecv", families: [4] }

const avp = "m=audio 4000 RTP/AVP 8"
const key = `inline:${"A".repeat(40)}`
const suite = "AES_CM_128_HMAC_SHA1_80"

/** Warning to the peer, and the text for the operator, of a description that gives no audio. */
const found = (peer: Description.Description, given: Partial<Negotiation.Wanted> = {}): readonly [string, string] => {
  const all = { ...wanted, ...given }
  expect(Negotiation.agree(peer, all)).toBeUndefined()
  const obstacle = obstacleIn(peer, all)
  return [warningOf(obstacle), obstacleText(obstacle, { codecs: all.codecs, encryption: all.encryption ?? "off" })]
}

describe("The families of media addresses", () => {
  const remote = (address: string, families: ReadonlyArray<4 | 6>) =>
    Negotiation.agree(described(address, avp), { ...wanted, families })?.remote

  it("are those of the bound address, and both for :: unless SVC_SIP_EXTERNAL_ADDRESS is of one", () => {
    expect(familiesOf("0.0.0.0", undefined)).toEqual([4])
    expect(familiesOf("192.0.2.1", "198.51.100.1")).toEqual([4])
    expect(familiesOf("2001:db8::1", undefined)).toEqual([6])
    expect(familiesOf("::ffff:192.0.2.1", undefined)).toEqual([4])
    expect(familiesOf("::", undefined)).toEqual([4, 6])
    expect(familiesOf("::", "198.51.100.1")).toEqual([4])
    expect(familiesOf("::", "2001:db8::1")).toEqual([6])
  })

  it("refuse an IPv6 address for IPv4, the reverse, and neither for both (RFC 3261, 20.43: 301)", () => {
    expect(remote("::1", [4])).toBeUndefined()
    expect(remote("192.0.2.1", [6])).toBeUndefined()
    expect(remote("::1", [4, 6])).toEqual({ address: "::1", port: 4000 })
    expect(remote("192.0.2.1", [4, 6])).toEqual({ address: "192.0.2.1", port: 4000 })
    const [warning, text] = found(described("::1", avp))
    expect(warning).toBe('301 svc "Incompatible network address formats"')
    expect(text).toContain("audio at ::1 (IPv6), and ours is IPv4")
    expect(text).toContain("SVC_SIP_BIND")
    expect(found(described("192.0.2.1", avp), { families: [6] })[1]).toContain("192.0.2.1 (IPv4), and ours is IPv6")
  })

  it("take IPv4 in IPv6 for IPv4, to which audio then goes", () => {
    expect(remote("::ffff:192.0.2.7", [4])).toEqual({ address: "192.0.2.7", port: 4000 })
    expect(remote("::ffff:192.0.2.7", [6])).toBeUndefined()
  })

  it("leave hold as it is, of either family (RFC 3264, 8.4)", () => {
    for (const hold of ["0.0.0.0", "::", "::ffff:0.0.0.0"]) {
      for (const families of [[4], [6], [4, 6]] as const) {
        const agreed = Negotiation.agree(described(hold, avp), { ...wanted, families })
        expect(agreed).toMatchObject({ remote: null, direction: "recvonly" })
      }
    }
  })

  it("choose among sections of both families", () => {
    const peer = described("::1", avp, "m=audio 4002 RTP/AVP 8", "c=IN IP4 192.0.2.1")
    expect(Negotiation.agree(peer, wanted)).toMatchObject({ section: 1, remote: { address: "192.0.2.1" } })
  })
})

describe("The warning of a 488 (RFC 3261, 20.43), and the reason in the log", () => {
  it("name codecs, and only for them SVC_SIP_CODECS", () => {
    const [warning, text] = found(described("192.0.2.1", "m=audio 4000 RTP/AVP 18 96", "a=rtpmap:96 opus/48000/2"))
    expect(warning).toBe('305 svc "Incompatible media format: G729, OPUS"')
    expect(text).toBe("RTP/AVP with G729, OPUS; SVC_SIP_CODECS has PCMA")
  })

  it("name a missing address, a host name, port 0, and other media", () => {
    const cases = [
      [described("", avp), '399 svc "The audio has no address: c= is missing"', "audio without an address"],
      [
        described("localhost", avp),
        '301 svc "Incompatible network address formats: c= has a host name"',
        "audio at localhost, and host names are not supported in c=, only IP addresses"
      ],
      [
        described("192.0.2.1", "m=audio 0 RTP/AVP 8"),
        '304 svc "Media type not available: the audio has port 0"',
        "port 0"
      ],
      [
        described("192.0.2.1", "m=image 4000 udptl t38"),
        '304 svc "Media type not available: there is no audio"',
        "no audio, only image"
      ]
    ] as const
    for (const [peer, warning, text] of cases) {
      const [sent, logged] = found(peer)
      expect(sent).toBe(warning)
      expect(logged).toContain(text)
      expect(logged).not.toContain("SVC_SIP_CODECS")
    }
  })

  it("name the profile, and SVC_SIP_SRTP where that is the cause", () => {
    const media = (protocol: string, ...lines: ReadonlyArray<string>) =>
      described("192.0.2.1", `m=audio 4000 ${protocol} 8`, ...lines)
    for (const protocol of ["RTP/AVPF", "RTP/SAVPF", "UDP/TLS/RTP/SAVPF"]) {
      const [warning, text] = found(media(protocol), { encryption: "optional" })
      expect(warning).toBe(`302 svc "Incompatible transport protocol: ${protocol}"`)
      expect(text).toContain(`the profile ${protocol}`)
      expect(text).not.toContain("SVC_SIP_")
    }
    const off = found(media("RTP/SAVP", `a=crypto:1 ${suite} ${key}`))
    expect(off[0]).toBe('302 svc "Incompatible transport protocol: RTP/SAVP"')
    expect(off[1]).toContain("SVC_SIP_SRTP is off")
    const required = found(media("RTP/AVP"), { encryption: "required" })
    expect(required[0]).toBe('302 svc "Incompatible transport protocol: RTP/AVP without a=crypto"')
    expect(required[1]).toContain("SVC_SIP_SRTP is required")
  })

  it("name what is wrong with the keys", () => {
    const fault = (...lines: ReadonlyArray<string>) =>
      found(described("192.0.2.1", "m=audio 4000 RTP/SAVP 8", ...lines.map((line) => `a=crypto:1 ${line}`)), {
        encryption: "optional"
      })
    const cases = [
      [[`${suite} ${key}|2^20|1:4`], "a key with an identifier (MKI)"],
      [[`AEAD_AES_256_GCM ${key}`], "the suite AEAD_AES_256_GCM"],
      [[`${suite} ${key};${key}`], "several keys in one line"],
      [[`${suite} ${key} UNENCRYPTED_SRTP`], "the session parameter UNENCRYPTED_SRTP"],
      [[`${suite} inline:short`], "a malformed key"]
    ] as const
    for (const [lines, what] of cases) {
      const [warning, text] = fault(...lines)
      expect(warning).toBe(`306 svc "Attribute not understood: a=crypto has ${what}"`)
      expect(text).toContain(`encrypted audio (RTP/SAVP) with ${what}`)
    }
    expect(fault()[1]).toContain("no key (a=crypto)")
  })

  it("name the section that is the closest to a call", () => {
    const peer = described("192.0.2.1", "m=video 4000 RTP/AVP 96", "m=audio 0 RTP/AVP 8", "m=audio 4000 RTP/AVP 18")
    expect(found(peer)[0]).toContain("305")
  })

  it("quotes nothing of the peer that would end its text", () => {
    const peer = described("192.0.2.1", "m=audio 4000 RTP/AVP 96", 'a=rtpmap:96 a"b\\c/8000')
    expect(found(peer)[0]).toMatch(/^305 svc "[^"\\]*"$/)
  })
})
