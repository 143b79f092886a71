import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type AgentDefaults, CallConfig, resolve } from "../../src/answers/CallConfig.ts"
import { problemsOf, read } from "../../src/answers/StartedAnswer.ts"

const agent: AgentDefaults = { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: false }
const speaks = (voice: string) => voice === "Sarah"

const config = (fields: Readonly<Record<string, unknown>>): CallConfig =>
  Either.getOrThrow(
    resolve({ system_prompt: "Hi", ...fields }, agent, { speaks, voiceFor: (voice: string) => voice, models: [] })
  )

describe("a configuration in the journal", () => {
  it.each(["voicemail_message", "transfer_destinations", "recording_enabled", "post_call_sms"])(
    "may lack %s, but does not have it undefined",
    (field) => {
      const { [field]: _, ...rest } = { ...config({}) } as Readonly<Record<string, unknown>>
      const isReadable = (value: unknown) => Either.isRight(Schema.decodeUnknownEither(CallConfig)(value))
      expect(isReadable(rest)).toBe(true)
      expect(isReadable({ ...rest, [field]: undefined })).toBe(false)
    }
  )

  it("may lack gather in a tool, but does not have it undefined", () => {
    const tool = config({ tools: [{ name: "pin" }] }).tools[0]
    const isReadable = (one: unknown) => Schema.is(CallConfig)({ ...config({}), tools: [one] })
    expect(isReadable(tool)).toBe(true)
    expect(isReadable({ ...tool, gather: undefined })).toBe(false)
  })
})

describe("an answer to call.started", () => {
  it("with an empty voicemail_message has none", () => {
    expect(config({ voicemail_message: "" })).toMatchObject({ voicemail_message: null, warnings: [] })
  })

  it("whose metadata is too large has an empty object in its place", () => {
    expect(config({ metadata: { a: "x".repeat(65_536) } }).metadata).toEqual({})
  })

  it("may have null inside its metadata, at the deepest level as well", () => {
    for (const metadata of [{ a: null }, { a: { b: { c: { d: { e: null } } } } }]) {
      expect(config({ metadata })).toMatchObject({ metadata, warnings: [] })
    }
  })

  it("has a warning for each entry of tools without a name, whatever it is instead", () => {
    const { tools, warnings } = config({ tools: [null, 1, "end_call", ["end_call"], { gather: {} }, { name: null }] })
    expect(tools).toEqual([])
    expect(warnings.map(({ field }) => field)).toEqual([0, 1, 2, 3, 4, 5].map((index) => `tools.${index}`))
  })

  it("may name female or male as the voice of a tool's gather, whatever voices speak the language", () => {
    for (const voice of ["female", "male"]) {
      const { tools, warnings } = config({ tools: [{ name: "pin", gather: { voice } }] })
      expect([tools[0]?.gather?.voice, warnings]).toEqual([voice, []])
    }
  })
})

describe("post_call.sms", () => {
  const sms = (parts: Readonly<Record<string, unknown>>) => config({ post_call: { sms: parts } })

  it.each([[{}], [{ sms: null }], [{ sms: undefined }]])("is absent from %j, without a warning", (post_call) => {
    expect(config({ post_call })).toMatchObject({ post_call_sms: null, warnings: [] })
  })

  it("has a warning that says what to and message must be, when they are absent", () => {
    expect(sms({}).warnings).toEqual([
      { field: "post_call.sms.to", reason: 'to must be "caller" or a valid E.164 phone number' },
      { field: "post_call.sms.message", reason: "message is required." }
    ])
  })

  it("with an empty sender_name has none, without a warning", () => {
    expect(sms({ to: "caller", message: "Thanks.", sender_name: "" })).toMatchObject({
      post_call_sms: { sender_name: null },
      warnings: []
    })
  })
})

describe("the second answer to call.started", () => {
  const second = (body: unknown) => read(body, agent, { speaks, voiceFor: (voice: string) => voice, models: [] }, true)

  it.each([[{}], [{ pre_gather: null }], [{ pre_gather: undefined }]])(
    "has no warning for pre_gather with %j",
    (fields) => {
      expect(second({ system_prompt: "Hi", ...fields })).toMatchObject({ config: { warnings: [] } })
    }
  )

  it.each([[null], [undefined], ["Hi"]])("that is %j fails the configuration", (body) => {
    expect(second(body)).toEqual({
      _tag: "ConfigFailed",
      reason: expect.stringMatching(/^the answer to call\.started must be a JSON object \(it is .*\)$/)
    })
  })
})

describe("what is wrong with an answer to call.started", () => {
  const problems = (body: unknown) =>
    problemsOf(read(body, agent, { speaks, voiceFor: (voice: string) => voice, models: [] }, false))

  it("is the reason why it cannot be used", () => {
    expect(problems({})).toBe("the answer to call.started has no system_prompt (there are no fields)")
  })

  it("is every field that is left out of pre_gather", () => {
    expect(problems({ pre_gather: { prompt: "Press 1.", voice: "loud" } })).toBe(
      'pre_gather.voice is left out: must be one of female, male (it is the text "loud")'
    )
  })

  it("is every field that is left out of the configuration", () => {
    expect(problems({ system_prompt: "Hi", stt_format: "loud" })).toBe(
      'stt_format is left out: must be one of smart, numerals, raw (it is the text "loud")'
    )
  })
})
