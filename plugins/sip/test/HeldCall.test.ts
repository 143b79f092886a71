import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Queue } from "effect"
import * as Description from "../src/sdp/Description.ts"
import { type TrunkCall, withTrunkCall } from "./TrunkCall.ts"

/** A packet of music, which is A-law audio like any other. */
const music = (sequence: number): Buffer => {
  const bytes = Buffer.alloc(172, sequence)
  bytes.writeUInt16BE(0x8008, 0)
  bytes.writeUInt16BE(sequence, 2)
  bytes.writeUInt32BE(sequence * 160, 4)
  bytes.writeUInt32BE(7, 8)
  return bytes
}

/** Sends packets, and waits until the plugin has read them: those over loopback are there when they were sent. */
const play = (call: TrunkCall, first: number, count: number) =>
  Effect.gen(function* () {
    const port = Description.parse(call.invite.body)?.sections[0]?.port ?? 0
    for (let sequence = first; sequence < first + count; sequence++) {
      yield* Effect.async<void>((resume) =>
        call.trunk.rtp.send(music(sequence), port, "127.0.0.1", () => resume(Effect.void))
      )
    }
    yield* call.trunk.ping
  })

/** What the leg emits when the other side puts the call on hold: nothing is sent to it meanwhile. */
const held = [
  { _tag: "Media", on: false },
  { _tag: "Hold", on: true }
]
const takenBack = [
  { _tag: "Media", on: true },
  { _tag: "Hold", on: false }
]

describe("A call on hold", () => {
  for (const direction of ["sendonly", "inactive"]) {
    it.live(`keeps the music of the other side (${direction}) from the leg, and passes audio again after it`, () =>
      withTrunkCall((call) =>
        Effect.gen(function* () {
          yield* play(call, 1, 10)
          expect(call.audio()).toBe(10)
          yield* call.reinvite(`a=${direction}`)
          expect([...(yield* Queue.takeN(call.events, 2))]).toEqual(held)
          yield* play(call, 11, 50)
          expect(call.audio()).toBe(10)
          yield* call.reinvite("a=sendrecv")
          expect([...(yield* Queue.takeN(call.events, 2))]).toEqual(takenBack)
          yield* play(call, 61, 10)
          expect(call.audio()).toBe(20)
        })
      )
    )
  }

  it.live("keeps music out that is played from c=0.0.0.0, the hold of older phones (RFC 3264, 8.4)", () =>
    withTrunkCall((call) =>
      Effect.gen(function* () {
        yield* play(call, 1, 10)
        const { ask, trunk } = call
        const body = Buffer.from(trunk.sdp.toString().replace("c=IN IP4 127.0.0.1", "c=IN IP4 0.0.0.0"))
        const asked = yield* ask("INVITE", { headers: [{ name: "content-type", value: "application/sdp" }], body })
        trunk.acknowledge(asked, call.number())
        expect([...(yield* Queue.takeN(call.events, 2))]).toEqual(held)
        yield* play(call, 11, 50)
        expect(call.audio()).toBe(10)
      })
    )
  )

  it.live("emits Media and Hold once when its direction changes on hold, and for each of several holds", () =>
    withTrunkCall((call) =>
      Effect.gen(function* () {
        for (let times = 0; times < 2; times++) {
          yield* call.reinvite("a=sendonly")
          yield* call.reinvite("a=inactive")
          expect([...(yield* Queue.takeAll(call.events))]).toEqual(held)
          yield* call.reinvite("a=sendrecv")
          expect([...(yield* Queue.takeAll(call.events))]).toEqual(takenBack)
        }
      })
    )
  )

  it.live("emits Media and Hold also when it was answered with a=sendonly", () =>
    withTrunkCall(
      (call) =>
        Effect.gen(function* () {
          expect([...(yield* Queue.takeN(call.events, 2))]).toEqual(held)
          yield* call.reinvite("a=sendrecv")
          expect([...(yield* Queue.takeN(call.events, 2))]).toEqual(takenBack)
        }),
      {},
      {},
      ["a=sendonly"]
    )
  )
})

describe("A call that we put on hold", () => {
  const lines = (sdp: Uint8Array): string => Buffer.from(sdp).toString()
  const answer = (call: TrunkCall, line: string) => Buffer.concat([call.trunk.sdp, Buffer.from(`${line}\r\n`)])

  it.live("is offered sendonly, gives no audio and no Hold, and is taken back with sendrecv", () =>
    withTrunkCall((call) =>
      Effect.gen(function* () {
        const { leg, trunk } = call
        yield* play(call, 1, 10)
        leg.hold?.(true)
        const held = yield* trunk.request("INVITE")
        expect(lines(held.body)).toContain("a=sendonly")
        trunk.respond(held, 200, [], answer(call, "a=recvonly"))
        yield* trunk.request("ACK")
        yield* play(call, 11, 20)
        expect(call.audio()).toBe(10)
        leg.hold?.(false)
        const back = yield* trunk.request("INVITE")
        expect(lines(back.body)).toContain("a=sendrecv")
        trunk.respond(back, 200, [], answer(call, "a=sendrecv"))
        yield* trunk.request("ACK")
        yield* play(call, 31, 10)
        expect(call.audio()).toBe(20)
        expect(yield* Queue.size(call.events)).toBe(0)
      })
    )
  )

  it.live("gives Media without Hold when the peer answers with inactive, so that nothing can be sent to it", () =>
    withTrunkCall((call) =>
      Effect.gen(function* () {
        const { leg, trunk } = call
        leg.hold?.(true)
        trunk.respond(yield* trunk.request("INVITE"), 200, [], answer(call, "a=inactive"))
        yield* trunk.request("ACK")
        leg.hold?.(false)
        trunk.respond(yield* trunk.request("INVITE"), 200, [], answer(call, "a=sendrecv"))
        yield* trunk.request("ACK")
        yield* trunk.ping
        expect([...(yield* Queue.takeAll(call.events))]).toEqual([
          { _tag: "Media", on: false },
          { _tag: "Media", on: true }
        ])
      })
    )
  )

  it.live("is offered again when the offers of both sides have met, and not when it is refused", () =>
    withTrunkCall((call) =>
      Effect.gen(function* () {
        const { leg, trunk } = call
        leg.hold?.(true)
        trunk.respond(yield* trunk.request("INVITE"), 491)
        const at = yield* Clock.currentTimeMillis
        const again = yield* trunk.request("INVITE")
        expect(lines(again.body)).toContain("a=sendonly")
        // The call is ours (RFC 3261, 14.1).
        expect((yield* Clock.currentTimeMillis) - at).toBeGreaterThan(2050)
        trunk.respond(again, 488)
        yield* trunk.request("ACK")
        yield* play(call, 1, 10)
        expect(call.audio()).toBe(10)
        // A change of the trunk's own is then answered as if hold had not been asked for.
        expect(lines((yield* call.reinvite("a=sendrecv")).body)).toContain("a=sendrecv")
      })
    )
  )
})
