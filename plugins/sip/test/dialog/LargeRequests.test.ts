import { describe, expect, it } from "@effect/vitest"
import type { Locate } from "../../src/dialog/AgentEffect.ts"
import { LargeRequests, maxUdpBytes } from "../../src/dialog/LargeRequests.ts"
import * as Message from "../../src/message/Message.ts"

const located: Locate = {
  _tag: "Locate",
  call: "call",
  id: "INVITE-0",
  request: { _tag: "Request", method: "INVITE", uri: "sip:192.0.2.1", headers: [], body: Message.noBody }
}
const udp = { transport: "udp", address: "192.0.2.1", port: 5060 } as const
const tcp = { ...udp, transport: "tcp" } as const

describe("Large requests", () => {
  it("are those over 1300 bytes that were to go over UDP", () => {
    const large = new LargeRequests()
    expect(large.peerFor(maxUdpBytes, udp, 0)).toBe(udp)
    expect(large.peerFor(maxUdpBytes + 1, udp, 0)).toEqual(tcp)
    expect(large.peerFor(maxUdpBytes + 1, tcp, 0)).toBe(tcp)
  })

  it("go over UDP at once for 10 minutes after TCP was refused, elsewhere still by TCP", () => {
    const large = new LargeRequests()
    large.switched("one", located, udp)
    expect(large.refused("one", 1000)).toEqual({ located, peer: udp })
    expect(large.refused("one", 1000)).toBeUndefined()
    expect(large.peerFor(2000, udp, 600_999)).toBe(udp)
    expect(large.peerFor(2000, { ...udp, port: 5062 }, 1000).transport).toBe("tcp")
    expect(large.peerFor(2000, udp, 601_000)).toEqual(tcp)
  })

  it("are not sent again when TCP fails after a response", () => {
    const large = new LargeRequests()
    large.switched("one", located, udp)
    large.answered("one")
    expect(large.refused("one", 0)).toBeUndefined()
    expect(large.peerFor(2000, udp, 0)).toEqual(tcp)
  })
})
