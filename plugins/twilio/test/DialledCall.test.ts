import { describe, expect, it } from "@effect/vitest"
import { type Dialled, DialledCall } from "../src/DialledCall.ts"

/** A call that is being placed, with a clock that the test sets. */
const dialling = () => {
  let now = 0
  const ends: Array<Dialled | undefined> = []
  const hungUp: Array<string> = []
  const call = new DialledCall({
    now: () => now,
    progress: {},
    hangUp: (sid) => void hungUp.push(sid),
    onDone: (end) => void ends.push(end)
  })
  const endsAt = (ms: number): number => {
    now = ms
    call.check()
    return ends.length
  }
  return { call, ends, endsAt, hungUp }
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
