import { describe, expect, it } from "@effect/vitest"
import { isCidr, matcher } from "../src/Cidr.ts"

describe("Cidr", () => {
  it("takes addresses and ranges of both families, and refuses others", () => {
    for (const good of ["192.0.2.7", "192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32", "::1"])
      expect(isCidr(good)).toBe(true)
    for (const bad of [
      "",
      "192.0.2",
      "192.0.2.0/33",
      "192.0.2.0/",
      "192.0.2.0/-1",
      "2001:db8::/129",
      "trunk.example"
    ]) {
      expect(isCidr(bad)).toBe(false)
    }
  })

  it("matches addresses in the ranges, IPv4 also in IPv6 form, and no address without ranges", () => {
    const allows = matcher(["192.0.2.0/24", "2001:db8::/32", "198.51.100.9"])
    for (const inside of ["192.0.2.255", "::ffff:192.0.2.1", "2001:db8:1::5", "198.51.100.9"]) {
      expect(allows(inside)).toBe(true)
    }
    for (const outside of ["192.0.3.0", "198.51.100.10", "2001:db9::1", "::ffff:203.0.113.1", "not an address"]) {
      expect(allows(outside)).toBe(false)
    }
    expect(matcher([])("192.0.2.1")).toBe(false)
  })
})
