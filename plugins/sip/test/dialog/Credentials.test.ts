import { describe, expect, it } from "@effect/vitest"
import * as Dialog from "../../src/dialog/Dialog.ts"
import * as Message from "../../src/message/Message.ts"
import { serialize } from "../../src/message/Serializer.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const [us, trunk] = ["192.0.2.10", "192.0.2.20"]
const account = { username: "u", password: "p" }
const contact = { name: "contact", value: `<sip:trunk@${trunk}:5060>` }

const challenge = (nonce: string, stale = false) => ({
  name: "www-authenticate",
  value: `Digest realm="r", nonce="${nonce}", qop="auth", stale=${stale}`
})

const setUp = () => {
  const network = new VirtualNetwork()
  const node = network.node(us)
  const sent = (method: string): ReadonlyArray<Message.Request> =>
    network.messages.filter((each): each is Message.Request => each._tag === "Request" && each.method === method)
  /** Answers the last request of this method. */
  const answer = (method: string, status: number, headers: Message.Headers = [], body?: Uint8Array): void => {
    const request = sent(method).at(-1)
    if (request === undefined) throw new Error(`no ${method}`)
    const content = { headers: [contact, ...headers], ...(body === undefined ? {} : { body }) }
    network.inject(serialize(Dialog.respond(request, status, "R", "trunk", content)), trunk, us)
    network.run(10)
  }
  const credentials = (method: string): ReadonlyArray<string | undefined> =>
    sent(method).map((each) => Message.header(each, "authorization"))
  return { network, node, sent, answer, credentials }
}

/** A call of ours that the trunk has challenged once and answered. */
const answered = () => {
  const parts = setUp()
  dial(parts.network, parts.node, { ...parts.node, address: trunk }, account)
  parts.answer("INVITE", 401, [challenge("n")])
  parts.answer("INVITE", 200, [], sdp(5000))
  return parts
}

describe("Credentials for a trunk", () => {
  it("are given up after three INVITEs, when the trunk calls each nonce too old", () => {
    const { answer, network, node, sent } = setUp()
    dial(network, node, { ...node, address: trunk }, account)
    for (let tries = 0; tries < 4; tries++) answer("INVITE", 401, [challenge(`n${tries}`, true)])
    network.run(1000)
    expect(sent("INVITE")).toHaveLength(4)
    expect(node.events).toMatchObject([["call", { _tag: "Refused", status: 401 }]])
  })

  it("are given up after three requests in a call, and counted for each nonce", () => {
    const { answer, credentials, network, node } = answered()
    network.perform(node, node.agent.command("call", { _tag: "Info", digit: "1" }, network.now))
    for (let tries = 0; tries < 4; tries++) answer("INFO", 401, [challenge("n", true)])
    network.run(400)
    const count = (value: string | undefined) => /nc=(\d+)/.exec(value ?? "")?.[1]
    expect(credentials("INVITE").map(count)).toEqual([undefined, "00000001"])
    expect(credentials("INFO").map(count)).toEqual([undefined, "00000002", "00000003", "00000004"])
    network.perform(node, node.agent.command("call", { _tag: "Info", digit: "2" }, network.now))
    answer("INFO", 401, [challenge("other")])
    expect(count(credentials("INFO").at(-1))).toBe("00000001")
  })

  it("of the INVITE are in the ACK of its 2xx, also when it is sent again (RFC 3261, 13.2.2.4)", () => {
    const { answer, credentials } = answered()
    const [, invite] = credentials("INVITE")
    expect(invite).toContain("Digest")
    answer("INVITE", 200, [], sdp(5000))
    expect(credentials("ACK")).toEqual([undefined, invite, invite])
  })

  it("of the INVITE are in the ACK that declines a second phone", () => {
    const { credentials, network, sent } = answered()
    const [, request] = sent("INVITE")
    if (request === undefined) throw new Error("no second INVITE")
    const fork = Dialog.respond(request, 200, "R", "other", { headers: [contact], body: sdp(5002) })
    network.inject(serialize(fork), trunk, us)
    network.run(10)
    expect(credentials("ACK").at(-1)).toBe(credentials("INVITE")[1])
    expect(credentials("BYE")).toEqual([undefined])
  })

  it("of its account answer the challenge to our BYE in a call of a trunk, and none do in other calls", () => {
    for (const own of [account, undefined]) {
      const { answer, credentials, network, node } = setUp()
      const caller = network.node("192.0.2.30")
      dial(network, caller, node)
      network.run(10)
      const call = node.incoming[0]?.call ?? ""
      network.perform(node, node.agent.command(call, { _tag: "Answer", sdp: sdp(5000), account: own }, network.now))
      network.run(10)
      network.fate = (message) => (message._tag === "Request" && message.method === "BYE" ? [] : [1])
      network.perform(node, node.agent.command(call, { _tag: "Hangup", reason: "done" }, network.now))
      answer("BYE", 401, [challenge("n")])
      expect(credentials("BYE").length).toBe(own === undefined ? 1 : 2)
      if (own !== undefined) expect(credentials("BYE")[1]).toContain('username="u"')
    }
  })
})
