import { describe, expect, it } from "@effect/vitest"
import * as Message from "../../src/message/Message.ts"
import { command, connected, injected, last } from "./ConnectedCall.ts"

describe("A call", () => {
  it("transfers with REFER and reports what NOTIFY says, and declines a REFER of the peer", () => {
    const { callee, caller, network } = connected()
    command(network, callee, { _tag: "Refer", target: "sip:+4940@192.0.2.10", by: "sip:+4930@192.0.2.20" })
    network.run(50)
    expect(callee.events.at(-1)?.[1]).toEqual({
      _tag: "Transfer",
      status: 603,
      reason: "Decline",
      from: "refer",
      isReported: true
    })
    network.fate = (message) => (message._tag === "Request" && message.method === "REFER" ? [] : [1])
    command(network, callee, { _tag: "Refer", target: "sip:+4940@192.0.2.10", by: "sip:+4930@192.0.2.20" })
    const fragment = (line: string) => ({
      method: "NOTIFY",
      headers: [
        { name: "content-type", value: "message/sipfrag" },
        { name: "event", value: "refer" }
      ],
      body: Buffer.from(`${line}\r\n`)
    })
    injected(network, fragment("SIP/2.0 180 Ringing"), caller, callee, "60 NOTIFY")
    injected(network, fragment("SIP/2.0 200 OK"), caller, callee, "61 NOTIFY")
    network.run(50)
    expect(callee.events.slice(-2).map(([, event]) => event)).toMatchObject([
      { _tag: "Transfer", status: 180, from: "notify", isReported: true },
      { _tag: "Transfer", status: 200, from: "notify", isReported: true }
    ])
  })

  it("marks the 408 of a REFER that got no response as not reported", () => {
    const { callee, network } = connected()
    network.fate = (message) => (message._tag === "Request" && message.method === "REFER" ? [] : [1])
    command(network, callee, { _tag: "Refer", target: "sip:+4940@192.0.2.10", by: "sip:+4930@192.0.2.20" })
    network.run(33_000)
    const reason = "no response to REFER: timeout"
    expect(callee.events.map(([, event]) => event).filter(({ _tag }) => _tag === "Transfer")).toEqual([
      { _tag: "Transfer", status: 408, reason, from: "refer", isReported: false }
    ])
  })

  it("fails a transfer at once whose NOTIFY ends the subscription without a result (RFC 3515, 2.4.7)", () => {
    const trying = { body: Buffer.from("SIP/2.0 100 Trying\r\n") }
    for (const { body } of [trying, { body: Message.noBody }]) {
      const { callee, caller, network } = connected()
      network.fate = (message) => (message._tag === "Request" && message.method === "REFER" ? [] : [1])
      const notify = (cseq: number, state: string, id = "") => {
        const headers = [
          { name: "event", value: `refer${id}` },
          { name: "subscription-state", value: state },
          { name: "content-type", value: "message/sipfrag" }
        ]
        injected(network, { method: "NOTIFY", headers, body }, caller, callee, `${cseq} NOTIFY`)
        network.run(10)
        return last(network, "NOTIFY")
      }
      const transfers = () => callee.events.flatMap(([, event]) => (event._tag === "Transfer" ? [event.status] : []))
      const reported = () => callee.events.map(([, event]) => event._tag === "Transfer" && event.isReported)
      expect(notify(60, "active;expires=60")).toMatchObject({ status: 481 })
      expect(transfers()).toEqual([])
      command(network, callee, { _tag: "Refer", target: "sip:+4940@192.0.2.10", by: "sip:+4930@192.0.2.20" })
      // That of a transfer before this one.
      expect(notify(61, "terminated;reason=noresource", ";id=0")).toMatchObject({ status: 200 })
      notify(62, "active;expires=60")
      expect(transfers().filter((status) => status >= 200)).toEqual([])
      expect(notify(63, "terminated;reason=noresource")).toMatchObject({ status: 200 })
      expect([transfers().at(-1), reported().at(-1)]).toEqual([500, false])
      expect(notify(64, "terminated;reason=noresource")).toMatchObject({ status: 481 })
    }
  })
})
