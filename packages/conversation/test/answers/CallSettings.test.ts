import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { resolve } from "../../src/answers/CallConfig.ts"
import { defaultSpeech, defaultTurnTaking } from "../../src/answers/CallSettings.ts"

const agent = { language: "en-US", voice: "Sarah", max_duration: 1800, end_call_enabled: true }
/** Klara speaks German, nobody Finnish. */
const abilities = {
  speaks: () => true,
  voiceFor: (voice: string, language: string) => (language === "fi-FI" ? null : language === "de-DE" ? "Klara" : voice),
  models: ["small", "large"]
}

const config = (fields: object) => Either.getOrThrow(resolve({ system_prompt: "Hi", ...fields }, agent, abilities))
/** The fields that were left out, each with the reason. */
const leftOut = (fields: object) => config(fields).warnings.map(({ field, reason }) => `${field}: ${reason}`)

describe("turn_taking", () => {
  it("has defaults for all that is not given", () => {
    expect(config({}).turn_taking).toEqual({
      end_of_turn_ms: null,
      interrupt_after_ms: 500,
      interrupt_min_words: 0,
      resume_after_ms: 2000,
      preemptive: true
    })
    expect(config({ turn_taking: { interrupt_after_ms: 0 } }).turn_taking).toEqual({
      ...defaultTurnTaking,
      interrupt_after_ms: 0
    })
  })

  it("takes its limits, and null for no resumption", () => {
    const low = {
      end_of_turn_ms: 200,
      interrupt_after_ms: 0,
      interrupt_min_words: 0,
      resume_after_ms: 500,
      preemptive: false
    }
    const high = {
      end_of_turn_ms: 5000,
      interrupt_after_ms: 5000,
      interrupt_min_words: 10,
      resume_after_ms: 10_000,
      preemptive: true
    }
    for (const turn_taking of [low, high, { ...high, resume_after_ms: null }]) {
      const read = config({ turn_taking })
      expect(read.turn_taking).toEqual(turn_taking)
      expect(read.warnings).toEqual([])
    }
  })

  it("leaves out each wrong part alone", () => {
    const turn_taking = {
      end_of_turn_ms: 199,
      interrupt_after_ms: "soon",
      interrupt_min_words: 2,
      resume_after_ms: 10_001,
      preemptive: "yes"
    }
    expect(config({ turn_taking }).turn_taking).toEqual({ ...defaultTurnTaking, interrupt_min_words: 2 })
    expect(leftOut({ turn_taking })).toEqual([
      "turn_taking.end_of_turn_ms: must be a whole number from 200 to 5000 (it is the number 199)",
      'turn_taking.interrupt_after_ms: must be a whole number from 0 to 5000 (it is the text "soon")',
      "turn_taking.resume_after_ms: must be null, or a whole number from 500 to 10000 (it is the number 10001)",
      'turn_taking.preemptive: must be true or false (it is the text "yes")'
    ])
    expect(leftOut({ turn_taking: [] })).toEqual(["turn_taking: must be an object (it is a list of 0 entries)"])
  })
})

it("first_message_interruptible is true unless it is false", () => {
  expect(config({}).first_message_interruptible).toBe(true)
  expect(config({ first_message_interruptible: false }).first_message_interruptible).toBe(false)
  expect(leftOut({ first_message_interruptible: 0 })).toEqual([
    "first_message_interruptible: must be true or false (it is the number 0)"
  ])
})

describe("silence_prompts", () => {
  it("takes a text or, with null, the model", () => {
    const text = { after_seconds: 3, say: "Are you there?", max: 5 }
    expect(config({ silence_prompts: text }).silence_prompts).toEqual(text)
    expect(config({ silence_prompts: { ...text, say: null } }).silence_prompts).toEqual({ ...text, say: null })
    expect(config({}).silence_prompts).toBeNull()
  })

  it.each([
    [{ say: null, max: 1 }, "silence_prompts.after_seconds: is required"],
    [{ after_seconds: 5, say: null }, "silence_prompts.max: is required"],
    [
      { after_seconds: 2.9, say: null, max: 1 },
      "silence_prompts.after_seconds: must be a number from 3 to 60 (it is the number 2.9)"
    ],
    [{ after_seconds: 5, say: " ", max: 1 }, 'silence_prompts.say: must not be empty (it is the text " ")'],
    [
      { after_seconds: 5, say: null, max: 6 },
      "silence_prompts.max: must be a whole number from 1 to 5 (it is the number 6)"
    ]
  ])("is left out as a whole when it is %j", (silence_prompts, warning) => {
    expect(config({ silence_prompts }).silence_prompts).toBeNull()
    expect(leftOut({ silence_prompts })).toEqual([`${warning}, and silence_prompts as a whole with it`])
  })

  it("asks the model where say is missing, with a warning", () => {
    const silence_prompts = { after_seconds: 5, max: 1 }
    expect(config({ silence_prompts }).silence_prompts).toEqual({ ...silence_prompts, say: null })
    expect(leftOut({ silence_prompts })).toEqual([
      "silence_prompts.say: is required; without it the model is asked to go on, as with null"
    ])
  })
})

describe("model", () => {
  it("takes a name that a plugin offers, a temperature and a limit", () => {
    const model = { name: "large", temperature: 0, max_tokens: 16 }
    expect(config({ model }).model).toEqual(model)
    expect(config({ model: { temperature: 2 } }).model).toEqual({ name: null, temperature: 2, max_tokens: null })
    expect(config({}).model).toBeNull()
  })

  it("leaves out each wrong part alone", () => {
    const model = { name: "huge", temperature: 2.1, max_tokens: 8192 }
    expect(config({ model }).model).toEqual({ name: null, temperature: null, max_tokens: 8192 })
    expect(leftOut({ model })).toEqual([
      "model.name: no loaded plugin offers this model (there is small, large)",
      "model.temperature: must be a number from 0 to 2 (it is the number 2.1)"
    ])
  })

  it("takes any name when the models are not known", () => {
    const read = resolve({ system_prompt: "Hi", model: { name: "huge" } }, agent, {
      speaks: () => true,
      voiceFor: (voice: string) => voice,
      models: "any"
    })
    expect(Either.getOrThrow(read).model?.name).toBe("huge")
  })
})

describe("speech", () => {
  const some = (count: number) => Array.from({ length: count }, (_, i) => ({ text: `a${i}`, say: "b" }))

  it("takes a speed and pronunciations", () => {
    const speech = { speed: 0.5, pronunciations: [{ text: " SQL ", say: " sequel " }] }
    expect(config({ speech }).speech).toEqual({ speed: 0.5, pronunciations: [{ text: "SQL", say: "sequel" }] })
    expect(config({ speech: { pronunciations: some(100) } }).speech.pronunciations).toHaveLength(100)
    expect(config({}).speech).toEqual(defaultSpeech)
  })

  it("leaves out a wrong speed, wrong entries, and a list that is too long", () => {
    const speech = {
      speed: 2.5,
      pronunciations: [{ text: "", say: "b" }, "SQL", { text: "a" }, { text: "SQL", say: "sequel" }]
    }
    expect(config({ speech }).speech).toEqual({ speed: 1, pronunciations: [{ text: "SQL", say: "sequel" }] })
    expect(leftOut({ speech })).toEqual([
      'speech.pronunciations.0.text: text must not be empty (it is the text "")',
      "speech.pronunciations.1: must be an object",
      "speech.pronunciations.2.say: must be a string",
      "speech.speed: must be a number from 0.5 to 2 (it is the number 2.5)"
    ])
    expect(config({ speech: { pronunciations: some(101) } }).speech.pronunciations).toEqual([])
    expect(leftOut({ speech: { pronunciations: some(101) } })).toEqual([
      "speech.pronunciations: cannot exceed 100 entries"
    ])
  })
})

describe("platform_tools and languages", () => {
  it("enables tools, with the languages to choose from", () => {
    const answer = { platform_tools: ["press_keys", "switch_language"], languages: ["de-DE", "en-US", "de-DE"] }
    const { languages, platform_tools, warnings } = config(answer)
    expect(platform_tools).toEqual(["press_keys", "switch_language"])
    expect(languages).toEqual([
      { language: "de-DE", voice: "Klara" },
      { language: "en-US", voice: "Sarah" }
    ])
    expect(warnings).toEqual([])
  })

  it("leaves out wrong names and languages alone", () => {
    const answer = { platform_tools: ["press_keys", "dance", 1], languages: ["xx-XX", "nl-NL"] }
    expect(config(answer)).toMatchObject({
      platform_tools: ["press_keys"],
      languages: [{ language: "nl-NL", voice: "Sarah" }]
    })
    expect(leftOut(answer)).toEqual([
      "languages.0: must be a supported BCP-47 code",
      "platform_tools.1: must be one of press_keys, switch_language",
      "platform_tools.2: must be one of press_keys, switch_language"
    ])
    expect(leftOut({ languages: ["fi-FI"] })).toEqual(["languages.0: no voice of the loaded plugins speaks fi-FI"])
    expect(leftOut({ languages: [] })).toEqual(["languages: must have 1 to 13 entries (it is a list of 0 entries)"])
  })

  it("do not enable switch_language without languages, nor a custom tool of the same name beside theirs", () => {
    expect(config({ platform_tools: ["switch_language"] }).platform_tools).toEqual([])
    const answer = { platform_tools: ["press_keys"], tools: [{ name: "press_keys" }, { name: "switch_language" }] }
    expect(config(answer).tools.map(({ name }) => name)).toEqual(["switch_language"])
    expect(leftOut(answer)).toEqual(["tools.0: platform_tools has a tool with the name press_keys"])
  })
})
