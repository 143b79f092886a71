import type { CallStatus, TurnLatency } from "@svc/api/calls/Call"
import { CallFailure } from "@svc/api/calls/CallFailure"
import type { Command } from "@svc/conversation/Command"
import type { Conversation } from "@svc/conversation/State"
import { Metric, MetricBoundaries } from "effect"

/** Metrics of calls; see docs/operations/monitoring.md. Their labels have few values: never an id, a number or a text. */

export type CallDirection = "inbound" | "outbound"

/**
 * Why a call was not admitted. `no_number`: an inbound call to a number that is not ours; `no_link`: its link is closed;
 * `not_allowed`: an outbound call to a number that the organization must not call.
 */
export type RejectionReason =
  | "no_number"
  | "no_link"
  | "no_agent"
  | "not_allowed"
  | "paused"
  | "full"
  | "draining"
  | "error"

const directions: ReadonlyArray<CallDirection> = ["inbound", "outbound"]
const rejectionReasons: ReadonlyArray<RejectionReason> = [
  "no_number",
  "no_link",
  "no_agent",
  "not_allowed",
  "paused",
  "full",
  "draining",
  "error"
]

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const admitted = counter("svc_calls_admitted_total", "Calls that were admitted")
const rejected = counter(
  "svc_calls_rejected_total",
  "Calls that were refused before they had a conversation, by reason"
)
const ended = counter("svc_calls_ended_total", "Calls that were settled, by status")
const failures = counter("svc_call_failures_total", "Calls that failed, by the stage that failed")
const interruptions = counter(
  "svc_interruptions_total",
  "Interruptions of the agent: barge_in ended its turn; after a false one its speech went on"
)
const latency = Metric.histogram(
  "svc_turn_latency_seconds",
  MetricBoundaries.fromIterable([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10]),
  "How long callers wait for an answer, by stage"
)

/** The stages of {@link latency}, and the fields of `latency_data` that they are. */
const stages = {
  endpointing: "endpointing_ms",
  llm_first_token: "llm_ttfb_ms",
  llm_first_sentence: "tts_start_ms",
  tts_first_audio: "tts_ttfb_ms",
  platform: "platform_ms",
  response: "response_ms"
} as const satisfies Record<string, keyof TurnLatency>

// Counters that are 0 are exported from the start, so that their first increase is seen.
for (const direction of directions) {
  Metric.tagged(admitted, "direction", direction).unsafeUpdate(0, [])
  for (const reason of rejectionReasons) {
    rejected.pipe(Metric.tagged("direction", direction), Metric.tagged("reason", reason)).unsafeUpdate(0, [])
  }
}

const failedStages: ReadonlyArray<CallFailure["stage"]> = CallFailure.fields.stage.literals
for (const stage of failedStages) Metric.tagged(failures, "stage", stage).unsafeUpdate(0, [])
for (const status of ["completed", "failed"]) Metric.tagged(ended, "status", status).unsafeUpdate(0, [])

const kinds = {
  barge_in: Metric.tagged(interruptions, "kind", "barge_in"),
  false: Metric.tagged(interruptions, "kind", "false")
}
for (const kind of Object.values(kinds)) kind.unsafeUpdate(0, [])

const latencies = Object.entries(stages).map(
  ([stage, field]) => [field, Metric.tagged(latency, "stage", stage)] as const
)
for (const [, metric] of latencies) metric.register()

export const countAdmitted = (direction: CallDirection): void =>
  Metric.tagged(admitted, "direction", direction).unsafeUpdate(1, [])

export const countRejected = (direction: CallDirection, reason: RejectionReason): void =>
  rejected.pipe(Metric.tagged("direction", direction), Metric.tagged("reason", reason)).unsafeUpdate(1, [])

export const countEnded = (status: CallStatus, failure: CallFailure | null): void => {
  Metric.tagged(ended, "status", status).unsafeUpdate(1, [])
  if (failure !== null) Metric.tagged(failures, "stage", failure.stage).unsafeUpdate(1, [])
}

/** Counts what a step of a phone call decided. Runs after every step: it only looks, unless there is something to count. */
export const countStep = (before: Conversation, after: Conversation, commands: ReadonlyArray<Command>): void => {
  if (after.latencies !== before.latencies) {
    for (const turn of after.latencies.slice(before.latencies.length)) {
      for (const [field, metric] of latencies) {
        const ms = turn[field]
        if (typeof ms === "number") metric.unsafeUpdate(ms / 1000, [])
      }
    }
  }
  if (before.interruption === null) return
  let isBargeIn = false
  let goesOn = false
  for (const command of commands) {
    if (command._tag === "Emit" && command.event === "barge_in") isBargeIn = true
    else if (command._tag === "ResumeSpeaking" || command._tag === "Speak") goesOn = true
  }
  if (isBargeIn) kinds.barge_in.unsafeUpdate(1, [])
  else if (!before.interruption.certain && after.interruption === null && goesOn) kinds.false.unsafeUpdate(1, [])
}
