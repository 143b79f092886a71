import type { Shape } from "./Shape.ts"

/** Shapes of docs/reference, written by hand, so that the API's schemas are not checked against themselves. */

/** A call in lists, without transcript and latency_data. */
export const callSummary: Shape = {
  call_id: "text",
  agent_id: "text?",
  from_number: "text?",
  to_number: "text?",
  status: "text",
  disposition: "text?",
  ended_reason: "text?",
  duration_seconds: "integer",
  minutes_used: "number",
  rate_per_minute: "number",
  total_cost: "number",
  call_cost: "number",
  recording_cost: "number",
  llm_discount: "number",
  transfer_cost: "number",
  transfer_duration_seconds: "integer",
  transferred_to: "text?",
  has_recording: "boolean",
  recording_enabled: "boolean",
  turn_count: "integer",
  tool_call_count: "integer",
  tools_called: "texts",
  metadata: "object",
  ws_unavailable: "boolean",
  extracted_data: "object",
  started_at: "time",
  ended_at: "time?"
}

/** A turn of a transcript. */
export const call: Shape = {
  ...callSummary,
  transcript: "list",
  latency_data: "object",
  failure: "object?",
  warnings: "list",
  warnings_dropped: "integer",
  usage: "object?",
  line: "object"
}

export const transcriptTurn: Shape = { role: "text", content: "text", timestamp: "number" }

/** An entry of latency_data; the last three fields are extensions. */
export const turnLatency: Shape = {
  turn: "integer",
  ts: "number",
  llm_ttfb_ms: "number?",
  tts_start_ms: "number?",
  tts_ttfb_ms: "number?",
  response_ms: "number?",
  endpointing_ms: "number?",
  platform_ms: "number?"
}

/** The answer of GET /v1/calls/<id>/status. */
export const callState: Shape = {
  call_id: "text",
  status: "text",
  disposition: "text?",
  ended_reason: "text?",
  duration_seconds: "integer",
  started_at: "time",
  ended_at: "time?"
}

/** One attempt of a delivery. */
export const deliveryRecord: Shape = {
  id: "integer",
  event: "text",
  event_id: "text",
  url: "text",
  attempt: "integer",
  status_code: "integer?",
  success: "boolean",
  error: "text?",
  created_at: "time"
}

/** An agent. */
export const agent: Shape = {
  id: "integer",
  public_id: "text",
  name: "text",
  language: "text",
  voice: "text",
  max_duration: "integer",
  recording: "boolean",
  end_call_enabled: "boolean",
  server_url: "text",
  server_secret_hint: "text",
  webhook_url: "text?",
  webhook_secret_hint: "text?",
  webhook_events: "texts?",
  knowledge_base_ids: "list",
  created_at: "time",
  updated_at: "time"
}

/** A phone number. */
export const phoneNumber: Shape = {
  id: "integer",
  number: "text",
  country: "text",
  type: "text",
  agent_id: "text?",
  address_id: "integer?",
  monthly_cost_eur: "number",
  telephony: "text",
  status: "text",
  purchased_at: "time"
}

/** An address. */
export const address: Shape = {
  id: "integer",
  customer_name: "text",
  street: "text",
  city: "text",
  postcode: "text",
  region: "text?",
  country: "text",
  number_types: "list",
  status: "text",
  created_at: "time",
  updated_at: "time"
}

/** A knowledge base, as lists show it. */
export const knowledgeBase: Shape = {
  id: "integer",
  public_id: "text",
  name: "text",
  description: "text?",
  source_type: "text",
  source_url: "text?",
  entry_count: "integer",
  entries_truncated: "integer",
  status: "text",
  auto_refresh_hours: "integer?",
  last_refreshed_at: "time?",
  last_error: "text?",
  consecutive_failures: "integer",
  created_at: "time",
  updated_at: "time"
}

/** The envelope of an event. */
export const envelope: Shape = {
  id: "text",
  event: "text",
  timestamp: "time",
  api_version: "text",
  org_id: "integer",
  project_id: "integer",
  agent_id: "text?",
  data: "object"
}

const call_ = { call_id: "text", agent_id: "text?" } as const
const from = { from: "text?" } as const
const parties = { from: "text?", to: "text?" } as const
const tool = { ...call_, tool_name: "text", tool_call_id: "text" } as const

/** `data` of call events, by event name. */
export const eventData: { readonly [event: string]: Shape } = {
  "call.ringing": { ...call_, ...parties },
  "call.started": { ...call_, ...parties },
  "call.ended": {
    ...call_,
    ...parties,
    started_at: "time",
    ended_at: "time",
    duration_seconds: "integer",
    minutes_used: "number",
    call_cost: "number",
    recording_cost: "number",
    transfer_cost: "number",
    llm_discount: "number",
    total_cost: "number",
    rate_per_minute: "number",
    disposition: "text",
    ended_reason: "text?",
    ws_unavailable: "boolean",
    transferred_to: "text?",
    metadata: "object",
    language: "text",
    turn_count: "integer",
    tool_call_count: "integer",
    tools_called: "texts",
    extracted_data: "object",
    transcript: "list",
    failure: "object?",
    usage: "object",
    line: "object"
  },
  "call.failed": { ...call_, ...parties, ended_reason: "text?", failure: "object?" },
  "call.recording_ready": { ...call_, recording_url: "text", recording_expires_at: "time" },
  "call.dtmf.received": { ...call_, digit: "text", action: "text" },
  "call.gather.completed": { ...call_, status: "text", input: "text?" },
  "transcript.updated": { ...call_, ...from, turn: "object", turn_index: "integer" },
  "speech.started": { ...call_, ...from, timestamp: "time" },
  "speech.ended": { ...call_, ...from, timestamp: "time", transcript: "text?" },
  "ai.speech.started": { ...call_, text: "text?", timestamp: "time" },
  "ai.speech.ended": { ...call_, text: "text?", timestamp: "time", duration_ms: "integer?" },
  barge_in: { ...call_, ...from, user_text: "text?", interrupted_text: "text?", timestamp: "time" },
  "tool.invoked": { ...tool, arguments: "object" },
  "tool.completed": { ...tool, result: "any" },
  "tool.timeout": { ...tool, timeout_seconds: "number" }
}
