import { describe, expect, it } from "@effect/vitest"
import { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Redacted } from "effect"
import * as Message from "../src/message/Message.ts"
import type { Settings } from "../src/Settings.ts"
import { answerNext } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"

const port = 25_980
const trunkPort = 25_990
const settings = { rtpPorts: "25900-25919", trunkUsername: "user", trunkPassword: Redacted.make("secret") }

/** A call from the trunk, answered and not yet acknowledged. */
const answered = (hasOffer: boolean) =>
  Effect.gen(function* () {
    const trunk = yield* scriptedTrunk(port, trunkPort)
    const call = yield* Effect.fork(answerNext(yield* Telephony))
    const typed = { name: "content-type", value: "application/sdp" }
    const invite: Message.Request = {
      _tag: "Request",
      method: "INVITE",
      uri: `sip:+4930@127.0.0.1:${port}`,
      headers: [
        { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunkPort};branch=z9hG4bKinvite` },
        { name: "max-forwards", value: "70" },
        { name: "from", value: "<sip:+4989@127.0.0.1>;tag=trunk" },
        { name: "to", value: "<sip:+4930@127.0.0.1>" },
        { name: "call-id", value: "from-the-trunk" },
        { name: "cseq", value: "1 INVITE" },
        { name: "contact", value: `<sip:trunk@127.0.0.1:${trunkPort}>` },
        ...(hasOffer ? [typed] : [])
      ],
      body: hasOffer ? trunk.sdp : Message.noBody
    }
    trunk.send(invite)
    const ok = yield* trunk.response("INVITE")
    const peer = yield* Fiber.join(call)
    return { ok, peer, trunk }
  })

/** The trunk of a call whose BYE was challenged. */
const challenged = Effect.gen(function* () {
  const { ok, peer, trunk } = yield* answered(true)
  trunk.acknowledge(ok, 1)
  yield* trunk.ping
  peer.leg.hangup("done")
  const first = yield* trunk.request("BYE")
  trunk.respond(first, 407, [{ name: "proxy-authenticate", value: 'Digest realm="r", nonce="n", qop="auth"' }])
  return trunk
})

/** A request outside of calls, which is answered at once. */
const options: Message.Request = {
  _tag: "Request",
  method: "OPTIONS",
  uri: `sip:127.0.0.1:${port}`,
  headers: [
    { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunkPort};branch=z9hG4bKafter` },
    { name: "from", value: "<sip:trunk@127.0.0.1>;tag=after" },
    { name: "to", value: "<sip:127.0.0.1>" },
    { name: "call-id", value: "after" },
    { name: "cseq", value: "1 OPTIONS" }
  ],
  body: Message.noBody
}

const withPlugin = (given: Partial<Settings>) => Effect.provide(plugin(port, { ...settings, ...given }))

describe("A call from a trunk", () => {
  it.live("gets our credentials for its challenge to our BYE", () =>
    Effect.gen(function* () {
      const trunk = yield* challenged
      const second = yield* trunk.request("BYE")
      expect(Message.header(second, "proxy-authorization")).toContain('username="user"')
      trunk.respond(second, 200)
    }).pipe(Effect.scoped, withPlugin({ trunkUri: `sip:127.0.0.1:${trunkPort}` }))
  )

  it.live("gets none when its address is not that of the trunk", () =>
    Effect.gen(function* () {
      const trunk = yield* challenged
      // A second BYE would come before the response to this.
      trunk.send(options)
      expect(yield* trunk.next).toMatchObject({ _tag: "Response" })
    }).pipe(Effect.scoped, withPlugin({ trunkUri: "sip:127.0.0.2:5060" }))
  )

  it.live("ends when the offer was ours and its ACK has no answer, and the ending has no status", () =>
    Effect.gen(function* () {
      const { ok, peer, trunk } = yield* answered(false)
      expect(Buffer.from(ok.body).toString()).toContain("m=audio")
      trunk.acknowledge(ok, 1)
      yield* trunk.request("BYE")
      expect(peer.ending).toEqual({ _tag: "Ended", cause: "failed", reason: "the ACK has no answer to our offer" })
    }).pipe(Effect.scoped, withPlugin({ trunkUri: `sip:127.0.0.1:${trunkPort}` }))
  )
})

describe("A call to a trunk whose URI names its transport", () => {
  it.live("has no transport parameter in To", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const { outbound } = yield* Telephony
      const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const
      yield* Effect.fork(outbound?.dial({ callId: "c", to: "+4930", from: "+4989", formats }) ?? Effect.void)
      const invite = yield* trunk.request("INVITE")
      expect(Message.header(invite, "to")).toBe(`<sip:+4930@127.0.0.1:${trunkPort}>`)
      expect(invite.uri).toBe(`sip:+4930@127.0.0.1:${trunkPort};transport=udp`)
      trunk.respond(invite, 603)
    }).pipe(Effect.scoped, withPlugin({ trunkUri: `sip:127.0.0.1:${trunkPort};transport=udp` }))
  )
})
