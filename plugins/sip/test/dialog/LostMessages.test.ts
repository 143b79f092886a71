import { describe, expect, it } from "@effect/vitest"
import * as Dialog from "../../src/dialog/Dialog.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { usualTiming } from "../../src/transaction/Timing.ts"
import * as Transactions from "../../src/transaction/Transactions.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [peer, us] = ["192.0.2.10", "192.0.2.20"]

/** A user agent that a phone calls, which the test plays. */
const called = (headers: Message.Headers = []) => {
  const network = new VirtualNetwork()
  const node = network.node(us)
  const send = (method: string, cseq: string, to: string, more: Message.Headers = [], body = Message.noBody): void => {
    const request: Message.Request = {
      _tag: "Request",
      method,
      uri: `sip:+4930@${us}`,
      headers: [
        { name: "via", value: `SIP/2.0/UDP ${peer}:5060;branch=z9hG4bK${cseq.replace(" ", "")}` },
        { name: "max-forwards", value: "70" },
        { name: "from", value: `<sip:+4989@${peer}>;tag=peer` },
        { name: "to", value: to },
        { name: "call-id", value: "the-call" },
        { name: "cseq", value: cseq },
        { name: "contact", value: `<sip:${peer}:5060>` },
        ...more
      ],
      body
    }
    network.inject(serialize(request), peer, us)
    network.run(10)
  }
  const typed = { name: "content-type", value: "application/sdp" }
  send("INVITE", "1 INVITE", `<sip:+4930@${us}>`, [...headers, typed], sdp(4000))
  const command = (given: Parameters<typeof node.agent.command>[1]): void => {
    network.perform(node, node.agent.command(node.incoming[0]?.call ?? "", given, network.now))
    network.run(10)
  }
  const responses = (method: string): ReadonlyArray<Message.Response> =>
    network.messages.filter(
      (each): each is Message.Response => each._tag === "Response" && Message.cseq(each)?.method === method
    )
  /** The last response to the INVITE. */
  const last = (): Message.Response => {
    const found = responses("INVITE").at(-1)
    if (found === undefined) throw new Error("no response to INVITE")
    return found
  }
  const inDialog = (method: string, cseq: string, more: Message.Headers = [], body?: Uint8Array): void =>
    send(method, cseq, Message.header(last(), "to") ?? "", more, body)
  const methods = (): ReadonlyArray<string> =>
    network.messages.flatMap((each) => (each._tag === "Request" ? [each.method] : []))
  return { network, node, command, responses, last, inDialog, methods, typed }
}

describe("A call to us", () => {
  it("that nobody answers or rejects gets 480 after 180 s, and is forgotten", () => {
    const { command, network, node, responses } = called()
    command({ _tag: "Ring" })
    network.runUntil(179_900)
    expect([responses("INVITE").at(-1)?.status, node.agent.size]).toEqual([180, 1])
    network.run(300)
    expect([responses("INVITE").at(-1)?.status, node.agent.size]).toEqual([480, 0])
    expect(node.events.at(-1)?.[1]).toMatchObject({
      _tag: "Canceled",
      reason: expect.stringContaining("180 s"),
      isByCaller: false
    })
  })

  it("whose 180 is acknowledged with PRACK gets 480 after 180 s all the same", () => {
    const { command, inDialog, last, network, responses } = called([{ name: "require", value: "100rel" }])
    command({ _tag: "Ring" })
    const rseq = Message.header(last(), "rseq")
    inDialog("PRACK", "2 PRACK", [{ name: "rack", value: `${rseq} 1 INVITE` }])
    expect(responses("PRACK")[0]?.status).toBe(200)
    network.run(181_000)
    expect(responses("INVITE").at(-1)?.status).toBe(480)
  })

  it("that is not acknowledged is not asked whether it is there", () => {
    const { command, methods, network, node } = called()
    command({ _tag: "Answer", sdp: sdp(5000) })
    network.run(20_000)
    command({ _tag: "Probe" })
    network.run(20_000)
    expect(methods()[0]).toBe("BYE")
    expect(methods()).not.toContain("OPTIONS")
    expect(node.events.at(-1)?.[1]).toMatchObject({ ending: { reason: "the answer was never acknowledged" } })
  })

  it("takes the PRACK of its 180 also after the 200, and no other", () => {
    const { command, inDialog, last, responses } = called([{ name: "require", value: "100rel" }])
    command({ _tag: "Ring" })
    const rseq = Number(Message.header(last(), "rseq"))
    command({ _tag: "Answer", sdp: sdp(5000) })
    inDialog("PRACK", "2 PRACK", [{ name: "rack", value: `${rseq + 1} 1 INVITE` }])
    inDialog("PRACK", "3 PRACK", [{ name: "rack", value: `${rseq} 1 INVITE` }])
    expect(responses("PRACK").map(({ status }) => status)).toEqual([481, 200])
  })

  it("answers offers that cross our BYE with 481", () => {
    const { command, inDialog, network, node, responses, typed } = called()
    command({ _tag: "Answer", sdp: sdp(5000) })
    inDialog("ACK", "1 ACK")
    network.fate = (message) => (message._tag === "Request" ? [] : [1])
    command({ _tag: "Hangup", reason: "done" })
    inDialog("INVITE", "2 INVITE", [typed], sdp(4002))
    inDialog("UPDATE", "3 UPDATE", [typed], sdp(4002))
    expect([responses("INVITE").at(-1)?.status, responses("UPDATE").at(-1)?.status]).toEqual([481, 481])
    expect(node.events.map(([, { _tag }]) => _tag)).not.toContain("Offered")
  })
})

describe("The transaction of an INVITE of ours", () => {
  const invite: Message.Request = {
    _tag: "Request",
    method: "INVITE",
    uri: `sip:${peer}`,
    headers: [
      { name: "via", value: `SIP/2.0/UDP ${us}:5060;branch=z9hG4bKone` },
      { name: "from", value: `<sip:${us}>;tag=us` },
      { name: "to", value: `<sip:${peer}>` },
      { name: "call-id", value: "c" },
      { name: "cseq", value: "1 INVITE" }
    ],
    body: Message.noBody
  }
  const to = { transport: "udp", address: peer, port: 5060 } as const

  it("ends 64 T1 after the CANCEL, when no 487 comes, and others stay open", () => {
    const transactions = new Transactions.Transactions(usualTiming)
    transactions.request(invite, to, 0)
    transactions.receive(Dialog.respond(invite, 180, "Ringing", "phone"), to, 10)
    expect(transactions.advance(10_000_000)).toEqual([])
    expect(transactions.size).toBe(1)
    const canceled = transactions.cancel("z9hG4bKone", 10_000_000)
    expect(canceled).toMatchObject([{ _tag: "Send", message: { method: "CANCEL" } }])
    const cancel = canceled[0]
    if (cancel?._tag !== "Send" || cancel.message._tag !== "Request") throw new Error("no CANCEL")
    transactions.receive(Dialog.respond(cancel.message, 200, "OK", "phone"), to, 10_000_010)
    transactions.receive(Dialog.respond(invite, 180, "Ringing", "phone"), to, 10_000_020)
    transactions.advance(10_031_999)
    transactions.advance(10_031_999)
    expect(transactions.size).toBe(1)
    transactions.advance(10_032_000)
    expect([transactions.size, transactions.dueAt]).toEqual([0, Number.POSITIVE_INFINITY])
  })

  it("ends 64 T1 after its call, when that ends while a re-INVITE waits for its final response", () => {
    const network = new VirtualNetwork()
    const [caller, callee] = [network.node(us), network.node(peer)]
    dial(network, caller, callee)
    network.run(10)
    network.perform(callee, callee.agent.command(callee.incoming[0]?.call ?? "", { _tag: "Answer", sdp: sdp(1) }, 10))
    network.run(10)
    // Nothing but the BYE and its response arrives; the test answers the re-INVITE with 100.
    network.fate = (message) => (Message.cseq(message)?.method === "BYE" ? [1] : [])
    network.perform(caller, caller.agent.command("call", { _tag: "Offer", sdp: sdp(2) }, network.now))
    const offer = network.messages.findLast((each) => each._tag === "Request" && each.method === "INVITE")
    if (offer?._tag !== "Request") throw new Error("no re-INVITE")
    network.inject(serialize(Dialog.respond(offer, 100, "Trying", "phone")), peer, us)
    network.run(10)
    network.perform(caller, caller.agent.command("call", { _tag: "Hangup", reason: "done" }, network.now))
    network.run(10_000)
    expect(caller.agent.size).toBe(0)
    expect(caller.agent.isKnown(Dialog.respond(offer, 200, "OK", "phone"))).toBe(true)
    network.run(32_000)
    expect(caller.agent.isKnown(Dialog.respond(offer, 200, "OK", "phone"))).toBe(false)
  })
})
