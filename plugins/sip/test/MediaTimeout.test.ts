import { describe, expect, it } from "@effect/vitest"
import { makeVirtualClock, type VirtualClock } from "@svc/providers/testing/VirtualTime"
import { Effect, Queue } from "effect"
import type { Settings } from "../src/Settings.ts"
import * as Description from "../src/sdp/Description.ts"
import { type TrunkCall, withTrunkCall } from "./TrunkCall.ts"

/** Lets a virtual time of seconds pass, with all timers that are due in it. */
const pass = (time: VirtualClock, seconds: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const until = time.now() + seconds * 1000
    while (time.nextDue() <= until) {
      time.advanceTo(time.nextDue())
      yield* Effect.async<void>((resume) => {
        setImmediate(() => resume(Effect.void))
      })
    }
    time.advanceTo(until)
  })

/** Runs a test with an answered call in virtual time. */
const timed = (
  run: (call: TrunkCall, after: (seconds: number) => Effect.Effect<void>) => Effect.Effect<void>,
  settings: Partial<Settings> = {}
) => {
  const time = makeVirtualClock(0)
  return Effect.withClock(
    withTrunkCall((call) => run(call, (seconds) => pass(time, seconds)), settings),
    time.clock
  )
}

/** Where the plugin takes RTP. */
const portOf = ({ invite }: TrunkCall): number => Description.parse(invite.body)?.sections[0]?.port ?? 0

const rtp = (sequence: number, payloadType: number): Buffer => {
  const bytes = Buffer.alloc(payloadType === 13 ? 13 : 172, 0x55)
  bytes.writeUInt16BE(0x8000 | payloadType, 0)
  bytes.writeUInt16BE(sequence, 2)
  bytes.writeUInt32BE(sequence * 160, 4)
  bytes.writeUInt32BE(7, 8)
  return bytes
}

/** A receiver report without blocks. */
const rtcp = Uint8Array.of(0x80, 201, 0, 1, 0, 0, 0, 7)

/** Waits until the plugin has read what was sent to its RTP ports: datagrams over loopback are there when they were sent. */
const sent = (call: TrunkCall, bytes: Uint8Array, port: number) =>
  Effect.zipRight(
    Effect.async<void>((resume) => call.trunk.rtp.send(bytes, port, "127.0.0.1", () => resume(Effect.void))),
    call.trunk.ping
  )

/** Lets 20 s pass, after which the plugin asks whether the trunk is there, and answers. */
const silentFor20s = (call: TrunkCall, after: (seconds: number) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    yield* after(20)
    call.trunk.respond(yield* call.trunk.request("OPTIONS"), 200)
    yield* call.trunk.ping
  })

const ended = { _tag: "Ended", cause: "failed", reason: "no audio came from the other side for 60 s" }

describe("A call in which the other side answers, but sends no media", () => {
  it.live("ends after 60 s without RTP and RTCP", () =>
    timed((call, after) =>
      Effect.gen(function* () {
        yield* Effect.repeatN(silentFor20s(call, after), 1)
        yield* after(19)
        expect(yield* Queue.size(call.events)).toBe(0)
        yield* after(1)
        expect(yield* Queue.take(call.events)).toEqual(ended)
        yield* call.trunk.request("BYE")
      })
    )
  )

  it.live("ends after the time of SVC_SIP_MEDIA_TIMEOUT_SECONDS, counted from the last packet", () =>
    timed(
      (call, after) =>
        Effect.gen(function* () {
          yield* after(6)
          yield* sent(call, rtp(1, 8), portOf(call))
          yield* after(9)
          expect(yield* Queue.size(call.events)).toBe(0)
          yield* after(1)
          expect(yield* Queue.take(call.events)).toMatchObject({ reason: expect.stringContaining("for 10 s") })
        }),
      { mediaTimeoutSeconds: 10 }
    )
  )

  it.live("goes on while RTCP comes, such as with a phone that sends nothing in silence", () =>
    timed((call, after) =>
      Effect.gen(function* () {
        yield* sent(call, rtp(1, 8), portOf(call))
        for (let report = 0; report < 20; report++) {
          yield* after(10)
          yield* sent(call, rtcp, portOf(call) + 1)
        }
        expect(yield* Queue.size(call.events)).toBe(0)
      })
    )
  )

  it.live("goes on after comfort noise, also when nothing follows it", () =>
    timed((call, after) =>
      Effect.gen(function* () {
        yield* sent(call, rtp(1, 8), portOf(call))
        yield* sent(call, rtp(2, 13), portOf(call))
        yield* Effect.repeatN(silentFor20s(call, after), 9)
        expect(yield* Queue.size(call.events)).toBe(0)
      })
    )
  )

  it.live("goes on while it is held, and ends 60 s after that", () =>
    timed((call, after) =>
      Effect.gen(function* () {
        yield* call.reinvite("a=inactive")
        expect((yield* Queue.takeN(call.events, 2)).length).toBe(2)
        yield* Effect.repeatN(silentFor20s(call, after), 9)
        expect(yield* Queue.size(call.events)).toBe(0)
        yield* call.reinvite("a=sendrecv")
        expect((yield* Queue.takeN(call.events, 2)).length).toBe(2)
        yield* Effect.repeatN(silentFor20s(call, after), 1)
        expect(yield* Queue.size(call.events)).toBe(0)
        yield* after(20)
        expect(yield* Queue.take(call.events)).toEqual(ended)
      })
    )
  )
})
