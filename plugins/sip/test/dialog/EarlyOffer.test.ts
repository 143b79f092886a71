import { describe, expect, it } from "@effect/vitest"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { command, tags } from "./ConnectedCall.ts"
import { sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [us, phone] = ["192.0.2.10", "192.0.2.20"]
const type = { name: "content-type", value: "application/sdp" }

/** An INVITE to us without a description, with these headers. */
const called = (...more: Message.Headers) => {
  const network = new VirtualNetwork()
  const callee = network.node(us)
  const send = (method: string, number: number, to: string, headers: Message.Headers, body = Message.noBody): void => {
    const request: Message.Request = {
      _tag: "Request",
      method,
      uri: `sip:+4930@${us}`,
      headers: [
        { name: "via", value: `SIP/2.0/UDP ${phone}:5060;branch=z9hG4bK${method}${number}` },
        { name: "from", value: `<sip:+4989@${phone}>;tag=a` },
        { name: "to", value: to },
        { name: "contact", value: `<sip:+4989@${phone}>` },
        { name: "call-id", value: "early" },
        { name: "cseq", value: `${number} ${method}` },
        { name: "max-forwards", value: "70" },
        ...headers
      ],
      body
    }
    network.inject(serialize(request), phone, us)
    network.run(10)
  }
  send("INVITE", 1, `<sip:+4930@${us}>`, more)
  const responses = (method: string): ReadonlyArray<Message.Response> =>
    network.messages.filter(
      (each): each is Message.Response => each._tag === "Response" && Message.cseq(each)?.method === method
    )
  const statuses = (method = "INVITE") => responses(method).map(({ status }) => status)
  const lastOf = (status: number): Message.Response => {
    const found = responses("INVITE").findLast((each) => each.status === status)
    if (found === undefined) throw new Error(`no ${status}`)
    return found
  }
  const inDialog = (method: string, number: number, headers: Message.Headers, body?: Uint8Array): void =>
    send(method, number, Message.header(lastOf(180), "to") ?? "", headers, body)
  const prack = (number: number, body?: Uint8Array): void => {
    const rack = { name: "rack", value: `${Message.header(lastOf(180), "rseq")} 1 INVITE` }
    inDialog("PRACK", number, body === undefined ? [rack] : [rack, type], body)
  }
  return { network, callee, inDialog, lastOf, prack, statuses }
}

const requiring = { name: "require", value: "100rel" }

describe("An INVITE without an offer that requires 100rel", () => {
  it("gets our offer in the reliable 180, whose PRACK has the answer, and a 200 without a description (RFC 3262, 5)", () => {
    const { callee, lastOf, network, prack } = called(requiring)
    command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
    const ringing = lastOf(180)
    expect(Message.header(ringing, "content-type")).toBe("application/sdp")
    expect(Buffer.from(ringing.body)).toEqual(sdp(5000))
    prack(2, sdp(4000))
    expect(callee.events.map(([, event]) => event)).toEqual([{ _tag: "EarlyAnswered", sdp: expect.anything() }])
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    const ok = lastOf(200)
    expect([ok.body.length, Message.header(ok, "content-type")]).toEqual([0, undefined])
  })

  it("is answered only when the PRACK has come, while the 180 is repeated", () => {
    const { callee, network, prack, statuses } = called(requiring)
    command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    network.run(1600)
    expect(statuses()).toEqual([100, 180, 180, 180])
    prack(2, sdp(4000))
    expect([statuses("PRACK"), statuses().at(-1), tags(callee)]).toEqual([[200], 200, ["EarlyAnswered"]])
  })

  it("whose PRACK has no answer ends with 400", () => {
    for (const answers of [true, false]) {
      const { callee, network, prack, statuses } = called(requiring)
      command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
      if (answers) command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
      prack(2)
      expect([statuses("PRACK"), statuses().at(-1), tags(callee)]).toEqual([[200], 400, ["Canceled"]])
      network.run(60_000)
      expect(callee.agent.size).toBe(0)
    }
  })

  it("whose PRACK never comes ends with 504, also when it was to be answered", () => {
    const { callee, network, statuses } = called(requiring)
    command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    network.run(40_000)
    expect([statuses().includes(200), statuses().includes(504), tags(callee)]).toEqual([false, true, ["Canceled"]])
  })

  it("refuses an offer by UPDATE with 491 while ours has no answer (RFC 3311, 5.2)", () => {
    const { callee, inDialog, network, statuses } = called(requiring)
    command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
    inDialog("UPDATE", 2, [type], sdp(4000))
    expect(statuses("UPDATE")).toEqual([491])
  })

  it("gets no 180 where there is no offer for it, and its 200 has the offer", () => {
    const { callee, lastOf, network, statuses } = called(requiring)
    command(network, callee, { _tag: "Ring" })
    expect(statuses()).toEqual([100])
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    expect(Buffer.from(lastOf(200).body)).toEqual(sdp(5000))
  })
})

describe("An INVITE without an offer that only supports 100rel", () => {
  it("gets an unreliable 180 without a description", () => {
    const { callee, lastOf, network } = called({ name: "supported", value: "100rel" })
    command(network, callee, { _tag: "Ring", sdp: sdp(5000) })
    const ringing = lastOf(180)
    expect([ringing.body.length, Message.header(ringing, "rseq")]).toEqual([0, undefined])
  })
})
