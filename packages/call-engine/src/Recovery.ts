import type { EventDraft } from "@svc/api/events/Event"
import { Context, Effect, Layer } from "effect"
import { type CallOwner, CallsRepo } from "./CallsRepo.ts"
import type { Command } from "./conversation/Command.ts"
import { isoTime, step } from "./conversation/Conversation.ts"
import * as Ending from "./conversation/Ending.ts"
import type { Conversation } from "./conversation/State.ts"
import { replay } from "./Replay.ts"
import { recordOf, Settlement } from "./Settlement.ts"

/** Ends the calls whose process died, from their journals (decisions §4.14): failed, with every turn that was finished. */
export class Recovery extends Context.Tag("@svc/call-engine/Recovery")<
  Recovery,
  {
    /** Settles what was live under these leases. Part of the caller's transaction. */
    readonly settleCallsOf: (nodes: ReadonlyArray<string>) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Recovery, never, CallsRepo | Settlement> = Layer.effect(
    Recovery,
    Effect.gen(function* () {
      const repo = yield* CallsRepo
      const settlement = yield* Settlement

      const settle = (call: CallOwner) =>
        Effect.gen(function* () {
          // Refused, and not yet settled as such.
          if (call.status === "rejected") return yield* settlement.settleWithout(call, Ending.rejected, call.started_at)
          const rows = yield* repo.journal(call.id)
          const replayed = replay(rows)
          if (replayed === undefined) return yield* settlement.settleWithout(call, Ending.failed, call.started_at)
          // The call is known to have lived until its last input.
          const last = rows.at(-1)?.input
          const at = last === undefined || last._tag === "Facts" ? 0 : last.at
          const [state, commands] = step(replayed.state, {
            _tag: "Crashed",
            at,
            reason: "the process that held the call died"
          })
          const recorded = call.recording_enabled
            ? { seconds: recordOf(state).duration_seconds, writer: null }
            : undefined
          return yield* settlement.settle(call, state, recorded, failedTransfer(call, state, commands))
        })

      return {
        settleCallsOf: (nodes) =>
          Effect.flatMap(repo.liveOn(nodes), (calls) => Effect.forEach(calls, settle, { discard: true }))
      }
    })
  )
}

/** A transfer that was under way has an outcome too: it failed (spec 3.2). */
const failedTransfer = (
  call: CallOwner,
  state: Conversation,
  commands: ReadonlyArray<Command>
): ReadonlyArray<EventDraft> =>
  commands.flatMap(
    (c): ReadonlyArray<EventDraft> =>
      c._tag === "Emit" && c.event === "transfer.failed"
        ? [
            {
              event: c.event,
              data: c.data,
              org_id: call.org_id,
              project_id: call.project_id,
              agent_id: call.agent_public_id,
              call_id: call.public_id,
              timestamp: isoTime(state, c.at)
            }
          ]
        : []
  )
