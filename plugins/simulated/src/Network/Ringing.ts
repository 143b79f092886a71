import { randomUUID } from "node:crypto"
import { Effect, Exit } from "effect"
import type { Directory, RegisteredPhone, Registration } from "./Directory.ts"

/** Why a call was not answered. */
export interface RingFailed {
  readonly outcome: "busy" | "no-answer" | "rejected" | "failed"
  readonly reason: string
}

/** The registration that answered a call. */
export interface Answered<L extends RegisteredPhone> extends Registration<L> {
  /** The `call_ref` of the phone's `incoming` message. */
  readonly ref: string
}

/**
 * Rings a number of the network and completes when it answers, by its registered behaviour. The phone receives
 * `incoming`, and `hangup` when the ringing is interrupted.
 */
export const ring = <L extends RegisteredPhone>(
  directory: Directory<L>,
  call: {
    readonly from: string
    readonly to: string
    readonly onRinging: () => void
    /** Whether a phone that already has a call is busy. */
    readonly needsFreePhone?: boolean
  }
): Effect.Effect<Answered<L>, RingFailed> =>
  Effect.suspend(() => {
    const found = directory.find(call.to)
    if (found === undefined) return fail("failed", `nobody has the number ${call.to}`)
    const { behaviour, phone, ring_ms } = found
    if (behaviour === "busy") return fail("busy", "the line is busy")
    const takes = behaviour === "answer" || behaviour === "manual"
    if (call.needsFreePhone === true && takes && phone.busy()) return fail("busy", "the phone has a call already")
    const ref = randomUUID()
    call.onRinging()
    if (behaviour === "reject") return Effect.zipRight(Effect.sleep(ring_ms), fail("rejected", "the call was declined"))
    phone.send({ event: "incoming", call_ref: ref, from: call.from, to: call.to })
    const answered =
      behaviour === "manual" ? phone.decision(ref) : behaviour === "no-answer" ? Effect.never : Effect.sleep(ring_ms)
    return Effect.as(answered, { ...found, ref }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isInterrupted(exit)) phone.send({ event: "hangup", cause: "canceled" })
        })
      )
    )
  })

const fail = (outcome: RingFailed["outcome"], reason: string): Effect.Effect<never, RingFailed> =>
  Effect.fail({ outcome, reason })
