import { describe, expect, it } from "vitest"
import { newCall, withTimeline } from "../src/CallView.ts"
import { junit } from "../src/JUnit.ts"
import type { Ran } from "../src/Report.ts"
import { timelineOf } from "./Records.ts"

const ran = (change: Partial<Ran>): Ran => ({
  file: "calls/a.yaml",
  name: "A call",
  result: "ok",
  outcome: { exit_code: 0, error: null, step: null },
  steps: 3,
  call: null,
  duration_ms: 1500,
  output: [],
  ...change
})

const failed = (result: Ran["result"], error: string, change: Partial<Ran> = {}) =>
  ran({ result, outcome: { exit_code: 1, error, step: 2 }, ...change })

describe("the report in the form of JUnit", () => {
  it("has a testcase for each script, with failure, error or skipped", () => {
    const all = [
      ran({}),
      failed("failed", "step 2, say: no"),
      failed("invalid", "x:1: bad", { name: undefined }),
      failed("unavailable", "the server is away"),
      failed("not-run", "the server is away"),
      failed("interrupted", "interrupted")
    ]
    expect(junit(all, Date.UTC(2026, 10, 1, 9, 30), 9000).split("\n")).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites name="simulate" tests="6" failures="1" errors="3" skipped="1" time="9.000">',
      '<testsuite name="simulate" tests="6" failures="1" errors="3" skipped="1" time="9.000" timestamp="2026-11-01T09:30:00">',
      '<testcase name="A call" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"/>',
      '<testcase name="A call" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"><failure message="step 2, say: no" type="expectation">step 2, say: no</failure></testcase>',
      '<testcase name="calls/a.yaml" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"><error message="x:1: bad" type="script">x:1: bad</error></testcase>',
      '<testcase name="A call" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"><error message="the server is away" type="server">the server is away</error></testcase>',
      '<testcase name="A call" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"><skipped message="the server is away"/></testcase>',
      '<testcase name="A call" classname="calls/a.yaml" file="calls/a.yaml" time="1.500"><error message="interrupted" type="interrupted">interrupted</error></testcase>',
      "</testsuite>",
      "</testsuites>",
      ""
    ])
  })

  it("says why the call failed, with what to do and where to look", () => {
    const failure = { stage: "call.started", reason: "answered 404", hint: "Set the agent's server_url." } as const
    const call = {
      ...withTimeline(
        newCall(1, 0, "ended", { from: "+15550000002", to: "+15550000001" }),
        timelineOf("call_1", { failure })
      ),
      debug_url: "http://127.0.0.1:1/debug/calls/x"
    }
    const text = junit([failed("failed", "step 1: no", { call })], 0, 0)
    expect(text).toContain(
      "step 1: no\nfailed, call.started: answered 404. Set the agent's server_url.\ncall call_1\ndebug page: http://127.0.0.1:1/debug/calls/x</failure>"
    )
  })

  it("escapes what XML gives a meaning, and replaces what it does not allow", () => {
    const nasty = `<a> & "b"\t]]>\u0000\u0008\u001B[31m\uFFFE\uD800 \u{1F600}\r\nend`
    const text = junit([failed("failed", nasty, { name: nasty, output: [nasty] })], 0, 0)
    expect(text).not.toMatch(/[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]|\p{Surrogate}|&(?!amp;|lt;|gt;|quot;|#\d+;)/u)
    expect(text).toContain(
      'name="&lt;a&gt; &amp; &quot;b&quot;&#9;]]&gt;\uFFFD\uFFFD\uFFFD[31m\uFFFD\uFFFD \u{1F600}&#13;&#10;end"'
    )
    expect(text).toContain("<system-out>&lt;a&gt; &amp; &quot;b&quot;\t]]&gt;")
  })

  it("keeps at most 100,000 characters of an output", () => {
    expect(junit([ran({ output: ["x".repeat(500_000)] })], 0, 0).length).toBeLessThan(102_000)
  })
})
