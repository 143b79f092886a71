import { Effect, Fiber } from "effect"
import {
  LanguageModel,
  LanguageModelError,
  type ModelDelta,
  type ModelRequest,
  type ModelToolCall
} from "../LanguageModel.ts"
import { bench, type Check, CheckFailed, type CheckOptions, must, noError } from "./Check.ts"
import { stops } from "./Interruption.ts"
import { leavesNothing } from "./Leaks.ts"

type Service = typeof LanguageModel.Service

/** The parts of a request that matter to the model under test. */
export type Prompt = Pick<ModelRequest, "messages"> & Partial<ModelRequest>

export interface LanguageModelCheckOptions extends CheckOptions<LanguageModel> {
  /** A request that is answered with a few words; exactly with `says`, where the model is that predictable. */
  readonly text: { readonly prompt: Prompt; readonly says?: string }
  /** A request that is answered with these tool calls, in this order (names and arguments; the ids are the model's). */
  readonly tools?: { readonly prompt: Prompt; readonly calls: ReadonlyArray<Omit<ModelToolCall, "id">> }
}

/** What every language model must do. */
export const languageModelChecks = (options: LanguageModelCheckOptions): ReadonlyArray<Check> => {
  const tools = bench(LanguageModel, options)
  const { check, eventually, fault, quiet, within } = tools

  const ask = (service: Service, prompt: Prompt, deltas: Array<ModelDelta>) =>
    Effect.suspend(() =>
      service.generate({ callId: "call_conformance", tools: [], variables: {}, ...prompt }, (delta) =>
        deltas.push(delta)
      )
    )
  const answer = (service: Service, prompt: Prompt) =>
    Effect.gen(function* () {
      const deltas: Array<ModelDelta> = []
      yield* within("generate", ask(service, prompt, deltas)).pipe(noError("generate"))
      return deltas
    })
  const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
    deltas.flatMap((delta) => (delta._tag === "Text" ? [delta.text] : [])).join("")
  const callsOf = (deltas: ReadonlyArray<ModelDelta>) =>
    deltas.flatMap((delta) => (delta._tag === "ToolCall" ? [delta.call] : []))

  /** One Done, at the end; Usage at most once, in whole numbers. */
  const wellFormed = (deltas: ReadonlyArray<ModelDelta>) =>
    Effect.gen(function* () {
      const done = deltas.filter(({ _tag }) => _tag === "Done").length
      yield* must(done === 1, `it told Done ${done} times`)
      yield* must(deltas.at(-1)?._tag === "Done", "it told something after Done")
      const usage = deltas.flatMap((delta) => (delta._tag === "Usage" ? [delta] : []))
      yield* must(usage.length <= 1, `it told Usage ${usage.length} times`)
      for (const { inputTokens, outputTokens } of usage) {
        yield* must(
          Number.isInteger(inputTokens) && Number.isInteger(outputTokens) && inputTokens >= 0 && outputTokens >= 0,
          `its Usage is ${inputTokens} and ${outputTokens} tokens`
        )
      }
    })
  const saysText = (deltas: ReadonlyArray<ModelDelta>) =>
    Effect.gen(function* () {
      const text = textOf(deltas)
      yield* must(text.trim() !== "", "it said nothing")
      const { says } = options.text
      yield* must(says === undefined || text === says, `it said "${text}" and not "${says}"`)
    })

  const failsTyped = (service: Service) =>
    Effect.gen(function* () {
      const deltas: Array<ModelDelta> = []
      const outcome = yield* Effect.either(within("generate", ask(service, options.text.prompt, deltas)))
      if (outcome._tag === "Right") return yield* new CheckFailed({ reason: "generate completed as if all were well" })
      if (outcome.left instanceof CheckFailed) return yield* outcome.left
      yield* must(outcome.left instanceof LanguageModelError, `generate failed with ${outcome.left}`)
      const count = deltas.length
      yield* must(!deltas.some(({ _tag }) => _tag === "Done"), "it told Done and then failed")
      yield* quiet
      yield* must(deltas.length === count, "it told something after it had failed")
    })

  const toolChecks = (wanted: NonNullable<LanguageModelCheckOptions["tools"]>): ReadonlyArray<Check> => [
    check("calls tools, complete and in order, each with its own id", (service) =>
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
          "two of its calls share an id, or one has none"
        )
        const done = deltas.find((delta) => delta._tag === "Done")
        yield* must(done?.reason === "tool_calls", `it was done because of "${done?.reason}" and not "tool_calls"`)
      })
    ),
    check("goes on from the results of its tools", (service) =>
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
    check("declares its models", (service) =>
      Effect.gen(function* () {
        yield* must(service.models.length > 0, "it declares no model")
        const discount = service.discount ?? 0
        yield* must(discount >= 0 && discount <= 1, `its discount is ${discount}, not a share from 0 to 1`)
        const health = yield* within("health", service.health)
        yield* must(health.healthy, "it is not healthy")
      })
    ),
    check("answers in order", (service) => Effect.flatMap(answer(service, options.text.prompt), saysText)),
    check("tells Done once, last", (service) => Effect.flatMap(answer(service, options.text.prompt), wellFormed)),
    check("completes after Done and tells nothing afterwards", (service) =>
      Effect.gen(function* () {
        const deltas = yield* answer(service, options.text.prompt)
        const count = deltas.length
        yield* quiet
        yield* must(deltas.length === count, "it told something after it had completed")
      })
    ),
    ...(options.tools === undefined ? [] : toolChecks(options.tools)),
    check("tells nothing after it was interrupted", (service) =>
      Effect.gen(function* () {
        const deltas: Array<ModelDelta> = []
        const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
        yield* eventually("the first delta", () => deltas.length > 0)
        yield* stops(tools, fiber, () => deltas.length)
      })
    ),
    check("keeps two requests at once apart", (service) =>
      Effect.gen(function* () {
        const both = yield* Effect.all([answer(service, options.text.prompt), answer(service, options.text.prompt)], {
          concurrency: 2
        })
        yield* Effect.forEach(both, saysText)
        yield* Effect.forEach(both, wellFormed)
      })
    ),
    check("leaves nothing behind after many requests", (service) =>
      leavesNothing(
        tools,
        options,
        Effect.gen(function* () {
          const deltas: Array<ModelDelta> = []
          const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
          yield* eventually("the first delta", () => deltas.length > 0 || fiber.unsafePoll() !== null)
          yield* within("interrupting generate", Fiber.interrupt(fiber))
        })
      )
    ),
    ...fault(options.faults?.refuses, "peer refuses: fails with a typed error", failsTyped),
    ...fault(options.faults?.hangs, "peer hangs: can be interrupted", (service) =>
      Effect.gen(function* () {
        const deltas: Array<ModelDelta> = []
        const fiber = yield* Effect.forkDaemon(ask(service, options.text.prompt, deltas))
        yield* quiet
        yield* stops(tools, fiber, () => deltas.length)
      })
    ),
    ...fault(options.faults?.closesEarly, "peer closes early: fails with a typed error", failsTyped),
    ...fault(options.faults?.sendsGarbage, "peer sends garbage: fails with a typed error", failsTyped)
  ]
}
