import { describe, expect, it } from "vitest"
import { onFlow, type Peer } from "../../src/transaction/Peer.ts"

const found: Peer = { transport: "udp", address: "10.0.0.1", port: 5060 }
const flow: Peer = { transport: "tcp", address: "192.0.2.1", port: 40_000, connection: 3 }

describe("onFlow", () => {
  it("keeps a call on its TCP connection where the Contact names no transport", () => {
    expect(onFlow(found, flow, true)).toEqual({ ...found, transport: "tcp", connection: 3 })
    expect(onFlow(found, flow)).toEqual(found)
    expect(onFlow(found, { ...flow, transport: "udp" }, true)).toEqual(found)
  })

  it("stays on TCP in a call that we placed, to the same address and port alone", () => {
    const called: Peer = { transport: "tcp", address: found.address, port: 5060 }
    expect(onFlow(found, called, true)).toEqual(called)
    expect(onFlow({ ...found, port: 5070 }, called, true)).toEqual({ ...found, port: 5070 })
  })
})
