import { randomUUID } from "node:crypto"
import { Effect, Exit } from "effect"
import type { Directory, RegisteredLine, Registration } from "./Directory.ts"

/** Why nobody answered. */
export interface RingFailed {
  readonly outcome: "busy" | "no-answer" | "rejected" | "failed"
  readonly reason: string
}

/** A number that answered. */
export interface Rung<L extends RegisteredLine> extends Registration<L> {
  /** The call, as the phone was told. */
  readonly ref: string
}

/**
 * Rings a number of the network, and completes when it answers as it was registered to (plugins.md). A phone that rings is
 * told `incoming`; when the ringing is interrupted, `hangup`.
 */
export const ring = <L extends RegisteredLine>(
  directory: Directory<L>,
  call: {
    readonly from: string
    readonly to: string
    readonly onRinging: () => void
    /** A phone that carries a call is busy. */
    readonly needsLine?: boolean
  }
): Effect.Effect<Rung<L>, RingFailed> =>
  Effect.suspend(() => {
    const found = directory.find(call.to)
    if (found === undefined) return fail("failed", `nobody has the number ${call.to}`)
    const { behaviour, line, ring_ms } = found
    if (behaviour === "busy") return fail("busy", "the line is busy")
    const takes = behaviour === "answer" || behaviour === "manual"
    if (call.needsLine === true && takes && line.busy()) return fail("busy", "the phone has a call already")
    const ref = randomUUID()
    call.onRinging()
    if (behaviour === "reject") return Effect.zipRight(Effect.sleep(ring_ms), fail("rejected", "the call was declined"))
    line.tell({ event: "incoming", call_ref: ref, from: call.from, to: call.to })
    const answered =
      behaviour === "manual" ? line.decision(ref) : behaviour === "no-answer" ? Effect.never : Effect.sleep(ring_ms)
    return Effect.as(answered, { ...found, ref }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isInterrupted(exit)) line.tell({ event: "hangup", cause: "canceled" })
        })
      )
    )
  })

const fail = (outcome: RingFailed["outcome"], reason: string): Effect.Effect<never, RingFailed> =>
  Effect.fail({ outcome, reason })
