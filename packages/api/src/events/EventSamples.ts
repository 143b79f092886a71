import { AgentId, BookingCustomerId, CallId, KnowledgeBaseId } from "../Ids.ts"
import type { EventData } from "./Event.ts"

const call = {
  call_id: CallId.make("call_8fj2k4m6q1w3e5r7t9y0u2i4"),
  agent_id: AgentId.make("agent_3d5f7h9j1l2n4p6r8t0v2x4z")
}
const from = "+15550100100"
const to = "+15550100200"
const parties = { from, to }
const tool = { ...call, tool_name: "check_availability", tool_call_id: "toolu_01" }
const timestamp = "2026-11-01T09:30:04.250Z"
const transfer_to = "+15550100300"
const reason = "The caller asks for a person"
const kb = { kb_id: KnowledgeBaseId.make("kb_1q3w5e7r9t1y3u5i7o9p2a4s") }
const address_id = 12

const bookingCustomer = {
  id: BookingCustomerId.make("bcus_6g8h0j2k4l6z8x0c2v4b6n8m"),
  name: "Anna de Vries",
  email: "anna@example.com",
  phone: "+31612345678",
  address: "Damrak 1",
  postcode: "1012 LG",
  city: "Amsterdam",
  country: "NL",
  language: "nl",
  birthdate: "1987-04-30",
  marketing_opt_in: false,
  notes: null,
  total_bookings: 0,
  is_anonymized: false,
  deleted_at: null,
  created_at: "2026-10-31T14:02:11.000Z",
  updated_at: "2026-11-01T09:30:00.000Z"
}
const customer = { customer_id: bookingCustomer.id, customer: bookingCustomer }

/** `data` of one event of each kind, made up: what test deliveries carry, and what the documentation shows. */
export const eventSamples: EventData = {
  "call.ringing": { ...call, ...parties },
  "call.started": { ...call, ...parties },
  "call.ended": {
    ...call,
    ...parties,
    started_at: "2026-11-01T09:30:00.000Z",
    ended_at: "2026-11-01T09:31:30.000Z",
    duration_seconds: 90,
    minutes_used: 1.5,
    call_cost: 0.15,
    recording_cost: 0,
    transfer_cost: 0,
    llm_discount: 0,
    total_cost: 0.15,
    rate_per_minute: 0.1,
    disposition: "answered",
    ended_reason: "caller-hangup",
    ws_unavailable: false,
    transferred_to: null,
    metadata: { customer: "C-1029" },
    language: "en-US",
    turn_count: 2,
    tool_call_count: 1,
    tools_called: ["check_availability"],
    extracted_data: { party_size: 4 },
    transcript: [
      { role: "assistant", content: "Good morning, how can I help?", timestamp: 1.2 },
      { role: "user", content: "A table for four, please.", timestamp: 4.8 }
    ],
    failure: null,
    usage: {
      llm: { requests: 2, input_tokens: 1840, cached_input_tokens: 1024, output_tokens: 61 },
      tts: { characters: 148, cached_characters: 29 },
      stt: { seconds: 89.4 }
    },
    line: {
      telephony: "sip",
      carrier_call_id: "a84b4c76e66710@203.0.113.7",
      codec: "PCMA",
      packets_lost: 2,
      packets_late: 1,
      jitter_ms: 3.1
    }
  },
  "call.failed": {
    ...call,
    ...parties,
    ended_reason: "error",
    failure: {
      stage: "call.started",
      reason: "POST https://example.com/agent answered 404 with text/html in 12 ms",
      hint: "Set the agent's server_url to the address of your server, with its path; it must answer call.started with a JSON object that has system_prompt. See docs/reference/agent-server.md."
    }
  },
  "call.recording_ready": {
    ...call,
    recording_url:
      "https://voice.example.com/recordings/call_8fj2k4m6q1w3e5r7t9y0u2i4.mp3?expires=1793698290&signature=…",
    recording_expires_at: "2026-11-02T09:31:30.000Z"
  },
  "call.dtmf.received": { ...call, digit: "5", action: "gather" },
  "call.gather.completed": { ...call, status: "completed", input: "4711" },
  "transcript.updated": {
    ...call,
    from,
    turn: { role: "user", content: "A table for four, please." },
    turn_index: 1
  },
  "speech.started": { ...call, from, timestamp },
  "speech.ended": { ...call, from, timestamp, transcript: "A table for four, please." },
  "ai.speech.started": { ...call, text: "Good morning, how can I help?", timestamp },
  "ai.speech.ended": { ...call, text: "Good morning, how can I help?", timestamp, duration_ms: 1850 },
  barge_in: { ...call, from, user_text: "Wait", interrupted_text: "Our opening hours are", timestamp },
  "tool.invoked": { ...tool, arguments: { date: "2026-11-05", party_size: 4 } },
  "tool.completed": { ...tool, result: { available: true } },
  "tool.timeout": { ...tool, timeout_seconds: 5 },
  "transfer.initiated": { ...call, from, transfer_to, reason },
  "transfer.completed": { ...call, from, transfer_to },
  "transfer.failed": { ...call, from, transfer_to, reason, failure_reason: "The destination is busy" },
  "sms.sent": {
    ...call,
    from,
    to: from,
    from_number: to,
    sender_name: null,
    message: "Your table for four is booked.",
    sender_type: "number",
    provider_message_id: "SM0123456789",
    cost_eur: 0.08,
    status: "sent"
  },
  "knowledge_base.refreshed": { ...kb, entries_added: 12, entries_removed: 3, entries_truncated: 0 },
  "knowledge_base.refresh_failed": { ...kb, error: "https://example.com/help answered 503" },
  "knowledge_base.auto_refresh_disabled": { ...kb, reason: "consecutive_failures", count: 5 },
  "address.verification.pending": { address_id, status: "pending" },
  "address.verification.verified": {
    address_id,
    status: "verified",
    number_types: [{ type: "local", status: "verified", rejection_reason: null }]
  },
  "address.verification.partially_verified": {
    address_id,
    status: "partially_verified",
    number_types: [
      { type: "local", status: "verified", rejection_reason: null },
      { type: "mobile", status: "rejected", rejection_reason: "A local address is required" }
    ]
  },
  "address.verification.rejected": {
    address_id,
    status: "rejected",
    number_types: [{ type: "local", status: "rejected", rejection_reason: "The address was not found" }]
  },
  "address.verification.expired": {
    address_id,
    status: "expired",
    number_types: [{ type: "local", status: "expired", rejection_reason: null }]
  },
  "booking_customer.created": customer,
  "booking_customer.updated": customer,
  "booking_customer.deleted": { ...customer, customer: { ...bookingCustomer, deleted_at: "2026-11-01T09:30:00.000Z" } },
  "booking_customer.restored": customer
}
