import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Redacted, Schedule, Stream } from "effect"
import { absent, isInstalled, start, until } from "./BaresipPhone.ts"
import { answerNext, PeerCall, telephonyOf } from "./PeerCall.ts"

const settings = { rtpPorts: "32200-32299", users: Redacted.make("anna:right:+12025550123") }

const account = (password: string) => `;auth_user=anna;auth_pass=${password};regint=60`

describe.skipIf(!isInstalled)(isInstalled ? "a softphone with a name and password" : absent, () => {
  it.scopedLive("registers, is called at its number, and calls", () =>
    Effect.gen(function* () {
      const { port, telephony } = yield* telephonyOf(settings)
      const address = `sip:anna@127.0.0.1:${port}`
      const phone = yield* start({ address, account: account("right") })
      const { outbound } = telephony
      if (outbound === undefined) return yield* Effect.dieMessage("no outbound calls")
      yield* Effect.forkScoped(
        Effect.zipRight(
          until("the call", () => phone.events.includes("CALL_INCOMING")),
          Effect.sync(() => phone.command("accept"))
        )
      )
      const leg = yield* outbound
        .dial({ callId: "call", to: "+12025550123", from: "+12025550100", formats: legFormats })
        .pipe(
          // It has not registered yet.
          Effect.retry(Schedule.spaced("50 millis")),
          Effect.timeout("20 seconds")
        )
      const called = new PeerCall(leg)
      yield* called.playTone
      yield* until("the tone comes back", () => called.sounding > 10)
      leg.hangup("done")
      yield* until("the end of the call", () => phone.events.includes("CALL_CLOSED"))
      phone.command("dial", `sip:+12025550100@127.0.0.1:${port}`)
      const call = yield* answerNext(telephony)
      yield* call.playTone
      yield* until("the tone comes back", () => call.sounding > 10)
      phone.command("hangup")
      yield* until("the end of its call", () => call.ending !== undefined)
    })
  )

  it.scopedLive("cannot call with a wrong password", () =>
    Effect.gen(function* () {
      const { port, telephony } = yield* telephonyOf(settings)
      const incoming: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(telephony.incoming, ({ id, reject }) =>
          Effect.sync(() => {
            incoming.push(id)
            reject("busy")
          })
        )
      )
      const phone = yield* start({ account: account("wrong") })
      phone.command("dial", `sip:+12025550100@127.0.0.1:${port}`)
      yield* until("the refusal", () => phone.events.includes("CALL_CLOSED"))
      expect(incoming).toEqual([])
    })
  )
})
