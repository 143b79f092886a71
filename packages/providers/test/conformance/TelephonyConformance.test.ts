import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import type { TelephonyCheckOptions } from "../../src/testing/TelephonyBench.ts"
import { telephonyChecks } from "../../src/testing/TelephonyChecks.ts"
import { telephonySuite } from "../../src/testing/TelephonySuite.ts"
import { type Expected, failing, namesOf } from "./Failing.ts"
import { refused } from "./ReferenceMessaging.ts"
import { connectPhone, referenceTelephony, type TelephonyBug } from "./ReferenceTelephony.ts"

const options = (bug?: TelephonyBug, sessions = 60): TelephonyCheckOptions => ({
  layer: Layer.suspend(() => referenceTelephony(bug)),
  phone: connectPhone,
  refusesSms: refused,
  sessions
})

telephonySuite({ name: "a correct telephone network", time: "virtual", ...options(undefined, 1000) })

const sendsMessages = "brings messages to the phone, each once and unchanged, if it says that it sends them"
const refusesMessages = "fails a message that the network refuses, with SmsFailed"
const bringsMessages = "brings messages of the phone in, in order"
const ofMessages = [sendsMessages, refusesMessages, bringsMessages]

const transfersCall = "transfers a call, if it says that it does, and tells only the end after that"
const failedTransfer = "tells why a transfer failed, once, and leaves the call with us"
const callerLeaves = "ends a call whose caller hangs up in mid-transfer, and stops the ringing"
const weLeave = "ends a call that we hang up in mid-transfer, and stops the ringing"
const transferring = [transfersCall, failedTransfer, callerLeaves, weLeave]
const dialled = "dials, if it says that it does, with audio both ways"
const dialledAndHungUp = "ends a call that we dialled and hang up"
const stopsRinging = "stops the ringing within 50 ms when it is interrupted"
const dialling = [
  dialled,
  dialledAndHungUp,
  "tells that a phone that we dial is busy",
  "tells that a phone that we dial declines",
  stopsRinging,
  "refuses a format that it cannot do, with DialFailed"
]

const expected: { readonly [B in TelephonyBug]: Expected } = {
  "brings no calls": { allBut: ["declares what it can do", ...dialling, refusesMessages, bringsMessages] },
  "forgets the caller's number": ["brings a call in with its numbers, and rings"],
  "never rings": ["brings a call in with its numbers, and rings", callerLeaves, weLeave, stopsRinging],
  "hangs on answer": {
    allBut: [
      "declares what it can do",
      "brings a call in with its numbers, and rings",
      "tells the phone that a call was refused",
      ...dialling,
      ...ofMessages
    ]
  },
  "dies on answer": {
    allBut: [
      "declares what it can do",
      "brings a call in with its numbers, and rings",
      "tells the phone that a call was refused",
      ...dialling,
      ...ofMessages
    ]
  },
  "answers in one format": ["answers in each format that it declares"],
  "keeps refusals to itself": ["tells the phone that a call was refused"],
  "never notices a caller who gives up": [
    "tells when the caller gives up before the answer, and fails the answer with CallGone"
  ],
  "cancels every call": ["tells when the caller gives up before the answer, and fails the answer with CallGone"],
  "answers calls that are gone": [
    "tells when the caller gives up before the answer, and fails the answer with CallGone"
  ],
  "reorders the caller's audio": [
    "brings the caller's audio, whole and in order",
    "keeps what came before listen, in order",
    "keeps calls apart",
    failedTransfer,
    dialled
  ],
  "half frames": ["brings the caller's audio, whole and in order"],
  "forgets what came before listen": ["keeps what came before listen, in order"],
  "keeps frames": [
    "plays our audio, in order, and copies the frames it is given",
    "tells marks as played once the audio before them was",
    "labels marks truly when audio is cleared: played only if all before them was heard",
    "lets nothing be heard after clear that was sent before it",
    "keeps calls apart",
    failedTransfer,
    dialled
  ],
  "reorders our audio": [
    "plays our audio, in order, and copies the frames it is given",
    "tells marks as played once the audio before them was",
    "keeps calls apart",
    dialled
  ],
  "mark played too early": [
    "labels marks truly when audio is cleared: played only if all before them was heard",
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after"
  ],
  "never marks": [
    "tells marks as played once the audio before them was",
    "labels marks truly when audio is cleared: played only if all before them was heard"
  ],
  "labels cleared marks as played": [
    "labels marks truly when audio is cleared: played only if all before them was heard"
  ],
  "loses cleared marks": ["labels marks truly when audio is cleared: played only if all before them was heard"],
  "plays after clear": ["lets nothing be heard after clear that was sent before it"],
  "throws on clear": [
    "labels marks truly when audio is cleared: played only if all before them was heard",
    "lets nothing be heard after clear that was sent before it",
    "ends the call when we hang up, once",
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after"
  ],
  "hangup not told": [
    "ends the call when we hang up, once",
    "leaves nothing behind after many calls",
    weLeave,
    dialledAndHungUp
  ],
  "throws after the end": [
    "ends the call when we hang up, once",
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after"
  ],
  "audio after the end": [
    "keeps what came before listen, in order",
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after",
    transfersCall,
    callerLeaves
  ],
  "ends twice": [
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after",
    transfersCall
  ],
  "never ends": [
    "keeps what came before listen, in order",
    "tells once that the caller hung up, and nothing after",
    "tells once that the connection broke, and nothing after",
    "keeps calls apart",
    transfersCall,
    callerLeaves,
    dialled
  ],
  "never notices a broken connection": ["tells once that the connection broke, and nothing after"],
  "reorders keys": ["brings keys that were pressed, in order, if it says that it does"],
  "sends no keys": ["sends keys, in order, if it says that it does"],
  "mixes calls": ["keeps calls apart"],
  "sends no messages": [sendsMessages],
  "sends messages twice": [sendsMessages],
  "cuts messages": [sendsMessages],
  "dies on messages": [sendsMessages, refusesMessages],
  "keeps refusals of messages to itself": [refusesMessages],
  "brings no messages": [bringsMessages],
  "garbage ends the network": ["survives a phone that sends garbage, and goes on taking calls"],
  "leaks fibers": ["leaves nothing behind after many calls"],
  "transfers nowhere": transferring,
  "keeps the outcome of a transfer to itself": [transfersCall, failedTransfer],
  "tells the outcome of a transfer twice": [transfersCall, failedTransfer],
  "calls every transfer completed": [failedTransfer],
  "ends a call whose transfer failed": [failedTransfer],
  "hears on after a transfer": [transfersCall],
  "rings on after the caller left": [callerLeaves, weLeave],
  "hangs on dial": dialling,
  "connects what is busy": ["tells that a phone that we dial is busy"],
  "rings on after an interrupted dial": [stopsRinging],
  "dials in any format": ["refuses a format that it cannot do, with DialFailed"],
  "dials without audio": [dialled]
}

describe("a telephone network that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[TelephonyBug, Expected]>) {
    it.effect(`"${bug}" is found out`, () =>
      Effect.gen(function* () {
        const checks = telephonyChecks(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }
})
