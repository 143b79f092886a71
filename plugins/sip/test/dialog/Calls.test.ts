import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Digest from "../../src/auth/Digest.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { command, connected, injected, last, sentBy, setUp, tags } from "./ConnectedCall.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

describe("A call", () => {
  it("rings, is answered, acknowledged and ended by the callee", () => {
    const { callee, caller, network } = setUp()
    dial(network, caller, callee)
    network.run(100)
    expect(callee.incoming).toHaveLength(1)
    command(network, callee, { _tag: "Ring" })
    network.run(2000)
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    network.run(1000)
    command(network, callee, { _tag: "Hangup", reason: "done" })
    network.run(60_000)
    expect(network.sent.map(([, , what]) => what)).toEqual(["INVITE", "100", "180", "200", "ACK", "BYE", "200"])
    expect(tags(caller)).toEqual(["Ringing", "Answered", "Ended"])
    expect(tags(callee)).toEqual(["Confirmed", "Ended"])
    expect(caller.events.at(-1)?.[1]).toMatchObject({ ending: { cause: "hangup", code: "16", reason: "done" } })
    expect(callee.events.at(-1)?.[1]).toMatchObject({ ending: { cause: "local" } })
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
  })

  it("is refused with the status that is given, and forgotten", () => {
    const { callee, caller, network } = setUp()
    dial(network, caller, callee)
    network.run(10)
    command(network, callee, { _tag: "Reject", status: 486, reason: "Busy Here" })
    network.run(60_000)
    expect(caller.events.at(-1)?.[1]).toEqual({ _tag: "Refused", status: 486, reason: "Busy Here" })
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
  })

  it("is refused with 408 when no response comes, 503 when it cannot be sent", () => {
    const { callee, caller, network } = setUp(() => [])
    dial(network, caller, callee)
    network.run(40_000)
    const refused = { _tag: "Refused", status: 408, reason: "no response to INVITE", isUnreached: true }
    expect(caller.events).toEqual([["call", refused]])
  })

  it("gets BYE within 40 s when the answer is never acknowledged, after repetitions of the 200", () => {
    const { callee, caller, network } = setUp((message) =>
      message._tag === "Request" && message.method === "ACK" ? [] : [1]
    )
    dial(network, caller, callee)
    network.run(10)
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    network.run(60_000)
    const byes = network.sent.filter(([, from, what]) => from === callee.address && what === "BYE")
    expect(byes[0]?.[0]).toBeLessThan(40_000)
    expect(sentBy(network, callee).filter((what) => what === "200").length).toBeGreaterThan(8)
    expect(callee.events.at(-1)?.[1]).toMatchObject({ _tag: "Ended", ending: { cause: "failed" } })
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
  })

  it("waits with BYE for the ACK when it is hung up before", () => {
    const { callee, caller, network } = setUp()
    dial(network, caller, callee)
    network.run(10)
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    command(network, callee, { _tag: "Hangup", reason: "at once" })
    expect(sentBy(network, callee)).not.toContain("BYE")
    network.run(1000)
    expect(sentBy(network, callee).at(-1)).toBe("BYE")
    expect(tags(caller)).toEqual(["Answered", "Ended"])
  })

  it("is canceled while it rings: 200 to CANCEL, 487 to INVITE", () => {
    const { callee, caller, network } = setUp()
    dial(network, caller, callee)
    network.run(10)
    command(network, callee, { _tag: "Ring" })
    network.run(10)
    command(network, caller, { _tag: "Hangup", reason: "gave up" })
    network.run(60_000)
    expect(network.sent.map(([, , what]) => what)).toEqual(["INVITE", "100", "180", "CANCEL", "200", "487", "ACK"])
    expect(tags(callee)).toEqual(["Canceled"])
    expect(caller.events.at(-1)?.[1]).toMatchObject({ _tag: "Refused", status: 487 })
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
  })

  it("is canceled at any moment, and ends on both sides", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 120 }),
        fc.integer({ min: 0, max: 120 }),
        fc.integer({ min: 1, max: 40 }),
        (giveUp, answer, delay) => {
          const { callee, caller, network } = setUp(() => [delay])
          dial(network, caller, callee)
          const steps: ReadonlyArray<readonly [number, () => void]> = [
            [giveUp, () => command(network, caller, { _tag: "Hangup", reason: "gave up" }, "call")],
            [answer, () => command(network, callee, { _tag: "Answer", sdp: sdp(5000) })]
          ]
          for (const [at, act] of steps.toSorted(([a], [b]) => a - b)) {
            network.runUntil(at)
            act()
          }
          network.run(120_000)
          command(network, callee, { _tag: "Reject", status: 480, reason: "" })
          network.run(120_000)
          expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
          const ends = [...caller.events, ...callee.events].filter(([, { _tag }]) =>
            ["Refused", "Canceled", "Ended"].includes(_tag)
          )
          expect(ends.length).toBeLessThanOrEqual(2)
        }
      ),
      { numRuns: 60 }
    )
  })

  it("acknowledges and ends the second of two phones that answer", () => {
    const { callee, caller, network } = connected()
    const ok = network.messages.find(
      (each): each is Message.Response => each._tag === "Response" && each.status === 200
    )
    if (ok === undefined) throw new Error("no 200")
    const fork: Message.Response = {
      ...ok,
      headers: ok.headers.map((each) => (each.name === "to" ? { ...each, value: "<sip:+4930@x>;tag=fork" } : each))
    }
    network.inject(serialize(fork), callee.address, caller.address)
    network.run(50)
    const ended = network.messages
      .slice(-3)
      .flatMap((each) => (each._tag === "Request" ? [[each.method, Message.tag(each, "to")]] : []))
    expect(ended).toContainEqual(["ACK", "fork"])
    expect(ended).toContainEqual(["BYE", "fork"])
    expect(tags(caller)).toEqual(["Answered"])
  })

  it("acknowledges a repeated 200 again", () => {
    const { callee, caller, network } = connected()
    const before = sentBy(network, caller).filter((what) => what === "ACK").length
    const ok = network.messages.find((each) => each._tag === "Response" && each.status === 200)
    if (ok !== undefined) network.inject(serialize(ok), callee.address, caller.address)
    network.run(50)
    expect(sentBy(network, caller).filter((what) => what === "ACK").length).toBe(before + 1)
  })

  it("answers new offers in the call, and 500, 491 and 422 to those that cannot be", () => {
    const { callee, caller, network } = connected()
    const type = { name: "content-type", value: "application/sdp" }
    const expires = { name: "session-expires", value: "30" }
    const timer = { name: "supported", value: "timer" }
    injected(network, { method: "INVITE", headers: [expires, timer, type], body: sdp(1) }, caller, callee, "50 INVITE")
    network.run(50)
    expect(last(network, "INVITE")).toMatchObject({ status: 422 })
    expect(Message.header(last(network, "INVITE"), "min-se")).toBe("90")
    injected(network, { method: "INVITE", headers: [type], body: sdp(1) }, caller, callee, "51 INVITE")
    injected(network, { method: "UPDATE", headers: [type], body: sdp(1) }, caller, callee, "52 UPDATE")
    network.run(50)
    expect(last(network, "UPDATE")).toMatchObject({ status: 500 })
    const offered = callee.events.at(-1)?.[1]
    if (offered?._tag !== "Offered") throw new Error("no offer")
    command(network, callee, { _tag: "Accept", key: offered.key, sdp: sdp(6000) })
    expect(last(network, "INVITE")).toMatchObject({ status: 200 })
    injected(network, { method: "ACK", body: Message.noBody }, caller, callee, "51 ACK")
    network.run(50)
    injected(network, { method: "INVITE", headers: [type], body: sdp(1) }, caller, callee, "40 INVITE")
    network.run(50)
    expect(last(network, "INVITE")).toMatchObject({ status: 500 })
  })

  it("takes digits by INFO in its three forms", () => {
    const { callee, caller, network } = connected()
    const relay = { name: "content-type", value: "application/dtmf-relay" }
    injected(
      network,
      { method: "INFO", headers: [relay], body: Buffer.from("Signal= 5\r\nDuration= 160\r\n") },
      caller,
      callee,
      "50 INFO"
    )
    injected(
      network,
      { method: "INFO", headers: [{ ...relay, value: "application/dtmf" }], body: Buffer.from("11") },
      caller,
      callee,
      "51 INFO"
    )
    injected(
      network,
      { method: "INFO", headers: [relay], body: Buffer.from("Signal=#\r\n") },
      caller,
      callee,
      "52 INFO"
    )
    injected(
      network,
      { method: "INFO", headers: [relay], body: Buffer.from("Signal=99999\r\n") },
      caller,
      callee,
      "53 INFO"
    )
    network.run(50)
    expect(callee.events.flatMap(([, event]) => (event._tag === "Digit" ? [event.digit] : []))).toEqual(["5", "#", "#"])
    expect(last(network, "INFO")).toMatchObject({ status: 200 })
  })

  it("answers 481 to requests of dialogs that it does not know, and to other tags of one that it knows", () => {
    const { callee, caller, network } = connected()
    injected(network, { method: "BYE", headers: [] }, caller, callee, "70 BYE")
    const forged = network.messages.length
    network.run(50)
    expect(network.messages.length).toBeGreaterThan(forged)
    expect(tags(callee)).toContain("Ended")
    injected(network, { method: "BYE" }, caller, callee, "71 BYE")
    network.run(50)
    expect(last(network, "BYE")).toMatchObject({ status: 481 })
  })

  it("ends when a request in it is answered with 481", () => {
    const { callee, caller, network } = connected()
    command(network, caller, { _tag: "Hangup", reason: "x" }, "call")
    network.run(50)
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
  })

  it("counts the calls of an IPv6 /64 network as those of one source", () => {
    const network = new VirtualNetwork()
    const callee = network.node("2001:db8:0:1::9", 1)
    network.servers.set("callee.example", [callee.address])
    for (const [index, address] of ["2001:db8:0:2::1", "2001:db8:0:2::2", "2001:db8:0:3::1"].entries()) {
      const caller = network.node(address)
      network.perform(
        caller,
        caller.agent.invite(
          "call",
          {
            uri: "sip:+4930@callee.example",
            from: `<sip:${index}@[${address}]>`,
            to: "<sip:+4930@[2001:db8:0:1::9]>",
            contact: `<sip:[${address}]>`,
            headers: [],
            routes: [],
            sdp: sdp(1),
            account: undefined
          },
          network.now
        )
      )
      network.run(10)
    }
    expect(callee.incoming.map(({ peer }) => peer.address)).toEqual(["2001:db8:0:2::1", "2001:db8:0:3::1"])
  })

  it("limits the calls at once from one source with 486", () => {
    const network = new VirtualNetwork()
    const caller = network.node("192.0.2.10")
    const callee = network.node("192.0.2.20", 1)
    dial(network, caller, callee)
    network.run(10)
    const other = network.node("192.0.2.30")
    dial(network, other, callee)
    network.run(10)
    expect(callee.incoming).toHaveLength(2)
    const again = caller.agent.invite(
      "second",
      {
        uri: "sip:+4930@192.0.2.20",
        from: "<sip:+4989@192.0.2.10>",
        to: "<sip:+4930@192.0.2.20>",
        contact: "<sip:192.0.2.10>",
        headers: [],
        routes: [],
        sdp: sdp(1),
        account: undefined
      },
      network.now
    )
    network.perform(caller, again)
    network.run(10)
    expect(caller.events.at(-1)).toMatchObject(["second", { _tag: "Refused", status: 486 }])
  })

  it("sends credentials for a 401 and a 407 once, and gives up when they are refused", () => {
    const network = new VirtualNetwork()
    const caller = network.node("192.0.2.10")
    const trunk = network.node("192.0.2.20")
    dial(network, caller, trunk, { username: "u", password: "p" })
    network.run(10)
    const challenge = (call: number): void => {
      const invite = trunk.incoming[call]
      if (invite === undefined) throw new Error("no call")
      const refusal: Message.Response = {
        _tag: "Response",
        status: 401,
        reason: "Unauthorized",
        headers: [
          ...invite.request.headers.flatMap((each) => {
            if (each.name === "to") return [{ ...each, value: `${each.value};tag=t` }]
            return ["via", "from", "call-id", "cseq"].includes(each.name) ? [each] : []
          }),
          { name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256' }
        ],
        body: Message.noBody
      }
      network.inject(serialize(refusal), trunk.address, caller.address)
    }
    challenge(0)
    network.run(10)
    const second = trunk.incoming[1]?.request
    if (second === undefined) throw new Error("no second INVITE")
    expect(Message.cseq(second)?.number).toBe(2)
    const header = Message.header(second, "authorization") ?? ""
    const sent = Object.fromEntries((Digest.parameters(header) ?? []).map(({ name, value }) => [name, value ?? ""]))
    const expected = Digest.response(
      { realm: "r", nonce: "n", algorithm: "SHA-256", session: false, qop: true },
      { username: "u", password: "p", method: "INVITE", uri: second.uri, count: 1, cnonce: sent["cnonce"] ?? "" }
    )
    expect(sent["response"]).toBe(expected)
    challenge(1)
    network.run(10)
    expect(caller.events.at(-1)?.[1]).toMatchObject({ _tag: "Refused", status: 401 })
  })

  it("acknowledges reliable provisional responses, which are repeated until then (RFC 3262)", () => {
    const { callee, caller, network } = setUp()
    dial(network, caller, callee)
    const invite = network.messages[0]
    if (invite?._tag !== "Request") throw new Error("no INVITE")
    network.run(10)
    const other = network.node("192.0.2.30")
    const requiring: Message.Request = {
      ...invite,
      headers: [
        ...invite.headers.map((each) =>
          each.name === "via"
            ? { ...each, value: "SIP/2.0/UDP 192.0.2.30:5060;branch=z9hG4bKprack" }
            : each.name === "call-id"
              ? { ...each, value: "prack" }
              : each
        ),
        { name: "require", value: "100rel" }
      ]
    }
    network.inject(serialize(requiring), other.address, callee.address)
    network.run(10)
    command(network, callee, { _tag: "Ring" }, callee.incoming[1]?.call)
    network.run(1600)
    const ringing = network.messages.filter(
      (each): each is Message.Response => each._tag === "Response" && each.status === 180
    )
    expect(ringing.length).toBe(3)
    const rseq = ringing[0] === undefined ? "" : Message.header(ringing[0], "rseq")
    expect(ringing[0] === undefined ? "" : Message.header(ringing[0], "require")).toBe("100rel")
    const prack: Message.Request = {
      ...requiring,
      method: "PRACK",
      body: Message.noBody,
      headers: [
        { name: "via", value: "SIP/2.0/UDP 192.0.2.30:5060;branch=z9hG4bKprack2" },
        ...requiring.headers.filter(({ name }) => ["from", "call-id", "max-forwards"].includes(name)),
        { name: "to", value: ringing[0] === undefined ? "" : (Message.header(ringing[0], "to") ?? "") },
        { name: "cseq", value: "2 PRACK" },
        { name: "rack", value: `${rseq} 1 INVITE` }
      ]
    }
    network.inject(serialize(prack), other.address, callee.address)
    network.run(10_000)
    expect(last(network, "PRACK")).toMatchObject({ status: 200 })
    expect(network.messages.filter((each) => each._tag === "Response" && each.status === 180).length).toBe(3)
    expect(tags(caller)).toEqual([])
  })

  it("comes about and ends on both sides over a network that loses, repeats and reorders a third", () => {
    const fate = fc.record({ lost: fc.nat(2), delay: fc.nat(300), again: fc.nat(2) })
    fc.assert(
      fc.property(fc.infiniteStream(fate), (fates) => {
        const { callee, caller, network } = setUp(() => {
          const { again, delay, lost } = fates.next().value
          return [...(lost === 0 ? [] : [1 + delay]), ...(again === 0 ? [1 + delay * 2] : [])]
        })
        dial(network, caller, callee)
        network.run(20_000)
        command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
        network.run(30_000)
        command(network, callee, { _tag: "Hangup", reason: "done" })
        network.run(100_000)
        command(network, caller, { _tag: "Hangup", reason: "done" }, "call")
        network.run(100_000)
        expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
        expect(callee.incoming.length).toBeLessThanOrEqual(1)
        for (const node of [caller, callee]) {
          const ends = tags(node).filter((tag) => ["Ended", "Refused", "Canceled"].includes(tag))
          expect(ends.length).toBeLessThanOrEqual(1)
        }
      }),
      { numRuns: 60 }
    )
  })
})
