import type { Call } from "@svc/api/calls/Call"
import { type CallTimeline, gatherBegins } from "@svc/api/calls/CallTimeline"
import * as Dialogue from "./Dialogue.ts"

/** One call as the phone sees it. Times are milliseconds since the epoch. */
export interface CallView {
  /** Counts the calls of this phone, from 1. */
  readonly id: number
  readonly phase: "dialling" | "ringing" | "live" | "ended"
  readonly to: string
  readonly from: string
  /** Known once the call is answered. */
  readonly call_id: string | null
  readonly dialled_at: number
  readonly answered_at: number | null
  readonly ended_at: number | null
  /** The network's cause, or `you hung up`. */
  readonly cause: string | null
  /** What the cause means. */
  readonly meaning: string | null
  /** Who ended it. */
  readonly ended_by: "us" | "them" | "rejected" | "lost" | null
  readonly dialogue: Dialogue.Dialogue
  /** The number to which the agent transferred the call. */
  readonly transferred_to: string | null
  /** All digits sent so far. */
  readonly digits: string
  readonly tools: ReadonlyArray<string>
  /** The document of `GET /v1/calls/<id>/timeline`, as read last. */
  readonly timeline: CallTimeline | null
  /** Why the timeline could not be read the last time; null when it could. */
  readonly unread: string | null
  /** The record in the timeline. */
  readonly record: Call | null
  /** The address of the debug page, once the call is over. */
  readonly debug_url: string | null
}

/** A call that begins now. */
export const newCall = (
  id: number,
  now: number,
  phase: CallView["phase"],
  { from, to }: { readonly from: string; readonly to: string }
): CallView => ({
  id,
  phase,
  to,
  from,
  call_id: null,
  dialled_at: now,
  answered_at: null,
  ended_at: null,
  cause: null,
  meaning: null,
  ended_by: null,
  dialogue: Dialogue.empty,
  transferred_to: null,
  digits: "",
  tools: [],
  timeline: null,
  unread: null,
  record: null,
  debug_url: null
})

/** The record of a call, from its timeline. */
export const recordOf = ({ call, cost, failure, left_out, line, turns, usage, warnings }: CallTimeline): Call => ({
  ...call,
  transcript: turns.map(({ role, started_at, text }) => ({ role, content: text, timestamp: started_at / 1000 })),
  latency_data: { turns: turns.flatMap(({ stages }) => (stages === null ? [] : [stages])) },
  failure,
  warnings: warnings.map((warning) => ({ ...warning, at: warning.at / 1000 })),
  warnings_dropped: left_out.warnings,
  usage,
  line,
  ...(cost.llm_cost === 0 ? {} : { llm_cost: cost.llm_cost })
})

/** The call with what a newer timeline says. */
export const withTimeline = (call: CallView, timeline: CallTimeline): CallView & { readonly record: Call } => {
  const record = recordOf(timeline)
  return {
    ...call,
    call_id: record.call_id,
    timeline,
    unread: null,
    record,
    tools: record.tools_called,
    dialogue: Dialogue.measured(call.dialogue, record.latency_data.turns)
  }
}

/** Why a call failed and what to do, as one line. */
export const failureLine = ({ hint, reason, stage }: NonNullable<Call["failure"]>): string =>
  `failed, ${stage}: ${reason}. ${hint}`

/**
 * Whether the agent waits for digits in a menu, or because a request asked for them. The timeline does not say when a
 * tool starts to wait for digits.
 */
export const isGathering = ({ phase, timeline }: CallView): boolean => {
  if (phase !== "live" || timeline === null) return false
  const { events } = timeline
  const began = events.findLastIndex(({ what }) => what === gatherBegins.menu || what === gatherBegins.request)
  const ended = events.findLastIndex(({ actor, what }) => actor === "event" && what === "call.gather.completed")
  return began > ended
}
