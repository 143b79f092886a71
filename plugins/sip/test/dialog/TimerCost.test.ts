import { describe, expect, it, vi } from "@effect/vitest"
import { afterEach } from "vitest"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

afterEach(() => vi.restoreAllMocks())

/** Answered calls between two user agents. */
const talking = (calls: number) => {
  const network = new VirtualNetwork()
  const [caller, callee] = [network.node("192.0.2.10"), network.node("192.0.2.20", 10_000)]
  for (let index = 0; index < calls; index++) {
    dial(network, caller, callee, undefined, `call ${index}`)
    network.run(3)
    const call = callee.incoming.at(-1)?.call ?? ""
    network.perform(callee, callee.agent.command(call, { _tag: "Answer", sdp: sdp(5000) }, network.now))
    network.run(3)
  }
  network.run(60_000)
  return { network, caller, callee }
}

/** How often lists of timers are read: each reading of a call's or transaction's timers lists their names once. */
const readings = (run: () => void): number => {
  const spy = vi.spyOn(Object, "keys")
  run()
  const count = spy.mock.calls.length
  spy.mockRestore()
  return count
}

describe("The cost of timers", () => {
  it("is the same for an event of one call, its next time and its timers among 8 calls and among 200", () => {
    const [few, many] = [8, 200].map((calls) => {
      const { callee, network } = talking(calls)
      expect(callee.agent.size).toBe(calls)
      const call = callee.incoming[0]?.call ?? ""
      return {
        nothingDue: readings(() => {
          expect(callee.agent.dueAt).toBeGreaterThan(network.now)
          expect(callee.agent.advance(network.now)).toEqual([])
        }),
        probe: readings(() => {
          network.perform(callee, callee.agent.command(call, { _tag: "Probe" }, network.now))
          network.run(40_000)
        })
      }
    })
    expect(few).toEqual(many)
    expect(many?.nothingDue).toBe(0)
    expect(many?.probe).toBeLessThan(50)
  })
})
