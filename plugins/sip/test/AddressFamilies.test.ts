import { networkInterfaces } from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Fiber, Option, Stream } from "effect"
import * as Message from "../src/message/Message.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { type Trunk, withTrunkCall } from "./TrunkCall.ts"

const rtpPorts = "32600-32699"

const inIpv6 = (sdp: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(sdp).toString().replaceAll("IN IP4 127.0.0.1", "IN IP6 ::1"))

const type = { name: "content-type", value: "application/sdp" }

const invite = (caller: Trunk, port: number, body: Uint8Array): void =>
  caller.send({
    _tag: "Request",
    method: "INVITE",
    uri: `sip:+4930@127.0.0.1:${port}`,
    headers: [
      { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${caller.port};branch=z9hG4bKfamily` },
      { name: "from", value: "<sip:+4989@127.0.0.1>;tag=a" },
      { name: "to", value: "<sip:+4930@127.0.0.1>" },
      { name: "contact", value: `<sip:127.0.0.1:${caller.port}>` },
      { name: "call-id", value: "family" },
      { name: "cseq", value: "1 INVITE" },
      type
    ],
    body
  })

/** An address of this machine in another network than the loopback; where there is none, one of documentation. */
const otherAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "192.0.2.5"

describe("A session description with an address of another network of ours", () => {
  it.scopedLive("in an INVITE is answered with the address that the signaling reaches, on SVC_SIP_BIND 0.0.0.0", () =>
    Effect.gen(function* () {
      const { port, telephony } = yield* telephonyOf({ rtpPorts, bind: "0.0.0.0:0" })
      const caller = yield* scriptedTrunk(port)
      const incoming = yield* Effect.fork(Stream.runHead(telephony.incoming))
      invite(caller, port, Buffer.from(caller.sdp.toString().replaceAll("127.0.0.1", otherAddress())))
      const call = Option.getOrThrow(yield* Fiber.join(incoming))
      yield* call.answer({ callId: "c", formats: legFormats })
      const ok = yield* caller.response("INVITE")
      expect(Buffer.from(ok.body).toString()).toContain("c=IN IP4 127.0.0.1")
    })
  )
})

describe("A session description of the other family", () => {
  it.scopedLive("in an INVITE gets 488 with Warning 301 (RFC 3261, 20.43), and the log names both families", () =>
    Effect.gen(function* () {
      const { logged, port } = yield* telephonyOf({ rtpPorts })
      const caller = yield* scriptedTrunk(port)
      invite(caller, port, inIpv6(caller.sdp))
      const refusal = yield* caller.response("INVITE")
      expect(refusal.status).toBe(488)
      expect(Message.header(refusal, "warning")).toBe('301 svc "Incompatible network address formats"')
      const line = logged.map(({ message }) => message).find((each) => each.includes("refused with 488"))
      expect(line).toContain("it offers audio at ::1 (IPv6), and ours is IPv4")
    })
  )

  it.live("in a re-INVITE gets 488 with Warning 301, and the call goes on as before", () =>
    withTrunkCall(({ ask, reinvite, trunk }) =>
      Effect.gen(function* () {
        const refusal = yield* ask("INVITE", { headers: [type], body: inIpv6(trunk.sdp) })
        expect(refusal.status).toBe(488)
        expect(Message.header(refusal, "warning")).toBe('301 svc "Incompatible network address formats"')
        expect(yield* reinvite()).toMatchObject({ status: 200 })
      })
    )
  )

  it.scopedLive("in the answer to our call ends it with ACK and BYE, and the failure says why, without a status", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const { logged, telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${trunk.port}` })
      const { outbound } = telephony
      if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
      const answeredWith = (body: Uint8Array | undefined) =>
        Effect.gen(function* () {
          const dialling = outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats: legFormats })
          const call = yield* Effect.fork(Effect.flip(dialling))
          trunk.respond(yield* trunk.request("INVITE"), 200, [], body)
          yield* trunk.request("ACK")
          trunk.respond(yield* trunk.request("BYE"), 200)
          return yield* Fiber.join(call)
        })
      const wrongFamily = yield* answeredWith(inIpv6(trunk.sdp))
      expect(wrongFamily.reason).toContain("the trunk answered 200 with audio at ::1 (IPv6), and ours is IPv4")
      expect([wrongFamily.outcome, wrongFamily.code]).toEqual(["failed", undefined])
      const none = yield* answeredWith(undefined)
      expect(none.reason).toBe("the trunk answered 200 with no session description")
      expect(none.code).toBeUndefined()
      const lines = logged.map(({ message }) => message)
      expect(lines.filter((each) => each.includes("the trunk answered 200 with"))).toHaveLength(2)
    })
  )
})
