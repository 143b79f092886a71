import { describe, expect, it } from "@effect/vitest"
import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import { EventId } from "@svc/api/Ids"
import { atOnce } from "@svc/api/Thread"
import { callTimeline } from "@svc/api/testing/CallFixtures"
import { Schema } from "effect"
import { callScript } from "../../../src/http/debug-page/CallScript.ts"
import { page, rendering } from "../../../src/http/debug-page/DebugPage.ts"

const text = `"'<&>`.repeat(20_000)
const many = Array.from({ length: 3000 }, (_, index) => index)

/** More of everything than a page shows, and all of it of characters that HTML escapes. */
const large = callTimeline(
  {
    turns: many.map((index) => ({
      index,
      role: "assistant",
      text,
      started_at: index * 1000,
      ended_at: index * 1000 + 500,
      interrupted: true,
      stages: {
        turn: index,
        ts: index,
        llm_ttfb_ms: 1234.5,
        tts_start_ms: 2345.6,
        tts_ttfb_ms: 345.6,
        response_ms: 4567.8,
        endpointing_ms: 567.8,
        platform_ms: 2
      }
    })),
    tools: many.map((at) => ({
      id: text,
      name: text,
      started_at: at,
      ended_at: null,
      status: "running",
      arguments: { text },
      result: [text]
    })),
    webhooks: many.map((at) => ({
      event: "call.started",
      event_id: Schema.decodeSync(EventId)(`whe_${"e".repeat(24)}`),
      url: `https://example.com/${"x".repeat(5000)}`,
      attempt: 2,
      at,
      status_code: 500,
      success: false,
      error: text
    })),
    server_requests: many.map((started_at) => ({
      event: "tool.call",
      started_at,
      duration_ms: 45,
      status: 502,
      content_type: null,
      error: text,
      request: text.slice(0, 16_384),
      response: JSON.stringify([text.slice(0, 8000)])
    })),
    provider_requests: many.map((started_at) => ({
      capability: "language-model",
      provider: 1,
      plugin: "openai",
      turn: null,
      started_at,
      first_at: null,
      ended_at: null,
      error: text,
      tokens: null,
      characters: null
    })),
    events: many.map((at) => ({ at, actor: "model", what: text, data: [text, { text }] })),
    warnings: many.slice(0, 20).map((at) => ({ at, what: text, reason: text })),
    failure: { stage: "server", reason: text, hint: text }
  },
  { from_number: text, to_number: text, tools_called: many.map(() => text) }
)

describe("A debug page", () => {
  it("has at most 1 MB, however much there is to show, and says what it leaves out", () => {
    for (const scope of ["full", "read"] as const) {
      const content = atOnce(rendering({ timeline: large, scope }))
      const whole = page(content, large, "/debug/calls/x")
      expect(Buffer.byteLength(whole)).toBeLessThan(1_000_000)
      expect(whole).toMatch(/newest \d+ of 3,000; GET \/v1\/calls\/&lt;id&gt; has the/)
    }
  })

  it("is rendered in steps, each of one row", () => {
    const steps = rendering({ timeline: large, scope: "full" })
    let count = 0
    for (let step = steps.next(); step.done !== true; step = steps.next()) count += 1
    expect(count).toBeGreaterThan(100)
  })

  it("begins with why the call failed and what to do, before the transcript and the facts", () => {
    const failure = { stage: "call.started", reason: "POST https://a.example answered 404", hint: "Set it." } as const
    const warnings = [{ at: 1500, what: "tool.call: book", reason: "no answer" }]
    const timeline = callTimeline({ failure, warnings }, { status: "failed" })
    const whole = page(atOnce(rendering({ timeline, scope: "full" })), timeline, "/debug/calls/x")
    const places = [
      "Why it failed: call.started",
      "POST https://a.example answered 404",
      "Set it.",
      "tool.call: book",
      "Nothing has been said yet.",
      "2026-11-01 09:30:00 UTC"
    ].map((part) => whole.indexOf(part))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
  })

  it("links the guides that the hint and the warnings name", () => {
    const hint = "Correct <it>. See docs/reference/agent-server.md."
    const failure = { stage: "call.started", reason: "see docs/agents.md", hint } as const
    const warnings = [{ at: 1500, what: "tool.call: docs/calls.md", reason: "See docs/calls.md." }]
    const timeline = callTimeline({ failure, warnings }, { status: "failed" })
    const whole = page(atOnce(rendering({ timeline, scope: "full" })), timeline, "/debug/calls/x")
    expect(whole).toContain(
      'Correct &lt;it&gt;. See <a href="../../guides/reference/agent-server">docs/reference/agent-server.md</a>.'
    )
    expect(whole).toContain('See <a href="../../guides/calls">docs/calls.md</a>.')
    expect(whole.match(/<a href="..\/..\/guides/g)).toHaveLength(2)
  })

  it("has the requests to providers by turn, with plugin, times, outcome, tokens and characters", () => {
    const request = { provider: 0, plugin: "openai", turn: 2, error: null, tokens: null, characters: null }
    const turn = { role: "assistant", ended_at: null, interrupted: false, stages: null } as const
    const timeline = callTimeline({
      turns: [{ ...turn, index: 2, text: "It is <on> its way.", started_at: 900 }],
      provider_requests: [
        {
          ...request,
          capability: "language-model",
          started_at: 100,
          first_at: 412,
          ended_at: 900,
          tokens: { input: 1512, cached_input: 1024, output: 40 }
        },
        { ...request, capability: "text-to-speech", started_at: 500, first_at: 590, ended_at: 1500, characters: 19 },
        {
          ...request,
          capability: "text-to-speech",
          turn: null,
          plugin: null,
          provider: 1,
          started_at: 1600,
          first_at: null,
          ended_at: 1700,
          error: "status 503"
        }
      ]
    })
    const { rest } = atOnce(rendering({ timeline, scope: "read" }))
    const rows = [...rest.matchAll(/<li class="plain">(.*?)<\/li>/gs)].map(([, row = ""]) =>
      row
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim()
    )
    expect(rows).toEqual([
      "Turn 2: It is &lt;on&gt; its way.",
      "0:00.100 language-model openai ✓ first output after 312 ms, 800 ms , 1,512 tokens in (1,024 cached), 40 out",
      "0:00.500 text-to-speech openai ✓ first output after 90 ms, 1000 ms , 19 characters",
      "For no turn that was heard",
      "0:01.600 text-to-speech (fallback 1) ✕ 100 ms : status 503"
    ])
  })

  it("links to the trace of the call, if there is one", () => {
    const traceUrl = 'https://traces.example/?id=1&b="'
    const { top } = atOnce(rendering({ timeline: callTimeline(), scope: "read", traceUrl }))
    expect(top).toContain('href="https://traces.example/?id=1&amp;b=&quot;"')
    expect(atOnce(rendering({ timeline: callTimeline(), scope: "read" })).top).not.toContain("Trace")
  })
})

/** A script without its comments. */
const lines = (timeline: CallTimeline) =>
  callScript(timeline)
    .split("\n")
    .filter((line) => !line.startsWith("#"))

describe("The facts of a debug page", () => {
  it("have usage, line and the settings that apply, with those left out and why", () => {
    const { top } = atOnce(
      rendering({
        scope: "full",
        timeline: callTimeline({
          usage: {
            llm: { requests: 3, input_tokens: 1840, cached_input_tokens: 1024, output_tokens: 61 },
            tts: { characters: 148, cached_characters: 0 },
            stt: { seconds: 89.4 }
          },
          line: {
            telephony: "sip",
            carrier_call_id: "a84b@203.0.113.7",
            codec: "PCMA",
            packets_lost: 2,
            packets_late: null,
            jitter_ms: 3.1
          },
          settings: {
            language: "en-US",
            voice: "Sarah",
            turn_taking: {
              end_of_turn_ms: null,
              interrupt_after_ms: 800,
              interrupt_min_words: 0,
              resume_after_ms: 2000,
              preemptive: true
            },
            first_message_interruptible: true,
            silence_prompts: null,
            model: null,
            speech: { speed: 1, pronunciations: [] },
            platform_tools: [],
            languages: [{ language: "nl-NL", voice: "Femke" }],
            left_out: [{ field: "model.name", reason: "no loaded plugin offers this model (there is <small>)" }]
          }
        })
      })
    )
    for (const shown of [
      "<dt>Model</dt><dd>3 requests, 1,840 (1,024 cached) tokens in, 61 out</dd>",
      "<dt>Text-to-speech</dt><dd>148 characters</dd>",
      "<dt>Speech-to-text</dt><dd>89.4 s</dd>",
      "<dt>Line</dt><dd>sip, PCMA</dd>",
      "<dt>Packets</dt><dd>2 lost, jitter 3.1 ms</dd>",
      "&quot;interrupt_after_ms&quot;:800",
      "<dt>languages</dt><dd>nl-NL (Femke)</dd>",
      "<code>model.name</code> no loaded plugin offers this model (there is &lt;small&gt;)"
    ])
      expect(top).toContain(shown)
  })
})

describe("A call saved as a script", () => {
  it("says and types what the caller did, in order, and expects what the agent said", () => {
    const turn = { interrupted: false, stages: null, ended_at: null }
    const timeline = callTimeline(
      {
        turns: [
          { ...turn, index: 0, role: "assistant", text: "Hi (1/2)?", started_at: 500 },
          { ...turn, index: 1, role: "user", text: `Say "x": yes`, started_at: 2000 },
          { ...turn, index: 2, role: "assistant", text: "Well, I", started_at: 4000, interrupted: true },
          { ...turn, index: 3, role: "user", text: "Stop", started_at: 5000 }
        ],
        events: [{ at: 3000, actor: "caller", what: "digit 5", data: null }]
      },
      { status: "completed", ended_reason: "caller-hangup", ended_at: "2026-11-01T09:31:00.000Z" }
    )
    expect(lines(timeline)).toEqual([
      `name: "as in ${timeline.call.call_id}"`,
      'to: "+15550100100"',
      'from: "+31612345678"',
      "steps:",
      '  - expect: "Hi \\\\(1\\\\/2\\\\)\\\\?"',
      '  - say: "Say \\"x\\": yes"',
      '  - dtmf: "5"',
      '  - interrupt: "Stop"',
      "  - hangup: true",
      '  - expect_call: {"status":"completed","tools_called":[]}',
      ""
    ])
  })

  it("of an outbound call is received by the number that was called", () => {
    const began = { at: 0, actor: "call", what: "outbound call from a to b", data: null } as const
    expect(lines(callTimeline({ events: [began] })).slice(1, 3)).toEqual([
      'to: "+31612345678"',
      'receive: "+15550100100"'
    ])
  })
})
