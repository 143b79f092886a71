import { SqlClient } from "@effect/sql"
import type { EventDraft } from "@svc/api/events/Event"
import { Outbox } from "@svc/database/Outbox"
import { Context, Effect, Layer } from "effect"
import { type CallOwner, CallsRepo, type FinishedCall } from "./CallsRepo.ts"
import type { Outcome } from "./conversation/Command.ts"
import { isoTime } from "./conversation/Conversation.ts"
import type { Conversation } from "./conversation/State.ts"

/**
 * Ends the record of a call, exactly once: outcome, transcript, figures, and the call's last events, in one transaction.
 * The same for a call that ended by itself and for one whose process died.
 */
export class Settlement extends Context.Tag("@svc/call-engine/Settlement")<
  Settlement,
  {
    /** False when the call had been settled before. */
    readonly settle: (call: CallOwner, state: Conversation) => Effect.Effect<boolean>
    /** Settles a call that has no conversation: a rejected one, or one that left no journal. */
    readonly settleWithout: (call: CallOwner, outcome: Outcome, endedAt: Date) => Effect.Effect<boolean>
  }
>() {
  static readonly layer: Layer.Layer<Settlement, never, CallsRepo | Outbox | SqlClient.SqlClient> = Layer.effect(
    Settlement,
    Effect.gen(function* () {
      const repo = yield* CallsRepo
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient

      const finish = (call: CallOwner, record: FinishedCall, events: ReadonlyArray<EventDraft>) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              const first = yield* repo.finish(call.id, record)
              if (first) yield* outbox.appendAll(events)
              return first
            })
          )
          .pipe(Effect.orDie)

      return {
        settle: (call, state) => {
          const record = recordOf(state)
          return finish(call, record, lastEvents(call, state, record))
        },
        settleWithout: (call, outcome, endedAt) =>
          finish(call, { ...blank, ...outcome, ended_at: endedAt }, [failedEvent(call, outcome, endedAt.toISOString())])
      }
    })
  )
}

const blank: Omit<FinishedCall, "status" | "disposition" | "ended_reason" | "ended_at"> = {
  duration_seconds: 0,
  minutes_used: 0,
  turn_count: 0,
  tool_call_count: 0,
  tools_called: [],
  metadata: {},
  transcript: [],
  latency_turns: []
}

const round4 = (n: number): number => Math.round(n * 10_000) / 10_000

/** The record of a conversation that is over. A call is timed from its answer. */
export const recordOf = (state: Conversation): FinishedCall => {
  const endedAt = state.ended_at ?? 0
  const seconds = state.answered_at === null ? 0 : Math.max(0, (endedAt - state.answered_at) / 1000)
  const tools = state.entries.flatMap((e) => (e.kind === "agent" ? e.tools.map((t) => t.name) : []))
  return {
    status: state.outcome?.status ?? "failed",
    disposition: state.outcome?.disposition ?? "failed",
    ended_reason: state.outcome === null ? "error" : state.outcome.ended_reason,
    ended_at: new Date(state.facts.started_at + endedAt),
    duration_seconds: Math.round(seconds),
    minutes_used: round4(seconds / 60),
    turn_count: state.transcript.length,
    tool_call_count: tools.length,
    tools_called: [...new Set(tools)],
    metadata: state.config?.metadata ?? {},
    transcript: state.transcript,
    latency_turns: state.latencies
  }
}

const whose = (call: CallOwner, timestamp: string) => ({
  org_id: call.org_id,
  project_id: call.project_id,
  agent_id: call.agent_public_id,
  call_id: call.public_id,
  timestamp
})

const failedEvent = (call: CallOwner, outcome: Pick<Outcome, "ended_reason">, timestamp: string): EventDraft => ({
  event: "call.failed",
  ...whose(call, timestamp),
  data: {
    call_id: call.public_id,
    agent_id: call.agent_public_id,
    from: call.from_number,
    to: call.to_number,
    ended_reason: outcome.ended_reason
  }
})

/** A call that was answered ends with `call.ended`, and `call.failed` after it when it failed; others with `call.failed` alone (decisions §4.15). */
const lastEvents = (call: CallOwner, state: Conversation, record: FinishedCall): ReadonlyArray<EventDraft> => {
  const outcome = state.outcome
  const ended_reason = outcome === null ? "error" : outcome.ended_reason
  const timestamp = isoTime(state, state.ended_at ?? 0)
  const failed = failedEvent(call, { ended_reason }, timestamp)
  if (state.answered_at === null) return [failed]
  const ended: EventDraft = {
    event: "call.ended",
    ...whose(call, timestamp),
    data: {
      call_id: call.public_id,
      agent_id: call.agent_public_id,
      from: call.from_number,
      to: call.to_number,
      started_at: call.started_at.toISOString(),
      ended_at: record.ended_at.toISOString(),
      duration_seconds: record.duration_seconds,
      minutes_used: record.minutes_used,
      call_cost: 0,
      recording_cost: 0,
      transfer_cost: 0,
      llm_discount: 0,
      total_cost: 0,
      rate_per_minute: 0,
      disposition: outcome?.disposition ?? "failed",
      ended_reason,
      ws_unavailable: false,
      transferred_to: null,
      metadata: record.metadata,
      language: state.config?.language ?? state.facts.agent.language,
      turn_count: record.turn_count,
      tool_call_count: record.tool_call_count,
      tools_called: record.tools_called,
      extracted_data: {},
      transcript: record.transcript
    }
  }
  return outcome?.status === "completed" ? [ended] : [ended, failed]
}
