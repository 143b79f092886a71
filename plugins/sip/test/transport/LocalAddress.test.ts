import { isIP } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { addressFor, bracketed, isUnspecified } from "../../src/transport/LocalAddress.ts"

describe("LocalAddress", () => {
  it("is that of the interface in the peer's network, and some address for others and for names", () => {
    expect(addressFor("127.0.0.9")).toBe("127.0.0.1")
    expect(isIP(addressFor("203.0.113.9") ?? "")).toBe(4)
    expect(isIP(addressFor("trunk.example.com") ?? "")).toBe(4)
  })

  it("is in brackets where it is IPv6", () => {
    expect([bracketed("192.0.2.1"), bracketed("2001:db8::1")]).toEqual(["192.0.2.1", "[2001:db8::1]"])
    expect(["0.0.0.0", "::", "127.0.0.1"].map(isUnspecified)).toEqual([true, true, false])
  })
})
