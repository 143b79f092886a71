import { describe, expect, it } from "@effect/vitest"
import * as Message from "../../src/message/Message.ts"
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
})
