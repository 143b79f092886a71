import { Effect, Fiber } from "effect"
import {
  LanguageModel,
  LanguageModelError,
  type ModelDelta,
  type ModelRequest,
  type ModelToolCall
} from "../LanguageModel.ts"
import { type Check, type CheckOptions, makeHarness, must, mustSucceed } from "./Check.ts"
import { mustStop } from "./Interruption.ts"
import { mustNotLeak } from "./Leaks.ts"

type Service = typeof LanguageModel.Service

/** The parts of a request that matter to the model under test. */
export type Prompt = Pick<ModelRequest, "messages"> & Partial<ModelRequest>

export interface LanguageModelCheckOptions extends CheckOptions<LanguageModel> {
  /** A request that is answered with a few words: exactly with `says`, if the model is predictable. */
  readonly text: { readonly prompt: Prompt; readonly says?: string }
  /** A request that is answered with these tool calls, in this order. Their ids are chosen by the model. */
  readonly tools?: { readonly prompt: Prompt; readonly calls: ReadonlyArray<Omit<ModelToolCall, "id">> }
}

/** The requirements on a language model. */
export const languageModelChecks = (options: LanguageModelCheckOptions): ReadonlyArray<Check> => {
  const harness = makeHarness(LanguageModel, options)
  const { check, eventually, fault, mustFail, quiet, within } = harness

  const ask = (service: Service, prompt: Prompt, deltas: Array<ModelDelta>) =>
    Effect.suspend(() =>
      service.generate({ callId: "call_conformance", tools: [], variables: {}, ...prompt }, (delta) =>
        deltas.push(delta)
      )
    )
  const answer = (service: Service, prompt: Prompt) =>
    Effect.gen(function* () {
      const deltas: Array<ModelDelta> = []
      yield* within("generate", ask(service, prompt, deltas)).pipe(mustSucceed("generate"))
      return deltas
    })
  const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
    deltas.flatMap((delta) => (delta._tag === "Text" ? [delta.text] : [])).join("")
  const callsOf = (deltas: ReadonlyArray<ModelDelta>) =>
    deltas.flatMap((delta) => (delta._tag === "ToolCall" ? [delta.call] : []))

  /** One Done, at the end, and at most one Usage, in whole numbers. */
  const wellFormed = (deltas: ReadonlyArray<ModelDelta>) =>
    Effect.gen(function* () {
      const done = deltas.filter(({ _tag }) => _tag === "Done").length
      yield* must(done === 1, `it emitted Done ${done} times`)
      yield* must(deltas.at(-1)?._tag === "Done", "it emitted a delta after Done")
      const usage = deltas.flatMap((delta) => (delta._tag === "Usage" ? [delta] : []))
      yield* must(usage.length <= 1, `it emitted Usage ${usage.length} times`)
      for (const { cachedInputTokens: cached = 0, inputTokens, outputTokens } of usage) {
        yield* must(
          Number.isInteger(inputTokens) && Number.isInteger(outputTokens) && inputTokens >= 0 && outputTokens >= 0,
          `its Usage is ${inputTokens} and ${outputTokens} tokens`
        )
        yield* must(
          Number.isInteger(cached) && cached >= 0 && cached <= inputTokens,
          `its Usage has ${cached} cached tokens of ${inputTokens}`
        )
      }
    })
  const saysText = (deltas: ReadonlyArray<ModelDelta>) =>
    Effect.gen(function* () {
      const text = textOf(deltas)
      yield* must(text.trim() !== "", "it emitted no text")
      const { says } = options.text
      yield* must(says === undefined || text === says, `it emitted "${text}" instead of "${says}"`)
    })

  const failsTyped = (service: Service) =>
    Effect.gen(function* () {
      const deltas: Array<ModelDelta> = []
      yield* mustFail(
        "generate",
        ask(service, options.text.prompt, deltas),
        (error) => error instanceof LanguageModelError
      )
      const count = deltas.length
      yield* must(!deltas.some(({ _tag }) => _tag === "Done"), "it emitted Done and then failed")
      yield* quiet
      yield* must(deltas.length === count, "it emitted a delta after it had failed")
    })

  const toolChecks = (wanted: NonNullable<LanguageModelCheckOptions["tools"]>): ReadonlyArray<Check> => [
    check("generate emits complete tool calls in order, each with its own id", (service) =>
      Effect.gen(function* () {
        const deltas = yield* answer(service, wanted.prompt)
        const calls = callsOf(deltas)
        const plain = JSON.stringify(calls.map((call) => ({ name: call.name, arguments: call.arguments })))
        yield* must(
          plain === JSON.stringify(wanted.calls.map((call) => ({ name: call.name, arguments: call.arguments }))),
          `it called ${plain}`
        )
        yield* must(
          calls.every(({ id }) => id !== "") && new Set(calls.map(({ id }) => id)).size === calls.length,
          "two of its tool calls have the same id, or one has none"
        )
        const done = deltas.find((delta) => delta._tag === "Done")
        yield* must(done?.reason === "tool_calls", `the reason of Done is "${done?.reason}" instead of "tool_calls"`)
      })
    ),
    check("generate accepts the results of tool calls and answers them", (service) =>
      Effect.gen(function* () {
        const calls = callsOf(yield* answer(service, wanted.prompt))
        yield* wellFormed(
          yield* answer(service, {
            ...wanted.prompt,
            messages: [
              ...wanted.prompt.messages,
              { role: "assistant", content: "", tool_calls: calls },
              ...calls.map(({ id, name }) => ({
                role: "tool" as const,
                tool_call_id: id,
                name,
                content: `{"ok":true}`
              }))
            ]
          })
        )
      })
    )
  ]

  return [
    check("declares at least one model, a discount from 0 to 1, and is healthy", (service) =>
      Effect.gen(function* () {
        yield* must(service.models.length > 0, "it declares no model")
        yield* must(new Set(service.models).size === service.models.length, "two of its models have the same name")
        for (const model of service.models) {
          const tokens = service.contextTokens?.(model)
          yield* must(
            tokens === undefined || (Number.isInteger(tokens) && tokens > 0),
            `its model "${model}" has a context of ${tokens} tokens`
          )
        }
        const discount = service.discount ?? 0
        yield* must(discount >= 0 && discount <= 1, `its discount is ${discount}, which is not between 0 and 1`)
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("prepare, where there is one, completes or fails with LanguageModelError", (service) =>
      Effect.gen(function* () {
        const prepared = yield* within(
          "prepare",
          Effect.either(
            Effect.suspend(
              () =>
                service.prepare?.({ callId: "call_conformance", systemPrompt: "Be brief.", tools: [] }) ?? Effect.void
            )
          )
        )
        yield* must(
          prepared._tag === "Right" || prepared.left instanceof LanguageModelError,
          "prepare failed with another error than LanguageModelError"
        )
      })
    ),
    check("generate emits the text of the answer in order", (service) =>
      Effect.flatMap(answer(service, options.text.prompt), saysText)
    ),
    check("generate answers with each of the first five models", (service) =>
      Effect.forEach(service.models.slice(0, 5), (model) =>
        Effect.flatMap(answer(service, { ...options.text.prompt, model }), (deltas) =>
          must(textOf(deltas).trim() !== "", `the model "${model}" emitted no text`)
        )
      )
    ),
    check("generate emits Done exactly once, as the last delta", (service) =>
      Effect.flatMap(answer(service, options.text.prompt), wellFormed)
    ),
    check("generate completes after Done and emits nothing afterwards", (service) =>
      Effect.gen(function* () {
        const deltas = yield* answer(service, options.text.prompt)
        const count = deltas.length
        yield* quiet
        yield* must(deltas.length === count, "it emitted a delta after it had completed")
      })
    ),
    ...(options.tools === undefined ? [] : toolChecks(options.tools)),
    check("generate stops when it is interrupted and emits nothing afterwards", (service) =>
      Effect.gen(function* () {
        const deltas: Array<ModelDelta> = []
        const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
        yield* eventually("the first delta", () => deltas.length > 0)
        yield* mustStop(harness, fiber, () => deltas.length)
      })
    ),
    check("generate keeps two concurrent requests separate", (service) =>
      Effect.gen(function* () {
        const both = yield* Effect.all([answer(service, options.text.prompt), answer(service, options.text.prompt)], {
          concurrency: 2
        })
        yield* Effect.forEach(both, saysText)
        yield* Effect.forEach(both, wellFormed)
      })
    ),
    check("many interrupted requests leave no fibers, timers or sockets behind", (service) =>
      mustNotLeak(
        harness,
        options,
        Effect.gen(function* () {
          const deltas: Array<ModelDelta> = []
          const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
          yield* eventually("the first delta", () => deltas.length > 0 || fiber.unsafePoll() !== null)
          yield* within("interrupting generate", Fiber.interrupt(fiber))
        })
      )
    ),
    ...fault(options.faults?.refuses, "generate fails with LanguageModelError when the peer refuses", failsTyped),
    ...fault(options.faults?.hangs, "generate can be interrupted when the peer hangs", (service) =>
      Effect.gen(function* () {
        const deltas: Array<ModelDelta> = []
        const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
        yield* quiet
        yield* mustStop(harness, fiber, () => deltas.length)
      })
    ),
    ...fault(
      options.faults?.closesEarly,
      "generate fails with LanguageModelError when the peer closes the connection early",
      failsTyped
    ),
    ...fault(
      options.faults?.sendsGarbage,
      "generate fails with LanguageModelError when the peer sends malformed data",
      failsTyped
    )
  ]
}
