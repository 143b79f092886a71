import type { ExtractedData } from "@svc/api/callbacks/Extraction"
import type { TranscriptTurn, TurnLatency } from "@svc/api/calls/Call"
import type { CallFailure, CallWarning } from "@svc/api/calls/CallFailure"
import { type CallUsage, type LineFigures, noLine, noUsage } from "@svc/api/calls/CallUsage"
import { nothingExtracted } from "./answers/ExtractedValues.ts"
import type { Outcome } from "./Command.ts"
import { metadataOf } from "./machines/Outbound.ts"
import { failureOf } from "./machines/Problems.ts"
import type { Conversation } from "./State.ts"

/** The record of a finished call, without its costs. */
export interface CallRecord extends Outcome {
  readonly ended_at: Date
  readonly duration_seconds: number
  readonly transfer_duration_seconds: number
  readonly transferred_to: string | null
  readonly turn_count: number
  readonly tool_call_count: number
  readonly tools_called: ReadonlyArray<string>
  readonly metadata: { readonly [key: string]: unknown }
  readonly transcript: ReadonlyArray<TranscriptTurn>
  readonly latency_turns: ReadonlyArray<TurnLatency>
  readonly extracted_data: ExtractedData
  readonly failure: CallFailure | null
  readonly warnings: ReadonlyArray<CallWarning>
  /** How many more warnings there were. */
  readonly warnings_dropped: number
  readonly usage: CallUsage
  readonly line: LineFigures
}

/** All other fields of the record of a call without a conversation. */
export const blankRecord: Omit<CallRecord, "status" | "disposition" | "ended_reason" | "ended_at"> = {
  duration_seconds: 0,
  transfer_duration_seconds: 0,
  transferred_to: null,
  turn_count: 0,
  tool_call_count: 0,
  tools_called: [],
  metadata: {},
  transcript: [],
  latency_turns: [],
  extracted_data: {},
  failure: null,
  warnings: [],
  warnings_dropped: 0,
  usage: noUsage,
  line: noLine
}

/**
 * The record of a conversation that is over. The call's duration runs from its answer to its end or, for a transferred
 * call, to the transfer; the rest is the duration of the transfer.
 */
export const recordOf = (state: Conversation): CallRecord => {
  const endedAt = state.ended_at ?? 0
  const transferredAt = state.transferred?.at ?? endedAt
  const seconds = state.answered_at === null ? 0 : Math.max(0, (transferredAt - state.answered_at) / 1000)
  const tools = state.entries.flatMap((e) =>
    e.kind === "agent" ? e.tools.flatMap((t) => (t.not_invoked === true ? [] : [t.name])) : []
  )
  return {
    status: state.outcome?.status ?? "failed",
    disposition: state.outcome?.disposition ?? "failed",
    ended_reason: state.outcome === null ? "error" : state.outcome.ended_reason,
    ended_at: new Date(state.facts.started_at + endedAt),
    duration_seconds: Math.round(seconds),
    transfer_duration_seconds: Math.max(0, Math.round((endedAt - transferredAt) / 1000)),
    transferred_to: state.transferred?.destination ?? null,
    turn_count: state.transcript.length,
    tool_call_count: tools.length,
    tools_called: [...new Set(tools)],
    metadata: metadataOf(state),
    extracted_data: state.extracted ?? nothingExtracted(state.config?.extraction),
    transcript: state.transcript,
    latency_turns: state.latencies,
    failure: failureOf(state),
    warnings: state.warnings,
    warnings_dropped: state.warnings_dropped,
    usage: state.usage,
    line: state.line ?? noLine
  }
}
