import { Effect, Fiber } from "effect"
import type { CallLeg, DialFailed, OutgoingCall } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow } from "./Check.ts"
import type { OtherBehaviour, OtherPhone } from "./Phone.ts"
import {
  audioOf,
  listen,
  marked,
  marksIn,
  marksOf,
  type Network,
  play,
  type TelephonyCheckOptions,
  telephonyBench
} from "./TelephonyBench.ts"

/** How a phone's behaviour may be told. */
const outcomes: { readonly [B in OtherBehaviour]: ReadonlyArray<DialFailed["outcome"]> } = {
  answers: [],
  busy: ["busy"],
  declines: ["rejected", "busy"],
  rings: ["no-answer"]
}

/** What a telephone network must do that places calls; nothing is asked of others. */
export const dialChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const { check, eventually, numbers, quiet, within } = telephonyBench(options)

  /** Runs a check against a network that dials, with another phone on it. */
  const dialling = (
    name: string,
    behaves: OtherBehaviour,
    body: (
      dial: (change?: Partial<OutgoingCall>) => Effect.Effect<CallLeg, DialFailed>,
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
        yield* body((change) => Effect.suspend(() => outbound.dial({ ...call, ...change })), phone)
      })
    )

  const answered = (dial: Effect.Effect<CallLeg, DialFailed>): Effect.Effect<CallLeg, CheckFailed> =>
    Effect.mapError(within("dialling a phone that answers", dial), (error) =>
      error instanceof CheckFailed ? error : new CheckFailed({ reason: `dialling failed: ${error.reason}` })
    )

  /** The error of a call that is not answered. */
  const failed = (dial: Effect.Effect<CallLeg, DialFailed>): Effect.Effect<DialFailed, CheckFailed> =>
    Effect.flatMap(Effect.either(within("dialling", dial)), (result) => {
      if (result._tag === "Right") return new CheckFailed({ reason: "it connected a phone that does not answer" })
      const error = result.left
      if (error instanceof CheckFailed) return error
      return error._tag === "DialFailed"
        ? Effect.succeed(error)
        : new CheckFailed({ reason: `dialling failed with ${error}` })
    })

  const refusal = (behaves: "busy" | "declines"): Check =>
    dialling(`tells that a phone that we dial ${behaves === "busy" ? "is busy" : "declines"}`, behaves, (dial) =>
      Effect.gen(function* () {
        const { outcome } = yield* failed(dial())
        yield* must(outcomes[behaves].includes(outcome), `it told "${outcome}"`)
      })
    )

  return [
    dialling("dials, if it says that it does, with audio both ways", "answers", (dial, { call }) =>
      Effect.gen(function* () {
        const leg = yield* answered(dial())
        const events = yield* listen(leg)
        yield* eventually("the phone's call being answered", () => call.state() === "answered")
        yield* play(leg, 0, 10)
        const ours = marksOf(leg.format, 0, 10)
        yield* eventually("our audio", () => marksIn(call.heard()).join() === ours.join())
        yield* call.send(marked(leg.format, 20))
        const theirs = marksOf(leg.format, 20, 21)[0] ?? 0
        yield* eventually("the phone's audio", () => marksIn(audioOf(events)).includes(theirs))
        yield* call.hangup
        yield* eventually("the event Ended", () => events.some(({ _tag }) => _tag === "Ended"))
      })
    ),
    dialling("ends a call that we dialled and hang up", "answers", (dial, { call }) =>
      Effect.gen(function* () {
        const leg = yield* answered(dial())
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the phone's call ending", () => call.state() === "ended")
      })
    ),
    refusal("busy"),
    refusal("declines"),
    dialling("stops the ringing within 50 ms when it is interrupted", "rings", (dial, { call }) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(dial())
        yield* eventually("the phone ringing", () => call.state() === "ringing")
        yield* quiet
        yield* must(fiber.unsafePoll() === null, "it did not wait for the answer")
        yield* Fiber.interrupt(fiber).pipe(
          Effect.disconnect,
          Effect.timeoutFail({
            duration: 50,
            onTimeout: () => new CheckFailed({ reason: "it goes on for more than 50 ms after its interruption" })
          })
        )
        yield* eventually("the end of the ringing", () => call.state() === "ended")
      })
    ),
    dialling("refuses a format that it cannot do, with DialFailed", "answers", (dial) =>
      Effect.gen(function* () {
        const { outcome } = yield* failed(dial({ formats: [] }))
        yield* must(outcome === "failed", `it told "${outcome}"`)
      })
    )
  ]
}
