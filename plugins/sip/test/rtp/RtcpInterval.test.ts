import { describe, expect, it } from "vitest"
import { rtcpIntervalMs } from "../../src/rtp/RtcpInterval.ts"

const call = { members: 2, senders: 2, weSend: true, averageBytes: 120, bandwidth: 160_000, isFirst: false }

describe("the interval of RTCP", () => {
  it("is 5 s times 0.5 to 1.5, with the compensation of RFC 3550", () => {
    expect(rtcpIntervalMs({ ...call, random: 0 })).toBeCloseTo(2052, 0)
    expect(rtcpIntervalMs({ ...call, random: 0.5 })).toBeCloseTo(4104, 0)
    expect(rtcpIntervalMs({ ...call, random: 1 })).toBeCloseTo(6156, 0)
  })

  it("is half of it before the first report", () => {
    expect(rtcpIntervalMs({ ...call, isFirst: true, random: 0.5 })).toBeCloseTo(2052, 0)
  })

  it("grows with the members, who share 5 % of the bandwidth", () => {
    // 1000 senders with 120 bytes each and 1000 bytes per second.
    const many = rtcpIntervalMs({ ...call, members: 1000, senders: 1000, random: 0.5 })
    expect(many).toBeCloseTo(120_000 / (Math.E - 1.5), 0)
    // Few senders have a quarter of it.
    const sender = rtcpIntervalMs({ ...call, members: 1000, senders: 100, random: 0.5 })
    const listener = rtcpIntervalMs({ ...call, members: 1000, senders: 100, weSend: false, random: 0.5 })
    expect(sender).toBeCloseTo((100 * 120) / 0.25 / (Math.E - 1.5), 0)
    expect(listener).toBeCloseTo((900 * 120) / 0.75 / (Math.E - 1.5), 0)
  })
})
