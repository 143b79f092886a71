import { describe, expect, it } from "@effect/vitest"
import { pauseMs } from "../../src/dialog/Glare.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

describe("The pause after 491 (RFC 3261, 14.1)", () => {
  it("is 2.1 to 4 s for the owner of the Call-ID and 0 to 2 s for the other side, random in steps of 10 ms", () => {
    for (const [ownsCallId, least, most] of [
      [true, 2100, 4000],
      [false, 0, 2000]
    ] as const) {
      const all = Array.from({ length: 5000 }, (_, now) => pauseMs(ownsCallId, "salt", now))
      expect([Math.min(...all), Math.max(...all)]).toEqual([least, most])
      expect(all.filter((ms) => ms % 10 !== 0)).toEqual([])
      expect(pauseMs(ownsCallId, "salt", 1)).not.toBe(pauseMs(ownsCallId, "other", 1))
    }
  })

  it("is that of the side that has called, for offers that have met", () => {
    const network = new VirtualNetwork()
    const [caller, callee] = [network.node("192.0.2.10"), network.node("192.0.2.20")]
    dial(network, caller, callee)
    network.run(10)
    const call = callee.incoming[0]?.call ?? ""
    network.perform(callee, callee.agent.command(call, { _tag: "Answer", sdp: sdp(5000) }, network.now))
    network.run(10)
    const offer = { _tag: "Offer", sdp: sdp(6000) } as const
    network.perform(caller, caller.agent.command("call", offer, network.now))
    network.perform(callee, callee.agent.command(call, offer, network.now))
    network.run(10)
    const [ours, theirs] = [caller, callee].map(({ events }) => {
      const refused = events.at(-1)?.[1]
      return refused?._tag === "OfferRefused" ? (refused.againMs ?? Number.NaN) : Number.NaN
    })
    expect(ours).toBeGreaterThanOrEqual(2100)
    expect(theirs).toBeLessThanOrEqual(2000)
  })
})
