import type { CallConfig } from "@svc/conversation/answers/CallConfig"
import { config } from "@svc/conversation/testing/Script"
import { describe, expect, it } from "vitest"
import { startedCheck, toolCheck } from "../../src/commands/agent-check/Check.ts"
import { sampleArguments } from "../../src/commands/agent-check/SampleArguments.ts"

const request = (duration_ms: number) => ({
  event: "call.started",
  started_at: 0,
  duration_ms,
  status: 200,
  content_type: "application/json",
  error: null,
  request: "{}",
  response: "{}"
})

const configured = (duration_ms: number, changes: Partial<CallConfig> = {}) => ({
  input: { _tag: "ConfigAnswered", config: { ...config, ...changes } } as const,
  request: request(duration_ms),
  body: { system_prompt: "Hi" }
})

describe("a check", () => {
  it("warns of an answer that takes more than half of its time limit", () => {
    expect(startedCheck("call.started", configured(2500)).warnings).toEqual([])
    expect(startedCheck("call.started", configured(2600)).warnings).toEqual([
      { field: null, reason: "the answer took 2.6 s of 5 s: the call rings meanwhile" }
    ])
    const tool = { name: "find", timeout_seconds: 1 }
    const asked = {
      input: { _tag: "ToolAnswered", id: "t", result: 1 } as const,
      request: request(900),
      body: undefined
    }
    expect(toolCheck(tool, {}, asked)).toMatchObject({
      ok: true,
      warnings: [{ reason: expect.stringMatching(/^the answer took 0\.9 s of 1 s: .*speak_during_tool_call/) }]
    })
  })

  it("says how many fields beyond those that are named are left out", () => {
    const warnings = [{ field: "voice", reason: "voice not available for the selected language" }]
    const { faults, ok } = startedCheck("call.started", configured(1, { warnings, warnings_dropped: 7 }))
    expect(ok).toBe(false)
    expect(faults).toEqual([...warnings, { field: "", reason: "and 7 more" }])
  })
})

describe("sample arguments", () => {
  it("have the required properties, each with a value that fits", () => {
    const parameters = {
      type: "object",
      properties: {
        day: { type: "string" },
        date: { type: "string", format: "date" },
        size: { enum: ["small", "large"] },
        count: { type: "integer", minimum: 2.5 },
        price: { type: "number", maximum: 0.5 },
        sure: { type: "boolean" },
        tags: { type: "array", items: { type: "string", minLength: 6 } },
        who: { type: "object", properties: { name: { type: "string", default: "Ada" } }, required: ["name"] },
        either: { anyOf: [{ type: ["null", "string"], maxLength: 2 }] },
        optional: { type: "string" }
      },
      required: ["day", "date", "size", "count", "price", "sure", "tags", "who", "either"]
    }
    expect(sampleArguments(parameters)).toEqual({
      day: "test",
      date: "2026-11-02",
      size: "small",
      count: 3,
      price: 0.5,
      sure: true,
      tags: ["testtt"],
      who: { name: "Ada" },
      either: "te"
    })
  })

  it.each([
    ["no schema", {}],
    ["parts of wrong types", { properties: [], required: "all" }],
    ["a property without a schema", { properties: { a: 5 }, required: ["b"] }]
  ])("of %s are none", (_, parameters) => {
    expect(sampleArguments(parameters)).toEqual({})
  })

  it("of a schema without an end of nesting have an end", () => {
    const parameters: Record<string, unknown> = { type: "object", required: ["self"] }
    parameters["properties"] = { self: parameters }
    expect(JSON.stringify(sampleArguments(parameters)).length).toBeLessThan(200)
  })
})
