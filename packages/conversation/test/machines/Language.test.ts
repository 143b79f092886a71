import { describe, expect, it } from "vitest"
import { Script } from "../../src/testing/Script.ts"

const languages = [
  { language: "nl-NL", voice: "Lotte" },
  { language: "de-DE", voice: "Jonas" }
]

const turn = (s: Script, ...finals: ReadonlyArray<readonly [text: string, language?: string]>) => {
  s.wait(5000).input({ _tag: "CallerSpeechStarted" })
  for (const [text, language] of finals)
    s.input({ _tag: "CallerFinal", text, ...(language === undefined ? {} : { language }) })
  return s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerEndOfTurn" })
}

const inUse = (s: Script) => [s.state.config?.language, s.state.config?.voice]
const listened = (s: Script) => s.commands.flatMap((c) => (c._tag === "Listen" ? [c.language] : []))

const english = ["en-US", "Sarah"]
const dutch = ["nl-NL", "Lotte"]

describe("a detected language", () => {
  it("becomes the call's with three words of a turn, before the model is asked", () => {
    const s = turn(Script.greeted({ languages }), ["Spreekt u Nederlands?", "nl"])
    expect(inUse(s)).toEqual(dutch)
    const tags = s.commands.map(({ _tag }) => _tag)
    expect(tags.indexOf("Listen")).toBeLessThan(tags.indexOf("AskModel"))
    s.input({ _tag: "ModelSentence", turn: 1, text: "Jazeker." })
    expect(s.commands.findLast((c) => c._tag === "Speak")).toMatchObject({ language: "nl-NL", voice: "Lotte" })
  })

  it("does not with one stray word, but with the second turn in a row", () => {
    const s = turn(Script.greeted({ languages }), ["Hallo", "nl_NL"])
    expect(inUse(s)).toEqual(english)
    turn(s, ["Ja graag", "nl"])
    expect([inUse(s), listened(s)]).toEqual([dutch, ["nl-NL"]])
  })

  it("is forgotten when the caller goes on in the call's own language, or in one that it does not have", () => {
    for (const language of ["en-GB", "fr"]) {
      const s = turn(Script.greeted({ languages }), ["Hallo", "nl"])
      turn(s, ["One two three", language])
      turn(s, ["Hallo", "nl"])
      expect([inUse(s), listened(s)]).toEqual([english, []])
    }
  })

  it("has to be that of most words of the turn", () => {
    const s = turn(Script.greeted({ languages }), ["een twee drie", "nl"], ["one two three four", "en"])
    expect(inUse(s)).toEqual(english)
    turn(s, ["one two", "en"], ["een twee drie", "nl"])
    expect(inUse(s)).toEqual(dutch)
  })

  it("changes nothing without languages to choose from, or where the recognizer detects none", () => {
    expect(inUse(turn(Script.greeted(), ["Spreekt u Nederlands?", "nl-NL"]))).toEqual(english)
    expect(inUse(turn(Script.greeted({ languages }), ["Spreekt u Nederlands?"]))).toEqual(english)
  })

  it("opens no recognizer after the hang-up", () => {
    const s = Script.greeted({ languages })
    s.feedsRecognizerFinished = true
    s.input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerHungUp" })
    s.input({ _tag: "CallerFinal", text: "Tot ziens en bedankt", language: "nl" })
    s.input({ _tag: "RecognizerFinished" })
    expect([s.state.phase, listened(s), inUse(s)]).toEqual(["over", [], english])
    expect(s.transcript.at(-1)).toBe("user: Tot ziens en bedankt")
  })
})
