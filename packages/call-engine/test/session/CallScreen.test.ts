import { describe, expect, it } from "@effect/vitest"
import { Script } from "@svc/conversation/testing/Script"
import type { CallView } from "@svc/providers/Telephony"
import { CallScreen } from "../../src/session/CallScreen.ts"

const shown = (script: Script) => {
  const views: Array<CallView> = []
  const screen = new CallScreen((view) => views.push(view))
  screen.update(script.state)
  return {
    /** What is shown because of these inputs. */
    after: (feed: (script: Script) => unknown): ReadonlyArray<string> => {
      feed(script)
      screen.update(script.state)
      return views.splice(0).map((view) => {
        switch (view._tag) {
          case "Activity":
            return view.activity
          case "Latency":
            return `${view.ms} ms`
          default:
            return `${view._tag} ${view.role}: ${view.text}`
        }
      })
    }
  }
}

describe("The caller's screen", () => {
  it("shows the words of both sides as they are spoken, what the agent does, and how long the answer took", () => {
    const { after } = shown(Script.live())
    expect(after(() => {})).toEqual(["speaking"])
    expect(after((s) => s.input({ _tag: "SpeechStarted", id: "u0" }))).toEqual(["Saying agent: Hello there."])
    expect(after((s) => s.input({ _tag: "SpeechPlayed", id: "u0" }))).toEqual(["Said agent: Hello there.", "listening"])
    expect(after((s) => s.wait(500).input({ _tag: "CallerSpeechStarted" }))).toEqual([])
    expect(after((s) => s.input({ _tag: "CallerPartial", text: "Find" }))).toEqual(["Saying caller: Find"])
    expect(after((s) => s.input({ _tag: "CallerFinal", text: "Find my order" }))).toEqual([
      "Saying caller: Find my order"
    ])
    expect(after((s) => s.input({ _tag: "CallerSpeechStopped" }).wait(100).input({ _tag: "CallerEndOfTurn" }))).toEqual(
      ["Said caller: Find my order", "thinking"]
    )
    expect(
      after((s) => {
        const turn = s.state.model?.turn ?? -1
        s.input({ _tag: "ModelToolCalls", turn, calls: [{ id: "t1", name: "lookup", arguments: {} }] })
        s.input({ _tag: "ModelDone", turn })
      })
    ).toEqual(["using-tool"])
    expect(after((s) => s.input({ _tag: "ToolAnswered", id: "t1", result: {} }))).toEqual(["thinking"])
    const answered = after((s) => {
      const turn = s.state.model?.turn ?? -1
      s.wait(300).input({ _tag: "ModelStarted", turn }).input({ _tag: "ModelSentence", turn, text: "It is here." })
      s.input({ _tag: "ModelDone", turn })
      const id = s.state.entries.flatMap((e) => (e.kind === "agent" ? e.utterances : [])).at(-1)?.id ?? ""
      s.input({ _tag: "SpeechStarted", id })
    })
    expect(answered).toEqual(["Saying agent: It is here.", "speaking", "400 ms"])
  })

  it("shows what was heard of an answer that was interrupted", () => {
    const { after } = shown(Script.live({ first_message: "One two three four." }))
    after((s) => s.input({ _tag: "SpeechStarted", id: "u0" }))
    const cut = after((s) =>
      s
        .input({ _tag: "CallerSpeechStarted" })
        .input({ _tag: "CallerPartial", text: "Wait" })
        .input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "One two" }] })
        .input({ _tag: "CallerFinal", text: "Wait" })
        .input({ _tag: "CallerEndOfTurn" })
    )
    expect(cut).toContain("Said agent: One two")
    expect(cut).toContain("Said caller: Wait")
  })
})
