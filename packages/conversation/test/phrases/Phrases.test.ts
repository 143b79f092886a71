import { languages } from "@svc/api/agents/Language"
import { describe, expect, it } from "vitest"
import { phrases, phrasesIn } from "../../src/phrases/Phrases.ts"
import { soundsLikeVoicemail } from "../../src/phrases/VoicemailGreetings.ts"

describe("the phrases of a language", () => {
  it("are found by the first subtag of every supported language", () => {
    expect(phrasesIn("nl-NL")).toBe(phrases.nl)
    expect(phrasesIn("en-GB")).toBe(phrases.en)
    const table: Readonly<Record<string, unknown>> = phrases
    for (const language of languages)
      expect([language, phrasesIn(language)]).toEqual([language, table[language.slice(0, 2)]])
  })

  it("are English for a language that is not supported", () => {
    expect(phrasesIn("xx-XX")).toBe(phrases.en)
  })
})

describe("the greeting of a voicemail", () => {
  it("is found in any language, within a sentence, and not within a word", () => {
    expect(soundsLikeVoicemail("Hallo. Laat een bericht achter")).toBe(true)
    expect(soundsLikeVoicemail("Laat een bericht achter")).toBe(true)
    expect(soundsLikeVoicemail("Verlaat een bericht niet")).toBe(false)
    expect(soundsLikeVoicemail("Hello, who is this?")).toBe(false)
  })
})
