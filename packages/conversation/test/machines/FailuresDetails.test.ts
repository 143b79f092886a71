import { describe, expect, it } from "vitest"
import type { Command } from "../../src/Command.ts"
import { Script } from "../../src/testing/Script.ts"

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const spoken = (s: Script) => commandsOf(s, "Speak").map(({ text }) => text)
const apology = "I'm sorry, something went wrong. Could you please say that again?"
const wait = "I'm sorry, one moment please."
const providers = { recognizers: ["provider" as const], models: 1, voices: 1 }
const calls = [{ id: "t", name: "lookup", arguments: {} }]
const failed = (turn: number) => ({ _tag: "ModelFailed", turn, reason: "gone" }) as const
const voiceFailed = (id: string) => ({ _tag: "SpeechFailed", id, reason: "gone" }) as const
const deaf = { _tag: "RecognizerFailed", reason: "gone" } as const

const mumble = (s: Script, ms: number) =>
  s
    .wait(1000)
    .input({ _tag: "CallerSpeechStarted" })
    .wait(ms)
    .input({ _tag: "CallerSpeechStopped" })
    .wait(2000)
    .fire("endpoint")

describe("a failed model", () => {
  it("gets no apology while its tool runs, whose result is asked about as usual", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls }).input(failed(1))
    expect(spoken(s)).toEqual([])
    expect(s.input({ _tag: "ToolAnswered", id: "t", result: 1 }).take()).toContain("AskModel 2")
  })

  it("is asked again at once when its tool has answered already", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls })
    s.input({ _tag: "ToolAnswered", id: "t", result: 1 })
    expect(s.take()).not.toContain("AskModel 2")
    expect(s.input(failed(1)).take()).toContain("AskModel 2")
  })

  it("gets no apology when the next one is asked while an answer waits to be spoken", () => {
    const s = Script.greeted({}, { providers: { ...providers, models: 2 } }).say("Hi")
    s.input({ _tag: "ModelSentence", turn: 1, text: "Let me see." }).input({ _tag: "ModelToolCalls", turn: 1, calls })
    s.input({ _tag: "ModelDone", turn: 1 }).input({ _tag: "ToolAnswered", id: "t", result: 1 }).wait(3000)
    expect(spoken(s.input(failed(2)))).toEqual(["Let me see."])
    expect(s.take()).toContain("AskModel 3")
  })

  it("gets no apology while the second of its sentences waits to be spoken", () => {
    const s = Script.greeted().say("Hi")
    for (const text of ["One.", "Two."]) s.input({ _tag: "ModelSentence", turn: 1, text })
    expect(spoken(s.play("u1").input(failed(1)))).toEqual(["One.", "Two."])
  })

  it("gets an apology while a filler is spoken", () => {
    const s = Script.greeted({}, { filler_ms: 800 }).say("Hi").wait(800).fire("filler")
    expect(spoken(s.input(failed(1))).at(-1)).toBe(apology)
  })
})

describe("a failed voice", () => {
  const speaking = () =>
    Script.live({}, { providers: { ...providers, voices: 2 } }).input({ _tag: "SpeechStarted", id: "u0" })

  it("is replaced by the next one, which says the rest once it is known what was played", () => {
    const s = speaking().input(voiceFailed("u0"))
    s.commands.length = 0
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    expect(commandsOf(s, "Speak")).toEqual([expect.objectContaining({ id: "u1", text: "there.", provider: 1 })])
    s.play("u1").say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Yes." })
    expect(spoken(s)).toEqual(["there.", "Yes."])
  })

  it("is replaced by each of the others before the call ends", () => {
    const s = Script.live({}, { providers: { ...providers, voices: 3 } })
      .input(voiceFailed("u0"))
      .input({ _tag: "SpeechCleared", cuts: [] })
    s.input(voiceFailed("u1")).input({ _tag: "SpeechCleared", cuts: [] })
    expect(s.state.phase).toBe("live")
    expect(commandsOf(s, "Speak").map(({ provider }) => provider)).toEqual([undefined, 1, 2])
    expect(s.input(voiceFailed("u2")).state.phase).not.toBe("live")
  })

  it("gets an apology when the caller has waited for 3 s, and not before", () => {
    const after = (ms: number) => {
      const s = Script.live({}, { providers: { ...providers, voices: 2 } })
        .wait(ms)
        .input(voiceFailed("u0"))
      return spoken(s.input({ _tag: "SpeechCleared", cuts: [] }))
    }
    expect(after(2999)).not.toContain(wait)
    expect(after(3000)).toContain(wait)
  })

  it("counts the wait from the last sound of the agent", () => {
    const s = Script.live({}, { providers: { ...providers, voices: 2 } })
      .play("u0")
      .say("Hi")
    for (const text of ["One.", "Two."]) s.input({ _tag: "ModelSentence", turn: 1, text })
    s.wait(2500).play("u1").wait(2500).input(voiceFailed("u2")).input({ _tag: "SpeechCleared", cuts: [] })
    expect(spoken(s)).not.toContain(wait)
  })

  it("does not count for an utterance that is not awaited", () => {
    const s = Script.greeted()
    expect(s.input(voiceFailed("u0")).input(voiceFailed("u9")).take()).toEqual([])
    expect(s.state.phase).toBe("live")
  })

  it("is not in a row with a failure before the last utterance that was played", () => {
    const s = Script.live().input(voiceFailed("u0")).say("Hi")
    for (const text of ["One.", "Two."]) s.input({ _tag: "ModelSentence", turn: 1, text })
    expect(s.play("u1").input(voiceFailed("u2")).state.phase).toBe("live")
  })
})

describe("failed speech-to-text", () => {
  const two = { ...providers, recognizers: ["provider" as const, "none" as const] }
  const broken = { ...deaf, broke: true } as const
  /** The providers that were opened after the greeting. */
  const opened = (s: Script) => commandsOf(s, "Listen").map(({ provider = 0 }) => provider)

  it("is opened again at the same provider when it had worked, and at the next one when that fails", () => {
    const s = Script.greeted({}, { providers: two }).wait(5000).input(broken)
    expect(opened(s)).toEqual([0])
    expect(s.state.stt_failed_at).toEqual([])
    expect(opened(s.wait(1000).input(deaf))).toEqual([0, 1])
    expect(opened(s.wait(1000).input(broken))).toEqual([0, 1, 1])
    expect(s.state.phase).toBe("live")
  })

  it("is opened at the next provider when it breaks twice within a minute, and not when later", () => {
    const run = (ms: number) => opened(Script.greeted({}, { providers: two }).input(broken).wait(ms).input(broken))
    expect(run(59_999)).toEqual([0, 1])
    expect(run(60_000)).toEqual([0, 0])
  })

  it("ends the call at its third failure within a minute where there is one provider, also when it had worked", () => {
    const s = Script.greeted({}, { providers }).input(broken).input(broken)
    expect([opened(s), s.state.phase]).toEqual([[0, 0], "live"])
    expect(s.input(broken).state.phase).toBe("ending")
  })

  it("starts the count of speech without words from 0", () => {
    const run = (ms: number) => mumble(mumble(Script.greeted(), 5000).input(deaf), ms).state.phase
    expect(run(7999)).toBe("live")
    expect(run(8000)).toBe("ending")
  })

  it("gets no apology while the agent speaks", () => {
    const s = Script.live().input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" })
    expect(spoken(s.input(deaf))).toEqual(["Hello there."])
  })

  it("is not what a long turn with words is", () => {
    for (const _tag of ["CallerFinal", "CallerPartial"] as const) {
      const s = Script.greeted({}, { endpointing: "none" }).input({ _tag: "CallerSpeechStarted" }).wait(9000)
      s.input({ _tag, text: "Hello" }).input({ _tag: "CallerSpeechStopped" }).wait(3000).fire("endpoint")
      expect(commandsOf(s, "Listen")).toEqual([])
    }
  })

  it("is not what speech without words is during the farewell", () => {
    const s = Script.greeted().input({ _tag: "EndRequested", by: "api" })
    expect(commandsOf(mumble(s, 8000), "Listen")).toEqual([])
  })
})
