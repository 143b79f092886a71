import { describe, expect, it } from "vitest"
import { answeredMetadataProblem, metadataProblem } from "../../src/answers/MetadataLimits.ts"
import { problemsOf, read } from "../../src/answers/StartedAnswer.ts"

/** The limits of an answer to call.started: docs/reference/agent-server.md. */

const agent = { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: false }
const answered = (fields: Readonly<Record<string, unknown>>) => {
  const input = read(
    { system_prompt: "Hi", ...fields },
    agent,
    { speaks: () => true, voiceFor: (voice: string) => voice, models: [] },
    false
  )
  if (input._tag !== "ConfigAnswered") throw new Error(`the input is ${input._tag}`)
  return { ...input.config, problems: problemsOf(input) }
}
const list = <A>(length: number, of: (index: number) => A) => Array.from({ length }, (_, index) => of(index))
const fieldsOf = (length: number, value: unknown) => Object.fromEntries(list(length, (index) => [`k${index}`, value]))
const pattern = (steps: number) => ({ type: "string", pattern: `x{${steps}}` })

describe("a list of an answer that is too long is left out whole, with one warning", () => {
  it.each([
    ["tools", 128, list(128, (i) => ({ name: `t${i}` })), list(129, (i) => ({ name: `t${i}` }))],
    ["transfer_destinations", 100, fieldsOf(100, "+31201234567"), fieldsOf(101, "+31201234567")],
    ["dtmf_actions", 12, fieldsOf(12, "menu"), fieldsOf(13, "menu")],
    ["stt_keyterms", 100, list(100, String), list(101, String)],
    ["extraction_schema", 20, fieldsOf(20, { type: "string" }), fieldsOf(21, { type: "string" })],
    ["metadata", 200, fieldsOf(200, 1), fieldsOf(201, 1)],
    ["metadata", 200, { a: list(99, (i) => ({ [i]: { b: 1 } })), b: 1 }, { a: list(100, () => ({ b: { c: 1 } })) }]
  ])("%s: more than %i", (field, most, fits, tooLong) => {
    expect(answered({ [field]: fits })).toMatchObject({ problems: undefined })
    const { problems, warnings, ...config } = answered({ [field]: tooLong })
    expect(warnings).toEqual([{ field, reason: expect.stringContaining(String(most)) }])
    expect(config).toMatchObject({ tools: [], extraction: null, metadata: {}, stt_keyterms: [] })
    expect([config.dtmf_actions, config.transfer_destinations]).toEqual([{}, {}])
  })

  it("tools whose entries are all invalid have one warning as well", () => {
    const { tools, warnings } = answered({ tools: list(30_000, () => ({ name: "not a name" })) })
    expect([tools, warnings]).toEqual([[], [{ field: "tools", reason: "tools cannot exceed 128 entries" }]])
  })
})

describe("a text of an answer that is too long is left out", () => {
  it.each(["first_message", "end_session_message", "voicemail_message", "speak_during_tool_call"])(
    "%s over 10,000 characters",
    (field) => {
      expect(answered({ [field]: "x".repeat(10_000) })).toMatchObject({ [field]: "x".repeat(10_000), warnings: [] })
      expect(answered({ [field]: "x".repeat(10_001) })).toMatchObject({ [field]: null, warnings: [{ field }] })
    }
  )

  it("the prompt of a tool's gather, the label of a destination", () => {
    const { tools, transfer_destinations, warnings } = answered({
      tools: [{ name: "pin", gather: { prompt: "x".repeat(10_001) } }],
      transfer_destinations: { ["x".repeat(201)]: "+31201234567", sales: "+31201234567" }
    })
    expect([tools[0]?.gather?.prompt, transfer_destinations]).toEqual(["", { sales: "+31201234567" }])
    expect(warnings.map(({ field }) => field.slice(0, 20))).toEqual(["tools.0.gather.promp", "transfer_destination"])
  })
})

describe("the patterns of an extraction_schema", () => {
  it("have at most 1,000 steps together; those beyond are left out one by one", () => {
    const { extraction, warnings } = answered({
      extraction_schema: { a: pattern(450), b: pattern(450), c: pattern(200), d: pattern(50) }
    })
    expect(extraction?.map((field) => field.pattern !== undefined)).toEqual([true, true, false, true])
    expect(warnings).toEqual([
      { field: "extraction_schema.c.pattern", reason: "the patterns of the schema are too large together" }
    ])
  })
})

describe("the warnings of an answer", () => {
  it("are at most 20; the others are counted, also in the one line of the log", () => {
    const { problems, warnings, warnings_dropped } = answered({
      tools: list(128, () => ({})),
      transfer_destinations: fieldsOf(100, "no")
    })
    expect([warnings.length, warnings_dropped]).toEqual([20, 208])
    expect(warnings[19]?.field).toBe("tools.19")
    expect(problems).toMatch(/^tools\.0 is left out: .*; tools\.19 is left out: [^;]*; and 208 more$/)
  })

  it("are short texts in one line, whatever the answer has", () => {
    const name = `line\n${"x".repeat(50_000)}`
    const { problems = "", warnings } = answered({
      extraction_schema: { [name]: 5 },
      stt_format: name,
      tools: [{ name }]
    })
    expect(warnings).toHaveLength(3)
    expect(problems.length).toBeLessThan(2000)
    expect(problems).not.toContain("\n")
  })

  it("are those of a menu too", () => {
    const menu = {
      prompt: "Press 1",
      digits: 0,
      language: "xx",
      voice: "x",
      timeout: 0,
      max_retries: 99,
      terminator: 1
    }
    const input = read(
      { pre_gather: menu },
      agent,
      { speaks: () => true, voiceFor: (voice: string) => voice, models: [] },
      false
    )
    expect(input).toMatchObject({ _tag: "MenuAnswered", warnings: list(6, () => ({ reason: expect.any(String) })) })
    expect(input).not.toHaveProperty("warnings_dropped")
  })

  it("of duplicate tools name each duplicate", () => {
    const { tools, warnings } = answered({ tools: list(10, (i) => ({ name: `t${i % 5}` })) })
    expect(tools.map(({ name }) => name)).toEqual(["t0", "t1", "t2", "t3", "t4"])
    expect(warnings.map(({ reason }) => reason)).toEqual(list(5, (i) => `the tool t${i} is defined twice`))
  })
})

describe("metadata", () => {
  const withKeys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0]))

  it("of an answer has at most 200 keys, nested ones included; that of a request has no limit of keys", () => {
    expect(answeredMetadataProblem({ ...withKeys(199), a: [{}] })).toBeNull()
    expect(answeredMetadataProblem({ ...withKeys(198), a: [{ b: 0 }] })).toBeNull()
    expect(answeredMetadataProblem({ ...withKeys(199), a: [{ b: 0 }] })).toBe("metadata must not exceed 200 keys")
    expect(metadataProblem(withKeys(4_000))).toBeNull()
  })

  it("has at most 5 levels and 65,536 bytes", () => {
    for (const problem of [metadataProblem, answeredMetadataProblem]) {
      expect(problem({ a: { b: { c: { d: {} } } } })).toBeNull()
      expect(problem({ a: { b: { c: { d: [[]] } } } })).toBe("metadata must not exceed 5 levels")
      expect(problem({ a: "x".repeat(65_536 - 8) })).toBeNull()
      expect(problem({ a: "x".repeat(65_536 - 7) })).toBe("metadata must not exceed 65536 bytes")
    }
  })
})
