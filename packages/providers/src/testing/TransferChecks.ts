import { Effect } from "effect"
import type { CallEvent, TransferState } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow } from "./Check.ts"
import type { OtherBehaviour } from "./Phone.ts"
import {
  audioOf,
  type Connected,
  marked,
  marksIn,
  marksOf,
  type Network,
  play,
  type TelephonyCheckOptions,
  telephonyBench
} from "./TelephonyBench.ts"

const progressOf = (events: ReadonlyArray<CallEvent>): ReadonlyArray<TransferState> =>
  events.flatMap((event) => (event._tag === "TransferProgress" ? [event.state] : []))
const outcomesOf = (events: ReadonlyArray<CallEvent>) => progressOf(events).filter((state) => state !== "ringing")
const hasEnded = (events: ReadonlyArray<CallEvent>) => events.some(({ _tag }) => _tag === "Ended")

/** How a destination's behaviour may be told. */
const outcomes: { readonly [B in OtherBehaviour]: ReadonlyArray<TransferState> } = {
  answers: ["completed"],
  busy: ["busy"],
  declines: ["rejected", "busy"],
  rings: ["no-answer"]
}

/** What a telephone network must do that says that it transfers calls; nothing is asked of others. */
export const transferChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const { check, eventually, quiet } = telephonyBench(options)

  /** A call whose transfer to a phone has begun. */
  const transfer = ({ connect, other }: Network, behaves: OtherBehaviour) =>
    Effect.gen(function* () {
      const phone = yield* other("transfer", behaves)
      const connected = yield* connect
      const { leg } = connected
      if (leg.transferBlind === undefined) {
        return yield* new CheckFailed({ reason: "transfer is declared, but legs cannot" })
      }
      yield* mustNotThrow("transferBlind", () => leg.transferBlind?.(phone.number))
      return { ...connected, other: phone }
    })

  /** Audio still passes both ways. */
  const isWithUs = ({ events, leg, phone }: Connected) =>
    Effect.gen(function* () {
      yield* play(leg, 0, 10)
      yield* phone.send(marked(leg.format, 20))
      const ours = marksOf(leg.format, 9, 10)[0] ?? 0
      yield* eventually("our audio after the transfer failed", () => marksIn(phone.heard()).includes(ours))
      const theirs = marksOf(leg.format, 20, 21)[0] ?? 0
      yield* eventually("the caller's audio after the transfer failed", () => marksIn(audioOf(events)).includes(theirs))
      yield* must(!hasEnded(events), "the call ended, though the transfer failed")
    })

  const transfers = (network: Network) => network.telephony.capabilities.transfer !== "none"

  return [
    check("transfers a call, if it says that it does, and tells only the end after that", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, leg, other, phone } = yield* transfer(network, "answers")
        yield* eventually("the outcome of the transfer", () => outcomesOf(events).length > 0)
        yield* must(outcomesOf(events)[0] === "completed", `the outcome is "${outcomesOf(events)[0]}"`)
        const ringing = progressOf(events).filter((state) => state === "ringing").length
        yield* must(ringing <= 1, `it told ringing ${ringing} times`)
        yield* must(other.call.state() !== "dialling", "the destination was never called")
        const before = marksIn(phone.heard()).length
        yield* play(leg, 0, 5)
        yield* phone.send(marked(leg.format, 20))
        yield* phone.hangup
        yield* eventually("the event Ended", () => hasEnded(events))
        yield* quiet
        const completed = events.findIndex((e) => e._tag === "TransferProgress" && e.state === "completed")
        const after = events.slice(completed + 1).map(({ _tag }) => _tag)
        yield* must(after.join() === "Ended", `after completed it told ${after.join(", ")}`)
        yield* must(marksIn(phone.heard()).length === before, "the agent was heard after the transfer")
      })
    ),
    check("tells why a transfer failed, once, and leaves the call with us", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        for (const behaves of ["busy", "declines"] as const) {
          const connected = yield* transfer(network, behaves)
          yield* eventually(`the outcome of a transfer to a phone that ${behaves}`, () => {
            return outcomesOf(connected.events).length > 0
          })
          yield* isWithUs(connected)
          yield* quiet
          const told = outcomesOf(connected.events)
          const right = told.length === 1 && told.every((state) => outcomes[behaves].includes(state))
          yield* must(right, `of a phone that is "${behaves}" it told ${told.join(", ")}`)
        }
      })
    ),
    check("ends a call whose caller hangs up in mid-transfer, and stops the ringing", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, other, phone } = yield* transfer(network, "rings")
        yield* eventually("the destination ringing", () => other.call.state() === "ringing")
        yield* phone.hangup
        yield* eventually("the event Ended", () => hasEnded(events))
        yield* eventually("the end of the ringing", () => other.call.state() === "ended")
        yield* quiet
        yield* must(outcomesOf(events).length === 0, `it told ${outcomesOf(events).join(", ")}`)
        yield* must(events.at(-1)?._tag === "Ended", `it told ${events.at(-1)?._tag} after Ended`)
      })
    ),
    check("ends a call that we hang up in mid-transfer, and stops the ringing", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, leg, other, phone } = yield* transfer(network, "rings")
        yield* eventually("the destination ringing", () => other.call.state() === "ringing")
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the phone's call ending", () => phone.state() === "ended")
        yield* eventually("the end of the ringing", () => other.call.state() === "ended")
        yield* quiet
        yield* must(outcomesOf(events).length === 0, `it told ${outcomesOf(events).join(", ")}`)
      })
    )
  ]
}
