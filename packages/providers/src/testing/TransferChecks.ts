import { Effect } from "effect"
import type { CallEvent, TransferState } from "../Telephony.ts"
import { type Check, CheckFailed, must, mustNotThrow } from "./Check.ts"
import type { OtherBehaviour } from "./Phone.ts"
import {
  audioOf,
  type Connected,
  labelled,
  labelsIn,
  labelsOf,
  type Network,
  play,
  type TelephonyHarness
} from "./TelephonyHarness.ts"

const progressOf = (events: ReadonlyArray<CallEvent>): ReadonlyArray<TransferState> =>
  events.flatMap((event) => (event._tag === "TransferProgress" ? [event.state] : []))
const outcomesOf = (events: ReadonlyArray<CallEvent>) => progressOf(events).filter((state) => state !== "ringing")
const hasEnded = (events: ReadonlyArray<CallEvent>) => events.some(({ _tag }) => _tag === "Ended")

/** The outcomes that are allowed for each behaviour of the destination. */
const outcomes: { readonly [B in OtherBehaviour]: ReadonlyArray<TransferState> } = {
  answers: ["completed"],
  busy: ["busy"],
  declines: ["rejected", "busy"],
  rings: ["no-answer"]
}

/** The requirements on transfers. They pass when the network declares none. */
export const transferChecks = ({ check, eventually, quiet }: TelephonyHarness): ReadonlyArray<Check> => {
  /** A call whose transfer to a phone was started. */
  const transfer = ({ connect, other }: Network, behaves: OtherBehaviour) =>
    Effect.gen(function* () {
      const phone = yield* other("transfer", behaves)
      const connected = yield* connect
      const { leg } = connected
      if (leg.transferBlind === undefined) {
        return yield* new CheckFailed({ reason: "transfer is declared, but the leg has no transferBlind" })
      }
      yield* mustNotThrow("transferBlind", () => leg.transferBlind?.(phone.number))
      return { ...connected, other: phone }
    })

  /** Audio still passes in both directions. */
  const continuesWithAgent = ({ events, leg, phone }: Connected) =>
    Effect.gen(function* () {
      yield* play(leg, 0, 10)
      yield* phone.send(labelled(leg.format, 20))
      const agentLabel = labelsOf(leg.format, 9, 10)[0] ?? 0
      yield* eventually("the agent's audio after the failed transfer", () =>
        labelsIn(phone.heard()).includes(agentLabel)
      )
      const callerLabel = labelsOf(leg.format, 20, 21)[0] ?? 0
      yield* eventually("the caller's audio after the failed transfer", () =>
        labelsIn(audioOf(events)).includes(callerLabel)
      )
      yield* must(!hasEnded(events), "the call ended although the transfer had failed")
    })

  const transfers = (network: Network) => network.telephony.capabilities.transfer !== "none"

  return [
    check("transferBlind completes if transfer is declared, and only Ended follows", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, leg, other, phone } = yield* transfer(network, "answers")
        yield* eventually("the outcome of the transfer", () => outcomesOf(events).length > 0)
        yield* must(outcomesOf(events)[0] === "completed", `the outcome is "${outcomesOf(events)[0]}"`)
        const ringing = progressOf(events).filter((state) => state === "ringing").length
        yield* must(ringing <= 1, `it emitted ringing ${ringing} times`)
        yield* must(other.call.state() !== "dialling", "the destination was not called")
        const before = labelsIn(phone.heard()).length
        yield* play(leg, 0, 5)
        yield* phone.send(labelled(leg.format, 20))
        yield* phone.hangup
        yield* eventually("the event Ended", () => hasEnded(events))
        yield* quiet
        const completed = events.findIndex((e) => e._tag === "TransferProgress" && e.state === "completed")
        const after = events.slice(completed + 1).map(({ _tag }) => _tag)
        yield* must(after.join() === "Ended", `after completed it emitted ${after.join(", ")}`)
        yield* must(labelsIn(phone.heard()).length === before, "the agent was heard after the transfer")
      })
    ),
    check("a failed transfer emits its outcome once, and the call continues with the agent", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        for (const behaves of ["busy", "declines"] as const) {
          const connected = yield* transfer(network, behaves)
          yield* eventually(`the outcome of a transfer with the behaviour "${behaves}"`, () => {
            return outcomesOf(connected.events).length > 0
          })
          yield* continuesWithAgent(connected)
          yield* quiet
          const emitted = outcomesOf(connected.events)
          const right = emitted.length === 1 && emitted.every((state) => outcomes[behaves].includes(state))
          yield* must(right, `for the behaviour "${behaves}" it emitted ${emitted.join(", ")}`)
        }
      })
    ),
    check("the caller's hangup during a transfer ends the call and stops the ringing", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, other, phone } = yield* transfer(network, "rings")
        yield* eventually("the destination ringing", () => other.call.state() === "ringing")
        yield* phone.hangup
        yield* eventually("the event Ended", () => hasEnded(events))
        yield* eventually("the end of the ringing", () => other.call.state() === "ended")
        yield* quiet
        yield* must(outcomesOf(events).length === 0, `it emitted ${outcomesOf(events).join(", ")}`)
        yield* must(events.at(-1)?._tag === "Ended", `it emitted ${events.at(-1)?._tag} after Ended`)
      })
    ),
    check("hangup during a transfer ends the call and stops the ringing", (network) =>
      Effect.gen(function* () {
        if (!transfers(network)) return
        const { events, leg, other, phone } = yield* transfer(network, "rings")
        yield* eventually("the destination ringing", () => other.call.state() === "ringing")
        yield* mustNotThrow("hangup", () => leg.hangup("conformance"))
        yield* eventually("the end of the call on the phone", () => phone.state() === "ended")
        yield* eventually("the end of the ringing", () => other.call.state() === "ended")
        yield* quiet
        yield* must(outcomesOf(events).length === 0, `it emitted ${outcomesOf(events).join(", ")}`)
      })
    )
  ]
}
