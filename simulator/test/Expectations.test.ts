import type { CallTimeline, TimelineTool } from "@svc/api/calls/CallTimeline"
import { turnLatency } from "@svc/api/testing/CallFixtures"
import { Effect, Either, Option } from "effect"
import { describe, expect, it } from "vitest"
import { type CallView, newCall, withTimeline } from "../src/CallView.ts"
import * as Expectations from "../src/Expectations.ts"
import { differences } from "../src/PartialMatch.ts"
import { parse } from "../src/Script.ts"
import type { Step } from "../src/ScriptSteps.ts"
import { timelineOf } from "./Records.ts"

const live = newCall(1, 0, "live", { from: "+15550000002", to: "+15550000001" })

/** A call with a timeline: live, or over and settled. */
const callWith = (change: Partial<CallTimeline>, isOver = false): CallView =>
  isOver
    ? { ...withTimeline(live, timelineOf("call_1", change, { ended_at: "2026-11-01T09:31:00.000Z" })), phase: "ended" }
    : withTimeline(live, timelineOf("call_1", change))

/** `met`, `pending`, or why not. */
const said = <A>(verdict: Expectations.Verdict<A>): string =>
  Option.match(verdict, {
    onNone: () => "pending",
    onSome: Either.match({ onLeft: (why) => why, onRight: () => "met" })
  })

/** The first step of a script. */
const stepOf = (yaml: string): Step => {
  const [step] = Effect.runSync(parse(`steps:\n  - ${yaml}\n`)).steps
  if (step === undefined) throw new Error("a script has a step")
  return step
}

describe("an expected value", () => {
  it.each([
    ["an object with these fields", { a: 1, b: { c: [true, null] } }, { b: { c: [true, null] } }, []],
    ["a pattern", "Friday 10:30", "/^fri.*30$/", []],
    ["a pattern for a number", 42, "/^4/", []],
    ["another value", "9:00", "10:30", ['x is "9:00" instead of "10:30"']],
    ["no pattern match", "Monday", "/^fri/", ['x is "Monday" instead of "/^fri/"']],
    ["a pattern for an object", {}, "/a/", ['x is {} instead of "/a/"']],
    [
      "a missing field",
      { a: {} },
      { a: { b: 1 }, c: null },
      ["x.a.b is missing instead of 1", "x.c is missing instead of null"]
    ],
    ["a field of the prototype", {}, { toString: 1 }, ["x.toString is missing instead of 1"]],
    ["a longer list", [1, 2], [1], ["x is [1,2] instead of [1]"]],
    ["a number as text", 1, "1", ['x is 1 instead of "1"']],
    ["an object for a text", "a", { a: 1 }, ['x is "a" instead of {"a":1}']]
  ])("is compared with %s", (_, value, expected, found) => {
    expect(differences("x", value, expected)).toEqual(found)
  })
})

const tool = (change: Partial<TimelineTool>): TimelineTool => ({
  id: "t1",
  name: "book",
  started_at: 1,
  ended_at: 2,
  status: "completed",
  arguments: { day: "Friday", time: "9:00" },
  result: { booked: true, slot: "Friday 9:00" },
  ...change
})

describe("expect_tool", () => {
  const verdict = (yaml: string, call: CallView, used: ReadonlySet<string> = new Set()) => {
    const step = stepOf(`expect_tool: ${yaml}`)
    if (!("expect_tool" in step)) throw new Error("another step")
    const wanted = typeof step.expect_tool === "string" ? { name: step.expect_tool } : step.expect_tool
    return said(Expectations.toolVerdict(call, wanted, used))
  }
  const call = callWith({
    tools: [tool({}), tool({ id: "t2", arguments: { day: "Monday" }, status: "running", result: null })]
  })

  it("is met by a call of the tool with these arguments and this result", () => {
    expect(verdict("book", call)).toBe("met")
    expect(verdict("{ name: book, arguments: { day: Friday } }", call)).toBe("met")
    expect(verdict("{ name: book, result: { booked: true, slot: /9:00/ } }", call)).toBe("met")
    expect(verdict("{ name: book, status: completed }", call)).toBe("met")
  })

  it("is met once by each call", () => {
    expect(verdict("book", call, new Set(["t1"]))).toBe("met")
    expect(verdict("book", call, new Set(["t1", "t2"]))).toBe("pending")
  })

  it("waits for a result while the tool runs, and while the call does", () => {
    expect(verdict("{ name: book, arguments: { day: Monday }, result: {} }", call)).toBe("pending")
    expect(verdict("cancel", call)).toBe("pending")
    expect(verdict("cancel", live)).toBe("pending")
  })

  it("says after the call what was called instead, or what differs", () => {
    const over = callWith({ tools: [tool({}), tool({ id: "t3", name: "end_call" })] }, true)
    expect(verdict("cancel", over)).toBe("cancel was not called; called were book, end_call")
    expect(verdict("book", over, new Set(["t1"]))).toBe("book was not called again; called were book, end_call")
    expect(verdict("{ name: book, arguments: { day: Monday, time: /10/ } }", over)).toBe(
      'book was called with {"day":"Friday","time":"9:00"}: arguments.day is "Friday" instead of "Monday", arguments.time is "9:00" instead of "/10/"'
    )
    expect(verdict("{ name: book, status: timeout, result: { id: 1 } }", over)).toMatch(
      /status is completed instead of timeout, result\.id is missing instead of 1$/
    )
  })
})

describe("expect_event", () => {
  const wantedOf = (yaml: string) => {
    const step = stepOf(`expect_event: ${yaml}`)
    if (!("expect_event" in step)) throw new Error("another step")
    return typeof step.expect_event === "string" ? { event: step.expect_event } : step.expect_event
  }
  const verdict = (yaml: string, call: CallView) => said(Expectations.eventVerdict(call, wantedOf(yaml)))
  const late = (yaml: string, call: CallView) => Expectations.eventLate(call, wantedOf(yaml))
  const attempt = {
    event_id: "whe_1" as CallTimeline["webhooks"][number]["event_id"],
    url: "https://example.com/hook",
    attempt: 1,
    at: 5,
    status_code: 200,
    success: true,
    error: null
  }
  const call = callWith(
    {
      events: [
        { at: 1, actor: "event", what: "call.dtmf.received", data: { digit: "1" } },
        { at: 2, actor: "call", what: "call.answered", data: null }
      ],
      webhooks: [
        { ...attempt, event: "call.ended" },
        { ...attempt, event: "call.dtmf.received", status_code: 503, success: false, error: "status 503" }
      ]
    },
    true
  )

  it("is met by an event of the call with these fields", () => {
    expect(verdict("call.dtmf.received", call)).toBe("met")
    expect(verdict('{ event: call.dtmf.received, data: { digit: "1" } }', call)).toBe("met")
  })

  it("is met by a delivery of the event, to this address, with this answer", () => {
    expect(verdict("call.ended", call)).toBe("met")
    expect(verdict("{ event: call.ended, delivered: true, status_code: 200, url: /hook$ }", call)).toBe("met")
    expect(verdict("{ event: call.dtmf.received, status_code: 503 }", call)).toBe("met")
  })

  it("waits for deliveries, and says why there was none", () => {
    expect(verdict("{ event: call.dtmf.received, delivered: true }", call)).toBe("pending")
    expect(late("{ event: call.dtmf.received, delivered: true }", call)).toBe(
      "call.dtmf.received was recorded, but no delivery fits: attempt 1 to https://example.com/hook: status 503"
    )
    expect(late("call.failed", call)).toBe(
      "there was no event call.failed; there were call.dtmf.received; events after a call are seen by their deliveries: give the agent a webhook for it"
    )
    expect(late('{ event: call.dtmf.received, data: { digit: "2" } }', call)).toBe(
      'call.dtmf.received differs: data.digit is "1" instead of "2"'
    )
    // What is no event of webhooks is not one of a script.
    expect(verdict("call.answered", call)).toBe("pending")
    expect(late("call.ended", live)).toBe("there is no call record")
  })

  it("does not wait for fields that the timeline never has", () => {
    expect(verdict("{ event: call.ended, data: { status: completed } }", call)).toMatch(/expect_call/)
  })
})

describe("expect_latency", () => {
  const turns = [300, 900].map((response_ms, index) => ({
    index,
    role: "assistant" as const,
    text: `Answer ${index}`,
    started_at: index,
    ended_at: null,
    interrupted: false,
    stages: turnLatency({ response_ms, endpointing_ms: null })
  }))
  const verdict = (yaml: string, call: CallView, stale: CallTimeline | null = null) => {
    const step = stepOf(`expect_latency: ${yaml}`)
    if (!("expect_latency" in step)) throw new Error("another step")
    return said(Expectations.latencyVerdict(call, step.expect_latency, stale))
  }

  it("is met when no measured turn, or not the last one, is slower", () => {
    const call = callWith({ turns }, true)
    expect(verdict("{ response_ms: 901, llm_ttfb_ms: 5 }", call)).toBe("met")
    expect(verdict("{ response_ms: 900 }", call)).toBe('response_ms of turn 1 ("Answer 1") is 900 ms, not below 900 ms')
    expect(verdict("{ response_ms: 500, turn: last }", callWith({ turns: turns.toReversed() }, true))).toBe("met")
  })

  it("ignores a stage that a turn did not have, but not one that none had", () => {
    const [first, ...rest] = turns
    if (first === undefined) throw new Error("there are turns")
    const greeting = { ...first, stages: turnLatency({ response_ms: 300, llm_ttfb_ms: null, endpointing_ms: null }) }
    const call = callWith({ turns: [greeting, ...rest] }, true)
    expect(verdict("{ llm_ttfb_ms: 5 }", call)).toBe("met")
    expect(verdict("{ endpointing_ms: 500 }", call)).toBe("endpointing_ms was not measured")
  })

  it("waits in a live call for a timeline that was read after the step began, and for a measured turn", () => {
    const call = callWith({ turns })
    expect(verdict("{ response_ms: 1000 }", call, call.timeline)).toBe("pending")
    expect(verdict("{ response_ms: 1000 }", call, timelineOf("call_1"))).toBe("met")
    expect(verdict("{ response_ms: 1000 }", callWith({}))).toBe("pending")
    expect(verdict("{ response_ms: 1000 }", callWith({}, true))).toBe("no turn was measured")
    // The last turns are there once the call is settled.
    expect(verdict("{ response_ms: 1000 }", { ...call, phase: "ended" })).toBe("pending")
  })
})
