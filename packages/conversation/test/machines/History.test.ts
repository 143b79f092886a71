import type { ModelMessage } from "@svc/providers/LanguageModel"
import { describe, expect, it } from "vitest"
import type { Facts } from "../../src/Input.ts"
import { defaultTokens, maxSummary } from "../../src/machines/History.ts"
import { unfinished } from "../../src/Resume.ts"
import { Script } from "../../src/testing/Script.ts"

/** The caller says something, and the agent answers. */
const exchange = (s: Script, words: string, answer = "Yes, of course.") => {
  s.say(words)
  const turn = s.state.model?.turn ?? 0
  s.input({ _tag: "ModelSentence", turn, text: answer }).input({ _tag: "ModelDone", turn })
  s.play(`u${s.state.next_utterance - 1}`).wait(1000)
}

const requests = (s: Script) => s.commands.flatMap((c) => (c._tag === "AskModel" ? [c.messages] : []))
const summaries = (s: Script) => s.commands.flatMap((c) => (c._tag === "Summarize" ? [c] : []))
const size = (messages: ReadonlyArray<ModelMessage>) => JSON.stringify(messages).length

const long = "word ".repeat(80)

const after = (count: number, facts: Partial<Facts>, change: Parameters<typeof Script.greeted>[0] = {}) => {
  const s = Script.greeted(change, facts)
  for (let n = 0; n < count; n++) exchange(s, `${n} ${long}`)
  return s
}

describe("the history", () => {
  it("keeps the prompt byte by byte, and the last two turns even when they are larger than its budget", () => {
    const s = after(6, { history_tokens: 1 })
    for (const [prompt] of requests(s)) expect(prompt).toEqual({ role: "system", content: "You answer the phone." })
    const roles = requests(s)
      .at(-1)
      ?.map(({ role }) => role)
    expect(roles).toEqual(["system", "user", "assistant", "user"])
  })

  it("has the context of the model as its budget, less the answer and the tools, where it is smaller than the setting", () => {
    const messagesOf = (facts: Partial<Facts>, change = {}) => requests(after(12, facts, change)).at(-1)?.length ?? 0
    const whole = messagesOf({})
    expect(messagesOf({ context_tokens: [null] })).toBe(whole)
    expect(messagesOf({ context_tokens: [200_000] })).toBe(whole)
    expect(messagesOf({ context_tokens: [3000] })).toBeLessThan(whole)
    const model = { name: "large", temperature: null, max_tokens: null }
    // The named model counts, not the preferred one.
    expect(messagesOf({ context_tokens: [3000] }, { model: { ...model, context_tokens: 200_000 } })).toBe(whole)
    expect(messagesOf({ context_tokens: [200_000] }, { model: { ...model, context_tokens: 3000 } })).toBeLessThan(whole)
    const modest = { ...model, context_tokens: 3400 }
    const greedy = { ...modest, max_tokens: 2600 }
    expect(messagesOf({}, { model: greedy })).toBeLessThan(messagesOf({}, { model: modest }))
  })

  it("loses turns rarely: what is left has room for more", () => {
    const s = after(40, { history_tokens: 1000 })
    const beginnings = new Set(requests(s).map((messages) => JSON.stringify(messages[1])))
    expect(beginnings.size).toBeLessThan(22)
    expect(requests(s)).toHaveLength(40)
  })

  it("has every call of a tool with its result, and every result with its call", () => {
    const s = Script.greeted({}, { history_tokens: 300 })
    for (let n = 0; n < 12; n++) {
      s.say(`${n} ${long}`)
      const turn = s.state.model?.turn ?? 0
      const calls = [{ id: `t${n}`, name: "lookup", arguments: { n } }]
      s.input({ _tag: "ModelToolCalls", turn, calls }).input({ _tag: "ModelDone", turn })
      s.input({ _tag: "ToolAnswered", id: `t${n}`, result: "found" })
      const next = s.state.model?.turn ?? 0
      s.input({ _tag: "ModelSentence", turn: next, text: "Found." }).input({ _tag: "ModelDone", turn: next })
      s.play(`u${s.state.next_utterance - 1}`).wait(1000)
    }
    for (const messages of requests(s)) {
      const called = messages.flatMap((m) => (m.role === "assistant" ? (m.tool_calls ?? []).map(({ id }) => id) : []))
      expect(messages.flatMap((m) => (m.role === "tool" ? [m.tool_call_id] : []))).toEqual(called)
    }
  })

  it("of a call of two hours stays within its budget, and so does the state that summaries need", () => {
    const s = Script.greeted({ max_duration: 3 * 3600 }, { context_tokens: [8192] })
    const sizes: Array<number> = []
    for (let n = 0; s.at < 2 * 3600_000; n++) {
      exchange(s, `Question ${n}: ${long}`, `Answer ${n}. ${long}`)
      s.wait(20_000)
      sizes.push(size(requests(s).at(-1) ?? []))
      for (const { id } of summaries(s)) s.input({ _tag: "Summarized", id, text: `Summary. ${long.repeat(20)}` })
      s.commands.length = 0
    }
    expect(sizes.length).toBeGreaterThan(300)
    expect(s.state.phase).toBe("live")
    // 8192 tokens of about 4 characters.
    expect(Math.max(...sizes)).toBeLessThan(8192 * 4)
    expect(s.state.history.summary?.length).toBe(maxSummary)
    expect(s.state.history.from).toBeGreaterThan(s.state.entries.length - 100)
    expect(defaultTokens).toBeGreaterThan(8192)
  })
})

describe("the summary of what left the history", () => {
  const begun = () => {
    const s = after(2, { history_tokens: 200 })
    while (s.state.history.pending === null) exchange(s, long)
    return { s, id: s.state.history.pending.id }
  }

  it("is asked for after the answer, and one at a time", () => {
    const { s } = begun()
    const tags = s.commands.map(({ _tag }) => _tag)
    expect(tags.indexOf("AskModel")).toBeLessThan(tags.indexOf("Summarize"))
    for (let n = 0; n < 10; n++) exchange(s, long)
    expect(summaries(s)).toHaveLength(1)
  })

  it("that is empty, late or of another request changes nothing", () => {
    const { id, s } = begun()
    const { history } = s.state
    s.input({ _tag: "Summarized", id: "s99", text: "Other." })
    expect(s.state.history).toEqual(history)
    s.input({ _tag: "Summarized", id, text: " \n" })
    expect(s.state.history).toMatchObject({ summary: null, pending: null })
    expect(s.state.warnings.map(({ reason }) => reason)).toEqual([
      "earlier turns of the call were not summed up: the model returned nothing"
    ])
    s.input({ _tag: "Summarized", id, text: "Late." })
    expect(s.state.history.summary).toBeNull()
  })

  it("counts as a request, and is asked for again when the process dies meanwhile", () => {
    const { s } = begun()
    expect(s.state.usage.llm.requests).toBe(requests(s).length + 1)
    const steps = s.inputs.slice(0, 1).map((input) => ({ seq: 0, input, commands: s.commands }))
    expect(unfinished({ state: s.state, steps, differing: [] }).commands).toContainEqual(summaries(s)[0])
  })
})
