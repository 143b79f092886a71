import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Fiber } from "effect"
import * as Dialog from "../src/dialog/Dialog.ts"
import { RtpPacket, writeRtpHeader } from "../src/rtp/RtpPacket.ts"
import { keysOf, readCrypto, writeCrypto } from "../src/rtp/SdesCrypto.ts"
import { SrtpReceiver } from "../src/rtp/SrtpReceiver.ts"
import { SrtpSender } from "../src/rtp/SrtpSender.ts"
import type { Encryption } from "../src/sdp/Negotiation.ts"
import { until } from "./BaresipPhone.ts"
import { answerNext, PeerCall, telephonyOf, toneFrame } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

/** A call from one server to another, each with its setting. */
const called = (ours: Encryption, theirs: Encryption) =>
  Effect.gen(function* () {
    const server = yield* telephonyOf({ srtp: theirs, rtpPorts: "34000-34049" })
    const client = yield* telephonyOf({
      srtp: ours,
      rtpPorts: "34050-34099",
      trunkUri: `sip:127.0.0.1:${server.port}`
    })
    const { outbound } = client.telephony
    if (outbound === undefined) return yield* Effect.dieMessage("there is no way to place calls")
    const calling = yield* Effect.fork(
      outbound.dial({ callId: "one", to: "+4930", from: "+4989", formats: legFormats })
    )
    return { calling, server }
  })

describe("Calls with SRTP", () => {
  for (const [ours, theirs] of [
    ["required", "required"],
    ["required", "optional"],
    ["optional", "required"],
    ["optional", "off"],
    ["off", "optional"]
  ] as const) {
    it.scopedLive(`have audio and digits both ways: ${ours} calls ${theirs}`, () =>
      Effect.gen(function* () {
        const { calling, server } = yield* called(ours, theirs)
        const callee = yield* answerNext(server.telephony)
        const caller = new PeerCall(yield* Fiber.join(calling))
        yield* callee.playTone
        yield* caller.playTone
        yield* until("audio both ways", () => callee.sounding > 2 && caller.sounding > 2)
        caller.leg.sendDtmf?.("7")
        yield* until("the digit", () => callee.digits === "7")
      })
    )
  }

  it.scopedLive("do not come about where one side requires it and the other has it off", () =>
    Effect.gen(function* () {
      for (const [ours, theirs] of [
        ["required", "off"],
        ["off", "required"]
      ] as const) {
        const { calling } = yield* called(ours, theirs)
        expect(yield* Effect.flip(Fiber.join(calling))).toMatchObject({ _tag: "DialFailed", code: "488" })
      }
    })
  )

  it.scopedLive(
    "are encrypted with the keys of offer and answer, follow new keys in the call, and drop what has none",
    () =>
      Effect.gen(function* () {
        const trunk = yield* scriptedTrunk()
        const { telephony } = yield* telephonyOf({
          trunkUri: `sip:127.0.0.1:${trunk.port}`,
          rtpPorts: "34100-34149",
          srtp: "required",
          codecs: "PCMA"
        })
        const { outbound } = telephony
        if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
        const packets: Array<Buffer> = []
        trunk.rtp.on("message", (bytes) => packets.push(bytes))
        const calling = yield* Effect.fork(
          outbound.dial({ callId: "c", to: "+4930", from: "+4989", formats: legFormats })
        )
        const invite = yield* trunk.request("INVITE")
        const offer = Buffer.from(invite.body).toString()
        const theirs = readCrypto(/^a=crypto:(1 .*?)\r$/m.exec(offer)?.[1] ?? "")
        const rtpPort = Number(/^m=audio (\d+) RTP\/SAVP /m.exec(offer)?.[1])
        if (theirs === undefined) return expect.fail("there is no key in the offer")
        const describe = (digit: number) => {
          const keys = keysOf("AES_CM_128_HMAC_SHA1_80", new Uint8Array(30).fill(digit))
          const text = `a=crypto:${writeCrypto({ tag: 1, keys })}\r\n`
          return { keys, sdp: Buffer.from(trunk.sdp.toString().replace("RTP/AVP", "RTP/SAVP") + text) }
        }
        const first = describe(1)
        trunk.respond(invite, 200, [], first.sdp)
        const call = new PeerCall(yield* Fiber.join(calling))
        yield* trunk.request("ACK")
        const receiver = new SrtpReceiver(theirs.keys)
        yield* call.playTone
        /** What a packet of ours carries; undefined: it is not authentic. */
        const opened = (bytes: Buffer): Buffer | undefined => {
          const header = new RtpPacket()
          // Nothing of the tone can be read on the wire, and a tag follows it.
          expect([bytes.length, bytes.subarray(12, 172).equals(toneFrame)]).toEqual([182, false])
          if (!header.readHeader(bytes, bytes.length)) return undefined
          const end = receiver.unprotect(bytes, header)
          return end === 172 ? bytes.subarray(12, end) : undefined
        }
        const expectTone = (): void => {
          const payloads = packets.splice(0).map(opened)
          expect(payloads).not.toContain(undefined)
          // The first packet of a call is silence.
          expect(payloads.slice(1).every((payload) => payload?.equals(toneFrame))).toBe(true)
        }
        yield* until("encrypted audio", () => packets.length > 2)
        expectTone()

        let sequence = 0
        const send = (sender: SrtpSender | undefined): void => {
          const bytes = new Uint8Array(200)
          writeRtpHeader(bytes, 8, false, ++sequence, sequence * 160, 77)
          bytes.set(toneFrame, 12)
          trunk.rtp.send(bytes.subarray(0, sender?.protect(bytes, 172) ?? 172), rtpPort, "127.0.0.1")
        }
        const sender = new SrtpSender(first.keys)
        for (let count = 0; count < 5; count++) send(sender)
        yield* until("its audio", () => call.sounding === 5)

        const second = describe(2)
        const [dialog, reinvite] = Dialog.request(Dialog.ofInvite(invite, "trunk"), "INVITE", {
          headers: [{ name: "content-type", value: "application/sdp" }],
          body: second.sdp
        })
        const via = { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${trunk.port};branch=z9hG4bKkeys` }
        trunk.send({ ...reinvite, headers: [via, ...reinvite.headers] })
        const answer = yield* trunk.response("INVITE")
        expect(answer.status).toBe(200)
        trunk.acknowledge(answer, dialog.localNumber)
        // Our key stays, with its counters, as we have not moved.
        expect(Buffer.from(answer.body).toString()).toContain(`a=crypto:${writeCrypto(theirs)}\r\n`)
        const renewed = new SrtpSender(second.keys)
        send(sender)
        send(undefined)
        for (let count = 0; count < 5; count++) send(renewed)
        yield* until("audio under the new key", () => call.sounding >= 10)
        expect(call.sounding).toBe(10)
        yield* until("more encrypted audio", () => packets.length > 2)
        expectTone()

        // Without a description the offer is ours, with the key in use, and the answer with its key is in the ACK.
        const third = describe(3)
        const [last, empty] = Dialog.request(dialog, "INVITE")
        trunk.send({ ...empty, headers: [{ ...via, value: `${via.value}2` }, ...empty.headers] })
        const offered = yield* trunk.response("INVITE")
        const ours = Buffer.from(offered.body).toString()
        expect(ours).toContain(" RTP/SAVP ")
        expect(ours.match(/^a=crypto:.*/gm)).toEqual([`a=crypto:${writeCrypto(theirs)}`])
        const ack = Dialog.ack(last, last.localNumber, {
          headers: [{ name: "content-type", value: "application/sdp" }],
          body: third.sdp
        })
        trunk.send({ ...ack, headers: [{ ...via, value: `${via.value}3` }, ...ack.headers] })
        yield* trunk.ping
        const again = new SrtpSender(third.keys)
        for (let count = 0; count < 5; count++) send(again)
        yield* until("audio under the key of the ACK", () => call.sounding >= 15)
        expect(call.sounding).toBe(15)
      })
  )
})
