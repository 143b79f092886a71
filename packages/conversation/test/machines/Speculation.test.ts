import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import { needsPartials } from "../../src/Conversation.ts"
import type { Facts } from "../../src/Input.ts"
import { heldMs, maxAhead, pauseOf } from "../../src/machines/Speculation.ts"
import { digest, replay } from "../../src/Replay.ts"
import { unfinished } from "../../src/Resume.ts"
import { noSpeculation } from "../../src/State.ts"
import { config, Script } from "../../src/testing/Script.ts"

const preemptive = { preemptive: true } as const

/** A phone call in which the greeting was heard. */
const call = (change: Partial<CallConfig> = {}, given: Partial<Facts> = {}): Script =>
  Script.greeted(change, { ...preemptive, ...given })

const expectEnd = (script: Script, text: string): Script => script.input({ _tag: "CallerEndExpected", text })

/** The commands about held answers. */
const ahead = (script: Script): ReadonlyArray<string> =>
  script.commands.flatMap((c) =>
    c._tag === "AskAhead" || c._tag === "DropAhead"
      ? [`${c._tag} ${c.id}`]
      : c._tag === "AskModel"
        ? [`AskModel ${c.ahead ?? "anew"}`]
        : []
  )

const end = (script: Script, text: string): Script =>
  script.input({ _tag: "CallerFinal", text }).input({ _tag: "CallerEndOfTurn" })

describe("the model is not asked ahead", () => {
  it.each<[string, Script]>([
    ["in text sessions and calls of earlier versions", Script.greeted()],
    ["with preemptive: false", call({ turn_taking: { ...config.turn_taking, preemptive: false } })],
    ["while the agent speaks", Script.live({}, preemptive).input({ _tag: "SpeechStarted", id: "u0" })]
  ])("%s", (_, script) => {
    const before = script.commands.length
    expectEnd(script, "uh-huh")
    expect(ahead(script)).toEqual([])
    expect(pauseOf(script.state)).toBeNull()
    expect(script.state.speculation).toEqual(noSpeculation)
    expect(script.commands.length).toBeGreaterThan(before)
  })

  it("without words", () => {
    expect(ahead(expectEnd(call().input({ _tag: "CallerSpeechStarted" }), " "))).toEqual([])
  })

  it("while a generation runs", () => {
    const script = call().say("Hello")
    expect(ahead(expectEnd(script, "Are you there?"))).toEqual(["AskModel anew"])
  })

  it("while digits are gathered", () => {
    const rules = { prompt: "", voice: null, language: null, max_digits: 1, terminator: "#", timeout_seconds: 5 }
    const script = call().input({ _tag: "GatherRequested", rules })
    expect(ahead(expectEnd(script, "Four"))).toEqual([])
  })

  it(`more than ${maxAhead} times in a turn, and as often again in the next one`, () => {
    const script = call()
    for (const text of ["One", "One two", "One two three", "One two three four"]) expectEnd(script, text)
    end(script, "One two three four")
    expect(ahead(script)).toEqual([
      ...["AskAhead a0", "DropAhead a0", "AskAhead a1", "DropAhead a1", "AskAhead a2", "DropAhead a2"],
      "AskModel anew"
    ])
    script.commands.length = 0
    script.input({ _tag: "ModelSentence", turn: 1, text: "Ten." }).input({ _tag: "ModelDone", turn: 1 }).play("u1")
    expect(ahead(expectEnd(script, "Thank you"))).toEqual(["AskAhead a3"])
  })
})

describe("a held answer", () => {
  it.each([
    ["When do you open?", "a0"],
    ["when do you OPEN", "a0"],
    ["When do you open today?", "anew"],
    ["When do they open?", "anew"]
  ])("to “when do you open” is used for the final words “%s”: %s", (text, used) => {
    const script = expectEnd(call(), "when do you open")
    expect(ahead(end(script, text)).at(-1)).toBe(`AskModel ${used}`)
  })

  it("is dropped where the words differ in a vowel sign", () => {
    expect(ahead(end(expectEnd(call(), "राम का घर"), "राम की घर")).at(-1)).toBe("AskModel anew")
  })

  it("is dropped after a while", () => {
    const script = expectEnd(call(), "When")
    expect(script.take()).toContain(`StartTimer ahead ${heldMs}`)
    expect(script.fire("ahead").take()).toEqual(["DropAhead"])
  })

  it("is dropped when the API ends the call, and the farewell is spoken", () => {
    const script = expectEnd(call(), "When")
    script.input({ _tag: "EndRequested", by: "api" })
    expect(ahead(script)).toEqual(["AskAhead a0", "DropAhead a0"])
    expect(script.take()).toContain("Speak u1 Goodbye.")
  })

  it("leaves no trace when the connection breaks: nothing follows the end of the call", () => {
    const script = expectEnd(call(), "When")
    script.input({ _tag: "RecognizerFailed", reason: "broken" }).input({ _tag: "LegFailed", reason: "broken" })
    expect(script.take().at(-1)).toBe("Finish failed failed error")
    expect(script.state.speculation).toEqual(noSpeculation)
    expect(script.state.timers).toEqual([])
  })

  it("needs every partial, so that it is dropped as soon as the caller goes on", () => {
    const script = call().input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "When" })
    expect(needsPartials(script.state)).toBe(false)
    expectEnd(script, "When do you")
    expect(needsPartials(script.state)).toBe(true)
    expect(ahead(script.input({ _tag: "CallerPartial", text: "When do you open" }))).toEqual([
      "AskAhead a0",
      "DropAhead a0"
    ])
    expect(needsPartials(script.state)).toBe(false)
  })

  it("is not asked for again by another process, which asks the model at the end of the turn", () => {
    const script = expectEnd(call(), "When")
    const given = { ...script.state.facts }
    const rows = [
      { seq: 0, input: given, commands: "" },
      ...script.inputs.map((input, i) => ({ seq: i + 1, input, commands: digest([]) }))
    ]
    const replayed = replay(rows)
    expect(replayed?.state).toEqual(script.state)
    const { commands, inputs } = replayed === undefined ? { commands: [], inputs: [] } : unfinished(replayed)
    expect(inputs).toEqual([])
    expect(commands.map(({ _tag }) => _tag)).not.toContain("AskAhead")
  })
})

describe("the pause before the model is asked", () => {
  const quietOf = (script: Script): number => pauseOf(script.state)?.quietMs ?? Number.NaN

  it("is longer after each answer that was dropped, in the next turn too, and shorter after one that was used", () => {
    const script = call().input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerPartial", text: "One" })
    const first = quietOf(script)
    expectEnd(script, "One").input({ _tag: "CallerPartial", text: "One two" })
    const second = quietOf(script)
    expectEnd(script, "One two").input({ _tag: "CallerPartial", text: "One two three" })
    const third = quietOf(script)
    expect([first < second, second < third]).toEqual([true, true])
    end(expectEnd(script, "One two three"), "One two three").input({ _tag: "CallerSpeechStopped" })
    script.input({ _tag: "ModelSentence", turn: 1, text: "Four." }).input({ _tag: "ModelDone", turn: 1 }).play("u1")
    script.input({ _tag: "CallerSpeechStarted" })
    expect(quietOf(script)).toBe(second)
  })

  it("is not asked for while an answer is held, nor after the last one of the turn", () => {
    const script = call().input({ _tag: "CallerSpeechStarted" })
    for (const text of ["One", "One two", "One two three"]) {
      expect(quietOf(script)).toBeGreaterThan(0)
      expectEnd(script, text)
      expect(pauseOf(script.state)).toBeNull()
      script.input({ _tag: "CallerPartial", text: `${text} and` })
    }
    expect(pauseOf(script.state)).toBeNull()
  })
})
