import { describe, expect, it } from "@effect/vitest"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { dial, type Node, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [peer, us] = ["192.0.2.10", "192.0.2.20"]

/** A user agent, and messages to it that no user agent of ours would send. */
const setUp = () => {
  const network = new VirtualNetwork()
  const node = network.node(us)
  /** Injects a message, and gives what is sent in answer within 10 ms. */
  const answersTo = (message: Message.Message): ReadonlyArray<Message.Message> => {
    const before = network.messages.length
    network.inject(serialize(message), peer, us)
    network.run(10)
    return network.messages.slice(before)
  }
  const command = (given: Parameters<Node["agent"]["command"]>[1]): void =>
    network.perform(node, node.agent.command(node.incoming.at(-1)?.call ?? "", given, network.now))
  return { network, node, answersTo, command }
}

const request = (method: string, headers: Message.Headers = [], branch = "one", cseq = 1): Message.Request => ({
  _tag: "Request",
  method,
  uri: `sip:+4930@${us}`,
  headers: [
    { name: "via", value: `SIP/2.0/UDP ${peer}:5060;branch=z9hG4bK${branch}` },
    { name: "from", value: `<sip:+4989@${peer}>;tag=peer` },
    ...(headers.some(({ name }) => name === "to") ? [] : [{ name: "to", value: `<sip:+4930@${us}>` }]),
    { name: "call-id", value: "the-call" },
    { name: "cseq", value: `${cseq} ${method}` },
    { name: "contact", value: `<sip:${peer}:5060>` },
    ...(headers.some(({ name }) => name === "max-forwards") ? [] : [{ name: "max-forwards", value: "70" }]),
    ...headers,
    ...(method === "INVITE" ? [{ name: "content-type", value: "application/sdp" }] : [])
  ],
  body: method === "INVITE" ? sdp(4000) : Message.noBody
})

const toUs = { name: "to", value: `<sip:+4930@${us}>;tag=unknown` }

const response = (status: number, method: string, contact = peer): Message.Response => ({
  _tag: "Response",
  status,
  reason: "R",
  headers: [
    { name: "via", value: `SIP/2.0/UDP ${us}:5060;branch=z9hG4bKnever` },
    { name: "from", value: `<sip:+4930@${us}>;tag=never` },
    { name: "to", value: `<sip:+4989@${peer}>;tag=peer` },
    { name: "call-id", value: "never-placed" },
    { name: "cseq", value: `1 ${method}` },
    { name: "contact", value: `<sip:${contact}:5060>` }
  ],
  body: Message.noBody
})

const statuses = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<number> =>
  messages.flatMap((each) => (each._tag === "Response" ? [each.status] : []))

describe("A response to nothing", () => {
  it("answers a malformed request without rport to the port of sent-by at its source", () => {
    const { node } = setUp()
    const malformed = serialize({ ...request("OPTIONS", [{ name: "max-forwards", value: "no number" }]) })
    const from = { transport: "udp", address: peer, port: 40_000 } as const
    expect(node.agent.receive(malformed, from, 0)).toMatchObject([
      { _tag: "Send", message: { status: 400 }, peer: { address: peer, port: 5060 } }
    ])
  })

  it("is ignored, also a 2xx to an INVITE, which would otherwise be acknowledged at any address", () => {
    const { answersTo, network, node } = setUp()
    for (const status of [100, 180, 200, 302, 401, 486, 503]) {
      expect(answersTo(response(status, "OPTIONS"))).toEqual([])
      expect(answersTo(response(status, "INVITE", "203.0.113.99"))).toEqual([])
    }
    network.run(60_000)
    expect([node.events, network.messages]).toEqual([[], []])
  })

  it("that answers a call of ours which is over is acknowledged and ended with BYE", () => {
    const network = new VirtualNetwork(() => [])
    const [caller, callee] = [network.node(us), network.node(peer)]
    dial(network, caller, callee)
    network.run(60_000)
    expect(caller.events).toMatchObject([["call", { _tag: "Refused", status: 408 }]])
    const invite = network.messages[0]
    if (invite?._tag !== "Request") throw new Error("no INVITE")
    const answer: Message.Response = {
      ...response(200, "INVITE"),
      headers: [
        ...invite.headers.filter(({ name }) => ["via", "from", "call-id", "cseq"].includes(name)),
        { name: "to", value: `<sip:+4930@${peer}>;tag=late` },
        { name: "contact", value: `<sip:${peer}:5060>` }
      ]
    }
    const before = network.sent.length
    network.inject(serialize(answer), peer, us)
    network.run(10)
    expect(network.sent.slice(before).map(([, , what]) => what)).toEqual(["ACK", "BYE"])
  })
})

describe("A request that fits nothing", () => {
  it("gets 481: BYE, CANCEL, INFO, PRACK and a re-INVITE of an unknown dialog; an ACK gets nothing", () => {
    const { answersTo, node } = setUp()
    for (const method of ["BYE", "INFO", "PRACK", "UPDATE", "NOTIFY", "REFER", "INVITE"]) {
      expect([method, statuses(answersTo(request(method, [toUs], method)))]).toEqual([method, [481]])
    }
    expect(statuses(answersTo(request("CANCEL", [], "other")))).toEqual([481])
    expect(answersTo(request("ACK", [toUs], "ack"))).toEqual([])
    expect(node.incoming).toEqual([])
  })

  it("gets 481 when BYE or NOTIFY come outside of a dialog, and 603 when REFER does", () => {
    const { answersTo } = setUp()
    for (const method of ["BYE", "NOTIFY"]) {
      expect([method, statuses(answersTo(request(method, [], method)))]).toEqual([method, [481]])
    }
    expect(statuses(answersTo(request("REFER", [], "refer")))).toEqual([603])
  })

  it("gets 420 with the names of the extensions that it requires and we do not have", () => {
    const { answersTo, node } = setUp()
    const require = { name: "require", value: "100rel, nothing-such, other" }
    const [refusal] = answersTo(request("INVITE", [require]))
    expect(refusal).toMatchObject({ status: 420 })
    expect(refusal === undefined ? "" : Message.header(refusal, "unsupported")).toBe("nothing-such, other")
    expect(node.incoming).toEqual([])
  })
})

describe("An INVITE", () => {
  it("that is repeated gets the last response again, and begins one call", () => {
    const { answersTo, command, node } = setUp()
    expect(statuses(answersTo(request("INVITE")))).toEqual([100])
    expect(statuses(answersTo(request("INVITE")))).toEqual([100])
    command({ _tag: "Ring" })
    expect(statuses(answersTo(request("INVITE")))).toEqual([180])
    expect([node.incoming.length, node.agent.size]).toEqual([1, 1])
  })

  it("that comes over a second way gets 482 there, and the first goes on (RFC 3261, 8.2.2.2)", () => {
    const { answersTo, command, node } = setUp()
    answersTo(request("INVITE"))
    expect(statuses(answersTo(request("INVITE", [], "two")))).toEqual([482])
    command({ _tag: "Answer", sdp: sdp(5000) })
    expect(statuses(answersTo(request("INVITE", [], "three")))).toContain(482)
    expect([node.incoming.length, node.agent.size]).toEqual([1, 1])
  })

  it("without a Contact, or with * there, gets 400 and begins no call (RFC 3261, 8.1.1.8)", () => {
    const { answersTo, node } = setUp()
    const invite = request("INVITE")
    const others = invite.headers.filter(({ name }) => name !== "contact")
    const [without] = answersTo({ ...invite, headers: others })
    expect(without).toMatchObject({ status: 400, reason: expect.stringContaining("contact") })
    const star = request("INVITE", [], "star")
    const headers = star.headers.map((each) => (each.name === "contact" ? { ...each, value: "*" } : each))
    expect(statuses(answersTo({ ...star, headers }))).toEqual([400])
    expect(node.incoming).toEqual([])
  })

  it("with Max-Forwards 0 is taken: it has arrived, and 483 is for those who would forward it (RFC 4475, 3.3.11)", () => {
    const { answersTo, node } = setUp()
    expect(statuses(answersTo(request("INVITE", [{ name: "max-forwards", value: "0" }])))).toEqual([100])
    expect(node.incoming).toHaveLength(1)
  })
})

describe("An answered call", () => {
  /** Without ACK, so that the 200 is repeated. */
  const answered = () => {
    const parts = setUp()
    parts.answersTo(request("INVITE"))
    parts.command({ _tag: "Answer", sdp: sdp(5000) })
    return parts
  }

  it("stays when a CANCEL of its INVITE comes after the 200, which is answered with 200 (RFC 3261, 9.2)", () => {
    const { answersTo, node } = answered()
    const [ok, ...more] = answersTo(request("CANCEL"))
    expect([ok, more]).toMatchObject([{ status: 200 }, []])
    expect(ok === undefined ? "" : Message.cseq(ok)?.method).toBe("CANCEL")
    expect([node.events, node.agent.size]).toEqual([[], 1])
  })

  it("repeats its 200 until 32 s, and is ended with BYE when no ACK came; a late ACK changes nothing", () => {
    const { answersTo, network, node } = answered()
    network.run(31_900)
    expect(node.events).toEqual([])
    const repeated = network.sent.filter(([, , what]) => what === "200").map(([at]) => at)
    // T1 doubles to T2 (RFC 3261, 13.3.1.4).
    const gaps = repeated.slice(1).map((at, index) => at - (repeated[index] ?? 0))
    expect(gaps).toEqual([500, 1000, 2000, 4000, 4000, 4000, 4000, 4000, 4000, 4000])
    network.run(200)
    expect(node.events.at(-1)?.[1]).toMatchObject({ _tag: "Ended", ending: { cause: "failed", code: "408" } })
    expect(network.sent.at(-1)?.[2]).toBe("BYE")
    expect(answersTo(request("ACK", [toUs], "late"))).toEqual([])
    network.run(60_000)
    expect([node.agent.size, node.agent.dueAt]).toEqual([0, Number.POSITIVE_INFINITY])
  })

  it("answers a repeated BYE as before, and a second one with 481", () => {
    const { answersTo, network, node } = answered()
    const ok = network.messages.findLast((each) => each._tag === "Response" && each.status === 200)
    const to = { name: "to", value: ok === undefined ? "" : (Message.header(ok, "to") ?? "") }
    answersTo(request("ACK", [to], "ack"))
    expect(statuses(answersTo(request("BYE", [to], "bye", 2)))).toEqual([200])
    expect(statuses(answersTo(request("BYE", [to], "bye", 2)))).toEqual([200])
    expect(statuses(answersTo(request("BYE", [to], "bye2", 3)))).toEqual([481])
    expect(node.events.map(([, { _tag }]) => _tag)).toEqual(["Confirmed", "Ended"])
  })
})

describe("An INVITE with Replaces (RFC 3891)", () => {
  const replaces = (value: string) => [{ name: "replaces", value }]
  const fresh = (headers: Message.Headers): Message.Request => {
    const invite = request("INVITE", headers, "transfer")
    return {
      ...invite,
      headers: invite.headers.map((each) => (each.name === "call-id" ? { ...each, value: "transfer" } : each))
    }
  }

  it("gets 603 for a call of ours, which goes on, 481 for another, and 400 when it is malformed", () => {
    const { answersTo, command, network, node } = setUp()
    answersTo(request("INVITE"))
    command({ _tag: "Answer", sdp: sdp(5000) })
    const ok = network.messages.findLast((each) => each._tag === "Response" && each.status === 200)
    const ours = ok === undefined ? "" : (Message.tag(ok, "to") ?? "")
    expect(statuses(answersTo(fresh(replaces(`the-call;to-tag=${ours};from-tag=peer`))))).toContain(603)
    expect(node.incoming).toHaveLength(1)
    expect(node.agent.size).toBe(1)
    for (const [value, status] of [
      ["another;to-tag=1;from-tag=2", 481],
      ["the-call;to-tag=1", 400],
      [";to-tag=1;from-tag=2", 400]
    ] as const) {
      const parts = setUp()
      expect([value, statuses(parts.answersTo(fresh(replaces(value))))]).toEqual([value, [status]])
      expect(parts.node.incoming).toEqual([])
    }
  })

  it("gets 420 when it requires that Replaces is understood", () => {
    const { answersTo } = setUp()
    const headers = [...replaces("x;to-tag=1;from-tag=2"), { name: "require", value: "replaces" }]
    expect(statuses(answersTo(fresh(headers)))).toEqual([420])
  })
})
