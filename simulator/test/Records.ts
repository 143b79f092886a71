import type { Call } from "@svc/api/calls/Call"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import type { PhoneNumber } from "@svc/api/numbers/PhoneNumber"

/** The record of a call in progress. */
export const record = (callId: string, from = "+15550000002", to = "+15550000001"): Call => ({
  // A brand: tests make ids that are easy to read.
  call_id: callId as Call["call_id"],
  agent_id: null,
  from_number: from,
  to_number: to,
  status: "in-progress",
  disposition: null,
  ended_reason: null,
  duration_seconds: 0,
  minutes_used: 0,
  rate_per_minute: 0.1,
  total_cost: 0,
  call_cost: 0,
  recording_cost: 0,
  llm_discount: 0,
  transfer_cost: 0,
  transfer_duration_seconds: 0,
  transferred_to: null,
  has_recording: false,
  recording_enabled: false,
  turn_count: 0,
  tool_call_count: 0,
  tools_called: [],
  metadata: {},
  ws_unavailable: false,
  extracted_data: {},
  started_at: new Date().toISOString(),
  ended_at: null,
  transcript: [],
  latency_data: { turns: [] },
  failure: null,
  warnings: [],
  warnings_dropped: 0
})

/** A phone number of the project. */
export const phoneNumber = (number: string, id = 1): PhoneNumber => ({
  id,
  number,
  country: "US",
  type: "local",
  agent_id: null,
  address_id: null,
  monthly_cost_eur: 0,
  telephony: "simulated",
  status: "active",
  purchased_at: "2026-11-01T09:30:00.000Z"
})

/** The timeline with this record: the measured latencies belong to the answers to the caller, in order. */
export const timelineOf = ({
  failure,
  latency_data,
  transcript,
  warnings,
  warnings_dropped,
  ...call
}: Call): CallTimeline => {
  const measured = [...latency_data.turns]
  const { call_cost, llm_discount, minutes_used, rate_per_minute, recording_cost, total_cost, transfer_cost } = call
  return {
    version: 1,
    call,
    turns: transcript.map(({ content, role, timestamp }, index) => ({
      index,
      role,
      text: content,
      started_at: timestamp * 1000,
      ended_at: null,
      interrupted: false,
      stages: role === "assistant" && index > 0 ? (measured.shift() ?? null) : null
    })),
    tools: [],
    server_requests: [],
    provider_requests: [],
    webhooks: [],
    events: [],
    warnings: warnings.map((warning) => ({ ...warning, at: warning.at * 1000 })),
    failure,
    line: null,
    usage: null,
    cost: { call_cost, llm_discount, minutes_used, rate_per_minute, recording_cost, total_cost, transfer_cost },
    left_out: {
      turns: 0,
      tools: 0,
      server_requests: 0,
      provider_requests: 0,
      webhooks: 0,
      events: 0,
      warnings: warnings_dropped
    }
  }
}
