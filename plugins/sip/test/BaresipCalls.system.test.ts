import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect } from "effect"
import { absent, type BaresipOptions, isInstalled, start, until } from "./BaresipPhone.ts"
import { answerNext, frameOf, PeerCall, shareAt, telephonyOf } from "./PeerCall.ts"

const rtpPorts = "35000-35099"

/** A call of the softphone to us, in which we play a tone that it plays back. */
const called = (options: BaresipOptions = {}) =>
  Effect.gen(function* () {
    const { port, telephony } = yield* telephonyOf({ rtpPorts })
    const phone = yield* start(options)
    phone.command("dial", `sip:+12025550100@127.0.0.1:${port}`)
    const call = yield* answerNext(telephony)
    yield* call.playTone
    yield* until("the tone comes back", () => call.sounding > 25)
    return { call, phone }
  })

describe.skipIf(!isInstalled)(isInstalled ? "a softphone" : absent, () => {
  for (const [name, options, encoding] of [
    ["PCMA", { account: ";audio_codecs=PCMA/8000/1" }, "alaw"],
    ["PCMU", { account: ";audio_codecs=PCMU/8000/1" }, "mulaw"],
    ["packets of 40 ms", { account: ";audio_codecs=PCMU/8000/1;ptime=40" }, "mulaw"],
    ["RTCP on the same port", { config: "rtcp_mux yes" }, undefined]
  ] as const) {
    it.scopedLive(`calls, hears and is heard, and sends and gets digits: ${name}`, () =>
      Effect.gen(function* () {
        const { call, phone } = yield* called(options)
        if (encoding !== undefined) expect(call.leg.format.encoding).toBe(encoding)
        for (const digit of "19#") phone.command("sndcode", digit)
        yield* until("its digits", () => call.digits.length >= 3)
        call.leg.sendDtmf?.("4w*2")
        yield* until("our digits", () => phone.digits().length >= 3)
        expect([call.digits, phone.digits()]).toEqual(["19#", "4*2"])
        phone.command("hangup")
        yield* until("the end of the call", () => call.ending !== undefined)
        expect(call.ending?.cause).toBe("hangup")
        expect(call.leg.quality?.()).toMatchObject({ packetsLost: 0 })
      })
    )
  }

  it.scopedLive("hears our tone, and we hear its tone, without a gap in the samples", () =>
    Effect.gen(function* () {
      for (const source of ["loop", "tone"] as const) {
        const { port, telephony } = yield* telephonyOf({ rtpPorts })
        const phone = yield* start({ source })
        phone.command("dial", `sip:+12025550100@127.0.0.1:${port}`)
        const call = yield* answerNext(telephony)
        const { encoding } = call.leg.format
        yield* call.play(frameOf(700, encoding))
        // The softphone plays back what it hears, or plays a tone of 1 kHz.
        yield* until("a second of its sound", () => call.sounding > 75)
        const last = call.heard.slice(-50)
        expect(shareAt(source === "loop" ? 700 : 1000, last, encoding)).toBeGreaterThan(0.95)
      }
    })
  )

  it.scopedLive("sends digits by INFO, and each arrives once", () =>
    Effect.gen(function* () {
      const { call, phone } = yield* called({ account: ";dtmfmode=info" })
      for (const digit of "50*") phone.command("sndcode", digit)
      yield* until("its digits", () => call.digits.length >= 3)
      expect(call.digits).toBe("50*")
    })
  )

  it.scopedLive("puts the call on hold, in which nothing is heard, and takes it up again", () =>
    Effect.gen(function* () {
      const { call, phone } = yield* called({ source: "tone" })
      phone.command("hold")
      yield* until("the hold", () => call.soundingAtHold.length === 1)
      phone.command("resume")
      yield* until("the end of the hold", () => call.soundingAtHold.length === 2)
      const [before = 0, after = 0] = call.soundingAtHold
      expect(after).toBe(before)
      yield* until("the tone again", () => call.sounding > after + 25)
      expect(call.ending).toBeUndefined()
    })
  )

  it.scopedLive("is called through the trunk, answers, and learns that we hang up", () =>
    Effect.gen(function* () {
      const phone = yield* start({ account: ";answermode=auto" })
      const { telephony } = yield* telephonyOf({ rtpPorts, trunkUri: `sip:127.0.0.1:${phone.port}` })
      const { outbound } = telephony
      if (outbound === undefined) return expect.fail("there is no way to place calls")
      const leg = yield* outbound.dial({ callId: "one", to: "phone", from: "+12025550100", formats: legFormats })
      const call = new PeerCall(leg)
      yield* call.playTone
      yield* until("the tone comes back", () => call.sounding > 25)
      leg.hangup("done")
      yield* until("it knows", () => phone.events.includes("CALL_CLOSED"))
      expect(call.ending).toBeUndefined()
    })
  )
})
