import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { codecs } from "../../src/Codec.ts"
import * as Description from "../../src/sdp/Description.ts"
import * as Negotiation from "../../src/sdp/Negotiation.ts"
import { mutated } from "../message/Mutation.ts"

const lines = (...text: ReadonlyArray<string>): Uint8Array => Buffer.from(`${text.join("\r\n")}\r\n`)

const head = ["v=0", "o=- 1 1 IN IP4 192.0.2.1", "s=-", "c=IN IP4 192.0.2.1", "t=0 0"]

const described = (...media: ReadonlyArray<string>): Description.Description => {
  const parsed = Description.parse(lines(...head, ...media))
  if (parsed === undefined) throw new Error("the description does not parse")
  return parsed
}

const local: Negotiation.Local = {
  address: "198.51.100.1",
  port: 20_000,
  sessionId: "42",
  version: 1,
  codecs: [codecs.PCMA, codecs.PCMU],
  direction: "sendrecv"
}

const agreed = (peer: Description.Description, side: Negotiation.Local = local): Negotiation.Agreed => {
  const found = Negotiation.agree(peer, side)
  if (found === undefined) throw new Error("nothing in common")
  return found
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

describe("Negotiation.agree", () => {
  it("takes the first port of several (RFC 8866, 5.14)", () => {
    expect(agreed(described("m=audio 4000/2 RTP/AVP 8")).remote).toEqual({ address: "192.0.2.1", port: 4000 })
    expect(Description.parse(lines(...head, "m=audio 4000/0 RTP/AVP 8"))).toBeUndefined()
  })

  it("takes the peer's first codec that we have, with its telephone-event, comfort noise, ptime and RTCP", () => {
    const offer = described(
      "m=audio 4000 RTP/AVP 111 96 0 8 13 101 102",
      "a=rtpmap:111 opus/48000/2",
      "a=rtpmap:96 pcma/8000",
      "a=rtpmap:101 telephone-event/8000",
      "a=rtpmap:102 telephone-event/48000",
      "a=fmtp:101 0-16",
      "a=ptime:30",
      "a=rtcp:4007",
      "a=rtcp-mux"
    )
    expect(agreed(offer)).toEqual({
      codec: codecs.PCMA,
      payloadType: 96,
      events: 101,
      comfortNoise: true,
      remote: { address: "192.0.2.1", port: 4000 },
      rtcpPort: 4007,
      rtcpMux: true,
      ptime: 30,
      direction: "sendrecv",
      section: 0
    })
  })

  it("mirrors the direction, and takes c=0.0.0.0 as hold", () => {
    const direction = (...attributes: ReadonlyArray<string>) =>
      agreed(described("m=audio 4000 RTP/AVP 0", ...attributes)).direction
    expect(["sendrecv", "sendonly", "recvonly", "inactive"].map((each) => direction(`a=${each}`))).toEqual([
      "sendrecv",
      "recvonly",
      "sendonly",
      "inactive"
    ])
    const held = agreed(described("m=audio 4000 RTP/AVP 0", "c=IN IP4 0.0.0.0"))
    expect(held).toMatchObject({ remote: null, direction: "recvonly" })
    expect(agreed(described("m=audio 4000 RTP/AVP 0"), { ...local, direction: "inactive" }).direction).toBe("inactive")
  })

  it("takes the direction of the session where the section has none, and the address of the section before that of the session", () => {
    const text = lines(...head, "a=sendonly", "m=audio 4000 RTP/AVP 0", "c=IN IP4 192.0.2.9")
    const peer = Description.parse(text)
    expect(peer === undefined ? undefined : agreed(peer)).toMatchObject({
      direction: "recvonly",
      remote: { address: "192.0.2.9" }
    })
  })

  it("has IPv6 addresses", () => {
    const peer = Description.parse(
      lines("v=0", "o=- 1 1 IN IP6 2001:db8::1", "s=-", "c=IN IP6 2001:db8::1", "t=0 0", "m=audio 4000 RTP/AVP 0")
    )
    expect(peer === undefined ? undefined : agreed(peer).remote).toEqual({ address: "2001:db8::1", port: 4000 })
    expect(textOf(Negotiation.offer({ ...local, address: "2001:db8::5" }))).toContain("c=IN IP6 2001:db8::5\r\n")
  })

  it("limits ptime to what is usual and to maxptime", () => {
    const ptime = (...attributes: ReadonlyArray<string>) =>
      agreed(described("m=audio 4000 RTP/AVP 0", ...attributes)).ptime
    expect([ptime(), ptime("a=ptime:5"), ptime("a=ptime:45"), ptime("a=ptime:60", "a=maxptime:40")]).toEqual([
      20, 10, 40, 40
    ])
    expect(ptime("a=ptime:999")).toBe(60)
  })

  it("finds nothing in other codecs, SRTP, port 0, and without an address", () => {
    const nothing = [
      described("m=audio 4000 RTP/AVP 18 111", "a=rtpmap:111 opus/48000/2"),
      described("m=audio 4000 RTP/SAVP 0"),
      described("m=audio 0 RTP/AVP 0"),
      described("m=audio 4000 RTP/AVP 0", "c=IN IP4 host.example.com"),
      described("m=audio 4000 RTP/AVP 8", "a=rtpmap:8 PCMA/16000"),
      described("m=image 4000 udptl t38")
    ]
    expect(nothing.map((peer) => Negotiation.agree(peer, local))).toEqual(nothing.map(() => undefined))
    expect(Negotiation.agree(described("m=audio 4000 RTP/AVP 0"), { ...local, codecs: [codecs.PCMA] })).toBeUndefined()
  })
})

describe("Negotiation.agree with an answer to our offer", () => {
  const answered = (...media: ReadonlyArray<string>) =>
    Negotiation.agree(described(...media), { ...local, offered: [] })

  it("has each codec of the answer, by its number there and by that of our offer", () => {
    expect(answered("m=audio 4000 RTP/AVP 0 8")).toMatchObject({
      codec: codecs.PCMU,
      payloadType: 0,
      others: [{ codec: codecs.PCMA, payloadType: 8 }]
    })
    expect(answered("m=audio 4000 RTP/AVP 96", "a=rtpmap:96 PCMA/8000")).toMatchObject({
      payloadType: 96,
      others: [{ codec: codecs.PCMA, payloadType: 8 }]
    })
    expect(answered("m=audio 4000 RTP/AVP 8")?.others).toBeUndefined()
  })

  it("takes telephone-event by the number of our offer too, unless the answer uses that for something else", () => {
    const events = (...lines: ReadonlyArray<string>) => {
      const found = answered("m=audio 4000 RTP/AVP 8 96 101", "a=rtpmap:96 telephone-event/8000", ...lines)
      return [found?.events, found?.offeredEvents]
    }
    expect(events()).toEqual([96, 101])
    expect(events("a=rtpmap:101 opus/48000")).toEqual([96, undefined])
  })
})

describe("Negotiation.answer", () => {
  it("has comfort noise only where it was offered with type 13", () => {
    const peer = described("m=audio 4000 RTP/AVP 0 97", "a=rtpmap:97 CN/8000")
    expect(textOf(Negotiation.answer(peer, agreed(peer), local))).toContain("m=audio 20000 RTP/AVP 0\r\n")
  })

  it("takes a port with the count 1", () => {
    expect(agreed(described("m=audio 5004/1 RTP/AVP 0")).remote).toEqual({ address: "192.0.2.1", port: 5004 })
  })

  it("has a section for each of the offer, in its order, and refuses T.38, video and a second audio with port 0", () => {
    const peer = described(
      "m=image 5000 udptl t38",
      "m=audio 4000 RTP/AVP 0 101",
      "a=rtpmap:101 telephone-event/8000",
      "m=video 4002 RTP/AVP 31",
      "m=audio 4004 RTP/AVP 8"
    )
    const text = textOf(Negotiation.answer(peer, agreed(peer), local))
    expect(text.split("\r\n").filter((line) => line.startsWith("m="))).toEqual([
      "m=image 0 udptl t38",
      "m=audio 20000 RTP/AVP 0 101",
      "m=video 0 RTP/AVP 31",
      "m=audio 0 RTP/AVP 8"
    ])
    for (const line of ["a=rtpmap:0 PCMU/8000", "a=rtpmap:101 telephone-event/8000", "a=fmtp:101 0-15", "a=sendrecv"]) {
      expect(text).toContain(`${line}\r\n`)
    }
    expect(text).not.toContain("rtcp-mux")
  })

  it("agrees with the side that offered", () => {
    const offered = Description.parse(Negotiation.offer(local))
    if (offered === undefined) throw new Error("our offer does not parse")
    const peerSide = { ...local, address: "192.0.2.77", port: 30_000, codecs: [codecs.PCMU] }
    const answered = Description.parse(Negotiation.answer(offered, agreed(offered, peerSide), peerSide))
    if (answered === undefined) throw new Error("the answer does not parse")
    expect(agreed(answered)).toMatchObject({
      codec: codecs.PCMU,
      payloadType: 0,
      events: 101,
      remote: { address: "192.0.2.77", port: 30_000 },
      rtcpMux: true,
      direction: "sendrecv"
    })
  })
})

describe("Description.parse", () => {
  it("refuses what is no description", () => {
    const bad = [
      lines(""),
      lines("v=1", ...head.slice(1), "m=audio 4000 RTP/AVP 0"),
      lines("v=0", "s=-", "m=audio 4000 RTP/AVP 0"),
      lines(...head),
      lines(...head, "m=audio 70000 RTP/AVP 0"),
      lines(...head, "m=audio -1 RTP/AVP 0"),
      lines(...head, "m=audio"),
      lines(...head, ...Array.from({ length: 17 }, () => "m=audio 4000 RTP/AVP 0")),
      lines(...head, "m=audio 4000 RTP/AVP 0", `a=x:${"y".repeat(20_000)}`)
    ]
    expect(bad.map(Description.parse)).toEqual(bad.map(() => undefined))
  })

  it("never throws, and what it gives has ports and addresses that can be used", () => {
    const seed = lines(
      ...head,
      "m=audio 4000 RTP/AVP 0 8 101",
      "a=rtpmap:101 telephone-event/8000",
      "a=ptime:20",
      "a=rtcp:4001 IN IP4 192.0.2.1",
      "a=sendrecv",
      "m=video 1 RTP/AVP 99",
      "a=__proto__:x"
    )
    fc.assert(
      fc.property(mutated([seed]), (bytes) => {
        const parsed = Description.parse(bytes)
        const found = parsed === undefined ? undefined : Negotiation.agree(parsed, local)
        if (parsed === undefined || found === undefined) return
        expect(found.remote?.port ?? 1).toBeGreaterThan(0)
        expect(found.payloadType).toBeLessThan(128)
        const answered = Description.parse(Negotiation.answer(parsed, found, local))
        expect(answered?.sections).toHaveLength(parsed.sections.length)
      }),
      { numRuns: 200 }
    )
  })
})
