import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Option, Stream } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import type * as Message from "../src/message/Message.ts"
import { telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

type Service = typeof Telephony.Service

/** The codecs that `svc sip status` lists. */
const listed = ({ routes }: Service) =>
  Effect.gen(function* () {
    const route = routes.find(({ path }) => path === "/status")
    if (route?._tag !== "Http") return yield* Effect.dieMessage("there is no route for the status")
    const { body } = yield* route.handle({
      method: "GET",
      path: "/status",
      query: new URLSearchParams(),
      headers: {},
      body: new Uint8Array(),
      params: {},
      remoteAddress: "127.0.0.1"
    })
    return JSON.parse(String(body)).calls.map(({ codec }: { readonly codec: unknown }) => codec)
  })

const described = (payloadType: number): Buffer =>
  Buffer.from(
    `v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP ${payloadType}\r\n`
  )

const typed = { name: "content-type", value: "application/sdp" }

describe("The codec of a line", () => {
  it.scopedLive("is the one of the last negotiation, while the leg keeps its format", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk()
      const trunkUri = `sip:127.0.0.1:${trunk.port}`
      const { telephony } = yield* telephonyOf({ trunkUri, rtpPorts: "36400-36449", codecs: "PCMA,PCMU" })
      const { outbound } = telephony
      if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
      const call = yield* Effect.fork(outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats: legFormats }))
      const invite = yield* trunk.request("INVITE")
      trunk.respond(invite, 200, [], described(8))
      const leg = yield* Effect.orDie(Fiber.join(call))
      yield* trunk.request("ACK")
      expect([leg.format.encoding, leg.quality?.().codec]).toEqual(["alaw", "PCMA"])
      const [dialog, request] = Dialog.request(Dialog.ofInvite(invite, "trunk"), "INVITE", {
        headers: [typed],
        body: described(0)
      })
      const via = { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunk.port};branch=z9hG4bKpcmu` }
      trunk.send({ ...request, headers: [via, ...request.headers] })
      trunk.acknowledge(yield* trunk.response("INVITE"), dialog.localNumber)
      expect([leg.format.encoding, leg.quality?.().codec]).toEqual(["alaw", "PCMU"])
      expect(yield* listed(telephony)).toEqual(["PCMU"])
      leg.hangup("done")
      expect(leg.quality?.().codec).toBe("PCMU")
    })
  )

  it.scopedLive("of a call without an offer is known when the ACK has its answer", () =>
    Effect.gen(function* () {
      const { port, telephony } = yield* telephonyOf({ rtpPorts: "36450-36499", codecs: "PCMA,PCMU" })
      const trunk = yield* scriptedTrunk(port)
      const headers = (method: string, branch: string, tag = ""): Message.Headers => [
        { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunk.port};branch=z9hG4bK${branch}` },
        { name: "from", value: "<sip:+4930@127.0.0.1>;tag=trunk" },
        { name: "to", value: `<sip:+4989@127.0.0.1>${tag}` },
        { name: "call-id", value: "late-offer" },
        { name: "cseq", value: `1 ${method}` },
        { name: "contact", value: `<sip:trunk@127.0.0.1:${trunk.port}>` }
      ]
      const uri = `sip:+4989@127.0.0.1:${port}`
      const body = new Uint8Array()
      const answering = yield* Effect.fork(
        telephony.incoming.pipe(
          Stream.runHead,
          Effect.map(Option.getOrThrow),
          Effect.flatMap((incoming) => incoming.answer({ callId: incoming.id, formats: legFormats }))
        )
      )
      trunk.send({ _tag: "Request", method: "INVITE", uri, headers: headers("INVITE", "late"), body })
      const leg = yield* Fiber.join(answering)
      const ok = yield* trunk.response("INVITE")
      expect([leg.quality?.().codec, yield* listed(telephony)]).toEqual([null, [null]])
      const to = ok.headers.find(({ name }) => name === "to")?.value ?? ""
      const tag = /;tag=.*$/.exec(to)?.[0] ?? ""
      const ack = [...headers("ACK", "ack", tag), typed]
      trunk.send({ _tag: "Request", method: "ACK", uri, headers: ack, body: described(0) })
      yield* trunk.ping
      expect([leg.quality?.().codec, yield* listed(telephony)]).toEqual(["PCMU", ["PCMU"]])
    })
  )
})
