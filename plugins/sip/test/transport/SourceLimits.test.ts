import { describe, expect, it } from "@effect/vitest"
import { SourceLimits, sourceOf } from "../../src/transport/SourceLimits.ts"

describe("SourceLimits", () => {
  it("takes as many messages at once as it may, and then as many a second", () => {
    const limits = new SourceLimits(10, 30)
    const taken = (now: number, count = 100) =>
      Array.from({ length: count }, () => limits.take("192.0.2.1", now)).filter(Boolean).length
    expect(taken(0)).toBe(30)
    expect(limits.has("192.0.2.1", 0)).toBe(false)
    expect(taken(500)).toBe(5)
    expect(taken(60_000)).toBe(30)
    expect(limits.take("192.0.2.2", 500)).toBe(true)
  })

  it("counts all addresses of an IPv6 /64 network as one source, however they are written", () => {
    const same = ["2001:db8:0:7::1", "2001:DB8:0:7:ffff::", "2001:0db8:0000:0007:1:2:3:4", "2001:db8:0:7::192.0.2.1"]
    expect(new Set(same.map(sourceOf)).size).toBe(1)
    const others = ["2001:db8:0:8::1", "2001:db8::7:0:0:1", "::1", "fe80::1", "192.0.2.1", "192.0.2.2"]
    expect(new Set([...others, "2001:db8:0:7::1"].map(sourceOf)).size).toBe(others.length + 1)
    const limits = new SourceLimits(1)
    expect(same.map((address) => limits.take(address, 0))).toEqual([true, false, false, false])
  })
})
