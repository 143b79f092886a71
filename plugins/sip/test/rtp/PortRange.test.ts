import { describe, expect, it } from "vitest"
import { PortRange, PortsExhausted } from "../../src/rtp/PortRange.ts"

describe("the range of RTP ports", () => {
  it("gives even ports whose odd neighbour belongs to the range too", () => {
    const range = new PortRange(20_001, 20_008)
    expect(range.pairs).toBe(3)
    expect([range.take(0), range.take(0), range.take(0)]).toEqual([20_002, 20_004, 20_006])
    expect(range.take(0)).toBeInstanceOf(PortsExhausted)
  })

  it("names the range and the setting when it is exhausted", () => {
    const error = new PortRange(20_000, 20_000).take(0)
    expect(error).toMatchObject({ _tag: "PortsExhausted", first: 20_000, last: 20_000 })
    expect((error as PortsExhausted).message).toContain("20000 to 20000 are in use; widen SVC_SIP_RTP_PORTS")
  })

  it("does not give a port again for 5 s", () => {
    const range = new PortRange(20_000, 20_001)
    expect(range.take(0)).toBe(20_000)
    range.release(20_000, 1000)
    expect(range.take(5999)).toBeInstanceOf(PortsExhausted)
    expect(range.take(6000)).toBe(20_000)
  })

  it("gives the port that was free longest while others rest, and says that the rest of the range was in use until now", () => {
    const range = new PortRange(20_000, 20_005)
    for (let pair = 0; pair < 3; pair++) range.take(0)
    range.release(20_004, 1000)
    range.release(20_000, 2000)
    expect(range.take(6500)).toBe(20_004)
    const error = range.take(6500)
    expect(error).toMatchObject({ _tag: "PortsExhausted", resting: 1 })
    expect((error as PortsExhausted).message).toContain(
      "20000 to 20005 are in use or were until less than 5 s ago; widen SVC_SIP_RTP_PORTS"
    )
    expect(range.take(7000)).toBe(20_000)
  })

  it("gives ports that were never used first, then the one that was free longest", () => {
    const range = new PortRange(20_000, 20_005)
    range.take(0)
    range.take(0)
    range.release(20_002, 0)
    range.release(20_000, 1)
    expect([range.take(9000), range.take(9000), range.take(9000)]).toEqual([20_004, 20_002, 20_000])
  })

  it("keeps its count when a port is released twice, or was not taken", () => {
    const range = new PortRange(20_000, 20_003)
    range.take(0)
    range.release(20_000, 0)
    range.release(20_000, 4000)
    range.release(30_000, 0)
    expect(range.pairs).toBe(2)
    expect([range.take(5000), range.take(5000)]).toEqual([20_002, 20_000])
    expect(range.take(99_000)).toBeInstanceOf(PortsExhausted)
  })
})
