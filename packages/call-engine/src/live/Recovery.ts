import { inSteps } from "@svc/api/Thread"
import { NodeLease } from "@svc/cluster/NodeLease"
import { recordOf } from "@svc/conversation/CallRecord"
import { step } from "@svc/conversation/Conversation"
import * as Ending from "@svc/conversation/machines/Ending"
import * as Problems from "@svc/conversation/machines/Problems"
import { replaying } from "@svc/conversation/Replay"
import { Context, Effect, Layer } from "effect"
import { type CallOwner, CallsRepo } from "../record/CallsRepo.ts"
import { JournalRepo } from "../record/JournalRepo.ts"
import { Settlement } from "../record/Settlement.ts"

const notAdmitted = Problems.ofServer("the call was refused, and the process of Svc stopped before it was recorded")
const lost = Problems.ofServer("the process of Svc stopped working when the call had just arrived")

/** Settles the calls of dead nodes from their journals: as failed, with every finished turn. */
export class Recovery extends Context.Tag("@svc/call-engine/Recovery")<
  Recovery,
  {
    /** Settles the calls that were live under these leases, in the caller's transaction. */
    readonly settleCallsOf: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Recovery, never, CallsRepo | JournalRepo | Settlement> = Layer.effect(
    Recovery,
    Effect.gen(function* () {
      const repo = yield* CallsRepo
      const journal = yield* JournalRepo
      const settlement = yield* Settlement

      const settle = (call: CallOwner) =>
        Effect.gen(function* () {
          // Rejected at admission, but not settled before the node died.
          if (call.status === "rejected")
            return yield* settlement.settleWithoutConversation(call, Ending.rejected, call.started_at, notAdmitted)
          const rows = yield* journal.ofCall(call.id)
          const replayed = yield* inSteps(() => replaying(rows))
          if (replayed === undefined)
            return yield* settlement.settleWithoutConversation(call, Ending.failed, call.started_at, lost)
          // The last journaled input is the latest time at which the call is known to have been live.
          const last = rows.at(-1)?.input
          const at = last === undefined || last._tag === "Facts" ? 0 : last.at
          const [state, closing] = step(replayed.state, {
            _tag: "Crashed",
            at,
            reason: "the process that held the call died",
            recovered: true
          })
          const recorded = call.recording_enabled
            ? { seconds: recordOf(state).duration_seconds, writer: null }
            : undefined
          return yield* settlement.settle(call, state, recorded, closing)
        }).pipe(Effect.annotateLogs("call_id", call.public_id))

      return {
        settleCallsOf: (nodes) =>
          Effect.flatMap(repo.liveOn(nodes), (calls) => Effect.forEach(calls, settle, { discard: true }))
      }
    })
  )

  /** Recovers the calls of every node that dies. */
  static readonly onNodeDeath: Layer.Layer<never, never, Recovery | NodeLease> = Layer.scopedDiscard(
    Effect.gen(function* () {
      const lease = yield* NodeLease
      const recovery = yield* Recovery
      yield* lease.onDeath("calls", recovery.settleCallsOf)
    })
  )
}
