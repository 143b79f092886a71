import { describe, expect, it } from "@effect/vitest"
import type * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { command, tags } from "./ConnectedCall.ts"
import { sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [us, phone] = ["192.0.2.10", "192.0.2.20"]

/** An INVITE to us with this Expires, at the time 0. */
const called = (expires: string) => {
  const network = new VirtualNetwork()
  const callee = network.node(us)
  const invite: Message.Request = {
    _tag: "Request",
    method: "INVITE",
    uri: `sip:+4930@${us}`,
    headers: [
      { name: "via", value: `SIP/2.0/UDP ${phone}:5060;branch=z9hG4bKexpires` },
      { name: "from", value: `<sip:+4989@${phone}>;tag=a` },
      { name: "to", value: `<sip:+4930@${us}>` },
      { name: "contact", value: `<sip:+4989@${phone}>` },
      { name: "call-id", value: "expires" },
      { name: "cseq", value: "1 INVITE" },
      { name: "max-forwards", value: "70" },
      { name: "expires", value: expires },
      { name: "content-type", value: "application/sdp" }
    ],
    body: sdp(4000)
  }
  network.inject(serialize(invite), phone, us)
  network.run(10)
  const statuses = () => network.messages.flatMap((each) => (each._tag === "Response" ? [each.status] : []))
  return { network, callee, statuses }
}

describe("An INVITE with Expires", () => {
  it("gets 487 after that time without an answer, and the call ends as when the caller cancels (RFC 3261, 13.3.1)", () => {
    const { callee, network, statuses } = called("20")
    command(network, callee, { _tag: "Ring" })
    network.runUntil(19_900)
    expect([statuses(), tags(callee)]).toEqual([[100, 180], []])
    network.runUntil(20_050)
    expect([statuses().at(-1), tags(callee)]).toEqual([487, ["Canceled"]])
    expect(callee.events.at(-1)?.[1]).toMatchObject({ isByCaller: true })
    network.run(60_000)
    expect(callee.agent.size).toBe(0)
  })

  it("that is answered in time goes on", () => {
    const { callee, network } = called("20")
    command(network, callee, { _tag: "Answer", sdp: sdp(5000) })
    network.runUntil(25_000)
    expect([callee.agent.size, tags(callee)]).toEqual([1, []])
  })

  it("that is no number of seconds, or is longer than a call may ring, waits as long as others", () => {
    for (const expires of ["Thu, 01 Dec 2030 16:00:00 GMT", "4294967295"]) {
      const { callee, network, statuses } = called(expires)
      network.runUntil(179_000)
      expect(tags(callee)).toEqual([])
      network.runUntil(181_000)
      expect([statuses().at(-1), tags(callee)]).toEqual([480, ["Canceled"]])
    }
  })
})
