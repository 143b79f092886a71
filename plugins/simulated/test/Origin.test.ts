import { describe, expect, it } from "@effect/vitest"
import type { RouteRequest } from "@svc/providers/Route"
import { refuseForeign } from "../src/Network/Origin.ts"

const statusOf = (host: string, origin?: string, baseUrl?: string): number | undefined => {
  const request: RouteRequest = {
    method: "GET",
    path: "",
    query: new URLSearchParams(),
    headers: { host, origin },
    body: new Uint8Array(),
    params: {},
    remoteAddress: "127.0.0.1"
  }
  return refuseForeign(baseUrl)(request)?.status
}

describe("A request to the simulated network", () => {
  it.each([
    ["127.0.0.1:8787", undefined],
    ["127.0.0.1:8787", "http://127.0.0.1:8787"],
    ["localhost:8787", "http://localhost:8787"],
    ["[::1]:8787", "http://[::1]:8787"],
    ["192.168.1.5", "http://192.168.1.5"],
    ["192.168.1.5:80", "http://192.168.1.5"]
  ])("at %s is taken with the Origin %s", (host, origin) => {
    expect(statusOf(host, origin)).toBeUndefined()
  })

  it.each([
    ["127.0.0.1:8787", "http://evil.example"],
    ["127.0.0.1:8787", "http://127.0.0.1:3000"],
    ["127.0.0.1:8787", "http://localhost:8787"],
    ["127.0.0.1:8787", "null"],
    ["127.0.0.1:8787", ""],
    ["127.0.0.1:8787", "http://127.0.0.1:8787, http://evil.example"],
    ["", "file://"],
    // A name that was pointed at this machine.
    ["evil.example:8787", "http://evil.example:8787"]
  ])("at %s is refused with 403 with the Origin %s", (host, origin) => {
    expect(statusOf(host, origin)).toBe(403)
  })

  it("is taken from a page of the server's public URL, whatever Host a proxy sends", () => {
    const base = "https://voice.example.com"
    expect(statusOf("voice.example.com", base, base)).toBeUndefined()
    expect(statusOf("10.0.0.1:8787", base, `${base}/path`)).toBeUndefined()
    expect(statusOf("voice.example.com", "https://evil.example", base)).toBe(403)
  })
})
