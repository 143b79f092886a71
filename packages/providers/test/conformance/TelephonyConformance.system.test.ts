import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { numbersChecks } from "../../src/testing/NumbersChecks.ts"
import { regulatoryChecks } from "../../src/testing/RegulatoryChecks.ts"
import { telephonyChecks } from "../../src/testing/TelephonyChecks.ts"
import { type TelephonyCheckOptions, telephonyHarness } from "../../src/testing/TelephonyHarness.ts"
import { telephonySuite } from "../../src/testing/TelephonySuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import type { Delivery, PacketBug, TelephonyBug } from "./ReferenceCall.ts"
import { refusedNumber } from "./ReferenceCarrier.ts"
import { refused } from "./ReferenceMessaging.ts"
import { connectPhone, referenceTelephony } from "./ReferenceTelephony.ts"

const packetBugs: ReadonlyArray<string> = [
  "numbers some packets only",
  "repeats sequences",
  "counts no pauses",
  "counts milliseconds",
  "has no timestamps"
] satisfies ReadonlyArray<PacketBug>

const deliveryOf = (bug: TelephonyBug | undefined): Delivery =>
  bug !== undefined && packetBugs.includes(bug) ? "packets" : "frames"

const options = (bug?: TelephonyBug, sessions = 60, delivery: Delivery = deliveryOf(bug)): TelephonyCheckOptions => ({
  layer: Layer.suspend(() => referenceTelephony(bug, delivery)),
  phone: connectPhone,
  refusesSms: refused,
  forSale: { country: "US", type: "local", refused: refusedNumber },
  sessions
})

telephonySuite({ name: "a correct telephone network", time: "virtual", ...options(undefined, 1000) })

telephonySuite({
  name: "a correct telephone network that delivers packets",
  time: "virtual",
  ...options(undefined, 1, "packets")
})
telephonySuite({
  name: "a correct telephone network that delivers audio in other pieces than 20 ms",
  time: "virtual",
  ...options(undefined, 1, 54)
})

const noLeaks = "many calls leave no fibers, timers or sockets behind"
const sendText = "send delivers each text message once and unchanged if sms is provided"
const refuseText = "send fails with SmsFailed when the network refuses the text message"
const receiveText = "incoming emits the phone's text messages in order"
const sendAgain = "send delivers a text message that is sent again once if deliversOnce is declared"
const textMessages = [sendText, sendAgain, refuseText, receiveText]
const harness = telephonyHarness(options())
const carrier = [...numbersChecks(harness, options()), ...regulatoryChecks(harness, options())].map(({ name }) => name)

const marksOnce = "each mark is confirmed once and in order, also those that clear drops, and none if marks is none"
const transferCompletes = "transferBlind completes if transfer is declared, and only Ended follows"
const transferFails = "a failed transfer emits its outcome once, and the call continues with the agent"
const callerHangsUp = "the caller's hangup during a transfer ends the call and stops the ringing"
const agentHangsUp = "hangup during a transfer ends the call and stops the ringing"
const transfers = [transferCompletes, transferFails, callerHangsUp, agentHangsUp]
const dialConnects = "dial connects audio in both directions if outbound is provided"
const saysPlaced = "the id that dial gives to onPlaced is that of its leg"
const hangupEndsDialled = "hangup ends a dialled call on the phone"
const stopsRinging = "dial stops the ringing within 50 ms when it is interrupted"
const passesEarly = "dial passes the audio before the answer to onEarlyMedia if earlyMedia is declared"
const endsEarly = "early media ends with dial, and the leg does not emit it again"
const numbered = "a leg numbers every packet or none, with timestamps that count samples, also in pauses"
const messages =
  "a leg with aheadMs plays all frames of several sends in order, and confirms the marks after the first and the last"
const wholeSamples = "a leg emits whole samples in each declared format"
const dialling = [
  passesEarly,
  endsEarly,
  dialConnects,
  saysPlaced,
  hangupEndsDialled,
  "dial fails with outcome busy when the phone is busy",
  "dial fails with outcome rejected or busy when the phone declines",
  stopsRinging,
  "dial fails with DialFailed when no requested format is supported"
]

const expected: { readonly [B in TelephonyBug]: Expected } = {
  "emits no incoming calls": {
    allBut: [
      "declares a lower-case id and at least one audio format, and is healthy",
      ...dialling,
      refuseText,
      receiveText,
      ...carrier
    ]
  },
  "drops the caller's number": [
    "incoming emits a call with both numbers or its call link, and ringing reaches the phone"
  ],
  "ignores ringing": [
    "incoming emits a call with both numbers or its call link, and ringing reaches the phone",
    callerHangsUp,
    agentHangsUp,
    stopsRinging,
    passesEarly,
    endsEarly
  ],
  "hangs on answer": {
    allBut: [
      "declares a lower-case id and at least one audio format, and is healthy",
      "incoming emits a call with both numbers or its call link, and ringing reaches the phone",
      "reject refuses the call on the phone for every cause",
      ...dialling,
      ...textMessages,
      ...carrier
    ]
  },
  "dies on answer": {
    allBut: [
      "declares a lower-case id and at least one audio format, and is healthy",
      "incoming emits a call with both numbers or its call link, and ringing reaches the phone",
      "reject refuses the call on the phone for every cause",
      ...dialling,
      ...textMessages,
      ...carrier
    ]
  },
  "answers in one format only": ["answer uses each declared format when it is requested"],
  "does not pass reject on": ["reject refuses the call on the phone for every cause"],
  "never completes canceled": [
    "canceled completes when the caller hangs up before the answer, and answer then fails with CallGone"
  ],
  "completes canceled for every call": [
    "canceled completes when the caller hangs up before the answer, and answer then fails with CallGone"
  ],
  "answers canceled calls": [
    "canceled completes when the caller hangs up before the answer, and answer then fails with CallGone"
  ],
  "reorders the caller's audio": [
    "a leg emits the caller's audio completely and in order",
    "listen delivers the events from before it first and in order",
    "keeps two concurrent calls separate",
    transferFails,
    dialConnects
  ],
  "emits incomplete frames": ["a leg emits the caller's audio completely and in order", wholeSamples],
  "drops events from before listen": ["listen delivers the events from before it first and in order"],
  "keeps a reference to frames": [
    messages,
    "send plays frames in order and does not keep a reference to them",
    "a mark is confirmed as played after the audio before it",
    "after clear a mark is confirmed as played only if all audio before it was played",
    "clear drops the audio that was sent before it",
    "keeps two concurrent calls separate",
    transferFails,
    dialConnects
  ],
  "reorders the agent's audio": [
    messages,
    "send plays frames in order and does not keep a reference to them",
    "a mark is confirmed as played after the audio before it",
    "keeps two concurrent calls separate",
    dialConnects
  ],
  "plays one frame of a message": [messages],
  "confirms marks too early": [
    "after clear a mark is confirmed as played only if all audio before it was played",
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks"
  ],
  "confirms marks twice": [messages, "a mark is confirmed as played after the audio before it", marksOnce],
  "confirms cleared marks in reverse order": [marksOnce],
  "never confirms marks": [
    messages,
    "a mark is confirmed as played after the audio before it",
    marksOnce,
    "after clear a mark is confirmed as played only if all audio before it was played"
  ],
  "confirms cleared marks as played": [
    "after clear a mark is confirmed as played only if all audio before it was played"
  ],
  "drops cleared marks": [
    marksOnce,
    "after clear a mark is confirmed as played only if all audio before it was played"
  ],
  "ignores clear": ["clear drops the audio that was sent before it"],
  "throws on clear": [
    marksOnce,
    "after clear a mark is confirmed as played only if all audio before it was played",
    "clear drops the audio that was sent before it",
    "hangup ends the call on the phone and emits Ended at most once",
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks"
  ],
  "does not pass hangup on": [
    "hangup ends the call on the phone and emits Ended at most once",
    noLeaks,
    agentHangsUp,
    hangupEndsDialled
  ],
  "throws after Ended": [
    "hangup ends the call on the phone and emits Ended at most once",
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks"
  ],
  "emits audio after Ended": [
    "listen delivers the events from before it first and in order",
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks",
    transferCompletes,
    callerHangsUp
  ],
  "emits Ended twice": [
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks",
    transferCompletes
  ],
  "never emits Ended": [
    "listen delivers the events from before it first and in order",
    "a leg emits Ended with cause hangup once and last when the caller hangs up",
    "a leg emits Ended once and last when the connection breaks",
    "keeps two concurrent calls separate",
    transferCompletes,
    callerHangsUp,
    dialConnects
  ],
  "emits no Ended for a broken connection": ["a leg emits Ended once and last when the connection breaks"],
  "reorders digits": ["a leg emits received digits in order if dtmfIn is declared"],
  "sends no digits": ["sendDtmf sends digits in order if dtmfOut is declared"],
  "mixes calls": ["keeps two concurrent calls separate"],
  "sends no text messages": [sendText, sendAgain],
  "sends text messages twice": [sendText, sendAgain],
  "truncates text messages": [sendText],
  "delivers a repeated text message again": [sendAgain],
  "answers a repeated text message anew": [sendAgain],
  "dies on text messages": [sendText, sendAgain, refuseText],
  "ignores the refusal of text messages": [refuseText],
  "emits no text messages": [receiveText],
  "stops on malformed data": ["incoming continues to emit calls after a phone sent malformed data"],
  "leaks fibers": [noLeaks],
  "has no transferBlind": transfers,
  "emits no outcome of a transfer": [transferCompletes, transferFails],
  "emits the outcome of a transfer twice": [transferCompletes, transferFails],
  "completes every transfer": [transferFails],
  "ends the call after a failed transfer": [transferFails],
  "passes audio after a transfer": [transferCompletes],
  "continues to ring after the caller's hangup": [callerHangsUp, agentHangsUp],
  "hangs on dial": dialling,
  "connects busy phones": ["dial fails with outcome busy when the phone is busy"],
  "continues to ring after an interrupted dial": [stopsRinging],
  "accepts any format in dial": ["dial fails with DialFailed when no requested format is supported"],
  "dials without audio": [dialConnects],
  "places calls with another id than their legs": [saysPlaced],
  "cuts samples": [wholeSamples],
  "numbers some packets only": [numbered],
  "repeats sequences": [numbered],
  "counts no pauses": [numbered],
  "counts milliseconds": [numbered],
  "has no timestamps": [numbered],
  "passes no early media": [passesEarly],
  "passes early media after an interrupted dial": [passesEarly],
  "passes early media after the answer": [endsEarly],
  "emits early media again": [endsEarly]
}

describe("a telephone network that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[TelephonyBug, Expected]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        // Only these leave something behind, which takes more than the tolerance of sessions to show.
        const leaks = namesOf(names, telephonyChecks(options(bug))).includes(noLeaks)
        const checks = telephonyChecks(options(bug, leaks ? 60 : 1))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
