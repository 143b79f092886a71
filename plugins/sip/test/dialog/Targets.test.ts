import { describe, expect, it } from "@effect/vitest"
import type { Locate } from "../../src/dialog/AgentEffect.ts"
import { backOffMs, Targets } from "../../src/dialog/Targets.ts"
import * as Message from "../../src/message/Message.ts"
import type { Peer } from "../../src/transaction/Peer.ts"
import { sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const peers: ReadonlyArray<Peer> = [1, 2, 3].map((last) => ({
  transport: "udp",
  address: `192.0.2.${last}`,
  port: 5060
}))
const [first, second] = peers

const located: Locate = {
  _tag: "Locate",
  call: "call",
  id: "INVITE-0",
  request: {
    _tag: "Request",
    method: "INVITE",
    uri: "sip:a@trunk.example",
    headers: [{ name: "call-id", value: "one" }],
    body: Message.noBody
  }
}

const order = (targets: Targets, callId: string, now: number) =>
  targets.inOrder(peers, callId, now).map(({ address }) => address.at(-1))

describe("Targets", () => {
  it("put a server that did not answer after the others, longer with each failure, until it answers", () => {
    const targets = new Targets()
    if (first === undefined) throw new Error("no peer")
    targets.isDown(first, 0)
    expect(order(targets, "x", backOffMs - 1)).toEqual(["2", "3", "1"])
    expect(order(targets, "x", backOffMs)).toEqual(["1", "2", "3"])
    targets.isDown(first, backOffMs)
    expect(order(targets, "x", 3 * backOffMs - 1)).toEqual(["2", "3", "1"])
    targets.isUp({ located, peer: first, others: [] })
    expect(order(targets, "x", backOffMs)).toEqual(["1", "2", "3"])
    targets.isDown(first, 0, 7)
    expect(order(targets, "x", 6999)).toEqual(["2", "3", "1"])
    expect(order(targets, "x", 7000)).toEqual(["1", "2", "3"])
  })

  it("put the server first that has answered a request with the same Call-ID", () => {
    const targets = new Targets()
    if (second === undefined) throw new Error("no peer")
    targets.isUp({ located, peer: second, others: [] })
    expect(order(targets, "one", 0)).toEqual(["2", "1", "3"])
    expect(order(targets, "two", 0)).toEqual(["1", "2", "3"])
  })
})

describe("A call to a name with several servers", () => {
  const calling = () => {
    const network = new VirtualNetwork()
    const [caller, callee] = [network.node("192.0.2.1"), network.node("192.0.2.2")]
    network.servers.set("trunk.example", ["192.0.2.66", callee.address])
    const invite = (call: string): void =>
      network.perform(
        caller,
        caller.agent.invite(
          call,
          {
            uri: "sip:+4930@trunk.example",
            from: "<sip:+4989@trunk.example>",
            to: "<sip:+4930@trunk.example>",
            contact: "<sip:+4989@192.0.2.1:5060>",
            headers: [],
            routes: [],
            sdp: sdp(4000),
            account: undefined
          },
          network.now
        )
      )
    return { callee, caller, invite, network }
  }

  it("goes to the second one 4 s after the first did not answer, and the next call at once", () => {
    const { callee, invite, network } = calling()
    invite("one")
    network.run(3900)
    expect(callee.incoming).toHaveLength(0)
    network.run(200)
    expect(callee.incoming).toHaveLength(1)
    invite("two")
    network.run(10)
    expect(callee.incoming).toHaveLength(2)
  })

  it("goes to no other server once it was given up", () => {
    const { callee, caller, invite, network } = calling()
    invite("one")
    network.run(1000)
    network.perform(caller, caller.agent.command("one", { _tag: "Hangup", reason: "given up" }, network.now))
    network.run(40_000)
    expect(callee.incoming).toHaveLength(0)
    expect(caller.events.at(-1)).toMatchObject(["one", { _tag: "Refused", isUnreached: true }])
    expect(caller.agent.size).toBe(0)
  })
})
