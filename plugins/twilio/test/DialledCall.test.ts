import { describe, expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { Effect, Fiber } from "effect"
import { type Dialled, DialledCall } from "../src/DialledCall.ts"
import { setUp } from "../src/testing/TwilioSetup.ts"
import { numbers, until } from "./TestCalls.ts"

/** A call that is being placed, with a clock that the test sets. */
const dialling = () => {
  let now = 0
  const ends: Array<Dialled | undefined> = []
  const hungUp: Array<string> = []
  const placed: Array<string> = []
  const call = new DialledCall({
    now: () => now,
    progress: { onPlaced: (sid) => void placed.push(sid) },
    hangUp: (sid) => void hungUp.push(sid),
    onDone: (end) => void ends.push(end)
  })
  const endsAt = (ms: number): number => {
    now = ms
    call.check()
    return ends.length
  }
  return { call, ends, endsAt, hungUp, placed }
}

describe("An outgoing call of Twilio whose placing is uncertain", () => {
  it("is awaited for 15 s when no answer came, and for 5 s when the answer was an error", () => {
    const lost = dialling()
    lost.call.notPlaced("no answer", undefined, "lost")
    expect([lost.endsAt(14_999), lost.endsAt(15_000)]).toEqual([0, 1])
    const unclear = dialling()
    unclear.call.notPlaced("Twilio answered 500", undefined, "unclear")
    expect([unclear.endsAt(4999), unclear.endsAt(5000)]).toEqual([0, 1])
    expect(unclear.ends[0]).toMatchObject({
      failed: {
        outcome: "failed",
        reason: expect.stringContaining("no status of the call has come: Twilio answered 500")
      }
    })
    expect([lost.hungUp, unclear.hungUp]).toEqual([[], []])
  })

  it("goes on when a status shows it, and has failed at once when it was refused", () => {
    const shown = dialling()
    shown.call.notPlaced("Twilio answered 500", undefined, "unclear")
    shown.call.status("CA1", "ringing", undefined)
    expect(shown.endsAt(60_000)).toBe(0)
    const refused = dialling()
    refused.call.notPlaced("not verified", "21219", "refused")
    expect(refused.ends).toMatchObject([{ failed: { reason: "not verified", code: "21219" } }])
  })
})

describe("An outgoing call of Twilio says its SID with onPlaced", () => {
  it("once, when Twilio has accepted it or its first status comes", () => {
    const accepted = dialling()
    accepted.call.placed("CA1")
    accepted.call.status("CA1", "ringing", undefined)
    expect(accepted.placed).toEqual(["CA1"])
    const shown = dialling()
    shown.call.notPlaced("no answer", undefined, "lost")
    shown.call.status("CA2", "busy", undefined)
    shown.call.placed("CA2")
    expect([shown.placed, shown.ends.length]).toEqual([["CA2"], 1])
  })

  it("not after the engine has given up", () => {
    const { call, hungUp, placed } = dialling()
    call.giveUp()
    call.placed("CA1")
    expect([placed, hungUp]).toEqual([[], ["CA1"]])
  })

  it.scopedLive("also when the phone is busy, or rings until the engine gives up", () =>
    Effect.gen(function* () {
      const { carrier, telephony } = yield* setUp()
      const placed: Array<string> = []
      const dial = (to: string) =>
        telephony.outbound?.dial(
          { callId: "call_out", to, from: numbers.to, formats: [mulaw8k] },
          { onPlaced: (sid) => void placed.push(sid) }
        ) ?? Effect.dieMessage("the plugin places no calls")
      carrier.addPhone("+12025557001", "busy")
      carrier.addPhone("+12025557002", "rings")
      expect((yield* Effect.flip(dial("+12025557001"))).outcome).toBe("busy")
      const ringing = yield* Effect.fork(dial("+12025557002"))
      yield* until("the report of the second call", () => placed.length > 1)
      yield* Fiber.interrupt(ringing)
      expect(placed).toEqual(["+12025557001", "+12025557002"].map((to) => carrier.callTo(to)?.sid))
    })
  )
})

it.scopedLive(
  "an outgoing call of Twilio whose media stream could not be opened says so, and no restart is logged",
  () =>
    Effect.gen(function* () {
      const { carrier, double, telephony } = yield* setUp()
      const to = "+12025557003"
      carrier.addPhone(to, "answers")
      const refuseStream = () => {
        const call = carrier.callTo(to)
        if (call !== undefined) call.refusesStream = true
      }
      const call = { callId: "call_out", to, from: numbers.to, formats: [mulaw8k] }
      const failure = yield* Effect.flip(
        telephony.outbound?.dial(call, { onRinging: refuseStream }) ?? Effect.dieMessage("the plugin places no calls")
      )
      expect(failure).toMatchObject({ outcome: "failed", reason: expect.stringContaining("the media stream") })
      yield* until("the end at Twilio", () => carrier.callTo(to)?.status === "completed")
      expect(double.logged.map(({ message }) => message).join()).not.toContain("restarted")
    })
)
