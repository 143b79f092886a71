import { describe, expect, it } from "vitest"
import type { PacketTime } from "../../src/rtp/MediaParameters.ts"
import { ntpTime, OutgoingStream } from "../../src/rtp/OutgoingStream.ts"
import { RtpPacket } from "../../src/rtp/RtpPacket.ts"

interface Sent {
  readonly type: number
  readonly isMarked: boolean
  readonly sequence: number
  readonly timestamp: number
  readonly payload: Uint8Array
}

const streamOf = (packetTime: PacketTime = 20, law: "mulaw" | "alaw" = "mulaw") => {
  const sent: Array<Sent> = []
  const header = new RtpPacket()
  const stream = new OutgoingStream({
    ssrc: 9,
    sequence: 0xffff,
    timestamp: 0xffff_ff60,
    law: "mulaw",
    now: 0,
    transmit: (packet, length) => {
      header.read(packet, length)
      const { isMarked, payloadEnd, payloadStart, payloadType, sequence, timestamp } = header
      const payload = packet.slice(payloadStart, payloadEnd)
      sent.push({ type: payloadType, isMarked, sequence, timestamp, payload })
    }
  })
  stream.negotiate({ payloadType: law === "mulaw" ? 0 : 8, law }, packetTime)
  return { sent, stream }
}

const frame = (label: number) => new Uint8Array(160).fill(label)

/** Sends frames from `at` on, 20 ms apart. */
const sendFrames = (stream: OutgoingStream, at: number, count: number) => {
  for (let index = 0; index < count; index++) stream.send(frame(1 + index), at + index * 20)
}

describe("the stream that is sent", () => {
  it("has sequence numbers and timestamps without a gap, which wrap, and a marker at its beginning", () => {
    const { sent, stream } = streamOf()
    sendFrames(stream, 5, 3)
    expect(sent.map(({ isMarked, sequence, timestamp }) => [isMarked, sequence, timestamp])).toEqual([
      [true, 65_535, 0xffff_ff60],
      [false, 0, 0],
      [false, 1, 160]
    ])
    expect(sent.map(({ payload }) => [payload.length, payload[0]])).toEqual([
      [160, 1],
      [160, 2],
      [160, 3]
    ])
  })

  it("counts the time of a pause in its timestamps, not in its sequence numbers, and marks what follows", () => {
    const { sent, stream } = streamOf()
    sendFrames(stream, 0, 2)
    sendFrames(stream, 1047, 2)
    const [, second, third, fourth] = sent
    expect(third?.sequence).toBe(((second?.sequence ?? 0) + 1) & 0xffff)
    // 1040 ms are 52 frames, of which 2 were sent.
    expect(third?.timestamp).toBe(50 * 160 + (second?.timestamp ?? 0) + 160)
    expect([third?.isMarked, fourth?.isMarked]).toEqual([true, false])
  })

  it("goes on without a mark when a frame is a little late or early", () => {
    const { sent, stream } = streamOf()
    for (const at of [0, 55, 56, 57, 90, 100, 170]) stream.send(frame(1), at)
    expect(sent.map(({ isMarked }) => isMarked)).toEqual([true, false, false, false, false, false, false])
    const steps = sent.slice(1).map(({ timestamp }, index) => (timestamp - (sent[index]?.timestamp ?? 0)) >>> 0)
    expect(new Set(steps)).toEqual(new Set([160]))
  })

  it.each([
    [10, [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10]],
    [20, [20, 20, 20, 20, 20, 20]],
    [30, [30, 30, 30, 30]],
    [40, [40, 40, 40]],
    [60, [60, 60]]
  ] as const)("packs frames of 20 ms to packets of %i ms", (packetTime, lengths) => {
    const { sent, stream } = streamOf(packetTime)
    sendFrames(stream, 0, 6)
    expect(sent.map(({ payload }) => payload.length / 8)).toEqual(lengths)
    const bytes = Buffer.concat(sent.map(({ payload }) => payload))
    expect(Array.from({ length: 6 }, (_, index) => bytes[index * 160 + 159])).toEqual([1, 2, 3, 4, 5, 6])
    expect(sent.map(({ timestamp }) => (timestamp - 0xffff_ff60) >>> 0)).toEqual(
      lengths.map((length, index) => length * 8 * index)
    )
  })

  it("sends what does not fill a packet, with silence, when nothing follows", () => {
    const { sent, stream } = streamOf(60)
    sendFrames(stream, 0, 4)
    expect(sent).toHaveLength(1)
    expect([stream.isStale(100), stream.isStale(150)]).toEqual([false, true])
    stream.flush(150)
    expect(sent[1]?.payload.subarray(0, 160)).toEqual(frame(4))
    expect(new Set(sent[1]?.payload.subarray(160))).toEqual(new Set([0xff]))
    stream.flush(160)
    expect(sent).toHaveLength(2)
    stream.send(frame(7), 120)
    stream.send(frame(7), 140)
    stream.send(frame(7), 160)
    expect(sent[2]?.timestamp).toBe((0xffff_ff60 + 960) >>> 0)
  })

  it("drops what does not fill a packet when it is cleared, and its time goes on", () => {
    const { sent, stream } = streamOf(40)
    stream.send(frame(1), 0)
    stream.clear()
    stream.send(frame(2), 20)
    stream.send(frame(3), 40)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.payload[0]).toBe(2)
    expect(sent[0]?.timestamp).toBe(0)
  })

  it("is converted where the peer has the other law", () => {
    const { sent, stream } = streamOf(20, "alaw")
    stream.send(frame(0xff), 0)
    stream.send(frame(0x80), 20)
    expect(sent.map(({ payload, type }) => [type, payload[0]])).toEqual([
      [8, 0xd5],
      [8, 0xaa]
    ])
  })

  it("keeps the timestamp of an event in all its packets, and goes on after it", () => {
    const { sent, stream } = streamOf()
    stream.send(frame(1), 0)
    stream.sendEvent(101, 5, 20, true, false, 20)
    stream.sendEvent(101, 5, 40, false, false, 40)
    stream.sendEvent(101, 5, 40, false, true, 60)
    stream.send(frame(2), 60)
    expect(sent.map(({ isMarked, sequence, timestamp, type }) => [type, isMarked, sequence, timestamp])).toEqual([
      [0, true, 65_535, 0xffff_ff60],
      [101, true, 0, 0],
      [101, false, 1, 0],
      [101, false, 2, 0],
      [0, false, 3, 320]
    ])
    expect([...(sent[3]?.payload ?? [])]).toEqual([5, 0x80 | 10, 1, 64])
  })

  it("sends silence or comfort noise to keep the connection alive", () => {
    const { sent, stream } = streamOf()
    stream.keepAlive(1000, undefined)
    stream.keepAlive(6000, 13)
    stream.send(frame(3), 6500)
    expect(sent.map(({ isMarked, payload, type }) => [type, isMarked, payload.length, payload[0]])).toEqual([
      [0, true, 160, 0xff],
      [13, false, 1, 78],
      [0, true, 160, 3]
    ])
    expect(sent.map(({ timestamp }) => (timestamp - 0xffff_ff60) >>> 0)).toEqual([7840, 48_000, 52_000])
  })

  it("does not change a packet that the system may still hold for the next ones", () => {
    const kept: Array<Uint8Array> = []
    const stream = new OutgoingStream({
      ssrc: 1,
      sequence: 0,
      timestamp: 0,
      law: "mulaw",
      now: 0,
      transmit: (packet) => kept.push(packet)
    })
    stream.negotiate({ payloadType: 0, law: "mulaw" }, 20)
    sendFrames(stream, 0, 4)
    expect(kept.map((packet) => packet[12])).toEqual([1, 2, 3, 4])
  })

  it("reports the RTP time of the moment, and what was sent", () => {
    const { stream } = streamOf()
    expect(stream.report(0, 0)).toBeUndefined()
    sendFrames(stream, 0, 3)
    const report = stream.report(1000, 1_500)
    expect(report).toEqual({
      ntpSeconds: 2_208_988_801,
      ntpFraction: 0x8000_0000,
      timestamp: (0xffff_ff60 + 8000) >>> 0,
      packets: 3,
      bytes: 480
    })
  })

  it("has NTP times beyond the wrap of 2036", () => {
    expect(ntpTime(Date.UTC(2036, 1, 7, 6, 28, 16))).toEqual({ seconds: 0, fraction: 0 })
  })
})
