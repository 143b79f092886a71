import { describe, expect, it } from "@effect/vitest"
import * as Dialog from "../../src/dialog/Dialog.ts"
import { serialize as serialized } from "../../src/message/Serializer.ts"
import * as Uri from "../../src/message/Uri.ts"
import { dial, sdp, VirtualNetwork } from "./VirtualNetwork.ts"

const dialogWith = (...routes: ReadonlyArray<string>): Dialog.Dialog => ({
  callId: "c",
  localTag: "l",
  remoteTag: "r",
  local: "<sip:us@192.0.2.1>;tag=l",
  remote: "<sip:phone@192.0.2.9>;tag=r",
  localNumber: 1,
  remoteNumber: undefined,
  target: "sip:phone@192.0.2.9",
  routes
})

const goesTo = (...routes: ReadonlyArray<string>) => {
  const [, request] = Dialog.request(dialogWith(...routes), "BYE")
  const hop = Dialog.nextHop(request)
  return [
    request.uri,
    request.headers.flatMap(({ name, value }) => (name === "route" ? [value] : [])),
    hop === undefined ? undefined : Uri.text(hop)
  ]
}

describe("A request in a dialog", () => {
  it("goes to the strict router that is first, which is its Request-URI (RFC 3261, 8.1.2 and 12.2.1.1)", () => {
    expect(goesTo("<sip:192.0.2.3>")).toEqual(["sip:192.0.2.3", ["<sip:phone@192.0.2.9>"], "sip:192.0.2.3"])
    expect(goesTo("<sip:192.0.2.3>", "<sip:192.0.2.4;lr>")).toEqual([
      "sip:192.0.2.3",
      ["<sip:192.0.2.4;lr>", "<sip:phone@192.0.2.9>"],
      "sip:192.0.2.3"
    ])
  })

  it("goes to the loose router that is first, also before a strict one, and without routes to its target", () => {
    expect(goesTo("<sip:192.0.2.3;lr>", "<sip:192.0.2.4>")).toEqual([
      "sip:phone@192.0.2.9",
      ["<sip:192.0.2.3;lr>", "<sip:192.0.2.4>"],
      "sip:192.0.2.3;lr"
    ])
    expect(goesTo()).toEqual(["sip:phone@192.0.2.9", [], "sip:phone@192.0.2.9"])
  })

  it("goes to the strict router after the ACK too, and when it is sent again with credentials", () => {
    const [us, phone, router] = ["192.0.2.10", "192.0.2.20", "192.0.2.30"]
    const network = new VirtualNetwork()
    const caller = network.node(us)
    const others: Array<readonly [string, string]> = []
    // What we send is read where it is located.
    const perform = network.perform.bind(network)
    network.perform = (node, effects) => {
      for (const effect of effects) {
        const hop = effect._tag === "Locate" ? Dialog.nextHop(effect.request) : undefined
        if (effect._tag === "Locate" && hop?._tag === "Sip") others.push([effect.request.method, hop.host])
      }
      perform(node, effects)
    }
    dial(network, caller, { ...caller, address: phone }, { username: "u", password: "p" })
    const answer = (method: string, status: number, headers: Dialog.Content["headers"] = [], body?: Uint8Array) => {
      const request = network.messages.findLast((each) => each._tag === "Request" && each.method === method)
      if (request?._tag !== "Request") throw new Error(`no ${method}`)
      const response = Dialog.respond(request, status, "R", "phone", {
        headers,
        ...(body === undefined ? {} : { body })
      })
      network.perform(
        caller,
        caller.agent.receive(serialized(response), { transport: "udp", address: phone, port: 5060 }, network.now)
      )
    }
    answer(
      "INVITE",
      200,
      [
        { name: "record-route", value: `<sip:${router}>` },
        { name: "contact", value: `<sip:phone@${phone}>` },
        { name: "content-type", value: "application/sdp" }
      ],
      sdp(5000)
    )
    network.perform(caller, caller.agent.command("call", { _tag: "Hangup", reason: "done" }, network.now))
    answer("BYE", 401, [{ name: "www-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }])
    expect(others).toEqual([
      ["INVITE", phone],
      ["ACK", router],
      ["BYE", router],
      ["BYE", router]
    ])
  })
})
