import { expect, it } from "@effect/vitest"
import type { LanguageModel } from "@svc/providers/LanguageModel"
import { LanguageModelError, type ModelMessage } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during, type VirtualCall } from "../doubles/VirtualProviders.ts"

/** Tools of whole calls in virtual time. */

const answer = configuration({}, { tools: [{ name: "lookup" }, { name: "store" }] }).json

type Model = Context.Tag.Service<LanguageModel>

/** Calls two tools at once, then goes on for two seconds; `ends` is how. With their results it speaks. */
const callsEarly = (model: Model, asked: Array<ReadonlyArray<ModelMessage>>, ends: "done" | "fails"): Model => ({
  ...model,
  generate: ({ messages }, onDelta) =>
    Effect.gen(function* () {
      asked.push(messages)
      if (messages.at(-1)?.role === "tool") {
        onDelta({ _tag: "Text", text: "Both are done." })
        return onDelta({ _tag: "Done", reason: "stop" })
      }
      onDelta({ _tag: "Text", text: "Let me see." })
      onDelta({ _tag: "ToolCall", call: { id: "call_0", name: "lookup", arguments: {} } })
      onDelta({ _tag: "ToolCall", call: { id: "call_0", name: "store", arguments: {} } })
      yield* Effect.sleep("2 seconds")
      if (ends === "fails") return yield* new LanguageModelError({ reason: "the stream broke", retryable: true })
      onDelta({ _tag: "Done", reason: "tool_calls" })
    })
})

const converse = ({ say, turns, wait }: VirtualCall) =>
  Effect.gen(function* () {
    yield* wait("3 seconds")
    yield* say("One")
    yield* wait("8 seconds")
    return turns()
  })

const callThat = (ends: "done" | "fails") =>
  Effect.gen(function* () {
    const asked: Array<ReadonlyArray<ModelMessage>> = []
    const { result, state } = yield* during(
      ({ languageModel: [model] }) => ({ languageModel: model === undefined ? [] : [callsEarly(model, asked, ends)] }),
      (call) => Effect.map(converse(call), (turns) => ({ turns, log: call.log })),
      answer
    )
    const times = (tag: string) =>
      result.log.rows.flatMap(({ input }) => (input._tag === tag && "at" in input ? [input.at] : []))
    return { asked, times, state, turns: result.turns }
  })

it.effect("tools run while the model goes on, and their results go back in the order of the calls", () =>
  Effect.gen(function* () {
    const { asked, times, turns } = yield* callThat("done")
    const [done] = times("ModelDone")
    const answered = times("ToolAnswered")
    expect(answered).toHaveLength(2)
    for (const at of answered) expect(at).toBeLessThan((done ?? 0) - 1900)
    expect(asked).toHaveLength(2)
    expect(asked[1]?.slice(-2).map((m) => (m.role === "tool" ? m.name : m.role))).toEqual(["lookup", "store"])
    expect(turns.slice(1)).toEqual(["user: One", "assistant: Let me see.", "assistant: Both are done."])
  })
)

it.effect("a stream that fails after tools have begun keeps their results, and the round goes on", () =>
  Effect.gen(function* () {
    const { asked, state, turns } = yield* callThat("fails")
    expect(asked).toHaveLength(2)
    expect(turns.slice(1)).toEqual(["user: One", "assistant: Let me see.", "assistant: Both are done."])
    expect(state.warnings.map(({ reason }) => reason)).toEqual(["the stream broke"])
    expect(state.outcome?.status).toBe("completed")
  })
)
