import { describe, expect, it } from "@effect/vitest"
import * as Dialog from "../../src/dialog/Dialog.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { command, connected, injected, last, sentBy } from "./ConnectedCall.ts"
import { sdp } from "./VirtualNetwork.ts"

describe("A call", () => {
  it("leaves a session interval out that is too small and cannot be refused (RFC 4028, 9)", () => {
    const { callee, caller, network } = connected()
    const headers = [
      { name: "session-expires", value: "30" },
      { name: "content-type", value: "application/sdp" }
    ]
    injected(network, { method: "INVITE", headers, body: sdp(1) }, caller, callee, "50 INVITE")
    network.run(50)
    const offered = callee.events.at(-1)?.[1]
    if (offered?._tag !== "Offered") throw new Error("no offer")
    command(network, callee, { _tag: "Accept", key: offered.key, sdp: sdp(6000) })
    const answer = last(network, "INVITE")
    expect([answer, Message.header(answer, "session-expires")]).toMatchObject([{ status: 200 }, undefined])
  })

  it("is refreshed by the side that must, and hung up when the refresh does not come (RFC 4028)", () => {
    const { callee, caller, network } = connected()
    network.run(1_000_000)
    expect(sentBy(network, caller).filter((what) => what === "UPDATE").length).toBe(1)
    expect([caller.agent.size, callee.agent.size]).toEqual([1, 1])
    network.fate = () => []
    network.run(4_000_000)
    expect([caller.agent.size, callee.agent.size]).toEqual([0, 0])
    expect(callee.events.at(-1)?.[1]).toMatchObject({ _tag: "Ended" })
  })

  it("repeats a refresh that gets 422 with its Min-SE at once, and keeps that for the next (RFC 4028, 7.3, 7.4)", () => {
    const { callee, caller, network } = connected()
    const updates = () =>
      network.messages.filter((each): each is Message.Request => each._tag === "Request" && each.method === "UPDATE")
    const intervals = (request: Message.Request | undefined) => {
      if (request === undefined) throw new Error("no UPDATE")
      return [Message.header(request, "session-expires"), Message.header(request, "min-se")]
    }
    // The callee gets none of them: a proxy answers the first.
    network.fate = (message) => (message._tag === "Request" && message.method === "UPDATE" ? [] : [1])
    network.runUntil(900_500)
    const [first] = updates()
    if (first === undefined) throw new Error("no UPDATE")
    expect(intervals(first)).toEqual(["1800;refresher=uac", "90"])
    const headers = [{ name: "min-se", value: "2400" }]
    network.fate = () => [1]
    network.inject(
      serialize(Dialog.respond(first, 422, "Session Interval Too Small", "", { headers })),
      callee.address,
      caller.address
    )
    network.run(100)
    const again = updates().at(-1)
    expect(intervals(again)).toEqual(["2400;refresher=uac", "2400"])
    expect(again === undefined ? undefined : Message.cseq(again)?.number).toBe((Message.cseq(first)?.number ?? 0) + 1)
    // It was accepted: half of the new interval until the next.
    const count = updates().length
    network.run(1_100_000)
    expect(updates().length).toBe(count)
    network.run(200_000)
    expect(intervals(updates().at(-1))).toEqual(["2400;refresher=uac", "2400"])
    expect([caller.agent.size, callee.agent.size]).toEqual([1, 1])
  })

  it("repeats an offer that gets 422 with its Min-SE, and a 422 without a longer one as late as other refusals", () => {
    const { callee, caller, network } = connected()
    const invites = () =>
      network.messages.filter((each): each is Message.Request => each._tag === "Request" && each.method === "INVITE")
    network.fate = (message) => (message._tag === "Request" && message.method === "INVITE" ? [] : [1])
    command(network, caller, { _tag: "Offer", sdp: sdp(4002) }, "call")
    const refuse = (value: string) => {
      const offer = invites().at(-1)
      if (offer === undefined) throw new Error("no INVITE")
      const refusal = Dialog.respond(offer, 422, "R", "", { headers: [{ name: "min-se", value }] })
      network.inject(serialize(refusal), callee.address, caller.address)
      network.run(50)
      return offer
    }
    const offer = refuse("3600")
    const again = invites().at(-1)
    expect(again).not.toBe(offer)
    expect(again === undefined ? "" : Message.header(again, "min-se")).toBe("3600")
    expect(again?.body).toEqual(offer.body)
    const count = invites().length
    refuse("3600")
    expect(invites().length).toBe(count)
    expect(caller.events.at(-1)?.[1]).toEqual({ _tag: "OfferRefused", againMs: undefined })
  })

  it("repeats a refresh three times at once for a peer that raises Min-SE in each 422, and again after 10 s", () => {
    const { callee, caller, network } = connected()
    const updates = () =>
      network.messages.filter((each): each is Message.Request => each._tag === "Request" && each.method === "UPDATE")
    network.fate = (message) => (message._tag === "Request" && message.method === "UPDATE" ? [] : [1])
    network.runUntil(900_500)
    let least = 1800
    const numbers = () => [...new Set(updates().map((each) => Message.cseq(each)?.number))]
    const refuse = () => {
      const sent = updates().at(-1)
      if (sent === undefined) throw new Error("no UPDATE")
      const headers = [{ name: "min-se", value: String(++least) }]
      network.inject(serialize(Dialog.respond(sent, 422, "R", "", { headers })), callee.address, caller.address)
      network.run(50)
    }
    for (let round = 0; round < 10; round++) refuse()
    expect(numbers()).toHaveLength(4)
    network.run(10_000)
    expect(numbers()).toHaveLength(5)
  })
})
