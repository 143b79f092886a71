import { SqlClient } from "@effect/sql"
import type { CallFailure } from "@svc/api/calls/CallFailure"
import type { EventDraft } from "@svc/api/events/Event"
import { toNumber } from "@svc/api/Money"
import { Billing } from "@svc/billing/Billing"
import type { CallCharge } from "@svc/billing/CallCharge"
import { Usage } from "@svc/billing/Usage"
import { blankRecord, type CallRecord, recordOf } from "@svc/conversation/CallRecord"
import type { Command, Outcome } from "@svc/conversation/Command"
import { type Conversation, isoTime } from "@svc/conversation/State"
import { Outbox } from "@svc/database/Outbox"
import { Providers } from "@svc/providers/Providers"
import { Context, Effect, Layer } from "effect"
import { countEnded } from "../live/CallMetrics.ts"
import { RecordingsRepo } from "../recording/RecordingsRepo.ts"
import { type CallOwner, CallsRepo, type FinishedCall } from "./CallsRepo.ts"
import { SettledCalls } from "./SettledCalls.ts"

/**
 * Completes the record of a call, exactly once: outcome, transcript, figures, cost, usage and the last events, in one
 * transaction. Used both for calls that ended on this node and for calls of nodes that died.
 */
export class Settlement extends Context.Tag("@svc/call-engine/Settlement")<
  Settlement,
  {
    /**
     * False when the call had been settled before. A recording is charged and added as pending (see Recordings).
     * `closing`: the commands of the last step, if no session carried them out; their events are emitted first.
     */
    readonly settle: (
      call: CallOwner,
      state: Conversation,
      recorded?: Recorded,
      closing?: ReadonlyArray<Command>
    ) => Effect.Effect<boolean>
    /** Releases the call's slot before its record is settled, once the caller is gone. */
    readonly freeSlot: (call: CallOwner) => Effect.Effect<void>
    /** Settles a call without a conversation: a rejected call, or a call without a journal. */
    readonly settleWithoutConversation: (
      call: CallOwner,
      outcome: Outcome,
      endedAt: Date,
      failure: CallFailure
    ) => Effect.Effect<boolean>
  }
>() {
  static readonly layer: Layer.Layer<
    Settlement,
    never,
    CallsRepo | RecordingsRepo | Billing | Usage | Providers | Outbox | SqlClient.SqlClient
  > = Layer.effect(
    Settlement,
    Effect.gen(function* () {
      const repo = yield* CallsRepo
      const recordings = yield* RecordingsRepo
      const billing = yield* Billing
      const usage = yield* Usage
      const outbox = yield* Outbox
      const settledCalls = yield* SettledCalls
      const sql = yield* SqlClient.SqlClient
      // The preferred model's discount also applies to turns that a fallback answered.
      const llm_discount = (yield* Providers).languageModel[0]?.discount ?? 0

      const finish = (
        call: CallOwner,
        record: CallRecord,
        events: (record: FinishedCall) => ReadonlyArray<EventDraft>,
        recorded?: Recorded
      ) =>
        Effect.gen(function* () {
          const charge = yield* billing.settle(call.public_id, {
            seconds: record.duration_seconds,
            recording_seconds: recorded?.seconds ?? 0,
            transfer_seconds: record.transfer_duration_seconds,
            llm_discount,
            llm: record.usage.llm
          })
          const finished = { ...record, ...asNumbers(charge) }
          const first = yield* repo.finish(call.id, finished)
          if (!first) return false
          if (recorded !== undefined) yield* recordings.addPending(call, recorded.writer)
          yield* usage.addCall(ownerOf(call), { ...record, charge })
          yield* outbox.appendAll(events(finished))
          return true
        }).pipe(
          sql.withTransaction,
          Effect.orDie,
          Effect.tap((first) =>
            Effect.sync(() => {
              if (!first) return
              countEnded(record.status, record.failure)
              settledCalls.add(call)
            })
          )
        )

      return {
        freeSlot: (call) =>
          // The settlement releases it too, a little later.
          Effect.catchAllCause(billing.freeSlot(call.public_id), (cause) =>
            Effect.logWarning(`The slot of ${call.public_id} could not be released yet`, cause)
          ),
        settle: (call, state, recorded, closing = []) =>
          finish(
            call,
            recordOf(state),
            (record) => [...closingEvents(call, state, closing), ...lastEvents(call, state, record)],
            recorded
          ),
        settleWithoutConversation: (call, outcome, endedAt, failure) =>
          finish(call, { ...blankRecord, ...outcome, ended_at: endedAt, failure }, (record) => [
            failedEvent(call, record, endedAt.toISOString())
          ])
      }
    })
  )
}

/** The recording of a settled call. */
export interface Recorded {
  readonly seconds: number
  /** The node that stores the recording; null when it died. */
  readonly writer: string | null
}

const asNumbers = (charge: CallCharge) => ({
  minutes_used: toNumber(charge.minutes_used),
  rate_per_minute: toNumber(charge.rate_per_minute),
  call_cost: toNumber(charge.call_cost),
  recording_cost: toNumber(charge.recording_cost),
  transfer_cost: toNumber(charge.transfer_cost),
  llm_discount: toNumber(charge.llm_discount),
  llm_cost: toNumber(charge.llm_cost),
  total_cost: toNumber(charge.total_cost)
})

const ownerOf = ({ agent_id, agent_public_id, org_id, project_id, started_at }: CallOwner) => ({
  org_id,
  project_id,
  agent: agent_id === null || agent_public_id === null ? null : { id: agent_id, public_id: agent_public_id },
  at: started_at
})

const eventHeader = (call: CallOwner, timestamp: string) => ({
  org_id: call.org_id,
  project_id: call.project_id,
  agent_id: call.agent_public_id,
  call_id: call.public_id,
  timestamp
})

/** The events of the last step, which no session carried out. */
const closingEvents = (
  call: CallOwner,
  state: Conversation,
  closing: ReadonlyArray<Command>
): ReadonlyArray<EventDraft> =>
  closing.flatMap((command) =>
    command._tag === "Emit"
      ? [
          {
            event: command.event,
            data: command.data,
            ...eventHeader(call, isoTime(state, command.at))
          } as EventDraft // event and data come from one member of the union
        ]
      : []
  )

const failedEvent = (
  call: CallOwner,
  { ended_reason, failure }: Pick<CallRecord, "ended_reason" | "failure">,
  timestamp: string
): EventDraft => ({
  event: "call.failed",
  ...eventHeader(call, timestamp),
  data: {
    call_id: call.public_id,
    agent_id: call.agent_public_id,
    from: call.from_number,
    to: call.to_number,
    ended_reason,
    failure
  }
})

/**
 * An answered call ends with `call.ended`, followed by `call.failed` when it failed; others with `call.failed` alone.
 */
const lastEvents = (call: CallOwner, state: Conversation, record: FinishedCall): ReadonlyArray<EventDraft> => {
  const outcome = state.outcome
  const ended_reason = outcome === null ? "error" : outcome.ended_reason
  const timestamp = isoTime(state, state.ended_at ?? 0)
  const failed = failedEvent(call, { ended_reason, failure: record.failure }, timestamp)
  if (state.answered_at === null) return [failed]
  const ended: EventDraft = {
    event: "call.ended",
    ...eventHeader(call, timestamp),
    data: {
      call_id: call.public_id,
      agent_id: call.agent_public_id,
      from: call.from_number,
      to: call.to_number,
      started_at: call.started_at.toISOString(),
      ended_at: record.ended_at.toISOString(),
      duration_seconds: record.duration_seconds,
      minutes_used: record.minutes_used,
      call_cost: record.call_cost,
      recording_cost: record.recording_cost,
      transfer_cost: record.transfer_cost,
      llm_discount: record.llm_discount,
      total_cost: record.total_cost,
      rate_per_minute: record.rate_per_minute,
      disposition: outcome?.disposition ?? "failed",
      ended_reason,
      ws_unavailable: false,
      transferred_to: record.transferred_to,
      metadata: record.metadata,
      language: state.config?.language ?? state.facts.agent.language,
      turn_count: record.turn_count,
      tool_call_count: record.tool_call_count,
      tools_called: record.tools_called,
      extracted_data: record.extracted_data,
      transcript: record.transcript,
      failure: record.failure,
      usage: record.usage,
      line: { telephony: call.telephony, ...record.line },
      ...(record.llm_cost === 0 ? {} : { llm_cost: record.llm_cost })
    }
  }
  return outcome?.status === "completed" ? [ended] : [ended, failed]
}
