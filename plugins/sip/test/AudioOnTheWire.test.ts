import * as os from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect, Fiber } from "effect"
import { until } from "./BaresipPhone.ts"
import { answerNext, PeerCall, telephonyOf, toneFrame } from "./PeerCall.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"

const rtpPorts = "34400-34499"

interface Packet {
  readonly type: number
  readonly isMarked: boolean
  readonly sequence: number
  readonly timestamp: number
  readonly payload: Buffer
}

const packetOf = (bytes: Buffer): Packet => ({
  type: bytes.readUInt8(1) & 0x7f,
  isMarked: bytes.readUInt8(1) > 0x7f,
  sequence: bytes.readUInt16BE(2),
  timestamp: bytes.readUInt32BE(4),
  payload: bytes.subarray(12)
})

/** A phone that calls us with these media lines after its `m=`, is answered, and sends and gets RTP as a test says. */
const phoneCall = (formats: string, ...lines: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { port, telephony } = yield* telephonyOf({ rtpPorts })
    const phone = yield* scriptedTrunk(port)
    const packets: Array<Packet> = []
    phone.rtp.on("message", (bytes) => packets.push(packetOf(bytes)))
    const media = `m=audio ${phone.rtp.address().port} RTP/AVP ${formats}`
    const head = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0"]
    const answering = yield* Effect.fork(answerNext(telephony))
    phone.send({
      _tag: "Request",
      method: "INVITE",
      uri: `sip:+12025550100@127.0.0.1:${port}`,
      headers: [
        { name: "via", value: `SIP/2.0/UDP 127.0.0.1:${phone.port};branch=z9hG4bKinvite` },
        { name: "max-forwards", value: "70" },
        { name: "from", value: "<sip:phone@127.0.0.1>;tag=phone" },
        { name: "to", value: `<sip:+12025550100@127.0.0.1:${port}>` },
        { name: "call-id", value: "audio-on-the-wire" },
        { name: "cseq", value: "1 INVITE" },
        { name: "contact", value: `<sip:phone@127.0.0.1:${phone.port}>` },
        { name: "content-type", value: "application/sdp" }
      ],
      body: Buffer.from(`${[...head, media, ...lines].join("\r\n")}\r\n`)
    })
    const response = yield* phone.response("INVITE")
    phone.acknowledge(response, 1)
    const call = yield* Fiber.join(answering)
    const events: Array<Extract<CallEvent, { readonly _tag: "Audio" }>> = []
    call.leg.listen((event) => {
      if (event._tag === "Audio") events.push({ ...event, payload: new Uint8Array(event.payload) })
    })
    const answer = Buffer.from(response.body).toString()
    const rtpPort = Number(/^m=audio (\d+) /m.exec(answer)?.[1])
    let [sequence, timestamp] = [0, 0]
    const send = (type: number, payload: Uint8Array, samples = payload.length): void => {
      const bytes = Buffer.alloc(12 + payload.length)
      bytes.writeUInt8(0x80, 0)
      bytes.writeUInt8(type, 1)
      bytes.writeUInt16BE(++sequence, 2)
      bytes.writeUInt32BE(timestamp, 4)
      bytes.writeUInt32BE(99, 8)
      bytes.set(payload, 12)
      timestamp += samples
      phone.rtp.send(bytes, rtpPort, "127.0.0.1")
    }
    return { answer, call, events, packets, send }
  })

/** Some ms of the tone. */
const toneOf = (ms: number): Buffer =>
  Buffer.concat(Array.from({ length: Math.ceil(ms / 20) }, () => toneFrame)).subarray(0, ms * 8)

describe("The audio of a call", () => {
  for (const ms of [10, 30, 40, 60]) {
    it.scopedLive(`is sent and taken in packets of ${ms} ms, whole and in order`, () =>
      Effect.gen(function* () {
        const { answer, call, events, packets, send } = yield* phoneCall("0", `a=ptime:${ms}`)
        expect(answer).toContain(`a=ptime:${ms}\r\n`)
        for (let count = 0; count < 6; count++) send(0, toneOf(ms))
        yield* until("its audio", () => events.length === 6)
        expect(events.map(({ payload }) => Buffer.from(payload).equals(toneOf(ms)))).not.toContain(false)
        expect(events.map(({ timestamp }) => timestamp)).toEqual([0, 1, 2, 3, 4, 5].map((count) => count * ms * 8))
        yield* call.playTone
        yield* until("our audio", () => packets.length >= 6)
        // The first packet of a call is silence.
        const [first, ...sent] = packets
        for (const packet of sent) {
          expect([packet.type, packet.payload.equals(toneOf(ms))]).toEqual([0, true])
        }
        expect(first?.payload.length).toBe(ms * 8)
        for (const [index, packet] of sent.entries()) {
          const before = packets[index]
          if (before === undefined) return expect.fail("there is no packet before")
          expect((packet.sequence - before.sequence) & 0xffff).toBe(1)
          // Without a pause the timestamps follow the audio.
          if (!packet.isMarked) expect((packet.timestamp - before.timestamp) >>> 0).toBe(ms * 8)
        }
      })
    )
  }

  it.scopedLive("has comfort noise both ways in silence, where the phone offers it (RFC 3389)", () =>
    Effect.gen(function* () {
      const { answer, call, events, packets, send } = yield* phoneCall("0 13")
      expect(answer).toMatch(/^m=audio \d+ RTP\/AVP 0 13\r$/m)
      send(0, toneOf(20))
      send(13, Uint8Array.of(70), 4000)
      send(0, toneOf(20))
      yield* until("the audio after the noise", () => events.length === 3)
      // The packet of noise has no audio, its number is not missing, and the audio after it has its own time.
      expect(events.map(({ payload, timestamp }) => [payload.length, timestamp])).toEqual([
        [160, 0],
        [0, 160],
        [160, 4160]
      ])
      expect(call.leg.quality?.()).toMatchObject({ packetsLost: 0 })
      call.leg.send(toneFrame)
      yield* until("our audio", () => packets.some(({ type }) => type === 0))
      yield* until("our noise after it", () => packets.at(-1)?.type === 13)
      expect(packets.at(-1)?.payload.length).toBe(1)
      call.leg.send(toneFrame)
      yield* until("audio after it", () => packets.at(-1)?.type === 0)
      expect(packets.at(-1)?.isMarked).toBe(true)
    })
  )

  it.scopedLive("has no comfort noise of ours where the phone has none, and takes what it sends nevertheless", () =>
    Effect.gen(function* () {
      const { answer, call, events, packets, send } = yield* phoneCall("0")
      expect(answer).toMatch(/^m=audio \d+ RTP\/AVP 0\r$/m)
      send(13, Uint8Array.of(70), 160)
      send(0, toneOf(20))
      yield* until("the audio", () => events.length === 2)
      expect(call.leg.quality?.()).toMatchObject({ packetsLost: 0 })
      call.leg.send(toneFrame)
      yield* until("ours", () => packets.length >= 2)
      expect(packets.map(({ type }) => type)).not.toContain(13)
    })
  )
})

const hasIpv6 = Object.values(os.networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"))

describe.skipIf(!hasIpv6)(hasIpv6 ? "A call over IPv6" : "this machine has no IPv6: its tests were not run", () => {
  for (const transports of ["udp", "tcp"]) {
    it.scopedLive(`has audio and digits both ways, and is ended: ${transports}`, () =>
      Effect.gen(function* () {
        const server = yield* telephonyOf({ bind: "[::1]:0", transports, rtpPorts: "34500-34549" })
        const client = yield* telephonyOf({
          bind: "[::1]:0",
          transports,
          rtpPorts: "34550-34599",
          trunkUri: `sip:[::1]:${server.port};transport=${transports}`
        })
        expect(server.logged.map(({ message }) => message)).toContain(`SIP on [::1]:${server.port}`)
        const { outbound } = client.telephony
        if (outbound === undefined) return expect.fail("there is no way to place calls")
        const calling = yield* Effect.fork(
          outbound.dial({ callId: "one", to: "+4930", from: "+4989", formats: legFormats })
        )
        const called = yield* answerNext(server.telephony)
        const caller = new PeerCall(yield* Fiber.join(calling))
        yield* called.playTone
        yield* caller.playTone
        yield* until("audio both ways", () => called.sounding > 2 && caller.sounding > 2)
        caller.leg.sendDtmf?.("5")
        yield* until("the digit", () => called.digits === "5")
        called.leg.hangup("done")
        yield* until("the end", () => caller.ending !== undefined)
      })
    )
  }
})
