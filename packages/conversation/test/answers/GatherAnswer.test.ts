import { describe, expect, it } from "vitest"
import type { AgentDefaults } from "../../src/answers/CallConfig.ts"
import { problemsOf, read } from "../../src/answers/StartedAnswer.ts"

const agent: AgentDefaults = { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: false }

/** Sarah speaks everything, Lotte only Dutch. */
const speaks = (voice: string, language: string): boolean =>
  voice === "Sarah" || (voice === "Lotte" && language === "nl-NL")

const first = (answer: unknown) =>
  read(answer, agent, { speaks, voiceFor: (voice: string) => voice, models: [] }, false)
const second = (answer: unknown) =>
  read(answer, agent, { speaks, voiceFor: (voice: string) => voice, models: [] }, true)

/** The menu of a first answer with this pre_gather, and the fields that were left out. */
const menu = (pre_gather: unknown) => {
  const input = first({ pre_gather })
  return input._tag === "MenuAnswered"
    ? { ...input.menu, left_out: input.warnings.map(({ field }) => field) }
    : input._tag
}

const defaults = {
  rules: {
    prompt: "Press 1.",
    voice: "female",
    language: "en-US",
    max_digits: 1,
    terminator: "#",
    timeout_seconds: 8
  },
  max_retries: 2,
  left_out: []
}

describe("pre_gather", () => {
  it("needs only a prompt, and no system_prompt", () => {
    expect(menu({ prompt: "Press 1." })).toEqual(defaults)
  })

  it("is used unchanged at its limits", () => {
    const given = { digits: 20, language: "nl-NL", voice: "male", timeout: 60, max_retries: 10, terminator: "" }
    expect(menu({ prompt: "Toets 1.", ...given })).toEqual({
      rules: {
        prompt: "Toets 1.",
        voice: "male",
        language: "nl-NL",
        max_digits: 20,
        terminator: "",
        timeout_seconds: 60
      },
      max_retries: 10,
      left_out: []
    })
    expect(menu({ prompt: "Press 1.", digits: 1, timeout: 1, max_retries: 0, terminator: "*" })).toMatchObject({
      rules: { max_digits: 1, timeout_seconds: 1, terminator: "*" },
      max_retries: 0,
      left_out: []
    })
  })

  it.each([
    ["digits", 0],
    ["digits", 21],
    ["digits", 1.5],
    ["digits", "1"],
    ["language", "xx-XX"],
    ["language", 1],
    ["voice", "Sarah"],
    ["timeout", 0],
    ["timeout", 61],
    ["max_retries", -1],
    ["max_retries", 11],
    ["terminator", "##"],
    ["terminator", "A"],
    ["terminator", 1]
  ])("with an invalid %s (%j) gets the default of that field, and a warning", (field, value) => {
    expect(menu({ prompt: "Press 1.", [field]: value })).toEqual({ ...defaults, left_out: [`pre_gather.${field}`] })
  })

  it.each([[{}], [{ prompt: "" }], [{ prompt: " " }], [{ prompt: 1 }], ["Press 1."], [[1]], [true]])(
    "of %j is invalid: without a system_prompt the call fails",
    (value) => {
      expect(menu(value)).toBe("ConfigFailed")
    }
  )

  it("that is invalid is left out of an answer with a system_prompt, with a warning", () => {
    const input = first({ system_prompt: "Hi", pre_gather: { digits: 1 } })
    expect(input).toMatchObject({
      _tag: "ConfigAnswered",
      config: { system_prompt: "Hi", warnings: [{ field: "pre_gather.prompt" }] }
    })
    expect(problemsOf(input)).toBe("pre_gather.prompt is left out: prompt is required.")
  })

  it("takes precedence over the system_prompt of the same answer", () => {
    expect(first({ system_prompt: "Hi", pre_gather: { prompt: "Press 1." } })._tag).toBe("MenuAnswered")
  })

  it("that cannot be used, without a system_prompt, is why the answer is not usable", () => {
    const reason = "the answer to call.started has no system_prompt"
    expect(first({ pre_gather: { digits: 1 } })).toEqual({
      _tag: "ConfigFailed",
      reason: `${reason} (pre_gather.prompt cannot be used: prompt is required)`
    })
    expect(first({ pre_gather: "Press 1." })).toEqual({
      _tag: "ConfigFailed",
      reason: `${reason} (pre_gather cannot be used: pre_gather must be an object)`
    })
    expect(second({ pre_gather: { prompt: "Press 1." } })).toEqual({
      _tag: "ConfigFailed",
      reason: `${reason} (pre_gather cannot be used: only the first answer of a call may ask for a menu)`
    })
  })

  it.each([[null], [undefined]])("that is %s counts as absent", (pre_gather) => {
    expect(first({ system_prompt: "Hi", pre_gather })).toMatchObject({ config: { warnings: [] } })
  })

  it("in the second answer is left out, with a warning", () => {
    const pre_gather = { prompt: "Press 1." }
    expect(second({ system_prompt: "Hi", pre_gather })).toMatchObject({
      _tag: "ConfigAnswered",
      config: { warnings: [{ field: "pre_gather" }] }
    })
    expect(second({ pre_gather })._tag).toBe("ConfigFailed")
  })
})

describe("the gather of a tool", () => {
  /** The first tool and the warnings of an answer. */
  const tool = (gather: unknown, more: Readonly<Record<string, unknown>> = {}) => {
    const input = first({ system_prompt: "Hi", tools: [{ name: "pin", gather }], ...more })
    if (input._tag !== "ConfigAnswered") throw new Error(input._tag)
    const [defined] = input.config.tools
    return { gather: defined?.gather, left_out: input.config.warnings.map(({ field }) => field) }
  }
  const none = { prompt: "", voice: null, language: null, max_digits: 10, terminator: "#", timeout_seconds: 15 }

  it("defaults to the call's voice and language, and needs no prompt", () => {
    expect(tool({})).toEqual({ gather: none, left_out: [] })
    expect(tool({ prompt: "Your pin." })).toEqual({ gather: { ...none, prompt: "Your pin." }, left_out: [] })
  })

  it("is used unchanged at its limits", () => {
    const given = {
      prompt: "Pin.",
      voice: "Lotte",
      language: "nl-NL",
      max_digits: 20,
      terminator: "",
      timeout_seconds: 60
    }
    expect(tool(given)).toEqual({ gather: given, left_out: [] })
    expect(tool({ voice: "Lotte" }, { language: "nl-NL" })).toMatchObject({ gather: { voice: "Lotte" }, left_out: [] })
  })

  it.each([
    ["max_digits", 21],
    ["max_digits", 0],
    ["timeout_seconds", 4],
    ["timeout_seconds", 61],
    ["timeout_seconds", 5.5],
    ["terminator", "12"],
    ["voice", "Lotte"],
    ["voice", 1],
    ["language", "dutch"],
    ["prompt", 1]
  ])("with an invalid %s (%j) gets the default of that field, and a warning; the tool is kept", (field, value) => {
    expect(tool({ [field]: value })).toEqual({ gather: none, left_out: [`tools.0.gather.${field}`] })
  })

  it.each([["yes"], [[]], [1]])("that is %j is left out; the tool is kept", (value) => {
    expect(tool(value)).toEqual({ gather: undefined, left_out: ["tools.0.gather"] })
  })

  it("is absent by default", () => {
    expect(tool(null)).toEqual({ gather: undefined, left_out: [] })
  })
})
