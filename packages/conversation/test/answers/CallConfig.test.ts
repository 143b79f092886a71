import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type AgentDefaults, CallConfig, resolve } from "../../src/answers/CallConfig.ts"
import { defaultSpeech, defaultTurnTaking } from "../../src/answers/CallSettings.ts"

const agent: AgentDefaults = { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: false }

const defaultSettings = {
  turn_taking: defaultTurnTaking,
  first_message_interruptible: true,
  silence_prompts: null,
  model: null,
  speech: defaultSpeech,
  platform_tools: [],
  languages: []
}

/** Sarah speaks everything, Lotte only Dutch. */
const speaks = (voice: string, language: string): boolean =>
  voice === "Sarah" || (voice === "Lotte" && language === "nl-NL")

const read = (answer: unknown, defaults: AgentDefaults = agent) =>
  resolve(answer, defaults, { speaks, voiceFor: (voice: string) => voice, models: ["small", "large"] })

const config = (fields: Readonly<Record<string, unknown>>, defaults: AgentDefaults = agent): CallConfig =>
  Either.getOrThrowWith(read({ system_prompt: "Hi", ...fields }, defaults), ({ reason }) => new Error(reason))

const fields = (c: CallConfig): ReadonlyArray<string> => c.warnings.map((w) => w.field)

describe("an answer to call.started", () => {
  it.each([
    ["null", null],
    ["text", "Hi"],
    ["a number", 1],
    ["an array", [{ system_prompt: "Hi" }]],
    ["an empty object", {}],
    ["an empty prompt", { system_prompt: "" }],
    ["a prompt that is null", { system_prompt: null }],
    ["a prompt that is no text", { system_prompt: { text: "Hi" } }]
  ])("that is %s cannot be used", (_, answer) => {
    expect(Either.isLeft(read(answer))).toBe(true)
  })

  it("with a system_prompt alone takes everything else from the agent", () => {
    expect(config({})).toEqual({
      system_prompt: "Hi",
      first_message: null,
      voicemail_message: null,
      transfer_destinations: {},
      end_session_message: null,
      language: "en-US",
      voice: "Sarah",
      max_duration: 1800,
      inactivity_timeout: null,
      recording_enabled: null,
      stt_format: "smart",
      stt_keyterms: [],
      speak_during_tool_call: null,
      tools: [],
      end_call: false,
      send_sms: null,
      extraction: null,
      post_call_sms: null,
      dtmf_actions: {},
      metadata: {},
      ...defaultSettings,
      warnings: []
    })
  })

  it("with all fields is used unchanged", () => {
    const given = {
      system_prompt_append: "Be kind.",
      first_message: "Hello.",
      end_session_message: "Bye.",
      language: "nl-NL",
      voice: "Lotte",
      max_duration: 90,
      inactivity_timeout: 7,
      recording_enabled: false,
      stt_format: "numerals",
      stt_keyterms: ["Anna", "", "anna", " "],
      speak_during_tool_call: "auto",
      extraction_schema: { name: { type: "string", description: "Who called" }, age: { type: "number" } },
      post_call: { sms: { to: "caller", message: "Thanks, {{call_id}}.", sender_name: "Shop" } },
      tools: [
        { name: "lookup", timeout_seconds: 2, usage_instructions: "Rarely." },
        { name: "end_call" },
        { name: "svc_send_sms" }
      ],
      dtmf_actions: { "1": "sales" },
      metadata: { a: { b: [1] } },
      transfer_destinations: { sales: "+31201234567", support: "+31207654321" },
      voicemail_message: "Call us back.",
      something_else: true
    }
    expect(config(given)).toEqual({
      system_prompt: "Hi\n\nBe kind.",
      voicemail_message: "Call us back.",
      transfer_destinations: { sales: "+31201234567", support: "+31207654321" },
      first_message: "Hello.",
      end_session_message: "Bye.",
      language: "nl-NL",
      voice: "Lotte",
      max_duration: 90,
      inactivity_timeout: 7,
      recording_enabled: false,
      stt_format: "numerals",
      stt_keyterms: ["Anna", "anna"],
      speak_during_tool_call: "auto",
      tools: [
        {
          name: "lookup",
          description: "",
          parameters: { type: "object", properties: {} },
          timeout_seconds: 2,
          usage_instructions: "Rarely."
        }
      ],
      end_call: true,
      send_sms: { timeout_seconds: 5 },
      extraction: [
        { name: "name", type: "string", description: "Who called" },
        { name: "age", type: "number" }
      ],
      post_call_sms: { to: "caller", message: "Thanks, {{call_id}}.", sender_name: "Shop" },
      dtmf_actions: { "1": "sales" },
      metadata: { a: { b: [1] } },
      ...defaultSettings,
      warnings: []
    })
  })

  const optional = [
    "system_prompt_append",
    "first_message",
    "end_session_message",
    "language",
    "voice",
    "max_duration",
    "inactivity_timeout",
    "recording_enabled",
    "stt_format",
    "stt_keyterms",
    "speak_during_tool_call",
    "extraction_schema",
    "post_call",
    "tools",
    "dtmf_actions",
    "metadata"
  ]
  it.each(optional)("may have %s null, which counts as absent", (field) => {
    expect(config({ [field]: null })).toEqual(config({}))
  })

  const bad: ReadonlyArray<readonly [string, unknown]> = [
    ["system_prompt_append", 1],
    ["first_message", 7],
    ["first_message", { text: "Hi" }],
    ["end_session_message", ["Bye"]],
    ["language", 5],
    ["language", "xx-XX"],
    ["language", ""],
    ["language", "en-us"],
    ["voice", true],
    ["voice", "Nobody"],
    ["voice", "Lotte"],
    ["max_duration", "600"],
    ["max_duration", 90.5],
    ["max_duration", Number.NaN],
    ["inactivity_timeout", 0],
    ["inactivity_timeout", -1],
    ["inactivity_timeout", 7.5],
    ["inactivity_timeout", "10"],
    ["recording_enabled", "yes"],
    ["recording_enabled", 1],
    ["stt_format", "loud"],
    ["stt_format", true],
    ["stt_keyterms", "Anna"],
    ["stt_keyterms", ["Anna", 1]],
    ["stt_keyterms", Array.from({ length: 101 }, (_, n) => `term ${n}`)],
    ["speak_during_tool_call", true],
    ["extraction_schema", []],
    ["extraction_schema", "name"],
    ["extraction_schema", {}],
    ["extraction_schema", Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, { type: "string" }]))],
    ["post_call", "sms"],
    ["tools", {}],
    ["tools", "lookup"],
    ["dtmf_actions", []],
    ["dtmf_actions", { "1": 1 }],
    ["metadata", "crm"],
    ["metadata", [1]]
  ]
  it.each(bad)("with an invalid %s (%j) is used without it, with a warning", (field, value) => {
    const { warnings, ...rest } = config({ [field]: value })
    const { warnings: _, ...plain } = config({})
    expect(rest).toEqual(plain)
    expect(warnings.map((w) => w.field)).toEqual([field])
    expect(warnings[0]?.reason).toMatch(/^[^\n]+$/)
  })

  it("has one warning for each invalid field", () => {
    expect([...fields(config(Object.fromEntries(bad.map(([field, value]) => [field, value]))))].sort()).toEqual(
      [...new Set(bad.map(([field]) => field))].sort()
    )
  })

  it.each([
    [1, 60],
    [59, 60],
    [60, 60],
    [7200, 7200],
    [7201, 7200],
    [-5, 60]
  ])("with a max_duration of %i lasts at most %i seconds", (given, taken) => {
    expect(config({ max_duration: given })).toMatchObject({ max_duration: taken, warnings: [] })
  })

  it("needs a voice for the language of the call, not of the agent", () => {
    expect(config({ voice: "Lotte", language: "nl-NL" })).toMatchObject({ voice: "Lotte", warnings: [] })
    expect(config({ voice: "Lotte" }, { ...agent, language: "nl-NL" })).toMatchObject({ voice: "Lotte", warnings: [] })
  })

  it("treats empty messages as absent", () => {
    expect(config({ first_message: "", end_session_message: "" })).toMatchObject({
      first_message: null,
      end_session_message: null,
      warnings: []
    })
  })
})

describe("a configuration in the journal", () => {
  it("of an earlier version is read without newer fields", () => {
    const {
      extraction,
      post_call_sms,
      recording_enabled,
      send_sms,
      speak_during_tool_call,
      stt_format,
      stt_keyterms,
      ...old
    } = config({})
    expect(Schema.decodeUnknownSync(CallConfig)(JSON.parse(JSON.stringify(old)))).toEqual(config({}))
  })
})

describe("stt_keyterms", () => {
  const terms = (count: number) => Array.from({ length: count }, (_, n) => `Term ${n}`)

  it("may be 100, without counting blank ones", () => {
    expect(config({ stt_keyterms: [...terms(100), "", "  "] })).toMatchObject({
      stt_keyterms: terms(100),
      warnings: []
    })
  })
})

describe("extraction_schema", () => {
  const extraction = (schema: unknown) => config({ extraction_schema: schema })

  it("of 20 fields keeps their order and all their properties", () => {
    const names = Array.from({ length: 20 }, (_, n) => `field ${20 - n}`)
    const c = extraction(Object.fromEntries(names.map((name) => [name, { type: "boolean" }])))
    expect(c.extraction?.map(({ name }) => name)).toEqual(names)
    const postcode = { type: "string", description: "Dutch", format: "postcode", pattern: "^[0-9]{4} [A-Z]{2}$" }
    expect(extraction({ postcode })).toMatchObject({ extraction: [{ name: "postcode", ...postcode }], warnings: [] })
  })

  it("is used without its invalid fields and without invalid parts of valid fields", () => {
    const c = extraction({
      a: { type: "integer" },
      b: "string",
      c: {},
      d: { type: "string", description: 5, format: ["date"], pattern: "(" },
      e: { type: "string", pattern: "(?=x)" },
      f: { type: "number" }
    })
    expect(c.extraction).toEqual([
      { name: "d", type: "string" },
      { name: "e", type: "string" },
      { name: "f", type: "number" }
    ])
    expect(fields(c)).toEqual([
      "extraction_schema.a.type",
      "extraction_schema.b",
      "extraction_schema.c.type",
      "extraction_schema.d.description",
      "extraction_schema.d.format",
      "extraction_schema.d.pattern",
      "extraction_schema.e.pattern"
    ])
    expect(extraction({ a: 1 }).extraction).toBeNull()
  })
})

describe("post_call.sms", () => {
  const sms = (parts: Readonly<Record<string, unknown>>) =>
    config({ post_call: { sms: { to: "caller", message: "Thanks.", ...parts } } })

  it.each(["caller", "+31612345678"])("may go to %s", (to) => {
    expect(sms({ to })).toMatchObject({ post_call_sms: { to, message: "Thanks.", sender_name: null }, warnings: [] })
  })

  it.each([
    ["post_call.sms.to", { to: "0612345678" }],
    ["post_call.sms.to", { to: null }],
    ["post_call.sms.to", { to: 5 }],
    ["post_call.sms.message", { message: "" }],
    ["post_call.sms.message", { message: undefined }],
    ["post_call.sms.message", { message: "x".repeat(161) }],
    ["post_call.sms.message", { message: `{{call_id}}${"x".repeat(132)}` }]
  ])("with an invalid %s is left out", (field, parts) => {
    const c = sms(parts)
    expect(c.post_call_sms).toBeNull()
    expect(fields(c)).toEqual([field])
  })

  it("is measured with its variables filled in", () => {
    expect(sms({ message: `{{duration_seconds}}${"x".repeat(159)}` }).post_call_sms).not.toBeNull()
    expect(sms({ message: `{{call_id}}${"x".repeat(131)}` }).post_call_sms).not.toBeNull()
  })

  it("is used without a sender_name of more than 11 characters", () => {
    expect(sms({ sender_name: "Elevenchars" }).post_call_sms?.sender_name).toBe("Elevenchars")
    const c = sms({ sender_name: "Twelve chars" })
    expect(c.post_call_sms?.sender_name).toBeNull()
    expect(fields(c)).toEqual(["post_call.sms.sender_name"])
  })

  it.each([
    ["post_call", 5],
    ["post_call.sms", { sms: [] }]
  ])("that is not an object gets a warning for %s", (field, post_call) => {
    expect(fields(config({ post_call }))).toEqual([field])
  })
})

describe("metadata", () => {
  const sized = (bytes: number): unknown => ({ a: "x".repeat(bytes - JSON.stringify({ a: "" }).length) })
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })

  it("of 65,536 bytes and 5 levels is stored", () => {
    expect(fields(config({ metadata: sized(65_536) }))).toEqual([])
    expect(fields(config({ metadata: nested(5) }))).toEqual([])
  })

  it("with one byte or one level more is left out", () => {
    expect(config({ metadata: sized(65_537) })).toMatchObject({ metadata: {}, warnings: [{ field: "metadata" }] })
    expect(config({ metadata: nested(6) })).toMatchObject({ metadata: {}, warnings: [{ field: "metadata" }] })
    expect(config({ metadata: { a: [[[[[]]]]] } })).toMatchObject({ metadata: {}, warnings: [{ field: "metadata" }] })
  })

  it("is measured in bytes, not in characters", () => {
    expect(fields(config({ metadata: { a: "é".repeat(40_000) } }))).toEqual(["metadata"])
  })

  it("with extreme nesting is left out without an error", () => {
    const deep: unknown = JSON.parse(`{"a":${"[".repeat(300_000)}${"]".repeat(300_000)}}`)
    expect(fields(config({ metadata: deep }))).toEqual(["metadata"])
  })
})

describe("a key __proto__", () => {
  it("is left out of every part of an answer, with a warning", () => {
    const given: unknown = JSON.parse(`{
      "metadata": { "a": 1, "__proto__": { "b": 2 }, "c": [{ "__proto__": 1 }] },
      "transfer_destinations": { "__proto__": "+31201234567", "sales": "+31201234567" },
      "tools": [{ "name": "t", "parameters": { "type": "object", "__proto__": {} } }]
    }`)
    const c = config(Object.assign({}, given))
    expect(c.metadata).toEqual({ a: 1, c: [{}] })
    expect(c.transfer_destinations).toEqual({ sales: "+31201234567" })
    expect(c.warnings).toEqual(
      ["metadata", "metadata.c.0", "transfer_destinations", "tools.0.parameters"].map((path) => ({
        field: `${path}.__proto__`,
        reason: "__proto__ cannot be used as a name"
      }))
    )
  })
})

describe("the warning of an invalid field", () => {
  it.each([
    ["system_prompt_append", 5, "must be a string (it is the number 5)"],
    ["transfer_announcement", 5, "must be a string (it is the number 5)"],
    ["max_duration", "long", 'must be a whole number of seconds (it is the text "long")'],
    ["recording_enabled", "yes", 'must be true or false (it is the text "yes")'],
    ["inactivity_timeout", 0, "must be a whole number of seconds above 0 (it is the number 0)"],
    ["stt_keyterms", "a", 'must be an array of strings (it is the text "a")'],
    ["stt_keyterms", ["a", 5], "1 must be a string (it is the number 5)"],
    ["tools", {}, "must be an array (it is an object)"],
    ["dtmf_actions", [], "must be an object (it is a list of 0 entries)"],
    ["dtmf_actions", { 1: 5 }, "1 must be a string (it is the number 5)"],
    ["metadata", "a", 'must be an object (it is the text "a")'],
    ["extraction_schema", 5, "must be an object (it is the number 5)"]
  ])("%s: %j says what it must be", (field, value, reason) => {
    expect(config({ [field]: value }).warnings).toEqual([{ field, reason }])
  })

  it.each([
    [5, "a tool must be an object"],
    [{}, "name is missing (there are no fields)"],
    [{ name: "bad name!" }, 'name must be 1 to 64 letters, digits, _ or - (it is the text "bad name!")'],
    [{ name: 5 }, "name must be 1 to 64 letters, digits, _ or - (it is the number 5)"],
    [{ name: "a", description: 5 }, "description must be a string (it is the number 5)"],
    [{ name: "a", parameters: "none" }, 'parameters must be an object (it is the text "none")'],
    [{ name: "a", timeout_seconds: 121 }, "timeout_seconds must be a number from 0.1 to 120 (it is the number 121)"],
    [{ name: "a", usage_instructions: 5 }, "usage_instructions must be a string (it is the number 5)"]
  ])("of the tool %j names the part of the tool and what it must be", (tool, reason) => {
    expect(config({ tools: [tool] }).warnings).toEqual([{ field: "tools.0", reason }])
  })

  it("of a nested field says what it must be", () => {
    const { warnings } = config({
      tools: [
        { name: "a", gather: { prompt: 5, max_digits: 21, timeout_seconds: "x", terminator: 5, voice: 5, language: 5 } }
      ],
      post_call: { sms: { to: "caller", message: 5, sender_name: 5 } },
      extraction_schema: { a: { type: "string", description: 5, format: 5, pattern: 5 } },
      transfer_destinations: { sales: 5 }
    })
    expect(warnings).toHaveLength(12)
    for (const { reason } of warnings) expect(reason).toMatch(/^must be /)
  })
})

describe("tools", () => {
  it("that are invalid are left out one by one", () => {
    const c = config({
      tools: [
        null,
        "lookup",
        {},
        { name: "" },
        { name: "has space" },
        { name: "x".repeat(65) },
        { name: "a", timeout_seconds: 0 },
        { name: "b", timeout_seconds: 121 },
        { name: "c", parameters: "none" },
        { name: "good" }
      ]
    })
    expect(c.tools.map((t) => t.name)).toEqual(["good"])
    expect(fields(c)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => `tools.${i}`))
  })

  it("of the same name are left out, except the first", () => {
    const c = config({
      tools: [
        { name: "a", description: "first" },
        { name: "a", description: "second" }
      ]
    })
    expect(c.tools.map((t) => t.description)).toEqual(["first"])
    expect(c.warnings).toEqual([{ field: "tools.1", reason: "the tool a is defined twice" }])
  })

  it("of the platform are not sent to the server: end_call is enabled, unavailable ones get a warning", () => {
    const c = config({
      tools: [{ name: "end_call" }, { name: "svc_send_sms", timeout_seconds: 2 }, { name: "transfer_call" }]
    })
    expect(c).toMatchObject({ end_call: true, send_sms: { timeout_seconds: 2 }, tools: [] })
    expect(fields(c)).toEqual(["tools.2"])
    expect(config({ tools: [{ name: "svc_send_sms", timeout_seconds: "soon" }] })).toMatchObject({
      send_sms: { timeout_seconds: 5 },
      warnings: [{ field: "tools.0.timeout_seconds" }]
    })
    expect(config({}, { ...agent, end_call_enabled: true }).end_call).toBe(true)
  })
})

describe("transfer_destinations", () => {
  it("keep valid entries: a label and an E.164 number", () => {
    const c = config({
      transfer_destinations: { sales: "+31201234567", bad: "020 1234567", none: null, " ": "+31201234567", n: 5 }
    })
    expect(c.transfer_destinations).toEqual({ sales: "+31201234567" })
    expect(fields(c)).toEqual(["bad", "none", " ", "n"].map((label) => `transfer_destinations.${label}`))
    expect(c.warnings[0]?.reason).toBe('must be a valid E.164 phone number (it is the text "020 1234567")')
  })

  it("that are not an object are left out", () => {
    for (const given of ["+31201234567", ["+31201234567"], 5]) {
      const c = config({ transfer_destinations: given })
      expect([c.transfer_destinations, fields(c)]).toEqual([{}, ["transfer_destinations"]])
    }
  })

  it("with an unknown value of an enumeration gets a warning with the allowed values", () => {
    const { warnings } = config({ system_prompt: "Hi", stt_format: "loud" })
    expect(warnings).toEqual([
      { field: "stt_format", reason: 'must be one of smart, numerals, raw (it is the text "loud")' }
    ])
  })
})
