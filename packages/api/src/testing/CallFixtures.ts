import { Schema } from "effect"
import type { CallSummary, TurnLatency } from "../calls/Call.ts"
import type { CallTimeline } from "../calls/CallTimeline.ts"
import { noLine } from "../calls/CallUsage.ts"
import { AgentId, CallId } from "../Ids.ts"

/** For tests: a live call in which nothing has happened. */
export const callSummary = (change: Partial<CallSummary> = {}): CallSummary => ({
  call_id: Schema.decodeSync(CallId)(`call_${"c".repeat(24)}`),
  agent_id: Schema.decodeSync(AgentId)(`agent_${"a".repeat(24)}`),
  from_number: "+31612345678",
  to_number: "+15550100100",
  status: "in-progress",
  disposition: null,
  ended_reason: null,
  duration_seconds: 0,
  minutes_used: 0,
  rate_per_minute: 0,
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
  started_at: "2026-11-01T09:30:00.000Z",
  ended_at: null,
  ...change
})

/** For tests: the timeline of a live call in which nothing has happened. `call` changes its summary. */
export const callTimeline = (change: Partial<CallTimeline> = {}, call: Partial<CallSummary> = {}): CallTimeline => ({
  version: 1,
  call: callSummary(call),
  turns: [],
  tools: [],
  server_requests: [],
  provider_requests: [],
  webhooks: [],
  events: [],
  warnings: [],
  failure: null,
  line: { telephony: "simulated", ...noLine },
  usage: null,
  settings: null,
  cost: {
    minutes_used: 0,
    rate_per_minute: 0,
    call_cost: 0,
    recording_cost: 0,
    transfer_cost: 0,
    llm_cost: 0,
    llm_discount: 0,
    total_cost: 0
  },
  left_out: {
    turns: 0,
    tools: 0,
    server_requests: 0,
    provider_requests: 0,
    webhooks: 0,
    events: 0,
    warnings: 0
  },
  ...change
})

/** For tests: the latency of a turn, all stages of which were measured. */
export const turnLatency = (change: Partial<TurnLatency> = {}): TurnLatency => ({
  turn: 1,
  ts: 1,
  llm_ttfb_ms: 1,
  tts_start_ms: 2,
  tts_ttfb_ms: 3,
  response_ms: 42,
  endpointing_ms: 1,
  platform_ms: 1,
  ...change
})
