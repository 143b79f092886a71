import { describe, expect, it } from "@effect/vitest"
import { type DialProgress, Telephony } from "@svc/providers/Telephony"
import { Deferred, Effect, Fiber } from "effect"
import * as Message from "../src/message/Message.ts"
import * as Description from "../src/sdp/Description.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"

const port = 27_160
const trunkPort = 27_170

const packet = (sequence: number, value: number): Buffer => {
  const bytes = Buffer.alloc(172, value)
  bytes.writeUInt16BE(0x8008, 0)
  bytes.writeUInt16BE(sequence, 2)
  bytes.writeUInt32BE(sequence * 160, 4)
  bytes.writeUInt32BE(7, 8)
  return bytes
}

const formats = [{ encoding: "alaw", sampleRate: 8000 }] as const

const dialling = (progress: DialProgress = {}) =>
  Effect.gen(function* () {
    const { outbound } = yield* Telephony
    if (outbound === undefined) return yield* Effect.dieMessage("no trunk")
    return yield* outbound.dial(
      {
        callId: "c",
        to: "+4930",
        from: "+4989",
        formats,
        headers: { "X-Campaign": "7", v: "SIP/2.0/UDP 192.0.2.1", Subject: "s", "User-to-User": "56" }
      },
      progress
    )
  })

const withPlugin = Effect.provide(
  plugin(port, {
    trunkUri: `sip:127.0.0.1:${trunkPort}`,
    rtpPorts: "27200-27299"
  })
)

describe("A call through the trunk", () => {
  it.live("passes early media before the answer, and audio after it to the leg", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const early = yield* Deferred.make<number>()
      const rung = yield* Deferred.make<void>()
      const call = yield* Effect.fork(
        dialling({
          onRinging: () => Deferred.unsafeDone(rung, Effect.void),
          onEarlyMedia: (payload) => Deferred.unsafeDone(early, Effect.succeed(payload[0] ?? 0))
        })
      )
      const invite = yield* trunk.request("INVITE")
      expect(invite.uri).toBe(`sip:+4930@127.0.0.1:${trunkPort}`)
      expect(Message.header(invite, "from")).toContain("<sip:+4989@127.0.0.1")
      expect(Message.header(invite, "p-asserted-identity")).toContain("+4989")
      expect(Message.header(invite, "x-campaign")).toBe("7")
      expect(Message.header(invite, "user-to-user")).toBe("56")
      expect(Message.headers(invite, "subject")).toEqual([])
      expect(Message.headers(invite, "via")).toHaveLength(1)
      const offered = Description.parse(invite.body)?.sections[0]
      // Keys are not sent where others could read them.
      expect([offered?.protocol, offered?.crypto]).toEqual(["RTP/AVP", []])
      expect(offered?.codecs.map(({ name }) => name)).toEqual(["PCMA", "TELEPHONE-EVENT"])
      trunk.respond(invite, 180)
      yield* Deferred.await(rung)
      trunk.respond(invite, 183, [], trunk.sdp)
      // The description and the packets go to different sockets: more packets come until one is taken.
      let sequence = 0
      const sendOne = Effect.sync(() => trunk.rtp.send(packet(sequence++, 9), offered?.port ?? 0, "127.0.0.1"))
      yield* Effect.forkScoped(Effect.forever(Effect.zipRight(sendOne, Effect.sleep(20))))
      expect(yield* Deferred.await(early)).toBe(9)
      trunk.respond(invite, 200, [], trunk.sdp)
      const leg = yield* Fiber.join(call)
      expect(leg.carrierCallId).toBe(Message.callId(invite))
      const ack = yield* trunk.request("ACK")
      expect(ack.uri).toBe(`sip:trunk@127.0.0.1:${trunkPort}`)
      leg.hangup("done")
      trunk.respond(yield* trunk.request("BYE"), 200)
    }).pipe(Effect.scoped, withPlugin)
  )

  it.live("is canceled when the engine gives up, and acknowledged and ended when the answer crosses that", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const rung = yield* Deferred.make<void>()
      const call = yield* Effect.fork(dialling({ onRinging: () => Deferred.unsafeDone(rung, Effect.void) }))
      const invite = yield* trunk.request("INVITE")
      trunk.respond(invite, 180)
      yield* Deferred.await(rung)
      yield* Fiber.interrupt(call)
      const cancel = yield* trunk.request("CANCEL")
      expect(Message.header(cancel, "via")).toBe(Message.header(invite, "via"))
      trunk.respond(cancel, 200)
      trunk.respond(invite, 200, [], trunk.sdp)
      yield* trunk.request("ACK")
      trunk.respond(yield* trunk.request("BYE"), 200)
    }).pipe(Effect.scoped, withPlugin)
  )

  it.live("fails with the status of the trunk as its code", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      for (const [status, outcome] of [
        [486, "busy"],
        [480, "no-answer"],
        [503, "failed"],
        [407, "failed"]
      ] as const) {
        const call = yield* Effect.fork(Effect.flip(dialling()))
        trunk.respond(yield* trunk.request("INVITE"), status)
        const failure = yield* Fiber.join(call)
        expect(failure).toMatchObject({ _tag: "DialFailed", outcome, code: String(status) })
        expect(failure.reason).toMatch(new RegExp(`^${status} R`))
        yield* trunk.request("ACK")
      }
    }).pipe(Effect.scoped, withPlugin)
  )

  it.live("says its Call-ID when it is placed, whether it is answered or not", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const placed: Array<string> = []
      const call = yield* Effect.fork(Effect.flip(dialling({ onPlaced: (id) => placed.push(id) })))
      const refused = yield* trunk.request("INVITE")
      expect(placed).toEqual([Message.callId(refused)])
      trunk.respond(refused, 404)
      yield* Fiber.join(call)
      yield* trunk.request("ACK")
      const givenUp = yield* Effect.fork(dialling({ onPlaced: (id) => placed.push(id) }))
      expect(placed).toEqual([Message.callId(refused), Message.callId(yield* trunk.request("INVITE"))])
      yield* Fiber.interrupt(givenUp)
    }).pipe(Effect.scoped, withPlugin)
  )

  it.live("that the trunk redirects says that redirects are not followed", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const call = yield* Effect.fork(Effect.flip(dialling()))
      trunk.respond(yield* trunk.request("INVITE"), 302)
      const { outcome, reason } = yield* Fiber.join(call)
      expect(outcome).toBe("failed")
      expect(reason).toMatch(/^302 .*; redirects are not followed$/)
    }).pipe(Effect.scoped, withPlugin)
  )

  it.live("goes to the address that DNS gives for the trunk's name", () =>
    Effect.gen(function* () {
      const trunk = yield* scriptedTrunk(port, trunkPort)
      const call = yield* Effect.fork(Effect.flip(dialling()))
      const invite = yield* trunk.request("INVITE")
      expect(invite.uri).toBe(`sip:+4930@trunk.example:${trunkPort}`)
      trunk.respond(invite, 486)
      expect(yield* Fiber.join(call)).toMatchObject({ outcome: "busy" })
    }).pipe(
      Effect.scoped,
      Effect.provide(
        plugin(
          port,
          { trunkUri: `sip:trunk.example:${trunkPort}`, rtpPorts: "27200-27299" },
          { names: { services: () => Effect.succeed([]), addresses: () => Effect.succeed(["127.0.0.1"]) } }
        )
      )
    )
  )
})
