import { describe, expect, it } from "vitest"
import { PeerLatch } from "../../src/rtp/PeerLatch.ts"

const negotiated = { address: "192.0.2.1", port: 4000 }
const nat = { address: "198.51.100.7", port: 61_000 }
const stranger = { address: "203.0.113.66", port: 5555 }

/** A latch and packets that come 20 ms apart, with their sequence numbers per sender. */
const latchOf = (hosts: ReadonlyArray<string> = []) => {
  const latch = new PeerLatch(negotiated, hosts)
  const sequences = new Map<string, number>()
  let now = 0
  return {
    latch,
    wait: (ms: number) => {
      now += ms
    },
    /** Whether the last of `count` packets is accepted. */
    packets: (from: { readonly address: string; readonly port: number }, count: number, ssrc = 1) => {
      let isAccepted = false
      const key = `${from.address} ${from.port} ${ssrc}`
      for (let index = 0; index < count; index++) {
        const sequence = ((sequences.get(key) ?? 65_534) + 1) & 0xffff
        sequences.set(key, sequence)
        now += 20
        isAccepted = latch.accepts(from.address, from.port, ssrc, sequence, now)
      }
      return isAccepted
    }
  }
}

describe("the address of the peer's media", () => {
  it("is the negotiated one until another is heard", () => {
    const { latch, packets } = latchOf()
    expect(latch.current).toEqual(negotiated)
    expect(latch.heardAt).toBeUndefined()
    expect(packets(negotiated, 1)).toBe(true)
    expect(latch.heardAt).toBe(20)
  })

  it("is that of the first two packets in order, where the negotiated one is silent", () => {
    const { latch, packets } = latchOf()
    expect(packets(nat, 1)).toBe(false)
    expect(latch.current).toEqual(negotiated)
    expect(packets(nat, 1)).toBe(true)
    expect(latch.current).toEqual(nat)
  })

  it("does not change with packets that are not in order, or of different streams", () => {
    const { latch } = latchOf()
    for (let index = 0; index < 100; index++) {
      expect(latch.accepts(stranger.address, stranger.port, 1, (index * 7) & 0xffff, index)).toBe(false)
      expect(latch.accepts(stranger.address, stranger.port, index, 500 + index, index)).toBe(false)
    }
    expect(latch.current).toEqual(negotiated)
  })

  it("does not change while the peer is heard, however many packets a stranger sends", () => {
    const { latch, packets } = latchOf()
    for (let second = 0; second < 10; second++) {
      expect(packets(negotiated, 1)).toBe(true)
      expect(packets(stranger, 50, 1)).toBe(false)
    }
    expect(latch.current).toEqual(negotiated)
  })

  it("goes back to the negotiated address with its first packet, if a stranger was faster", () => {
    const { latch, packets } = latchOf()
    expect(packets(stranger, 2)).toBe(true)
    expect(packets(negotiated, 1, 9)).toBe(true)
    expect(latch.current).toEqual(negotiated)
    expect(packets(stranger, 50)).toBe(false)
  })

  it("goes to a known host, if a stranger was faster, and stays there", () => {
    const { latch, packets } = latchOf([nat.address])
    expect(packets(stranger, 2, 8)).toBe(true)
    expect(packets(nat, 2, 9)).toBe(true)
    expect(packets(stranger, 50, 8)).toBe(false)
    expect(latch.current).toEqual(nat)
  })

  it("becomes that of a known host even while a stranger floods", () => {
    const { latch, packets } = latchOf([nat.address])
    for (let index = 0; index < 3; index++) {
      packets({ ...stranger, port: 1000 + index }, 1, index)
      packets(nat, 1, 9)
    }
    expect(latch.current).toEqual(nat)
  })

  it("moves after 2 s of silence, to a foreign address only with the same stream", () => {
    const { latch, packets, wait } = latchOf()
    packets(nat, 2, 7)
    wait(1900)
    expect(packets({ ...stranger }, 3, 7)).toBe(false)
    wait(200)
    expect(packets(stranger, 3, 8)).toBe(false)
    expect(latch.current).toEqual(nat)
    expect(packets({ ...nat, address: "198.51.100.8" }, 2, 7)).toBe(true)
    expect(latch.current.address).toBe("198.51.100.8")
  })

  it("moves to another port of the negotiated host after 2 s of silence, with any stream", () => {
    const { latch, packets, wait } = latchOf()
    packets(negotiated, 1, 7)
    wait(2000)
    expect(packets({ ...negotiated, port: 4002 }, 2, 8)).toBe(true)
    expect(latch.current.port).toBe(4002)
  })

  it("stays when the same address is negotiated again, and begins anew with another one", () => {
    const { latch, packets } = latchOf()
    packets(nat, 2)
    latch.negotiate({ ...negotiated })
    expect(latch.current).toEqual(nat)
    const moved = { address: "192.0.2.2", port: 4000 }
    latch.negotiate(moved)
    expect(latch.current).toEqual(moved)
    expect(packets(nat, 1)).toBe(false)
    expect(packets(nat, 1)).toBe(true)
  })

  it("knows the hosts that may send RTCP", () => {
    const { latch, packets } = latchOf(["192.0.2.9"])
    packets(nat, 2)
    const known = [negotiated.address, nat.address, "192.0.2.9", stranger.address]
    expect(known.map((address) => latch.knows(address))).toEqual([true, true, true, false])
  })

  it("does not go back for 2 s to the port that the same host had before a new negotiation", () => {
    const { latch, packets, wait } = latchOf()
    packets(negotiated, 2)
    const moved = { ...negotiated, port: 4002 }
    latch.negotiate(moved, [], 40)
    expect(packets(negotiated, 10)).toBe(false)
    expect(latch.current).toEqual(moved)
    wait(2000)
    expect(packets(negotiated, 2)).toBe(true)
  })
})
