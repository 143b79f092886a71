import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { CallEvent } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import * as Message from "../src/message/Message.ts"
import { PeerCall, telephonyOf } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

const type = { name: "content-type", value: "application/sdp" }

const setUp = Effect.gen(function* () {
  const { logged, port, telephony } = yield* telephonyOf({ rtpPorts: "32700-32799" })
  const caller = yield* scriptedTrunk(port)
  const send = (method: string, number: number, to: string, headers: Message.Headers, body = Message.noBody): void =>
    caller.send({
      _tag: "Request",
      method,
      uri: `sip:+4930@127.0.0.1:${port}`,
      headers: [
        { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${caller.port};branch=z9hG4bK${method}${number}` },
        { name: "from", value: "<sip:+4989@127.0.0.1>;tag=a" },
        { name: "to", value: to },
        { name: "contact", value: `<sip:127.0.0.1:${caller.port}>` },
        { name: "call-id", value: "early" },
        { name: "cseq", value: `${number} ${method}` },
        ...headers
      ],
      body
    })
  const incoming = yield* Effect.fork(Stream.runHead(telephony.incoming))
  send("INVITE", 1, "<sip:+4930@127.0.0.1>", [{ name: "require", value: "100rel" }])
  const call = Option.getOrThrow(yield* Fiber.join(incoming))
  call.ringing("c")
  const ringing = yield* caller.next.pipe(
    Effect.repeat({ until: (each) => each._tag === "Response" && each.status === 180 })
  )
  const prack = (body: Uint8Array) => {
    const rack = { name: "rack", value: `${Message.header(ringing, "rseq")} 1 INVITE` }
    send("PRACK", 2, Message.header(ringing, "to") ?? "", [rack, type], body)
    return caller.response("PRACK")
  }
  const bye = () => {
    send("BYE", 2, Message.header(ringing, "to") ?? "", [])
    return caller.response("BYE")
  }
  return { bye, call, caller, logged, prack, ringing }
})

describe("A caller that requires 100rel and has no offer", () => {
  it.scopedLive(
    "gets ours with 180, answers it in PRACK, and the call has audio after a 200 without a description",
    () =>
      Effect.gen(function* () {
        const { call, caller, prack, ringing } = yield* setUp
        expect(Buffer.from(ringing.body).toString()).toContain("m=audio 32")
        expect(yield* prack(caller.sdp)).toMatchObject({ status: 200 })
        const leg = yield* call.answer({ callId: "c", formats: legFormats })
        const ok = yield* caller.response("INVITE")
        expect([ok.status, ok.body.length]).toEqual([200, 0])
        const packet = yield* Effect.fork(
          Effect.async<Buffer>((resume) => {
            caller.rtp.once("message", (bytes) => resume(Effect.succeed(bytes)))
          })
        )
        caller.acknowledge(ok, 1)
        yield* caller.ping
        leg.send(new Uint8Array(160).fill(0x55))
        expect((yield* Fiber.join(packet)).length).toBeGreaterThan(12)
      })
  )

  it.scopedLive(
    "whose answer in PRACK has no codec of ours gets 488 with Warning 305, and answer fails with the cause",
    () =>
      Effect.gen(function* () {
        const { call, caller, logged, prack } = yield* setUp
        yield* prack(Buffer.from(caller.sdp.toString().replace("RTP/AVP 8", "RTP/AVP 18")))
        const refusal = yield* caller.response("INVITE")
        expect([refusal.status, Message.header(refusal, "warning")]).toEqual([
          488,
          '305 svc "Incompatible media format: G729"'
        ])
        expect(logged.map(({ message }) => message).find((each) => each.includes("refused with 488"))).toContain(
          "from 127.0.0.1 was refused with 488, because the answer in the PRACK has RTP/AVP with G729"
        )
        // Only a caller who hangs up has canceled.
        const canceled = yield* Effect.fork(call.canceled)
        expect(yield* Effect.flip(call.answer({ callId: "c", formats: legFormats }))).toMatchObject({
          failed: true,
          reason: expect.stringContaining("G729")
        })
        expect(canceled.unsafePoll()).toBeNull()
      })
  )

  it.scopedLive("and whose PRACK has no answer gets 400, and answer fails with the cause", () =>
    Effect.gen(function* () {
      const { call, caller, prack } = yield* setUp
      yield* prack(Message.noBody)
      expect(yield* caller.response("INVITE")).toMatchObject({ status: 400 })
      expect(yield* Effect.flip(call.answer({ callId: "c", formats: legFormats }))).toMatchObject({
        failed: true,
        reason: "the PRACK has no answer to our offer"
      })
    })
  )

  it.scopedLive("is put on hold at once by a PRACK that comes after our answer", () =>
    Effect.gen(function* () {
      const { call, caller, prack } = yield* setUp
      const peer = new PeerCall(yield* call.answer({ callId: "c", formats: legFormats }))
      yield* prack(Buffer.concat([caller.sdp, Buffer.from("a=sendonly\r\n")]))
      expect(peer.events).toEqual(["Media", "Hold"])
    })
  )

  it.scopedLive("fails with the cause when a PRACK after our answer has no codec of ours", () =>
    Effect.gen(function* () {
      const { call, caller, prack } = yield* setUp
      const peer = new PeerCall(yield* call.answer({ callId: "c", formats: legFormats }))
      yield* prack(Buffer.from(caller.sdp.toString().replace("RTP/AVP 8", "RTP/AVP 18")))
      expect(peer.ending).toMatchObject({
        cause: "failed",
        reason: expect.stringContaining("the answer in the PRACK has RTP/AVP with G729")
      })
    })
  )

  it.scopedLive("and hangs up after our answer and before its PRACK ends the call as a hang-up", () =>
    Effect.gen(function* () {
      const { bye, call } = yield* setUp
      const ended = yield* Deferred.make<CallEvent>()
      const leg = yield* call.answer({ callId: "c", formats: legFormats })
      leg.listen((event) => {
        if (event._tag === "Ended") Deferred.unsafeDone(ended, Effect.succeed(event))
      })
      yield* bye()
      expect(yield* Deferred.await(ended)).toMatchObject({ cause: "hangup" })
    })
  )
})
