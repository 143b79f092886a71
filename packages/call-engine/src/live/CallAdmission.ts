import { SqlClient } from "@effect/sql"
import { Agents, type CallAgent } from "@svc/agents/Agents"
import { newCallId } from "@svc/api/Ids"
import { Billing } from "@svc/billing/Billing"
import type { IncomingCall, Telephony } from "@svc/providers/Telephony"
import { Clock, Context, Data, Effect, Layer } from "effect"
import { CallLinksRepo } from "../links/CallLinksRepo.ts"
import { type CallOwner, CallsRepo } from "../record/CallsRepo.ts"
import { Settlement } from "../record/Settlement.ts"
import { countAdmitted, countRejected, type RejectionReason } from "./CallMetrics.ts"
import { inOrder } from "./InOrder.ts"

/** An inbound call to one of our numbers, or through a call link. */
export interface ArrivedCall {
  readonly telephony: Pick<Context.Tag.Service<Telephony>, "id">
  readonly incoming: IncomingCall
  /** Our number that was called, which the network may have written in another way; absent for calls through a link. */
  readonly to?: string
  /** The lease of this node, under which the call is live. */
  readonly node_id: string
  readonly org_id: number
  readonly project_id: number
  /** Null when the number has no agent, or a deleted one. */
  readonly agent: CallAgent | null
  /** The call link, whose calls are counted; then `incoming` does not say who calls whom. */
  readonly link?: {
    readonly id: number
    readonly from: string | null
    readonly to: string | null
    readonly metadata: { readonly [key: string]: unknown }
  }
}

/** An outbound call. */
export interface OutboundCall {
  readonly agent: CallAgent
  readonly org_id: number
  /** The id of the telephony provider. */
  readonly telephony: string
  readonly node_id: string
  readonly from: string
  readonly to: string
  readonly metadata: { readonly [key: string]: unknown }
}

export type Refusal = "no-agent" | "paused" | "full"

const reasonOf = (refusal: Refusal): RejectionReason => (refusal === "no-agent" ? "no_agent" : refusal)

/** Undoes the admission of a call whose link was closed meanwhile. */
class ClosedLink extends Data.TaggedError("ClosedLink") {}

/** Why a call is refused whose link has expired, was used up, or is none. */
export const closedLink = { cause: "declined", reason: "the link has expired or was used up" } as const

const rejections = {
  "no-agent": {
    cause: "unavailable",
    reason: "the number has no agent",
    hint: "Give the number an agent: PATCH /v1/phone-numbers/<id> with agent_id."
  },
  paused: {
    cause: "unavailable",
    reason: "the account has no credits",
    hint: "Add credits: `svc credits add <organization> <eur>`."
  },
  full: {
    cause: "busy",
    reason: "as many calls as the account may have are live",
    hint: "Wait until a call has ended, or change the plan: `svc org set-tier <organization> <tier>`."
  }
} as const

/**
 * How many calls are admitted at once; the others wait, in order. Those of an account wait for its balance and those of a
 * call link for its row, and each that waits in the database holds a connection, which other work needs.
 */
const mostAtOnce = 3

/**
 * Decides whether a call is accepted, and writes its record. A call without agent, credits or slot is rejected before
 * it rings. See docs/reference/calls.md.
 */
export class CallAdmission extends Context.Tag("@svc/call-engine/CallAdmission")<
  CallAdmission,
  {
    /** Returns the record of a call that rings now; undefined when the call was rejected. */
    readonly admit: (call: ArrivedCall) => Effect.Effect<CallOwner | undefined>
    /**
     * Returns the record of an outbound call before it is dialled, or why it is refused; a refused call is not written.
     */
    readonly admitOutbound: (call: OutboundCall) => Effect.Effect<CallOwner | Refusal>
  }
>() {
  static readonly layer: Layer.Layer<
    CallAdmission,
    never,
    Agents | Billing | CallLinksRepo | CallsRepo | Settlement | SqlClient.SqlClient
  > = Layer.effect(
    CallAdmission,
    Effect.gen(function* () {
      const agents = yield* Agents
      const billing = yield* Billing
      const repo = yield* CallsRepo
      const links = yield* CallLinksRepo
      const settlement = yield* Settlement
      const sql = yield* SqlClient.SqlClient
      const admitInOrder = inOrder(mostAtOnce)

      const record = ({ incoming, link, node_id, org_id, project_id, telephony, to, ...call }: ArrivedCall) =>
        Effect.gen(function* () {
          // An agent deleted since it was read does not answer. Otherwise its deletion waits and then sees this call.
          const agent = call.agent !== null && (yield* agents.pin(call.agent.id)) ? call.agent : null
          if (link !== undefined && agent === null) return yield* new ClosedLink()
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
            telephony: telephony.id,
            status: admission === "admitted" ? ("ringing" as const) : ("rejected" as const),
            from_number: link === undefined ? incoming.from : link.from,
            to_number: link === undefined ? (to ?? incoming.to) : link.to,
            started_at: new Date(yield* Clock.currentTimeMillis)
          }
          const owner = {
            ...row,
            recording_enabled: false,
            id: yield* repo.insert(link === undefined ? row : { ...row, metadata: link.metadata })
          }
          if (admission === "admitted") {
            // Last, because all calls of a link wait for its row; and after the agent, which its deletion locks first.
            if (link !== undefined && !(yield* links.take(link.id))) return yield* new ClosedLink()
            return { owner, refusal: undefined }
          }
          const rejected = rejections[admission]
          yield* settlement.settleWithoutConversation(
            owner,
            { status: "rejected", disposition: "rejected", ended_reason: null },
            owner.started_at,
            { stage: "server", reason: `the call was refused: ${rejected.reason}`, hint: rejected.hint }
          )
          return { owner, refusal: admission }
        })

      const recordOutbound = ({ agent, from, metadata, node_id, org_id, telephony, to }: OutboundCall) =>
        Effect.gen(function* () {
          if (!(yield* agents.pin(agent.id))) return "no-agent" as const
          const public_id = yield* newCallId
          const admission = yield* billing.admit({
            call_id: public_id,
            org_id,
            recording: agent.recording,
            is_placed: true
          })
          if (admission !== "admitted") return admission
          const row = {
            public_id,
            org_id,
            project_id: agent.project_id,
            agent_id: agent.id,
            agent_public_id: agent.public_id,
            node_id,
            telephony,
            status: "ringing" as const,
            from_number: from,
            to_number: to,
            started_at: new Date(yield* Clock.currentTimeMillis)
          }
          return { ...row, recording_enabled: false, id: yield* repo.insert({ ...row, metadata }) }
        })

      return {
        admitOutbound: Effect.fn("CallAdmission.admitOutbound")((call) =>
          admitInOrder(sql.withTransaction(recordOutbound(call))).pipe(
            Effect.orDie,
            Effect.tap((made) =>
              Effect.sync(() =>
                typeof made === "string" ? countRejected("outbound", reasonOf(made)) : countAdmitted("outbound")
              )
            )
          )
        ),
        admit: Effect.fn("CallAdmission.admit")(function* (call) {
          // One transaction: a slot without a record would never be released, and a rejected call would never end.
          const made = yield* admitInOrder(sql.withTransaction(record(call))).pipe(
            Effect.catchTag("ClosedLink", () => Effect.succeed(closedLink)),
            Effect.orDie
          )
          if ("cause" in made) {
            countRejected("inbound", "no_link")
            call.incoming.reject(made.cause, made.reason)
            return undefined
          }
          const { owner, refusal } = made
          if (refusal === undefined) {
            countAdmitted("inbound")
            return owner
          }
          countRejected("inbound", reasonOf(refusal))
          const { cause, reason } = rejections[refusal]
          call.incoming.reject(cause, reason)
          return undefined
        })
      }
    })
  )
}
