import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isRtcp, RtpPacket, rtpHeaderBytes, writeRtpHeader } from "../../src/rtp/RtpPacket.ts"

const packet = new RtpPacket()

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"))

const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })

describe("an RTP packet", () => {
  it("is read with its contributing sources, extension and padding", () => {
    const bytes = hex("b2 80 0102 a0000001 fffffffe 00000001 00000002 bede0001 01020304 d5d5d5 000003")
    expect(packet.read(bytes)).toBe(true)
    expect(packet).toMatchObject({
      payloadType: 0,
      isMarked: true,
      sequence: 0x0102,
      timestamp: 0xa000_0001,
      ssrc: 0xffff_fffe,
      payloadStart: 28,
      payloadEnd: 31
    })
  })

  it("may have no payload", () => {
    expect(packet.read(hex("80 0d 0001 00000000 00000001"))).toBe(true)
    expect(packet.payloadEnd - packet.payloadStart).toBe(0)
  })

  it.each([
    ["nothing", ""],
    ["a header that is cut", "80 00 0001 00000000 000000"],
    ["version 0, as of STUN", "00 01 0000 2112a442 00000000 00000000"],
    ["version 1", "40 00 0001 00000000 00000001"],
    ["version 3", "c0 00 0001 00000000 00000001"],
    ["contributing sources that are cut", "82 00 0001 00000000 00000001 00000002"],
    ["an extension without its length", "90 00 0001 00000000 00000001 bede"],
    ["an extension that is cut", "90 00 0001 00000000 00000001 bede0002 00000000"],
    ["padding of no bytes", "a0 00 0001 00000000 00000001 d5d500"],
    ["padding that is longer than the payload", "a0 00 0001 00000000 00000001 d5d504"]
  ])("is refused: %s", (_name, text) => {
    expect(packet.read(hex(text))).toBe(false)
  })

  it("is read as it was written", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 127 }),
        fc.boolean(),
        fc.integer({ min: 0, max: 0xffff }),
        uint32,
        uint32,
        fc.uint8Array({ maxLength: 480 }),
        (payloadType, isMarked, sequence, timestamp, ssrc, payload) => {
          const bytes = new Uint8Array(600)
          writeRtpHeader(bytes, payloadType, isMarked, sequence, timestamp, ssrc)
          bytes.set(payload, rtpHeaderBytes)
          expect(packet.read(bytes, rtpHeaderBytes + payload.length)).toBe(true)
          expect(packet).toMatchObject({ payloadType, isMarked, sequence, timestamp, ssrc })
          expect(bytes.slice(packet.payloadStart, packet.payloadEnd)).toEqual(payload)
        }
      )
    )
  })

  it("has its payload within the bytes, whatever they are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.boolean(), (bytes, isVersion2) => {
        if (isVersion2 && bytes.length > 0) bytes[0] = 0x80 | ((bytes[0] ?? 0) & 0x3f)
        if (!packet.read(bytes)) return
        expect(packet.payloadStart).toBeGreaterThanOrEqual(rtpHeaderBytes)
        expect(packet.payloadStart).toBeLessThanOrEqual(packet.payloadEnd)
        expect(packet.payloadEnd).toBeLessThanOrEqual(bytes.length)
      }),
      { numRuns: 1000 }
    )
  })

  it("is distinguished from RTCP by its second byte", () => {
    const second = (value: number) => isRtcp(Uint8Array.of(0x80, value, 0, 0))
    expect([192, 200, 201, 203, 207, 223].every(second)).toBe(true)
    // Payload types 0, 8, 13 and 127, without and with the marker.
    expect([0, 8, 13, 127, 128, 136, 141, 255].some(second)).toBe(false)
    expect(isRtcp(new Uint8Array(0))).toBe(false)
  })
})
