import { Effect, Layer } from "effect"
import { healthy } from "../../src/Health.ts"
import { LanguageModel, LanguageModelError, type ModelDelta } from "../../src/LanguageModel.ts"

/** What a language model can do wrong. */
export type LanguageModelBug =
  | "throws"
  | "dies"
  | "hangs"
  | "fails"
  | "tells after interruption"
  | "ignores interruption"
  | "tells after completion"
  | "completes without Done"
  | "tells Done twice"
  | "tells Done first"
  | "never completes after Done"
  | "reorders"
  | "mixes requests"
  | "says nothing"
  | "fractional usage"
  | "usage twice"
  | "reorders calls"
  | "calls without arguments"
  | "shares call ids"
  | "wrong reason for calls"
  | "dies of tool results"
  | "leaks fibers"
  | "Done though the peer broke"
  | "hangs when the peer broke"
  | "discount in percent"

/** What the peer does. */
export type Peer = "well" | "refuses" | "hangs" | "breaks"

export const says = "one two three four five"

export const calls = [
  { name: "look", arguments: { day: "monday" } },
  { name: "book", arguments: { day: "monday", hour: 9 } }
]

/** A model wholly in memory: counts to five, a word every 40 ms; with tools it calls two, and says "done" to their results. */
export const referenceLanguageModel = (bug?: LanguageModelBug, peer: Peer = "well"): Layer.Layer<LanguageModel> => {
  const is = (...bugs: ReadonlyArray<LanguageModelBug>) => bug !== undefined && bugs.includes(bug)
  let shared: Array<string> = []
  return Layer.succeed(LanguageModel, {
    id: "reference",
    models: ["reference-1"],
    discount: is("discount in percent") ? 10 : 0.1,
    health: Effect.succeed(healthy),
    generate: ({ messages, tools }, onDelta) => {
      if (is("throws")) throw new Error("no such model")
      const broken = new LanguageModelError({ reason: "the peer broke", retryable: true })
      const tell = (delta: ModelDelta) =>
        Effect.zipRight(
          Effect.sleep(40),
          Effect.sync(() => onDelta(delta))
        )
      const done = (reason: "stop" | "tool_calls") =>
        Effect.gen(function* () {
          const usage: ModelDelta = { _tag: "Usage", inputTokens: is("fractional usage") ? 1.5 : 7, outputTokens: 5 }
          yield* tell(usage)
          if (is("usage twice")) yield* tell(usage)
          if (is("completes without Done", "tells Done first")) return
          yield* tell({ _tag: "Done", reason })
          if (is("tells Done twice")) yield* tell({ _tag: "Done", reason })
          if (is("never completes after Done")) return yield* Effect.never
          if (is("tells after completion")) yield* Effect.forkDaemon(tell({ _tag: "Text", text: "!" }))
        })
      const answer = Effect.gen(function* () {
        if (is("dies")) return yield* Effect.die("x is undefined")
        if (is("hangs") || peer === "hangs") return yield* Effect.never
        if (is("fails") || peer === "refuses") return yield* broken
        if (is("leaks fibers")) yield* Effect.forkDaemon(Effect.never)
        if (is("tells Done first")) yield* tell({ _tag: "Done", reason: "stop" })
        if (messages.at(-1)?.role === "tool") {
          if (is("dies of tool results")) return yield* Effect.die("tool")
          yield* tell({ _tag: "Text", text: "done" })
          return yield* done("stop")
        }
        if (tools.length > 0) {
          for (const [index, call] of (is("reorders calls") ? [...calls].reverse() : calls).entries()) {
            const id = is("shares call ids") ? "call" : `call_${index}`
            yield* tell({
              _tag: "ToolCall",
              call: { id, name: call.name, arguments: is("calls without arguments") ? {} : call.arguments }
            })
          }
          return yield* done(is("wrong reason for calls") ? "stop" : "tool_calls")
        }
        if (is("says nothing")) return yield* done("stop")
        const words = (is("reorders") ? says.split(" ").reverse().join(" ") : says).split(/(?<= )/)
        if (is("mixes requests")) {
          shared.push(...words)
          yield* Effect.sleep(5)
        }
        const todo = is("mixes requests") ? shared : words
        shared = []
        for (const [index, text] of todo.entries()) {
          yield* tell({ _tag: "Text", text })
          if (peer === "breaks" && index === 1) {
            if (is("Done though the peer broke")) return yield* done("stop")
            if (is("hangs when the peer broke")) return yield* Effect.never
            return yield* broken
          }
        }
        return yield* done("stop")
      })
      if (is("ignores interruption")) return Effect.uninterruptible(answer)
      if (!is("tells after interruption")) return answer
      return Effect.onInterrupt(answer, () => Effect.forkDaemon(tell({ _tag: "Text", text: "late" })))
    }
  })
}
