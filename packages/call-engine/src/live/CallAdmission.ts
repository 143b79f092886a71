import { SqlClient } from "@effect/sql"
import { Agents, type CallAgent } from "@svc/agents/Agents"
import { newCallId } from "@svc/api/Ids"
import { Billing } from "@svc/billing/Billing"
import type { IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Clock, Context, Effect, Layer } from "effect"
import { type CallOwner, CallsRepo } from "../record/CallsRepo.ts"
import { Settlement } from "../record/Settlement.ts"

/** A call that reached one of our numbers. */
export interface ArrivedCall {
  readonly telephony: Pick<Context.Tag.Service<Telephony>, "id">
  readonly incoming: IncomingCall
  /** The lease under which it lives here. */
  readonly node_id: string
  readonly org_id: number
  readonly project_id: number
  /** Null when the number has none, or none that is there any more. */
  readonly agent: CallAgent | null
}

/** A call that an agent is to place. */
export interface OutboundCall {
  readonly agent: CallAgent
  readonly org_id: number
  /** The plugin's id. */
  readonly telephony: string
  readonly node_id: string
  readonly from: string
  readonly to: string
  readonly metadata: { readonly [key: string]: unknown }
}

export type Refusal = "no-agent" | "paused" | "full"

const why = {
  "no-agent": { cause: "unavailable", reason: "the number has no agent" },
  paused: { cause: "unavailable", reason: "the account has no credits" },
  full: { cause: "busy", reason: "as many calls as the account may have are live" }
} as const

/**
 * Decides whether a call is taken, and writes its record (spec 3.1, decisions §4.1). A call that is not is refused before
 * it rings: no agent, no credits, or no slot.
 */
export class CallAdmission extends Context.Tag("@svc/call-engine/CallAdmission")<
  CallAdmission,
  {
    /** The record of a call that rings now; undefined when it was refused, and is over. */
    readonly admit: (call: ArrivedCall) => Effect.Effect<CallOwner | undefined>
    /** The record of a call that is about to be placed; or why it may not be, and then nothing is written. */
    readonly admitOutbound: (call: OutboundCall) => Effect.Effect<CallOwner | Refusal>
  }
>() {
  static readonly layer: Layer.Layer<
    CallAdmission,
    never,
    Agents | Billing | CallsRepo | Settlement | SqlClient.SqlClient
  > = Layer.effect(
    CallAdmission,
    Effect.gen(function* () {
      const agents = yield* Agents
      const billing = yield* Billing
      const repo = yield* CallsRepo
      const settlement = yield* Settlement
      const sql = yield* SqlClient.SqlClient

      const record = ({ incoming, node_id, org_id, project_id, telephony, ...call }: ArrivedCall) =>
        Effect.gen(function* () {
          // Deleted since it was looked up, it answers no more. Else its deletion waits, and then sees this call.
          const agent = call.agent !== null && (yield* agents.pin(call.agent.id)) ? call.agent : null
          const public_id = yield* newCallId
          const admission =
            agent === null
              ? ("no-agent" as const)
              : yield* billing.admit({ call_id: public_id, org_id, recording: agent.recording })
          const row = {
            public_id,
            org_id,
            project_id,
            agent_id: agent?.id ?? null,
            agent_public_id: agent?.public_id ?? null,
            node_id,
            status: admission === "admitted" ? ("ringing" as const) : ("rejected" as const),
            from_number: incoming.from,
            to_number: incoming.to,
            started_at: new Date(yield* Clock.currentTimeMillis)
          }
          const owner = {
            ...row,
            recording_enabled: false,
            id: yield* repo.insert({ ...row, telephony: telephony.id })
          }
          if (admission === "admitted") return { owner, refused: undefined }
          yield* settlement.settleWithout(
            owner,
            { status: "rejected", disposition: "rejected", ended_reason: null },
            owner.started_at
          )
          return { owner, refused: why[admission] }
        })

      const recordOutbound = ({ agent, from, metadata, node_id, org_id, telephony, to }: OutboundCall) =>
        Effect.gen(function* () {
          if (!(yield* agents.pin(agent.id))) return "no-agent" as const
          const public_id = yield* newCallId
          const admission = yield* billing.admit({ call_id: public_id, org_id, recording: agent.recording })
          if (admission !== "admitted") return admission
          const row = {
            public_id,
            org_id,
            project_id: agent.project_id,
            agent_id: agent.id,
            agent_public_id: agent.public_id,
            node_id,
            status: "ringing" as const,
            from_number: from,
            to_number: to,
            started_at: new Date(yield* Clock.currentTimeMillis)
          }
          return { ...row, recording_enabled: false, id: yield* repo.insert({ ...row, telephony, metadata }) }
        })

      return {
        admitOutbound: Effect.fn("CallAdmission.admitOutbound")((call) =>
          Effect.orDie(sql.withTransaction(recordOutbound(call)))
        ),
        admit: Effect.fn("CallAdmission.admit")(function* (call) {
          // One transaction: a slot without a record would never be given back, a rejected call never end.
          const { owner, refused } = yield* Effect.orDie(sql.withTransaction(record(call)))
          if (refused === undefined) return owner
          call.incoming.reject(refused.cause, refused.reason)
          return undefined
        })
      }
    })
  )
}
