import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { LanguageModel, LanguageModelError, type ModelDelta } from "../../src/LanguageModel.ts"

/** Faults of a language model. */
export type LanguageModelBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "emits after interruption"
  | "ignores interruption"
  | "emits after completion"
  | "completes without Done"
  | "emits Done twice"
  | "emits Done first"
  | "never completes after Done"
  | "reorders text"
  | "mixes requests"
  | "emits no text"
  | "emits fractional usage"
  | "emits Usage twice"
  | "reorders tool calls"
  | "drops the arguments of tool calls"
  | "reuses tool call ids"
  | "ends tool calls with the reason stop"
  | "dies on tool results"
  | "has a second model that says nothing"
  | "has a model without a context"
  | "has a model twice"
  | "leaks fibers"
  | "emits Done although the peer failed"
  | "hangs when the peer fails"
  | "declares its discount in percent"
  | "prepares for ever"
  | "throws when it prepares"

/** The behaviour of the peer. */
export type Peer = "works" | "refuses" | "hangs" | "fails"

export const says = "one two three four five"

export const calls = [
  { name: "look", arguments: { day: "monday" } },
  { name: "book", arguments: { day: "monday", hour: 9 } }
]

/**
 * A model in memory: counts to five, a word every 40 ms; with tools it calls two, and answers their results with
 * "done".
 */
export const referenceLanguageModel = (bug?: LanguageModelBug, peer: Peer = "works"): Layer.Layer<LanguageModel> => {
  const is = (...bugs: ReadonlyArray<LanguageModelBug>) => bug !== undefined && bugs.includes(bug)
  let shared: Array<string> = []
  return Layer.succeed(LanguageModel, {
    id: "reference",
    models: ["reference-1", is("has a model twice") ? "reference-1" : "reference-2"],
    contextTokens: () => (is("has a model without a context") ? 0 : 8192),
    discount: is("declares its discount in percent") ? 10 : 0.1,
    health: Effect.succeed(healthy),
    prepare: () => {
      if (is("throws when it prepares")) throw new Error("no connection")
      return is("prepares for ever") ? Effect.never : Effect.sleep(40)
    },
    generate: ({ messages, model, tools }, onDelta) => {
      if (is("throws")) throw new Error("no such model")
      const broken = new LanguageModelError({ reason: "the peer failed", retryable: true })
      const emit = (delta: ModelDelta) =>
        Effect.zipRight(
          Effect.sleep(40),
          Effect.sync(() => onDelta(delta))
        )
      const done = (reason: "stop" | "tool_calls") =>
        Effect.gen(function* () {
          const usage: ModelDelta = {
            _tag: "Usage",
            inputTokens: is("emits fractional usage") ? 1.5 : 7,
            outputTokens: 5
          }
          yield* emit(usage)
          if (is("emits Usage twice")) yield* emit(usage)
          if (is("completes without Done", "emits Done first")) return
          yield* emit({ _tag: "Done", reason })
          if (is("emits Done twice")) yield* emit({ _tag: "Done", reason })
          if (is("never completes after Done")) return yield* Effect.never
          if (is("emits after completion")) yield* Effect.forkDaemon(emit({ _tag: "Text", text: "!" }))
        })
      const answer = Effect.gen(function* () {
        if (is("dies")) return yield* Effect.die("x is undefined")
        if (is("hangs") || peer === "hangs") return yield* Effect.never
        if (is("fails") || peer === "refuses") return yield* broken
        if (is("has a second model that says nothing") && model === "reference-2") return yield* done("stop")
        if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
        if (is("emits Done first")) yield* emit({ _tag: "Done", reason: "stop" })
        if (messages.at(-1)?.role === "tool") {
          if (is("dies on tool results")) return yield* Effect.die("tool")
          yield* emit({ _tag: "Text", text: "done" })
          return yield* done("stop")
        }
        if (tools.length > 0) {
          for (const [index, call] of (is("reorders tool calls") ? [...calls].reverse() : calls).entries()) {
            const id = is("reuses tool call ids") ? "call" : `call_${index}`
            yield* emit({
              _tag: "ToolCall",
              call: { id, name: call.name, arguments: is("drops the arguments of tool calls") ? {} : call.arguments }
            })
          }
          return yield* done(is("ends tool calls with the reason stop") ? "stop" : "tool_calls")
        }
        if (is("emits no text")) return yield* done("stop")
        const words = (is("reorders text") ? says.split(" ").reverse().join(" ") : says).split(/(?<= )/)
        if (is("mixes requests")) {
          shared.push(...words)
          yield* Effect.sleep(5)
        }
        const todo = is("mixes requests") ? shared : words
        shared = []
        for (const [index, text] of todo.entries()) {
          yield* emit({ _tag: "Text", text })
          if (peer === "fails" && index === 1) {
            if (is("emits Done although the peer failed")) return yield* done("stop")
            if (is("hangs when the peer fails")) return yield* Effect.never
            return yield* broken
          }
        }
        return yield* done("stop")
      })
      if (is("ignores interruption")) return Effect.uninterruptible(answer)
      if (!is("emits after interruption")) return answer
      return Effect.onInterrupt(answer, () => Effect.forkDaemon(emit({ _tag: "Text", text: "late" })))
    }
  })
}
