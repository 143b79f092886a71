import { describe, expect, it } from "@effect/vitest"
import type { Account } from "../../src/dialog/Account.ts"
import * as Dialog from "../../src/dialog/Dialog.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [us, phone] = ["192.0.2.10", "192.0.2.20"]

/** A call of ours to a phone whose responses the test writes. `isLost`: whether a message of ours is lost. */
const placed = (isLost: (message: Message.Message) => boolean = () => false, account?: Account) => {
  const network = new VirtualNetwork((message) => (isLost(message) ? [] : [1]))
  const caller = network.node(us)
  // Its datagrams go nowhere: what we send is read from the network's record.
  dial(network, caller, { ...caller, address: phone }, account)
  const invite = network.messages[0]
  if (invite?._tag !== "Request") throw new Error("no INVITE")
  const contact = { name: "contact", value: `<sip:phone@${phone}:5060>` }
  const type = { name: "content-type", value: "application/sdp" }
  /** A response of the phone; with a number it is reliable. */
  const respond = (status: number, number?: number, body?: Uint8Array): void => {
    const reliable = [
      { name: "require", value: "100rel" },
      { name: "rseq", value: String(number) }
    ]
    const headers = [contact, ...(number === undefined ? [] : reliable), ...(body === undefined ? [] : [type])]
    const response = Dialog.respond(invite, status, "R", "phone", { headers, ...(body === undefined ? {} : { body }) })
    network.inject(serialize(response), phone, us)
    network.run(10)
  }
  const answerTo = (request: Message.Request, status: number, headers: Message.Headers = []): void => {
    network.inject(serialize(Dialog.respond(request, status, "R", "phone", { headers })), phone, us)
    network.run(10)
  }
  const requests = (method: string): ReadonlyArray<Message.Request> =>
    network.messages.filter((each): each is Message.Request => each._tag === "Request" && each.method === method)
  const racks = (): ReadonlyArray<string | undefined> => requests("PRACK").map((each) => Message.header(each, "rack"))
  const tags = (): ReadonlyArray<string> => caller.events.map(([, { _tag }]) => _tag)
  return { network, caller, invite, respond, answerTo, requests, racks, tags }
}

const first = <T>(list: ReadonlyArray<T>): T => {
  const [found] = list
  if (found === undefined) throw new Error("the list is empty")
  return found
}

describe("A reliable provisional response to our INVITE", () => {
  it("is acknowledged with PRACK in its dialog, and gives its early media", () => {
    const { answerTo, caller, racks, requests, respond } = placed()
    respond(183, 7, sdp(5000))
    expect(racks()).toEqual(["7 1 INVITE"])
    const prack = first(requests("PRACK"))
    expect(prack.uri).toBe(`sip:phone@${phone}:5060`)
    expect([Message.tag(prack, "to"), Message.cseq(prack)]).toEqual(["phone", { number: 2, method: "PRACK" }])
    answerTo(prack, 200)
    expect(caller.events).toMatchObject([["call", { _tag: "Ringing", status: 183, sdp: expect.anything() }]])
  })

  it("that is repeated because our PRACK is late is reported once, and gets no second PRACK of its own", () => {
    const { answerTo, network, requests, respond, tags } = placed()
    respond(183, 7, sdp(5000))
    respond(183, 7, sdp(5000))
    network.run(300)
    respond(183, 7, sdp(5000))
    expect(requests("PRACK")).toHaveLength(1)
    expect(tags()).toEqual(["Ringing"])
    answerTo(first(requests("PRACK")), 200)
    network.run(60_000)
    expect(requests("PRACK")).toHaveLength(1)
  })

  it("whose PRACK is lost gets it again with the same branch at 500 ms doubling, until it is answered", () => {
    let lost = 3
    const { answerTo, network, requests, respond } = placed(
      (message) => message._tag === "Request" && message.method === "PRACK" && lost-- > 0
    )
    respond(183, 7)
    network.run(3600)
    const at = network.sent.flatMap(([time, , what]) => (what === "PRACK" ? [time] : []))
    expect(at.slice(1).map((time, index) => time - (at[index] ?? 0))).toEqual([500, 1000, 2000])
    expect(new Set(requests("PRACK").map((each) => Message.header(each, "via"))).size).toBe(1)
    answerTo(first(requests("PRACK")), 200)
    network.run(60_000)
    expect(requests("PRACK")).toHaveLength(4)
  })

  it("whose PRACK is challenged gets it again with credentials and the next number", () => {
    const { answerTo, caller, network, racks, requests, respond } = placed(undefined, { username: "u", password: "p" })
    respond(183, 7, sdp(5000))
    const challenge = { name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }
    answerTo(first(requests("PRACK")), 401, [challenge])
    expect(racks()).toEqual(["7 1 INVITE", "7 1 INVITE"])
    const again = requests("PRACK")[1]
    if (again === undefined) throw new Error("no second PRACK")
    expect(Message.header(again, "authorization")).toContain('username="u"')
    expect(Message.cseq(again)?.number).toBe(3)
    answerTo(again, 200)
    respond(200, undefined, sdp(5000))
    network.perform(caller, caller.agent.command("call", { _tag: "Hangup", reason: "done" }, network.now))
    expect(Message.cseq(first(requests("BYE")))?.number).toBe(4)
  })

  it("that is repeated after its PRACK has failed is acknowledged again, and reported once", () => {
    for (const refuses of [true, false]) {
      const { answerTo, network, requests, respond, tags } = placed()
      respond(183, 7, sdp(5000))
      if (refuses) answerTo(first(requests("PRACK")), 500)
      else network.run(40_000)
      const before = requests("PRACK").length
      respond(183, 7, sdp(5000))
      const again = requests("PRACK").slice(before)
      expect(again.map((each) => [Message.header(each, "rack"), Message.cseq(each)?.number])).toEqual([
        ["7 1 INVITE", 3]
      ])
      expect(tags()).toEqual(["Ringing"])
    }
  })

  it("whose PRACK is refused after the answer does not end the call", () => {
    const { answerTo, caller, network, requests, respond } = placed()
    respond(183, 7, sdp(5000))
    respond(200, undefined, sdp(5000))
    answerTo(first(requests("PRACK")), 481)
    network.run(1000)
    expect(caller.agent.size).toBe(1)
  })

  it("whose PRACK is never answered, or refused, does not hinder the answer", () => {
    for (const refuses of [true, false]) {
      const { answerTo, network, requests, respond, tags } = placed()
      respond(180, 1)
      if (refuses) answerTo(first(requests("PRACK")), 481)
      network.run(60_000)
      respond(200, undefined, sdp(5000))
      expect(tags()).toEqual(["Ringing", "Answered"])
      expect(Message.cseq(first(requests("ACK")))).toEqual({ number: 1, method: "ACK" })
    }
  })

  it("that is out of order waits for the one before it, which the phone repeats (RFC 3262, 4)", () => {
    const { racks, respond, tags } = placed()
    respond(183, 7)
    respond(180, 9)
    expect(racks()).toEqual(["7 1 INVITE"])
    respond(183, 8, sdp(5000))
    respond(180, 9)
    expect(racks()).toEqual(["7 1 INVITE", "8 1 INVITE", "9 1 INVITE"])
    expect(tags()).toEqual(["Ringing", "Ringing", "Ringing"])
  })

  it("takes the next CSeq number of the dialog, and the BYE after it the one after that", () => {
    const { caller, network, requests, respond } = placed()
    respond(183, 7)
    respond(180, 8)
    respond(200, undefined, sdp(5000))
    network.perform(caller, caller.agent.command("call", { _tag: "Hangup", reason: "done" }, network.now))
    expect(requests("PRACK").map((each) => Message.cseq(each)?.number)).toEqual([2, 3])
    expect(Message.cseq(first(requests("BYE")))).toEqual({ number: 4, method: "BYE" })
  })

  it("gives the answer to our offer, so that a 200 without a description answers the call (RFC 3262, 5)", () => {
    const { answerTo, caller, requests, respond } = placed()
    respond(183, 7, sdp(5000))
    answerTo(first(requests("PRACK")), 200)
    respond(180, 8)
    respond(200)
    expect(caller.events.at(-1)).toMatchObject(["call", { _tag: "Answered" }])
    const answered = caller.events.at(-1)?.[1]
    expect(answered?._tag === "Answered" ? Buffer.from(answered.sdp) : undefined).toEqual(sdp(5000))
    expect(requests("BYE")).toEqual([])
  })

  it("lets the phone change its description by UPDATE before the 200, which then need not repeat it (RFC 3311)", () => {
    const { answerTo, caller, invite, network, requests, respond } = placed()
    const statuses = () =>
      network.messages.flatMap((each) =>
        each._tag === "Response" && Message.cseq(each)?.method === "UPDATE" ? [each.status] : []
      )
    const update = (number: number, port: number) => {
      const prack = first(requests("PRACK"))
      const swapped = [
        { name: "via", value: `SIP/2.0/UDP ${phone}:5060;branch=z9hG4bKupdate${number}` },
        { name: "max-forwards", value: "70" },
        { name: "from", value: Message.header(prack, "to") ?? "" },
        { name: "to", value: Message.header(prack, "from") ?? "" },
        { name: "call-id", value: Message.callId(invite) },
        { name: "cseq", value: `${number} UPDATE` },
        { name: "contact", value: `<sip:phone@${phone}:5060>` },
        { name: "content-type", value: "application/sdp" }
      ]
      const request: Message.Request = {
        _tag: "Request",
        method: "UPDATE",
        uri: `sip:${us}`,
        headers: swapped,
        body: sdp(port)
      }
      network.inject(serialize(request), phone, us)
      network.run(10)
      const offered = caller.events.at(-1)?.[1]
      return offered?._tag === "Offered" ? offered : undefined
    }
    const command = (given: Parameters<typeof caller.agent.command>[1]) =>
      network.perform(caller, caller.agent.command("call", given, network.now))
    respond(183, 7)
    expect(update(1, 6000)).toBeUndefined()
    respond(183, 8, sdp(5000))
    for (const prack of requests("PRACK")) answerTo(prack, 200)
    const declined = update(2, 6002)
    if (declined === undefined) throw new Error("no offer")
    command({ _tag: "Decline", key: declined.key, status: 488, reason: "" })
    const offered = update(3, 6004)
    if (offered?.sdp === undefined) throw new Error("no offer")
    expect(Buffer.from(offered.sdp)).toEqual(sdp(6004))
    command({ _tag: "Accept", key: offered.key, sdp: sdp(7000) })
    expect(statuses()).toEqual([491, 488, 200])
    respond(200)
    const answered = caller.events.at(-1)?.[1]
    expect(answered?._tag === "Answered" ? Buffer.from(answered.sdp) : undefined).toEqual(sdp(6004))
  })

  it("without a description, and a 200 without one, end the call, and the failure has the status 200", () => {
    const { caller, requests, respond } = placed()
    respond(183, 7)
    respond(200)
    expect(caller.events.at(-1)).toMatchObject([
      "call",
      { _tag: "Refused", status: 200, reason: "no session description" }
    ])
    expect(requests("BYE")).toHaveLength(1)
  })

  it("that comes after we gave up is acknowledged, and not reported", () => {
    const { caller, network, racks, requests, respond, tags } = placed()
    respond(100)
    network.perform(caller, caller.agent.command("call", { _tag: "Hangup", reason: "given up" }, network.now))
    expect(requests("CANCEL")).toHaveLength(1)
    respond(183, 7, sdp(5000))
    expect([racks(), tags()]).toEqual([["7 1 INVITE"], []])
  })
})
