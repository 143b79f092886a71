import { describe, expect, it } from "@effect/vitest"
import * as Dialog from "../../src/dialog/Dialog.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { command, connected, injected, last } from "./ConnectedCall.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const typed = { name: "content-type", value: "multipart/mixed;boundary=b" }

/** A session description beside a part that is not understood. */
const mixed = (port: number): Uint8Array =>
  Buffer.from(
    "--b\r\nContent-Type: application/foo\r\n\r\nx\r\n--b\r\nContent-Type: application/sdp\r\n\r\n" +
      `${Buffer.from(sdp(port)).toString()}\r\n--b--\r\n`
  )

describe("A session description in a multipart body (RFC 5621)", () => {
  it("answers our call in a 200, where a body of another type is none", () => {
    for (const [headers, body, outcome] of [
      [[typed], mixed(5000), { _tag: "Answered" }],
      [[{ name: "content-type", value: "text/plain" }], sdp(5000), { _tag: "Refused", status: 200 }]
    ] as const) {
      const network = new VirtualNetwork()
      const caller = network.node("192.0.2.10")
      dial(network, caller, { ...caller, address: "192.0.2.20" })
      const [invite] = network.messages
      if (invite?._tag !== "Request") throw new Error("no INVITE")
      const contact = { name: "contact", value: "<sip:192.0.2.20>" }
      const ok = Dialog.respond(invite, 200, "OK", "phone", { headers: [contact, ...headers], body })
      network.inject(serialize(ok), "192.0.2.20", caller.address)
      network.run(10)
      const event = caller.events.at(-1)?.[1]
      expect(event).toMatchObject(outcome)
      if (event?._tag === "Answered") expect(Buffer.from(event.sdp)).toEqual(sdp(5000))
    }
  })

  it("is the offer of a re-INVITE, and the answer in an ACK", () => {
    const { callee, caller, network } = connected()
    injected(network, { method: "INVITE", headers: [typed], body: mixed(7000) }, caller, callee, "50 INVITE")
    network.run(50)
    const offered = callee.events.at(-1)?.[1]
    if (offered?._tag !== "Offered") throw new Error("no offer")
    expect(Buffer.from(offered.sdp ?? "")).toEqual(sdp(7000))
    command(network, callee, { _tag: "Accept", key: offered.key, sdp: sdp(6000) })
    expect(last(network, "INVITE")).toMatchObject({ status: 200 })
    injected(network, { method: "ACK", headers: [typed], body: mixed(7002) }, caller, callee, "50 ACK")
    network.run(50)
    const confirmed = callee.events.at(-1)?.[1]
    expect(confirmed?._tag === "Confirmed" ? Buffer.from(confirmed.sdp ?? "") : undefined).toEqual(sdp(7002))
  })
})
