import { describe, expect, it } from "vitest"
import { readCompound } from "../../src/rtp/RtcpPacket.ts"
import { RtpPacket, writeRtpHeader } from "../../src/rtp/RtpPacket.ts"
import type { SrtpKeys } from "../../src/rtp/SrtpKeys.ts"
import { frame, parameters, seeded, type Transport, VirtualMedia } from "./VirtualMedia.ts"

const stranger = { address: "203.0.113.66", port: 9999 }

/** An RTP packet of someone else. */
const packetOf = (type: number, sequence: number, ssrc: number, payload = new Uint8Array(160).fill(99)) => {
  const bytes = new Uint8Array(12 + payload.length)
  writeRtpHeader(bytes, type, false, sequence, sequence * 160, ssrc)
  bytes.set(payload, 12)
  return bytes
}

const range = (count: number) => Array.from({ length: count }, (_, index) => 1 + (index % 120))

describe("an RTP session", () => {
  it("carries audio both ways, complete and in order", () => {
    const media = new VirtualMedia().negotiate()
    media.run(1000, (step) => {
      media.a.session.send(frame(step))
      media.b.session.send(frame(step + 50))
    })
    expect(media.b.labels).toEqual(range(50))
    expect(media.a.labels).toEqual(range(100).slice(50))
    // The silence at the beginning came together with the first frame.
    expect(media.a.session.quality).toEqual({ packetsLost: 0, packetsLate: 0, jitterMs: 0.1 })
  })

  it("sends a packet of silence when it begins and every 5 s, so that NATs and peers know where it is", () => {
    const media = new VirtualMedia().negotiate()
    expect(media.a.rtp).toHaveLength(1)
    expect(media.a.rtp[0]?.payload.every((byte) => byte === 0xff)).toBe(true)
    media.run(20_000)
    expect(media.a.rtp.map(({ at }) => at)).toEqual([1000, 6000, 11_000, 16_000])
  })

  it("sends comfort noise after speech only where it was negotiated, and takes it as silence", () => {
    const without = new VirtualMedia().negotiate()
    without.a.session.send(frame(1))
    without.run(1000)
    expect(without.a.rtp.every(({ header }) => header.payloadType === 0)).toBe(true)
    const media = new VirtualMedia().negotiate({ comfortNoise: 13 })
    media.run(2000, (step) => {
      if (step < 5 || step > 90) media.a.session.send(frame(step))
    })
    expect(media.a.rtp.map(({ header }) => header.payloadType)).toEqual([13, 0, 0, 0, 0, 0, 13, ...Array(9).fill(0)])
    expect(media.b.heard.filter(({ length }) => length === 0)).toHaveLength(2)
    expect(media.b.session.quality.packetsLost).toBe(0)
    const spurts = media.a.rtp.filter(({ header }) => header.isMarked).map(({ at }) => at)
    expect(spurts).toEqual([1000, 2820])
  })

  it("takes audio and digits of each type that was agreed on", () => {
    const media = new VirtualMedia().negotiate({
      audio: [
        { payloadType: 0, law: "mulaw" },
        { payloadType: 8, law: "alaw" }
      ],
      telephoneEvent: 96,
      offeredTelephoneEvent: 101
    })
    const { a, b } = media
    b.session.receive(packetOf(8, 1, 7), a.address.address, a.address.port)
    expect(b.heard.at(-1)).toMatchObject({ length: 160, sequence: 1 })
    b.session.receive(packetOf(101, 2, 7, Uint8Array.of(5, 10, 0, 160)), a.address.address, a.address.port)
    expect(b.digits).toBe("5")
  })

  it("sends nothing before the ACK to an address from which nothing came, unless it is that of the signaling", () => {
    const setUp = (options: Parameters<VirtualMedia["negotiate"]>[0] = {}) => {
      const media = new VirtualMedia()
      media.a.session.awaitProof()
      return media.negotiate(options)
    }
    const waiting = setUp()
    waiting.a.session.send(frame(1))
    waiting.clock.now += 20_000
    waiting.a.session.tick()
    expect(waiting.a.sent).toEqual([])
    waiting.a.session.prove()
    expect(waiting.a.rtp.length).toBeGreaterThan(0)
    const heard = setUp()
    heard.a.session.receive(packetOf(0, 1, 7), heard.b.address.address, heard.b.address.port)
    heard.a.session.tick()
    expect(heard.a.rtp).toHaveLength(1)
    const known = setUp({ hosts: [heard.b.address.address] })
    expect(known.a.rtp).toHaveLength(1)
  })

  it("takes comfort noise that was not negotiated", () => {
    const media = new VirtualMedia().negotiate()
    media.b.session.receive(packetOf(13, 1, 7, Uint8Array.of(60)), "192.0.2.1", 4000)
    expect(media.b.heard).toEqual([{ label: 0, length: 0, sequence: 1, timestamp: 160 }])
  })

  it.each([10, 20, 30, 40, 60] as const)("packs and unpacks packets of %i ms", (packetTimeMs) => {
    const media = new VirtualMedia().negotiate({ packetTimeMs })
    media.run(1200, (step) => media.a.session.send(frame(step)))
    const bytes = media.a.rtp.slice(1).reduce((sum, { payload }) => sum + payload.length, 0)
    expect(bytes).toBe(60 * 160)
    expect(new Set(media.b.heard.map(({ length }) => length))).toEqual(new Set([packetTimeMs * 8]))
    const unpacked = media.a.rtp.slice(1).flatMap(({ payload }) => [...payload].filter((_, at) => at % 80 === 0))
    expect(unpacked.filter((_, at) => at % 2 === 0)).toEqual(range(60))
  })

  it("sends the rest of a packet within 80 ms when no frame follows", () => {
    const media = new VirtualMedia().negotiate({ packetTimeMs: 60 })
    media.run(200, (step) => {
      if (step === 0) media.a.session.send(frame(0))
    })
    const rest = media.a.rtp.filter(({ payload }) => payload[0] === 1)
    expect(rest).toHaveLength(1)
    expect((rest[0]?.at ?? 0) - 1000).toBeLessThanOrEqual(100)
  })

  it("converts when the peer has the other law, and when it changes the law in the call", () => {
    const media = new VirtualMedia({ laws: ["mulaw", "alaw"] })
    const audio = [{ payloadType: 8, law: "alaw" }] as const
    media.negotiate({ audio })
    media.a.session.send(new Uint8Array(160).fill(0x80))
    media.run(40)
    expect(media.b.heard.at(-1)?.label).toBe(0xaa)
    media.a.session.negotiate(parameters(media.b.address, { audio: [...audio, { payloadType: 0, law: "mulaw" }] }))
    media.a.session.receive(packetOf(0, 500, 7, new Uint8Array(160).fill(0x42)), "192.0.2.2", 5000)
    media.a.session.receive(packetOf(8, 501, 7, new Uint8Array(160).fill(0xaa)), "192.0.2.2", 5000)
    expect(media.a.heard.slice(-2).map(({ label }) => label)).toEqual([0x42, 0x80])
  })

  it("drops what was not negotiated, and what is no RTP, and counts it", () => {
    const { b } = new VirtualMedia().negotiate()
    const heard = b.heard.length
    b.session.receive(packetOf(34, 1, 7), "192.0.2.1", 4000)
    b.session.receive(Uint8Array.of(0, 1, 0, 0), "192.0.2.1", 4000)
    b.session.receive(new Uint8Array(0), "192.0.2.1", 4000)
    b.session.receiveRtcp(Uint8Array.of(0x80, 200, 0, 9), "192.0.2.1", 4001)
    expect(b.session.dropped).toEqual({ malformed: 3, unknownType: 1, unauthenticated: 0, foreign: 0 })
    expect(b.heard).toHaveLength(heard)
  })

  it("takes and sends nothing before it is negotiated, nor after its end", () => {
    const { a, b } = new VirtualMedia()
    a.session.send(frame(1))
    expect(a.session.sendDigits("1")).toBe(false)
    a.session.receive(packetOf(0, 1, 7), "192.0.2.2", 5000)
    a.session.close()
    expect(a.sent).toEqual([])
    expect(a.session.dropped.foreign).toBe(1)
    b.session.negotiate(parameters(a.address))
    b.session.close()
    const count = b.sent.length
    b.session.negotiate(parameters(a.address))
    b.session.send(frame(1))
    b.session.tick()
    b.session.close()
    b.session.receive(packetOf(0, 1, 7), "192.0.2.1", 4000)
    expect(b.sent).toHaveLength(count)
    expect(b.heard).toEqual([])
  })

  it("ends with a BYE", () => {
    const { a } = new VirtualMedia().negotiate()
    a.session.close()
    expect(readCompound(a.rtcp[0]?.bytes ?? new Uint8Array(0))?.at(-1)?._tag).toBe("Goodbye")
    expect(a.rtcp[0]?.to).toEqual({ address: "192.0.2.2", port: 5001 })
  })
})

describe("a call on hold", () => {
  it.each(["recvonly", "inactive", "sendonly"] as const)("emits no audio and no digits with %s", (direction) => {
    const media = new VirtualMedia().negotiate()
    media.b.session.negotiate(parameters(media.a.address, { direction }))
    media.a.session.sendDigits("5")
    media.run(500, (step) => media.a.session.send(frame(step)))
    expect(media.b.labels).toEqual([])
    expect(media.b.digits).toBe("")
    expect(media.b.session.quality.packetsLost).toBe(0)
  })

  it.each(["recvonly", "inactive"] as const)("sends RTCP but no audio and no digits with %s", (direction) => {
    const media = new VirtualMedia().negotiate()
    media.a.session.negotiate(parameters(media.b.address, { direction }))
    const before = media.a.rtp.length
    media.a.session.sendDigits("12")
    media.run(12_000, (step) => media.a.session.send(frame(step)))
    expect(media.a.rtp).toHaveLength(before)
    expect(media.a.rtcp.length).toBeGreaterThanOrEqual(2)
  })

  it("sends nothing to 0.0.0.0, and goes on afterwards with the same stream", () => {
    const media = new VirtualMedia().negotiate()
    media.run(100, (step) => media.a.session.send(frame(step)))
    const { header } = media.a.rtp.at(-1) ?? {}
    media.a.session.negotiate(parameters({ address: "0.0.0.0", port: 5000 }))
    const before = media.a.sent.length
    media.run(8000, (step) => media.a.session.send(frame(step)))
    expect(media.a.sent).toHaveLength(before)
    media.negotiate()
    media.a.session.send(frame(1))
    const next = media.a.rtp.at(-1)?.header
    expect(next?.ssrc).toBe(header?.ssrc)
    const steps = media.a.rtp.map(({ header: { sequence } }) => sequence)
    expect(steps.slice(1).every((sequence, index) => sequence === (((steps[index] ?? 0) + 1) & 0xffff))).toBe(true)
    expect(((next?.timestamp ?? 0) - (header?.timestamp ?? 0)) >>> 0).toBeGreaterThan(8000 * 8)
  })
})

describe("digits of an RTP session", () => {
  it("arrive in order and once, also over a network that loses, repeats and reorders", () => {
    const random = seeded(5)
    const transport: Transport = () => (random() < 0.3 ? [] : random() < 0.2 ? [0, 20] : [random() < 0.2 ? 30 : 0])
    const media = new VirtualMedia({ transport }).negotiate()
    media.a.session.sendDigits("0123456789*#")
    media.run(4000, (step) => media.a.session.send(frame(step)))
    expect(media.b.digits).toBe("0123456789*#")
  })

  it("interrupt the audio, which goes on with the time, and no packet counts as lost", () => {
    const media = new VirtualMedia().negotiate()
    media.run(600, (step) => {
      if (step === 5) media.a.session.sendDigits("5")
      media.a.session.send(frame(step))
    })
    const types = media.a.rtp.slice(1).map(({ header }) => header.payloadType)
    expect(types).toEqual([...Array(5).fill(0), ...Array(7).fill(101), ...Array(types.length - 12).fill(0)])
    const events = media.a.rtp.filter(({ header }) => header.payloadType === 101)
    expect(new Set(events.map(({ header }) => header.timestamp)).size).toBe(1)
    expect(events.map(({ header }) => header.isMarked)).toEqual([true, ...Array(6).fill(false)])
    const [start, last] = [media.a.rtp[1], media.a.rtp.at(-1)]
    expect(((last?.header.timestamp ?? 0) - (start?.header.timestamp ?? 0)) / 8).toBe(580)
    expect(media.b.session.quality).toMatchObject({ packetsLost: 0, packetsLate: 0 })
    expect(media.b.heard.filter(({ length }) => length === 0)).toHaveLength(7)
  })

  it("pause for half a second at a w, in which audio passes", () => {
    const media = new VirtualMedia().negotiate()
    media.a.session.sendDigits("1w2")
    media.run(1400, (step) => media.a.session.send(frame(step)))
    const starts = media.a.rtp.filter(({ header }) => header.payloadType === 101 && header.isMarked).map(({ at }) => at)
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBe(700)
    expect(media.b.digits).toBe("12")
    expect(media.b.labels.length).toBeGreaterThan(50)
  })

  it("are refused where telephone events were not negotiated", () => {
    const media = new VirtualMedia()
    const { telephoneEvent: _, ...without } = parameters(media.b.address)
    media.a.session.negotiate(without)
    expect(media.a.session.sendDigits("1")).toBe(false)
    media.run(200)
    expect(media.a.rtp.every(({ header }) => header.payloadType === 0)).toBe(true)
  })
})

describe("the security of an RTP session", () => {
  it("drops and counts a stranger's flood, and neither answers nor changes anything", () => {
    const media = new VirtualMedia().negotiate()
    media.run(200, (step) => media.a.session.send(frame(step)))
    const sent = media.b.sent.length
    for (let index = 0; index < 5000; index++) {
      media.b.session.receive(packetOf(0, index & 0xffff, 7), stranger.address, stranger.port)
      media.b.session.receiveRtcp(Uint8Array.of(0x80, 201, 0, 1, 0, 0, 0, 7), stranger.address, stranger.port)
    }
    expect(media.b.sent).toHaveLength(sent)
    expect(media.b.session.dropped.foreign).toBe(10_000)
    expect(media.b.session.destination).toEqual(media.a.address)
    media.run(200, (step) => media.a.session.send(frame(step + 10)))
    expect(media.b.labels).toEqual(range(20))
    expect(media.b.session.quality.packetsLost).toBe(0)
  })

  it("follows a peer behind a NAT, and sends its RTCP there too", () => {
    const { b, clock } = new VirtualMedia().negotiate()
    for (let index = 0; index < 300; index++) {
      clock.now += 20
      b.session.receive(packetOf(0, index, 7), "198.51.100.1", 61_234)
      b.session.tick()
    }
    expect(b.session.destination).toEqual({ address: "198.51.100.1", port: 61_234 })
    expect(b.heard).toHaveLength(299)
    expect(b.rtp.at(-1)?.to).toEqual({ address: "198.51.100.1", port: 61_234 })
    expect(b.rtcp.at(-1)?.to).toEqual({ address: "198.51.100.1", port: 61_235 })
    // Its RTCP has a port of its own at the NAT.
    b.session.receiveRtcp(Uint8Array.of(0x80, 201, 0, 1, 0, 0, 0, 7), "198.51.100.1", 33_333)
    b.session.close()
    expect(b.rtcp.at(-1)?.to).toEqual({ address: "198.51.100.1", port: 33_333 })
  })

  it("takes another SSRC when the peer has ours, says goodbye for the old one, and goes on hearing", () => {
    const media = new VirtualMedia().negotiate()
    const own = media.a.rtp[0]?.header.ssrc ?? 0
    media.a.session.receive(packetOf(0, 1, own), "192.0.2.2", 5000)
    const goodbye = readCompound(media.a.rtcp[0]?.bytes ?? new Uint8Array(0))
    expect(goodbye?.at(-1)).toEqual({ _tag: "Goodbye", ssrcs: [own] })
    media.a.session.send(frame(1))
    const next = media.a.rtp.at(-1)?.header
    expect(next?.ssrc).not.toBe(own)
    expect(next?.isMarked).toBe(true)
    // An echo has the new one too: no loop of changes.
    for (let index = 2; index < 100; index++) {
      media.a.session.receive(packetOf(0, index, next?.ssrc ?? 0), "192.0.2.2", 5000)
    }
    media.a.session.send(frame(1))
    expect(media.a.rtp.at(-1)?.header.ssrc).toBe(next?.ssrc)
    expect(media.a.rtcp).toHaveLength(1)
    expect(media.a.heard).toHaveLength(99)
  })

  it("goes on when the peer changes its SSRC, with the loss of both streams", () => {
    const { b } = new VirtualMedia().negotiate()
    for (const sequence of [1, 2, 4, 5]) b.session.receive(packetOf(0, sequence, 7), "192.0.2.1", 4000)
    for (const sequence of [900, 902, 903]) b.session.receive(packetOf(0, sequence, 8), "192.0.2.1", 4000)
    expect(b.heard).toHaveLength(7)
    expect(b.session.quality.packetsLost).toBe(2)
  })
})

describe("RTCP of a session", () => {
  it("is sent every 2 to 7 s from the port above, with what was sent and received", () => {
    const media = new VirtualMedia({
      transport: (datagram, index) => (datagram.port === "rtp" && index % 7 === 0 ? [] : [40])
    }).negotiate()
    media.run(60_000, (step) => {
      media.a.session.send(frame(step))
      media.b.session.send(frame(step))
    })
    const times = media.a.rtcp.map(({ at }) => at)
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
    expect(gaps.length).toBeGreaterThanOrEqual(9)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2000)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(7000)
    expect(media.a.rtcp.every(({ port, to }) => port === "rtcp" && to.port === 5001)).toBe(true)
    const report = readCompound(media.a.rtcp.at(-1)?.bytes ?? new Uint8Array(0))?.[0]
    expect(report).toMatchObject({ _tag: "Report", sender: { packets: expect.any(Number) } })
    const remote = media.a.session.remoteReport
    const { packetsLost } = media.b.session.quality
    expect(packetsLost).toBeGreaterThan(200)
    expect(remote?.packetsLost).toBeGreaterThan(packetsLost * 0.8)
    expect(remote?.packetsLost).toBeLessThanOrEqual(packetsLost)
    expect(remote?.shareLost).toBeCloseTo(1 / 7, 1)
    expect(remote?.roundTripMs).toBeGreaterThanOrEqual(60)
    expect(remote?.roundTripMs).toBeLessThanOrEqual(120)
  })

  it("shares the port with RTP where that was negotiated", () => {
    const media = new VirtualMedia().negotiate({ isRtcpMuxed: true })
    media.run(20_000, (step) => media.a.session.send(frame(step)))
    expect(media.a.rtcp.length).toBeGreaterThanOrEqual(3)
    expect(media.a.rtcp.every(({ port, to }) => port === "rtp" && to.port === 5000)).toBe(true)
    expect(media.a.session.remoteReport).toMatchObject({ packetsLost: 0, shareLost: 0 })
    expect(media.b.session.dropped).toEqual({ malformed: 0, unknownType: 0, unauthenticated: 0, foreign: 0 })
  })

  it("goes to the address of a=rtcp", () => {
    const media = new VirtualMedia().negotiate({ remoteRtcp: { address: "192.0.2.9", port: 7001 } })
    media.run(10_000)
    expect(media.a.rtcp[0]?.to).toEqual({ address: "192.0.2.9", port: 7001 })
  })

  it("reports as a receiver while nothing is sent", () => {
    const media = new VirtualMedia().negotiate({ direction: "recvonly" })
    media.run(10_000)
    expect(media.a.rtcp[0]?.bytes[1]).toBe(201)
  })
})

describe("SRTP of a session", () => {
  const keys = (byte: number): SrtpKeys => ({
    suite: "AES_CM_128_HMAC_SHA1_80",
    masterKey: new Uint8Array(16).fill(byte),
    masterSalt: new Uint8Array(14).fill(byte + 1)
  })
  const secured = () => {
    const media = new VirtualMedia()
    const toB = () => parameters(media.b.address, { keys: { outgoing: keys(1), incoming: keys(2) } })
    const toA = () => parameters(media.a.address, { keys: { outgoing: keys(2), incoming: keys(1) } })
    media.a.session.negotiate(toB())
    media.b.session.negotiate(toA())
    return { media, toB }
  }

  it("carries audio, digits and reports, none of them readable", () => {
    const { media } = secured()
    media.run(10_000, (step) => {
      if (step === 100) media.a.session.sendDigits("7#")
      media.a.session.send(frame(step))
    })
    expect(media.b.digits).toBe("7#")
    expect(media.b.labels.length).toBeGreaterThan(480)
    expect(media.b.session.dropped).toEqual({ malformed: 0, unknownType: 0, unauthenticated: 0, foreign: 0 })
    expect(media.a.session.remoteReport?.packetsLost).toBe(0)
    expect(media.a.rtp.slice(1, 50).every(({ payload }) => new Set(payload).size > 20)).toBe(true)
  })

  it("goes on with its counters when the same keys are negotiated again", () => {
    const { media, toB } = secured()
    media.run(1000, (step) => media.a.session.send(frame(step)))
    media.a.session.negotiate(toB())
    media.run(1000, (step) => media.a.session.send(frame(step)))
    expect(media.b.labels).toHaveLength(100)
    expect(media.b.session.dropped.unauthenticated).toBe(0)
  })

  it("refuses what is not authentic, also from the peer's address, and does not follow it", () => {
    const { media } = secured()
    for (let index = 0; index < 10; index++) {
      media.b.session.receive(packetOf(0, index, 7), "192.0.2.1", 4000)
      media.b.session.receive(packetOf(0, index, 7), stranger.address, stranger.port)
    }
    media.b.session.receiveRtcp(Uint8Array.of(0x80, 201, 0, 1, 0, 0, 0, 7), "192.0.2.1", 4001)
    expect(media.b.session.dropped.unauthenticated).toBe(21)
    expect(media.b.session.destination).toEqual(media.a.address)
  })

  it("refuses packets that come twice", () => {
    const { media } = secured()
    media.a.session.send(frame(1))
    const bytes = media.a.sent.at(-1)?.bytes ?? new Uint8Array(0)
    const header = new RtpPacket()
    expect(header.read(bytes)).toBe(true)
    for (let count = 0; count < 3; count++) media.b.session.receive(bytes.slice(), "192.0.2.1", 4000)
    expect(media.b.labels).toHaveLength(1)
    expect(media.b.session.dropped.unauthenticated).toBe(2)
  })
})
