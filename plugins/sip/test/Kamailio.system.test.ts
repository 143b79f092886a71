import { describe, expect, it } from "@effect/vitest"
import { type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Stream } from "effect"
import { until } from "./BaresipPhone.ts"
import * as Kamailio from "./Kamailio.ts"
import { phones, plugin } from "./SipPhones.ts"

const absent = "kamailio is not installed: its tests were not run (on Debian: apt-get install kamailio)"

/** The proxy has an address of its own, so that what does not go through it can be distinguished. */
const proxy = "127.0.0.3"
const proxyPort = 27_580
const port = 27_560

const config = Kamailio.proxy({
  listen: `udp:${proxy}:${proxyPort}`,
  globals: ["disable_tcp=yes"],
  destination: `$du = "sip:127.0.0.1:${port}";`
})

describe.skipIf(!Kamailio.isInstalled)(Kamailio.isInstalled ? "calls through kamailio" : absent, () => {
  it.scopedLive(
    "keep to the recorded route, carry audio, and are ended by either side",
    () =>
      Effect.gen(function* () {
        yield* Kamailio.run(yield* Kamailio.folder, config)
        const telephony = yield* Telephony
        const legs: Array<{ readonly events: ReadonlyArray<CallEvent>; readonly hangup: () => void }> = []
        yield* Effect.forkScoped(
          Stream.runForEach(telephony.incoming, (call) =>
            Effect.gen(function* () {
              call.ringing("call")
              const leg = yield* call.answer({ callId: "call", formats: telephony.capabilities.formats })
              const events: Array<CallEvent> = []
              leg.listen((event) => events.push(event))
              leg.send(new Uint8Array(160).fill(9))
              legs.push({ events, hangup: () => leg.hangup("done") })
            }).pipe(Effect.ignore)
          )
        )
        const phone = yield* phones(27_570, proxyPort, proxy)
        const numbers = { from: "+12025550100", to: "+12025550199" }
        const first = yield* phone.dial(numbers)
        yield* until("the first answer", () => first.state() === "answered" && legs.length === 1)
        yield* first.send(new Uint8Array(160).fill(7))
        yield* until("its audio", () => legs[0]?.events.some(({ _tag }) => _tag === "Audio") === true)
        legs[0]?.hangup()
        yield* until("the end on the phone", () => first.state() === "ended")
        const second = yield* phone.dial(numbers)
        yield* until("the second answer", () => second.state() === "answered" && legs.length === 2)
        yield* second.hangup
        yield* until("its end", () => legs[1]?.events.some(({ _tag }) => _tag === "Ended") === true)
        expect(legs[1]?.events.at(-1)).toMatchObject({ _tag: "Ended", cause: "hangup" })
      }).pipe(Effect.provide(plugin(port, { rtpPorts: "27600-27649" }, { isAllowed: (address) => address === proxy }))),
    60_000
  )
})
