import { describe, expect, it } from "vitest"
import { start, step } from "../src/Conversation.ts"
import type { Input } from "../src/Input.ts"
import { digest, type RecordedInput, replay } from "../src/Replay.ts"
import { facts, Script } from "../src/testing/Script.ts"

/** The journal that a call with these inputs leaves. */
const journal = (inputs: ReadonlyArray<Input>): ReadonlyArray<RecordedInput> => {
  let [state, commands] = start(facts)
  const rows: Array<RecordedInput> = [{ seq: 0, input: facts, commands: digest(commands) }]
  for (const [i, input] of inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ seq: i + 1, input, commands: digest(commands) })
  }
  return rows
}

const call = (): Script => {
  const s = Script.live()
  s.play("u0").wait(500).say("Look it up")
  s.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "lookup", arguments: { a: 1 } }] })
  s.input({ _tag: "ModelDone", turn: 1 })
    .wait(80)
    .input({ _tag: "ToolAnswered", id: "t", result: { n: 1 } })
  s.input({ _tag: "ModelSentence", turn: 2, text: "It is one." }).input({ _tag: "ModelDone", turn: 2 })
  s.play("u1").wait(900).input({ _tag: "CallerHungUp" })
  return s
}

describe("a replayed journal", () => {
  it("gives the same commands, state and digests, also after a round trip through JSON", () => {
    const s = call()
    const rows = journal(s.inputs)
    const replayed = replay(JSON.parse(JSON.stringify(rows)))
    expect(replayed?.differing).toEqual([])
    expect(replayed?.state.transcript).toEqual(s.state.transcript)
    expect(replayed?.state.outcome).toEqual(s.state.outcome)
    expect(replayed?.steps.flatMap((one) => one.commands)).toEqual(s.commands)
  })

  it("does not depend on the order of fields, which the database does not keep", () => {
    const backwards = (value: unknown): unknown => {
      if (typeof value !== "object" || value === null) return value
      if (Array.isArray(value)) return value.map(backwards)
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, inner]) => [key, backwards(inner)])
      )
    }
    const rows = journal(call().inputs)
    expect(replay(rows.map((row) => ({ ...row, input: backwards(row.input) as Input })))?.differing).toEqual([])
  })

  it("lists the rows whose commands differ now", () => {
    const rows = journal(call().inputs)
    const changed = rows.map((row) => (row.seq === 3 ? { ...row, commands: "other" } : row))
    expect(replay(changed)?.differing).toEqual([3])
  })

  it("lists the row of a changed command, when a changed input leads to it", () => {
    const rows = journal(call().inputs)
    const changed = rows.map((row) =>
      row.input._tag === "ModelSentence" ? { ...row, input: { ...row.input, text: "It is two." } } : row
    )
    const sentence = rows.findIndex((row) => row.input._tag === "ModelSentence")
    expect(replay(changed)?.differing[0]).toBe(sentence)
  })

  it("is undefined when it is empty or does not begin with the facts of a call", () => {
    expect(replay([])).toBeUndefined()
    expect(replay(journal(call().inputs).slice(1))).toBeUndefined()
  })

  it("that is incomplete ends with its last input", () => {
    const rows = journal(call().inputs)
    const upToAnswer = rows.slice(0, 3)
    expect(replay(upToAnswer)?.state.phase).toBe("live")
    expect(replay(upToAnswer)?.differing).toEqual([])
  })

  it("has an empty digest for a step without commands, and different digests for different commands", () => {
    expect(digest([])).toBe("")
    expect(digest([{ _tag: "Answer" }])).not.toBe(digest([{ _tag: "FetchConfig" }]))
    expect(digest([{ _tag: "Answer" }])).toBe(digest([{ _tag: "Answer" }]))
  })
})
