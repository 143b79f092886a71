import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { difference, numbered, type Packet, PacketLine, packetsOf, twenties } from "./PacketLine.ts"

/** The same every time. */
const random = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

const none = { packetsLost: 0, packetsLate: 0 }

describe("JitterBuffer, packets", () => {
  it("passes packets in order on at once, so that a network without faults is not delayed", () => {
    for (const lengths of [twenties(500), new Array<number>(250).fill(80), new Array<number>(160).fill(480)]) {
      const line = new PacketLine()
      const packets = packetsOf(lengths)
      line.run(packets, packets.at(-1)?.at ?? 0)
      const delays = line.frames.map(({ now }, i) => now - (i + 1) * 20)
      const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
      // What is left is the packetization of the sender: a frame may wait for the end of its packet.
      expect(mean).toBeLessThanOrEqual((Math.max(0, (lengths[0] ?? 0) - 160) / 8) * 0.75)
      expect(line.buffer.quality).toEqual({ ...none, jitterMs: 0 })
    }
  })

  it("tells when each frame arrived, also after a pause in which nothing was sent", () => {
    const line = new PacketLine()
    const packets = packetsOf(twenties(150)).map((packet, i) => ({
      ...packet,
      at: packet.at + (i < 50 ? (i % 3) * 10 : 2450),
      timestamp: packet.timestamp + (i < 50 ? 0 : 8 * 2480)
    }))
    line.run(packets, 6000)
    for (const [i, { at, now }] of line.frames.entries()) {
      expect(at).toBeLessThanOrEqual(now)
      expect(at).toBeGreaterThanOrEqual((line.frames[i - 1]?.at ?? 0) - 10)
    }
  })

  it("gives exactly what was sent, whatever the order within 60 ms, duplicates, packet length and numbering", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 700 }),
        fc.array(fc.record({ delay: fc.nat(60), twice: fc.boolean() }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 65_500, max: 65_540 }),
        fc.integer({ min: 2 ** 32 - 9000, max: 2 ** 32 + 9000 }),
        (length, sent, sequence, timestamp) => {
          const line = new PacketLine()
          const lengths = new Array<number>(sent.length + 1).fill(length)
          const packets = packetsOf(lengths, { sequence, timestamp }).flatMap((packet, i): ReadonlyArray<Packet> => {
            const { delay = 0, twice = false } = sent[i - 1] ?? {}
            const late = { ...packet, at: packet.at + delay }
            return twice ? [late, { ...late, at: late.at + 15 }] : [late]
          })
          line.run(packets, 10_000)
          expect(difference(line.pcm.slice(0, lengths.length * length), 0)).toBe("")
          expect(line.buffer.quality).toMatchObject(none)
        }
      ),
      { numRuns: 40 }
    )
  })

  it("keeps every packet that came in its place and conceals those that are lost", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 40, max: 480 }),
        fc.array(fc.record({ lost: fc.boolean(), delay: fc.nat(50) }), { minLength: 3, maxLength: 40 }),
        (length, sent) => {
          const line = new PacketLine()
          const all = packetsOf(new Array<number>(sent.length + 2).fill(length), { sequence: 65_530 })
          let gap = 0
          const packets = all.flatMap((packet, i) => {
            const { delay = 0, lost = false } = sent[i - 1] ?? {}
            gap = lost ? gap + length : 0
            // A longer loss is more silence than a line that has stopped gives.
            if (lost && gap < 40_000) return []
            // A loss and a delay together may look like a line that has stopped.
            return [{ ...packet, at: packet.at + (sent[i - 2]?.lost === true ? 0 : delay) }]
          })
          line.run(packets, 20_000)
          const pcm = line.pcm
          for (const { timestamp } of packets) {
            // The first 5 ms after a gap are joined to it.
            expect(difference(pcm.slice(timestamp + 40, timestamp + length), timestamp + 40)).toBe("")
          }
          expect(line.buffer.quality).toMatchObject({ packetsLost: all.length - packets.length, packetsLate: 0 })
        }
      ),
      { numRuns: 40 }
    )
  })

  it("counts a packet that comes after it was concealed as late, and waits longer for the next ones", () => {
    const line = new PacketLine()
    const packets = packetsOf(twenties(300)).map((packet, i) =>
      i % 10 === 9 ? { ...packet, at: packet.at + 150 } : packet
    )
    line.run(packets, 6020)
    expect(line.buffer.quality).toMatchObject({ packetsLost: 0, packetsLate: 1 })
    expect(difference(line.pcm.slice(320 * 8, 300 * 160), 320 * 8)).toBe("")
  })

  it("waits 400 ms at most", () => {
    const line = new PacketLine()
    const packets = packetsOf(twenties(300)).map((packet, i) =>
      i % 10 === 9 ? { ...packet, at: packet.at + 800 } : packet
    )
    line.run(packets, 6020)
    const delays = line.frames.map(({ at, now }) => now - at - 20)
    expect(Math.max(...delays)).toBeLessThanOrEqual(440)
    expect(line.buffer.quality?.packetsLate).toBe(29)
  })

  it("loses nothing to a sender whose clock is 200 ppm fast or slow, in half an hour of jitter", () => {
    for (const ppm of [-200, 200]) {
      const next = random(7)
      const line = new PacketLine()
      const packets = packetsOf(twenties(90_000), { ppm }).map((packet) => ({ ...packet, at: packet.at + next() * 30 }))
      line.run(packets, packets.at(-1)?.at ?? 0)
      expect(line.buffer.quality).toMatchObject(none)
      const wrong = line.frames.findIndex(
        ({ pcm }, i) => pcm[0] !== ((i * 160) % 30_000) + 1 || pcm.at(-1) !== ((i * 160 + 159) % 30_000) + 1
      )
      expect(wrong).toBe(-1)
      // The time of each frame follows the sender's clock.
      const errors = line.frames.slice(500).map(({ at }, i) => at - (i + 500) * 20 * (1 - ppm / 1e6))
      expect(errors.reduce((most, error) => Math.max(most, Math.abs(error)), 0)).toBeLessThan(5)
    }
  })

  it("measures interarrival jitter as RFC 3550 does", () => {
    const next = random(3)
    const line = new PacketLine()
    const packets = packetsOf(twenties(500)).map((packet) => ({ ...packet, at: packet.at + next() * 15 }))
    line.run(packets, 10_000)
    let jitter = 0
    packets.slice(1).forEach(({ at, timestamp }, i) => {
      const before = packets[i]
      if (before === undefined) return
      const difference = at - before.at - (timestamp - before.timestamp) / 8
      jitter += (Math.abs(difference) - jitter) / 16
    })
    expect(line.buffer.quality?.jitterMs).toBeCloseTo(jitter, 0)
  })

  it("goes on with a stream that begins anew, with other numbers, and counts nothing as lost", () => {
    for (const again of [
      { sequence: 40_000, timestamp: 77 },
      { sequence: 300, timestamp: 3_000_000_000 },
      { sequence: 0, timestamp: 0 }
    ]) {
      const line = new PacketLine()
      line.run([...packetsOf(twenties(200)), ...packetsOf(twenties(200), { from: 4000, ...again })], 8000)
      const { packetsLate = 0, packetsLost = 0 } = line.buffer.quality ?? {}
      expect([packetsLate, packetsLost <= 100]).toEqual([0, true])
      // Of the second one at most one packet is dropped before it is believed.
      const pcm = line.pcm
      expect(difference(pcm.slice(0, 200 * 160), 0)).toBe("")
      expect(difference(pcm.slice(-190 * 160), 10 * 160)).toBe("")
    }
  })

  it("takes a timestamp that jumps, stands still or goes backwards as the audio that comes next", () => {
    for (const timestamps of [
      (i: number) => (i < 50 ? i * 160 : 5e8 + i * 160),
      () => 9,
      (i: number) => 1e6 - i * 160
    ]) {
      const line = new PacketLine()
      line.run(
        packetsOf(twenties(100)).map((packet, i) => ({ ...packet, timestamp: timestamps(i) >>> 0 })),
        2000
      )
      expect(difference(line.pcm.slice(0, 16_000), 0)).toBe("")
    }
  })

  it("neither throws nor passes on more than comes in, nor much more than real time, whatever it is sent", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.oneof(fc.nat(0xffff), fc.integer({ min: 60_000, max: 60_050 })),
            fc.oneof(fc.nat(0xffffffff), fc.integer({ min: 1000, max: 9000 })),
            fc.nat(900),
            fc.nat(40)
          ),
          { maxLength: 200 }
        ),
        (sent) => {
          const line = new PacketLine()
          let at = 0
          const packets = sent.map(([sequence, timestamp, length, pause]) => {
            at += pause
            return { at, sequence, timestamp, samples: numbered(0, length) }
          })
          line.run(packets, at + 8000)
          const real = packets.reduce((sum, { samples }) => sum + samples.length, 0)
          // Concealed is at most a second for each packet.
          expect(line.frames.filter(({ isSilence }) => !isSilence).length * 160).toBeLessThan(
            real + (packets.length + 1) * 8160
          )
          expect(line.active).toBe(false)
        }
      )
    )
  })

  it("drops audio that is sent faster than real time for more than ten seconds", () => {
    const line = new PacketLine()
    const packets = packetsOf(twenties(6000)).map((packet) => ({ ...packet, at: packet.at / 6 }))
    line.run(packets, 20_000)
    expect(line.frames.filter(({ isSilence }) => !isSilence).length).toBeLessThan((20 + 11) * 50)
    expect(line.frames.filter(({ isSilence }) => !isSilence).length).toBeGreaterThan(20 * 50)
  })
})

describe("JitterBuffer, a line that stops", () => {
  const stops = (line: PacketLine) => line.frames.filter(({ isSilence }) => isSilence)

  it("is silence 60 ms after its next packet was due, as long as the time that has passed, for 6 s", () => {
    for (const withNumbers of [true, false]) {
      const line = new PacketLine()
      const packets = packetsOf(twenties(50))
      if (withNumbers) line.run(packets, 1000)
      else for (const { at, samples } of packets) line.push(samples, at)
      line.run([], 20_000)
      const silence = stops(line)
      expect(silence[0]?.now).toBeLessThanOrEqual(1100)
      expect(silence[0]?.now).toBeGreaterThan(1080)
      // A line that sends silence would have sent one frame more.
      for (const time of [1100, 1500, 3000]) {
        expect(line.frames.filter(({ now }) => now <= time).length).toBe(time / 20 - 1)
      }
      expect(silence.length).toBe(300)
      expect(line.active).toBe(false)
    }
  })

  it("goes on after a pause of any length without doubled time, when the timestamp counts the pause", () => {
    for (const pause of [30, 100, 140, 480, 2000, 5990, 7000, 60_000]) {
      const line = new PacketLine()
      const packets = packetsOf(twenties(50))
      const after = packetsOf(twenties(50), { from: 1000 + pause, sequence: 50, timestamp: 8000 + pause * 8 })
      line.run([...packets, ...after], 2000 + pause)
      const heardSamples = 100 * 160
      const silent = line.frames.length * 160 - heardSamples
      expect(Math.abs(silent / 8 - Math.min(pause, 6000))).toBeLessThanOrEqual(40)
      expect(line.buffer.quality).toMatchObject(none)
      const returned = line.frames.slice(-49)
      expect([...(returned[10]?.pcm ?? [])].length).toBe(160)
      expect(Math.abs((returned.at(-1)?.at ?? 0) - (1980 + pause))).toBeLessThanOrEqual(20)
    }
  })

  it("goes on after a pause when the timestamp stood still", () => {
    for (const pause of [300, 900, 3000, 30_000]) {
      const line = new PacketLine()
      const after = packetsOf(twenties(50), { from: 1000 + pause, sequence: 50, timestamp: 8000 })
      line.run([...packetsOf(twenties(50)), ...after], 2000 + pause)
      expect(line.buffer.quality).toMatchObject(none)
      const pcm = line.pcm
      expect(difference(pcm.slice(-7800), 200)).toBe("")
      // It is as it was: the next stop is noticed as fast.
      const before = line.frames.length
      line.run([], 2000 + pause + 100)
      expect(line.frames.length - before).toBeGreaterThanOrEqual(4)
    }
  })

  it("drops no audio that was only delayed, and afterwards waits longer for such a line", () => {
    for (const withNumbers of [true, false]) {
      const line = new PacketLine()
      // Twice nothing comes for 300 ms, then all of it.
      const packets = packetsOf(twenties(400)).map((packet, i) => ({
        ...packet,
        at:
          (i >= 100 && i < 115) || (i >= 200 && i < 215)
            ? (packetsOf(twenties(i < 150 ? 115 : 215)).at(-1)?.at ?? 0)
            : packet.at
      }))
      if (withNumbers) line.run(packets, 8000)
      else for (const { at, samples } of packets) line.push(samples, at)
      const real = line.frames.filter(({ isSilence }) => !isSilence)
      expect(real.length).toBe(400)
      // The second delay is waited for.
      expect(stops(line).filter(({ now }) => now > 3000)).toEqual([])
      expect(stops(line).length).toBeLessThanOrEqual(15)
      // Nothing of it remains as a delay.
      expect(line.frames.at(-1)?.now).toBe(8000)
      expect(line.frames.at(-1)?.at).toBe(7980)
    }
  })

  it("inserts nothing for a stall of this process, after which all packets are read at once", () => {
    for (const stall of [100, 300, 2000]) {
      const line = new PacketLine()
      const lost = stall - 20
      // The clock does not count the stall.
      const packets = packetsOf(twenties(400)).map((packet) => ({
        ...packet,
        at: packet.at <= 2000 ? packet.at : Math.max(2020, packet.at - lost)
      }))
      line.run(packets.slice(0, 100), 2000)
      line.buffer.paused(lost)
      line.run(packets.slice(100), 8000 - lost)
      expect([line.pcm.length, difference(line.pcm, 0)]).toEqual([64_000, ""])
      // And it is not taken for jitter of the network.
      expect(line.buffer.quality).toEqual({ ...none, jitterMs: 0 })
      line.run([], 8000 - lost + 100)
      expect(stops(line).length).toBeGreaterThan(0)
    }
  })

  it("is not a leg without gaps that delivers a chunk every 100 or 250 ms", () => {
    for (const length of [800, 2000]) {
      const line = new PacketLine()
      for (let i = 0; i < 40; i++) line.push(numbered(i * length, length), ((i + 1) * length) / 8)
      expect([line.pcm.length, difference(line.pcm, 0)]).toEqual([40 * length, ""])
    }
  })
})
