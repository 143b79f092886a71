import { languages } from "@svc/api/agents/Language"
import { describe, expect, it } from "vitest"
import { isBackchannel } from "../../src/phrases/Backchannels.ts"
import { Script } from "../../src/testing/Script.ts"

describe("a backchannel", () => {
  it.each([
    ["en-US", ["uh-huh", "Uh huh.", "Yeah, yeah", "OK", "mm-hmm", "Right, I see."]],
    ["en-GB", ["Mhm", "Okay, got it"]],
    ["es-ES", ["Sí, sí", "ajá", "De acuerdo."]],
    ["nl-NL", ["Ja", "ja ja", "Oké, precies"]],
    ["de-DE", ["Ja, genau.", "ach so", "Mhm"]],
    ["fr-FR", ["D'accord", "oui oui", "Très bien"]],
    ["it-IT", ["Sì", "va bene", "ho capito"]],
    ["pt-PT", ["Sim", "está bem", "pois é"]],
    ["pl-PL", ["Tak", "no tak", "właśnie"]],
    ["sv-SE", ["Ja", "just det", "Okej"]],
    ["da-DK", ["Ja", "nå", "lige præcis"]],
    ["nb-NO", ["Ja", "skjønner", "Greit"]],
    ["fi-FI", ["Joo", "niin niin", "vai niin", "kyllä"]]
  ])("in %s is recognized without regard to case, punctuation and diacritics", (language, texts) => {
    for (const text of texts) expect([text, isBackchannel(text, language)]).toEqual([text, true])
  })

  it("has a list for every supported language", () => {
    for (const language of languages) expect([language, isBackchannel("mm", language)]).toEqual([language, true])
  })

  it.each([
    ["en-US", ["no", "stop", "okay but wait", "yesterday", "okra", "right now", "", "…", "I see a problem"]],
    ["nl-NL", ["ja maar", "nee", "jammer", "wacht"]],
    ["de-DE", ["nein", "ja aber nein", "jagen"]],
    ["xx-XX", ["mm", "yes"]]
  ])("in %s consists of whole words only", (language, texts) => {
    for (const text of texts) expect([text, isBackchannel(text, language)]).toEqual([text, false])
  })

  it("is not a long text of backchannels", () => {
    expect(isBackchannel("yeah ".repeat(12), "en-US")).toBe(false)
  })

  it("may be an unfinished text that can still become one", () => {
    expect(isBackchannel("u", "en-US", true)).toBe(true)
    expect(isBackchannel("yeah, ri", "en-US", true)).toBe(true)
    expect(isBackchannel("wa", "en-US", true)).toBe(false)
    expect(isBackchannel("u", "en-US")).toBe(false)
  })
})

const speaking = (first_message = "We are open from nine to five on weekdays."): Script => {
  const s = Script.live({ first_message })
  s.input({ _tag: "SpeechStarted", id: "u0" }).take()
  s.wait(500).input({ _tag: "CallerSpeechStarted" })
  return s
}

describe("while the agent speaks, a backchannel", () => {
  it("does not stop it and is not a turn; its words are only in speech.ended", () => {
    const s = speaking()
    s.input({ _tag: "CallerPartial", text: "uh" }).wait(300).input({ _tag: "CallerSpeechStopped" })
    s.input({ _tag: "CallerFinal", text: "uh-huh" }).input({ _tag: "CallerEndOfTurn" })
    const ended = s.commands.find((c) => c._tag === "Emit" && c.event === "speech.ended")
    expect(ended).toMatchObject({ data: { transcript: "uh-huh" } })
    expect(s.take().filter((c) => !/Timer|Emit speech/.test(c))).toEqual([])
    s.input({ _tag: "SpeechPlayed", id: "u0" })
    expect(s.transcript).toEqual(["assistant: We are open from nine to five on weekdays."])
  })

  it("stops it when other words follow", () => {
    const s = speaking()
    s.input({ _tag: "CallerPartial", text: "okay" })
    expect(s.take()).not.toContain("StopSpeaking")
    s.input({ _tag: "CallerPartial", text: "okay but" })
    expect(s.take()).toContain("StopSpeaking")
  })

  it("that lasts for a second stops it, and the speech is resumed at once when nothing follows", () => {
    const s = speaking()
    s.input({ _tag: "CallerPartial", text: "yeah" })
    expect(s.take()).toContain("StartTimer barge_in 1000")
    s.wait(1000)
      .fire("barge_in")
      .input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "We are open " }] })
    s.take()
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerFinal", text: "Yeah yeah" })
    expect(s.take()).toContain("Speak u1 from nine to five on weekdays.")
    s.input({ _tag: "CallerEndOfTurn" }).play("u1")
    expect(s.transcript).toEqual(["assistant: We are open from nine to five on weekdays."])
  })

  it("that answers the current question does not interrupt it, and is the answer after it", () => {
    const s = speaking("Shall I book the table for you?")
    s.input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" })
    expect(s.take().filter((c) => /StopSpeaking|AskModel|Tell/.test(c))).toEqual([])
    s.wait(400).input({ _tag: "SpeechPlayed", id: "u0" })
    expect(s.take()).toContain("AskModel 1")
    expect(s.transcript).toEqual(["assistant: Shall I book the table for you?", "user: Yes"])
  })

  it("that answers a question is kept when the call ends during the question", () => {
    const s = speaking("Shall I book the table for you?")
    s.input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerHungUp" })
    expect(s.transcript.at(-1)).toBe("user: Yes")
  })
})

describe("while the agent is silent, the same words", () => {
  it("are a normal turn", () => {
    const s = Script.greeted()
    s.say("Yes").take()
    expect(s.transcript.at(-1)).toBe("user: Yes")
    expect(s.state.model?.turn).toBe(1)
  })
})

describe("an early answer to a question", () => {
  it("is not a turn while the caller is still speaking", () => {
    const s = speaking("Shall I book the table for you?")
    s.input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerSpeechStarted" })
    s.input({ _tag: "SpeechPlayed", id: "u0" })
    expect(s.take()).not.toContain("AskModel 1")
    s.input({ _tag: "CallerFinal", text: "for two please" }).input({ _tag: "CallerSpeechStopped" })
    s.input({ _tag: "CallerEndOfTurn" })
    expect(s.take()).toContain("AskModel 1")
    expect(s.transcript.at(-1)).toBe("user: Yes for two please")
  })
})
