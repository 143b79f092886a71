import { expect, it } from "@effect/vitest"
import type { Call } from "@svc/api/calls/Call"
import { AgentId, CallId, EventId } from "@svc/api/Ids"
import { atOnce } from "@svc/api/Thread"
import { Schema } from "effect"
import { page, rendering, type ShownCall } from "../../../src/http/debug-page/DebugPage.ts"

const text = `"'<&>`.repeat(20_000)
const many = Array.from({ length: 3000 }, (_, index) => index)

const call: Call = {
  call_id: Schema.decodeSync(CallId)(`call_${"c".repeat(24)}`),
  agent_id: Schema.decodeSync(AgentId)(`agent_${"a".repeat(24)}`),
  from_number: text,
  to_number: text,
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
  has_recording: true,
  recording_enabled: true,
  turn_count: 1,
  tool_call_count: 0,
  tools_called: many.map(() => text),
  metadata: {},
  ws_unavailable: false,
  extracted_data: {},
  started_at: "2026-11-01T09:30:00.000Z",
  ended_at: null,
  transcript: many.map((timestamp) => ({ role: "user", content: text, timestamp })),
  failure: null,
  warnings: [],
  warnings_dropped: 0,
  latency_data: {
    turns: many.map((turn) => ({
      turn,
      ts: turn,
      llm_ttfb_ms: 1234.5,
      tts_start_ms: 2345.6,
      tts_ttfb_ms: 345.6,
      response_ms: 4567.8,
      endpointing_ms: 567.8,
      platform_ms: 2
    }))
  }
}

/** More of everything than a page shows, and all of it of characters that HTML escapes. */
const large = (scope: ShownCall["scope"]): ShownCall => ({
  scope,
  call,
  deliveries: many.map((id) => ({
    id,
    event: "call.started",
    event_id: Schema.decodeSync(EventId)(`whe_${"e".repeat(24)}`),
    url: `https://example.com/${"x".repeat(5000)}`,
    attempt: 2,
    status_code: 500,
    success: false,
    error: text,
    created_at: "2026-11-01T09:30:31.500Z"
  })),
  serverRequests: many.map(() => ({
    event: "tool.call",
    started_at: 0,
    duration_ms: 45,
    status: 502,
    content_type: null,
    error: text,
    request: text.slice(0, 16_384),
    response: JSON.stringify([text.slice(0, 8000)])
  })),
  timeline: {
    lines: many.map((at) => ({ at, actor: "model", what: text, detail: [text, { text }] })),
    transcript: [],
    latencies: [],
    warnings: many.map(() => ({ field: text, reason: text })),
    warnings_dropped: 0,
    isFromOtherVersion: true
  }
})

it("a page has at most 1 MB, however much there is to show, and says what it leaves out", () => {
  for (const scope of ["full", "read"] as const) {
    const content = atOnce(rendering(large(scope)))
    const whole = page(content, call, "/debug/calls/x")
    expect(Buffer.byteLength(whole)).toBeLessThan(1_000_000)
    expect(content.json.rest.length).toBeLessThan(1_000_000)
    for (const hint of [/newest \d+ of 3,000; GET \/v1\/calls\/&lt;id&gt; has the/, /\d+ more fields were left out/]) {
      expect([String(hint), hint.test(whole)]).toEqual([String(hint), true])
    }
  }
})

it("a page counts the fields that were left out and whose warnings were not kept", () => {
  const view = large("full")
  const timeline = view.timeline && {
    ...view.timeline,
    warnings: [{ field: "voice", reason: "no" }],
    warnings_dropped: 7
  }
  const { top } = atOnce(rendering({ ...view, timeline }))
  expect(top).toContain("voice was left out: no")
  expect(top).toContain("7 more fields were left out")
})

it("a page is rendered in steps, each of one row", () => {
  const steps = rendering(large("full"))
  let count = 0
  for (let step = steps.next(); step.done !== true; step = steps.next()) count += 1
  expect(count).toBeGreaterThan(100)
})
