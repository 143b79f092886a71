import { describe, expect, it } from "@effect/vitest"
import { type EventData, eventData, schemaViolationOf } from "../src/events/Event.ts"
import { eventSamples } from "../src/events/EventSamples.ts"
import { webhookEvents } from "../src/events/WebhookEvents.ts"

/** The fields of each event, as docs/reference/events.md lists them. */
const inSpec: Readonly<Record<string, string>> = {
  "call.ringing": "call_id, agent_id, from, to",
  "call.started": "call_id, agent_id, from, to",
  "call.ended":
    "call_id, agent_id, from, to, started_at, ended_at, duration_seconds, minutes_used, call_cost, recording_cost, transfer_cost, llm_discount, total_cost, rate_per_minute, disposition, ended_reason, ws_unavailable, transferred_to, metadata, language, turn_count, tool_call_count, tools_called, extracted_data, transcript, failure, usage, line",
  "call.failed": "call_id, agent_id, from, to, ended_reason, failure",
  "call.recording_ready": "call_id, agent_id, recording_url, recording_expires_at",
  "call.dtmf.received": "call_id, agent_id, digit, action",
  "call.gather.completed": "call_id, agent_id, status, input",
  "transcript.updated": "call_id, agent_id, from, turn, turn_index",
  "speech.started": "call_id, agent_id, from, timestamp",
  "speech.ended": "call_id, agent_id, from, timestamp, transcript",
  "ai.speech.started": "call_id, agent_id, text, timestamp",
  "ai.speech.ended": "call_id, agent_id, text, timestamp, duration_ms",
  barge_in: "call_id, agent_id, from, user_text, interrupted_text, timestamp",
  "tool.invoked": "call_id, agent_id, tool_name, tool_call_id, arguments",
  "tool.completed": "call_id, agent_id, tool_name, tool_call_id, result",
  "tool.timeout": "call_id, agent_id, tool_name, tool_call_id, timeout_seconds",
  "transfer.initiated": "call_id, agent_id, from, transfer_to, reason",
  "transfer.completed": "call_id, agent_id, from, transfer_to",
  "transfer.failed": "call_id, agent_id, from, transfer_to, reason, failure_reason",
  "sms.sent":
    "call_id, agent_id, from, to, from_number, sender_name, message, sender_type, provider_message_id, cost_eur, status",
  "knowledge_base.refreshed": "kb_id, entries_added, entries_removed, entries_truncated",
  "knowledge_base.refresh_failed": "kb_id, error",
  "knowledge_base.auto_refresh_disabled": "kb_id, reason, count",
  "address.verification.pending": "address_id, status",
  "address.verification.verified": "address_id, status, number_types",
  "address.verification.partially_verified": "address_id, status, number_types",
  "address.verification.rejected": "address_id, status, number_types",
  "address.verification.expired": "address_id, status, number_types",
  "booking_customer.created": "customer_id, customer",
  "booking_customer.updated": "customer_id, customer",
  "booking_customer.deleted": "customer_id, customer",
  "booking_customer.restored": "customer_id, customer"
}

/** Fields that may be null, and those of a call whose agent is gone. */
const nullable: Readonly<Record<string, string>> = {
  "call.failed": "from, to, ended_reason, agent_id, failure",
  "call.gather.completed": "input",
  "transcript.updated": "from",
  "speech.started": "from",
  "speech.ended": "from, transcript",
  "ai.speech.started": "text",
  "ai.speech.ended": "text, duration_ms",
  barge_in: "from, user_text, interrupted_text",
  "transfer.initiated": "from, reason",
  "transfer.completed": "from, transfer_to",
  "transfer.failed": "from, transfer_to, reason",
  "sms.sent": "call_id, agent_id, from, from_number, sender_name, provider_message_id, cost_eur"
}

const fieldsOf = (list: string): ReadonlyArray<string> => list.split(", ").toSorted()

const samples = Object.entries<object>(eventSamples)

describe("events", () => {
  it("are the 28 that webhooks can name and the four of booking customers", () => {
    expect(webhookEvents).toHaveLength(28)
    expect(Object.keys(eventData).toSorted()).toEqual(Object.keys(inSpec).toSorted())
    expect(webhookEvents.filter((name) => !(name in eventData))).toEqual([])
    expect(Object.keys(eventData).filter((name) => !webhookEvents.some((one) => one === name))).toEqual(
      Object.keys(inSpec).filter((name) => name.startsWith("booking_customer."))
    )
  })

  for (const [event, data] of samples) {
    const fields = fieldsOf(inSpec[event] ?? "")

    it(`${event} has a sample with the documented fields, which matches its schema`, () => {
      expect(Object.keys(data).toSorted()).toEqual(fields)
      expect(schemaViolationOf({ event, data })).toBeUndefined()
      expect(JSON.parse(JSON.stringify(data))).toEqual(data)
    })

    it(`${event} is refused with an excess field, a missing field, and null in a field that is not nullable`, () => {
      expect(schemaViolationOf({ event, data: { ...data, surplus: 1 } })).toContain("data.surplus")
      for (const field of fields) {
        const { [field]: _, ...rest } = Object.fromEntries(Object.entries(data))
        expect(schemaViolationOf({ event, data: rest }), field).toContain(`data.${field}`)
      }
      for (const field of fieldsOf(nullable[event] ?? "").filter((name) => name !== "")) {
        expect(schemaViolationOf({ event, data: { ...data, [field]: null } }), field).toBeUndefined()
      }
    })
  }

  it("values that JSON would change, or that the schema does not allow, are refused, and the error does not repeat them", () => {
    const wrong: ReadonlyArray<readonly [keyof EventData, object]> = [
      ["call.ended", { total_cost: Number.NaN }],
      ["call.ended", { started_at: "yesterday" }],
      ["call.ended", { transcript: [{ role: "caller", content: "secret", timestamp: 0 }] }],
      ["call.dtmf.received", { digit: "12" }],
      ["tool.completed", { result: undefined }],
      ["sms.sent", { status: "secret" }],
      ["address.verification.expired", { status: "verified" }],
      ["call.started", { from: undefined }]
    ]
    for (const [event, change] of wrong) {
      const misfit = schemaViolationOf({ event, data: { ...eventSamples[event], ...change } })
      expect(misfit, event).toContain(`data.${Object.keys(change)[0]}`)
      expect(misfit).not.toContain("secret")
    }
    expect(schemaViolationOf({ event: "call.exploded", data: {} })).toBe("call.exploded is not an event")
  })

  it("edge cases match their schemas: an empty result, an empty transcript, text as a result", () => {
    for (const result of [null, false, "", {}]) {
      const data = { ...eventSamples["tool.completed"], result }
      expect(schemaViolationOf({ event: "tool.completed", data })).toBeUndefined()
    }
    const data = { ...eventSamples["call.ended"], transcript: [], metadata: { a: { b: [1] } } }
    expect(schemaViolationOf({ event: "call.ended", data })).toBeUndefined()
  })
})
