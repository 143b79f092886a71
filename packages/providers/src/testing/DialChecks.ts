import { Effect, Fiber } from "effect"
import type { CallLeg, DialFailed, DialProgress, OutgoingCall } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow, mustSucceed } from "./Check.ts"
import type { OtherBehaviour, OtherPhone } from "./Phone.ts"
import {
  audioOf,
  labelled,
  labelsIn,
  labelsOf,
  listen,
  type Network,
  play,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

/** The outcomes that are allowed for each behaviour of the phone. */
const outcomes: { readonly [B in OtherBehaviour]: ReadonlyArray<DialFailed["outcome"]> } = {
  answers: [],
  busy: ["busy"],
  declines: ["rejected", "busy"],
  rings: ["no-answer"]
}

/** The requirements on outbound calls. They pass when the plugin has no `outbound`. */
export const dialChecks = (harness: TelephonyHarness): ReadonlyArray<Check> => {
  const { check, eventually, mustFail, numbers, quiet, within } = harness

  /** A check that dials a phone with the given behaviour. */
  const dialling = (
    name: string,
    behaves: OtherBehaviour,
    body: (
      dial: (change?: Partial<OutgoingCall>, progress?: DialProgress) => Effect.Effect<CallLeg, DialFailed>,
      other: OtherPhone
    ) => Effect.Effect<void, CheckFailed>
  ): Check =>
    check(name, ({ other, telephony }: Network) =>
      Effect.gen(function* () {
        const { outbound } = telephony
        if (outbound === undefined) return
        const phone = yield* other("outbound", behaves)
        const call = {
          callId: "call_out",
          to: phone.number,
          from: numbers.to,
          formats: telephony.capabilities.formats.slice(0, 1)
        }
        yield* body((change, progress) => Effect.suspend(() => outbound.dial({ ...call, ...change }, progress)), phone)
      })
    )

  const answered = (dial: Effect.Effect<CallLeg, DialFailed>): Effect.Effect<CallLeg, CheckFailed> =>
    within("dial", dial).pipe(mustSucceed("dial"))

  /** The error of a call that must not be answered. */
  const failed = (dial: Effect.Effect<CallLeg, DialFailed>): Effect.Effect<DialFailed, CheckFailed> =>
    mustFail("dial", dial, ({ _tag }) => _tag === "DialFailed")

  const refusal = (behaves: "busy" | "declines"): Check =>
    dialling(
      `dial fails with outcome ${outcomes[behaves].join(" or ")} when the phone ${behaves === "busy" ? "is busy" : "declines"}`,
      behaves,
      (dial) =>
        Effect.gen(function* () {
          const { outcome } = yield* failed(dial())
          yield* must(outcomes[behaves].includes(outcome), `the outcome is "${outcome}"`)
        })
    )

  return [
    dialling("dial connects audio in both directions if outbound is provided", "answers", (dial, { call }) =>
      Effect.gen(function* () {
        const leg = yield* answered(dial())
        const events = yield* listen(leg)
        yield* eventually("the answer on the phone", () => call.state() === "answered")
        yield* play(leg, 0, 10)
        const agentLabels = labelsOf(leg.format, 0, 10)
        yield* eventually("the agent's audio on the phone", () => labelsIn(call.heard()).join() === agentLabels.join())
        yield* call.send(labelled(leg.format, 20))
        const phoneLabel = labelsOf(leg.format, 20, 21)[0] ?? 0
        yield* eventually("the phone's audio on the leg", () => labelsIn(audioOf(events)).includes(phoneLabel))
        yield* call.hangup
        yield* eventually("the event Ended", () => events.some(({ _tag }) => _tag === "Ended"))
      })
    ),
    dialling("the id that dial gives to onPlaced is that of its leg", "answers", (dial) =>
      Effect.gen(function* () {
        const placed: Array<string> = []
        const { carrierCallId } = yield* answered(dial({}, { onPlaced: (id) => void placed.push(id) }))
        const last = placed.at(-1)
        // It is optional.
        yield* must(
          last === undefined || last === carrierCallId,
          `onPlaced got ${last} last, and the leg has ${carrierCallId}`
        )
      })
    ),
    dialling("hangup ends a dialled call on the phone", "answers", (dial, { call }) =>
      Effect.gen(function* () {
        const leg = yield* answered(dial())
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the end of the call on the phone", () => call.state() === "ended")
      })
    ),
    refusal("busy"),
    refusal("declines"),
    dialling("dial stops the ringing within 50 ms when it is interrupted", "rings", (dial, { call }) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(dial())
        yield* eventually("the phone ringing", () => call.state() === "ringing")
        yield* quiet
        yield* must(fiber.unsafePoll() === null, "dial completed before the phone answered")
        yield* Fiber.interrupt(fiber).pipe(
          Effect.disconnect,
          Effect.timeoutFail({
            duration: 50,
            onTimeout: () => new CheckFailed({ reason: "it took longer than 50 ms to stop after its interruption" })
          })
        )
        yield* eventually("the end of the ringing", () => call.state() === "ended")
      })
    ),
    dialling("dial fails with DialFailed when no requested format is supported", "answers", (dial) =>
      Effect.gen(function* () {
        const { outcome } = yield* failed(dial({ formats: [] }))
        yield* must(outcome === "failed", `the outcome is "${outcome}"`)
      })
    )
  ]
}
