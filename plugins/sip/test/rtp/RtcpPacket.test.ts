import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ReportBlock, readCompound, writeCompound } from "../../src/rtp/RtcpPacket.ts"

const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"))

const receiverReport = "80c90001 00000001"
const block = "00000002 40ffffff 00010002 00000050 11112222 00018000"
const sender = "e0000000 80000000 00000640 00000064 00003e80"
const description = "81ca0003 00000001 01 03 616263 000000"

const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const anyBlock: fc.Arbitrary<ReportBlock> = fc.record({
  ssrc: uint32,
  fractionLost: fc.integer({ min: 0, max: 255 }),
  cumulativeLost: fc.integer({ min: -0x80_0000, max: 0x7f_ffff }),
  highestSequence: uint32,
  jitter: uint32,
  lastReport: uint32,
  sinceLastReport: uint32
})
const anySender = fc.record({
  ntpSeconds: uint32,
  ntpFraction: uint32,
  timestamp: uint32,
  packets: uint32,
  bytes: uint32
})

describe("a compound RTCP packet", () => {
  it("is read with sender report, source description and a BYE, whose reason is left out", () => {
    const whole = readCompound(
      hex(`81c8000c 00000001 ${sender} ${block} ${description} 82cb0003 00000001 00000003 03 676f6e`)
    )
    expect(whole).toEqual([
      {
        _tag: "Report",
        ssrc: 1,
        sender: { ntpSeconds: 0xe000_0000, ntpFraction: 0x8000_0000, timestamp: 1600, packets: 100, bytes: 16_000 },
        blocks: [
          {
            ssrc: 2,
            fractionLost: 64,
            cumulativeLost: -1,
            highestSequence: 65_538,
            jitter: 80,
            lastReport: 0x1111_2222,
            sinceLastReport: 98_304
          }
        ]
      },
      { _tag: "SourceDescription", ssrc: 1, cname: "abc" },
      { _tag: "Goodbye", ssrcs: [1, 3] }
    ])
  })

  it("may have packets of other types, extensions of a report, and padding at its end", () => {
    const feedback = "81ce0002 00000001 00000002"
    const padded = "a0cb0001 00000004"
    expect(readCompound(hex(`80c90002 00000001 aabbccdd ${feedback} ${padded}`))).toEqual([
      { _tag: "Report", ssrc: 1, blocks: [] },
      { _tag: "Goodbye", ssrcs: [] }
    ])
  })

  it.each([
    ["one that is cut", "80c90001 000000"],
    ["one that begins with a source description", description],
    ["a length beyond its end", "80c90002 00000001"],
    ["another version", "40c90001 00000001"],
    ["another version in a later packet", `${receiverReport} 41cb0001 00000001`],
    ["bytes after its end", `${receiverReport} 00`],
    ["fewer report blocks than it names", `82c90007 00000001 ${block}`],
    ["no space for the sender's figures", "80c80001 00000001"],
    ["padding before its end", `a0c90002 00000001 00000004 ${description}`],
    ["padding of no bytes", `${receiverReport} a0cb0001 00000000`],
    ["padding beyond the packet", `${receiverReport} a0cb0001 000000ff`],
    ["a CNAME that is cut", `${receiverReport} 81ca0002 00000001 01 ff 6162`],
    ["a source description without its end", `${receiverReport} 81ca0002 00000001 01 02 6162`],
    ["fewer descriptions than it names", `${receiverReport} 82ca0003 00000001 01 03 616263 000000`],
    ["fewer streams than its BYE names", `${receiverReport} 82cb0001 00000001`]
  ])("is refused: %s", (_name, text) => {
    expect(readCompound(hex(text))).toBeUndefined()
  })

  it("is read as it was written", () => {
    fc.assert(
      fc.property(
        uint32,
        fc.string({ maxLength: 60, unit: "grapheme-ascii" }),
        fc.option(anySender, { nil: undefined }),
        fc.option(anyBlock, { nil: undefined }),
        fc.boolean(),
        (ssrc, cname, sent, received, isLast) => {
          const bytes = writeCompound({
            ssrc,
            cname,
            ...(sent && { sender: sent }),
            ...(received && { block: received }),
            isLast
          })
          expect(bytes.length % 4).toBe(0)
          expect(readCompound(bytes)).toEqual([
            { _tag: "Report", ssrc, ...(sent && { sender: sent }), blocks: received === undefined ? [] : [received] },
            { _tag: "SourceDescription", ssrc, cname },
            ...(isLast ? [{ _tag: "Goodbye", ssrcs: [ssrc] }] : [])
          ])
        }
      )
    )
  })

  it("does not make the parser fail, whatever its bytes are", () => {
    const header = fc.tuple(fc.constantFrom(0x80, 0x81, 0x9f, 0xa0), fc.integer({ min: 198, max: 208 }))
    const part = fc
      .tuple(header, fc.integer({ min: 0, max: 8 }), fc.uint8Array({ maxLength: 32 }))
      .map(([[first, type], words, rest]) => [first, type, 0, words, ...rest])
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const packets = readCompound(Uint8Array.from(parts.flat()))
        expect(packets === undefined || Array.isArray(packets)).toBe(true)
      }),
      { numRuns: 1000 }
    )
  })
})
