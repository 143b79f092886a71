import { describe, expect, it } from "vitest"
import { addressFor, isUnspecified, plainAddress } from "../../src/rtp/MediaAddress.ts"

describe("an address of media", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:201", "192.0.2.1"],
    ["fe80::1%lo", "fe80::1%lo"],
    ["example.com", undefined],
    ["", undefined]
  ])("is compared in one spelling: %s", (address, plain) => {
    expect(plainAddress(address)).toBe(plain)
  })

  it("is IPv4 in IPv6 for a socket of both families, and none the other way round", () => {
    expect(addressFor(6, "192.0.2.1")).toBe("::ffff:192.0.2.1")
    expect(addressFor(4, "192.0.2.1")).toBe("192.0.2.1")
    expect(addressFor(4, "2001:db8::1")).toBeUndefined()
  })

  it("is unspecified on hold of old phones, and with a port that is none", () => {
    expect(isUnspecified({ address: "0.0.0.0", port: 4000 })).toBe(true)
    expect(isUnspecified({ address: "::", port: 4000 })).toBe(true)
    expect(isUnspecified({ address: "192.0.2.1", port: 0 })).toBe(true)
    expect(isUnspecified({ address: "192.0.2.1", port: 65_536 })).toBe(true)
    expect(isUnspecified({ address: "192.0.2.1", port: 4000 })).toBe(false)
  })
})
