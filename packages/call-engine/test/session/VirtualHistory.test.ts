import { expect, it } from "@effect/vitest"
import { type LanguageModel, LanguageModelError, type ModelRequest } from "@svc/providers/LanguageModel"
import { type Context, Effect } from "effect"
import { configuration } from "../doubles/Engine.ts"
import { during } from "../doubles/VirtualProviders.ts"

/** Whole calls in virtual time whose history is larger than the context of the model. */

type Model = Context.Tag.Service<LanguageModel>

const answer = configuration({ otherwise: "Ok." }, { first_message: `${"A long greeting. ".repeat(6)}` }).json

const isSummary = ({ messages }: ModelRequest): boolean => messages[0]?.content.includes("Sum it up") === true

/** A model with a small context; `sumUp` answers requests for a summary. */
const small = (model: Model, requests: Array<ModelRequest>, sumUp: Model["generate"]): Model => ({
  ...model,
  contextTokens: () => 1500,
  alternatingRoles: true,
  generate: (request, onDelta) => {
    requests.push(request)
    if (isSummary(request)) return sumUp(request, onDelta)
    return Effect.sync(() => {
      onDelta({ _tag: "Text", text: "One, two, three, four, five, six, seven, eight." })
      onDelta({ _tag: "Usage", inputTokens: 10, outputTokens: 1 })
      onDelta({ _tag: "Done", reason: "stop" })
    })
  }
})

const callWith = (sumUp: Model["generate"]) =>
  Effect.gen(function* () {
    const requests: Array<ModelRequest> = []
    const { state } = yield* during(
      ({ languageModel: [model] }) => ({ languageModel: model === undefined ? [] : [small(model, requests, sumUp)] }),
      ({ say, wait }) =>
        Effect.gen(function* () {
          yield* wait("20 seconds")
          for (const words of ["One", "Two", "Three", "Four", "Five"]) {
            yield* say(words)
            yield* wait("4 seconds")
          }
          yield* wait("5 seconds")
        }),
      answer
    )
    return { requests, state }
  })

it.effect("a summary stands for what left, its usage counts, and roles alternate as the model asks", () =>
  Effect.gen(function* () {
    const { requests, state } = yield* callWith((_, onDelta) =>
      Effect.sync(() => {
        onDelta({ _tag: "Text", text: "<think>Hm.</think>They counted to one." })
        onDelta({ _tag: "Usage", inputTokens: 700, outputTokens: 9 })
        onDelta({ _tag: "Done", reason: "stop" })
      })
    )
    const summaries = requests.filter(isSummary)
    expect(summaries.length).toBeGreaterThan(0)
    expect(state.history.summary).toBe("They counted to one.")
    expect(state.usage.llm.input_tokens).toBe(700 * summaries.length + 10 * (requests.length - summaries.length))
    expect(state.usage.llm.requests).toBe(requests.length)
    for (const { messages } of requests) {
      expect(messages.slice(1).map(({ role }) => role)).toEqual(
        messages.slice(1).map((_, index) => (index % 2 === 0 ? "user" : "assistant"))
      )
    }
    expect(requests.at(-1)?.messages[1]?.content).toContain("They counted to one.")
  })
)

it.effect("a summary that hangs or fails does not delay an answer, and does not end the call", () =>
  Effect.gen(function* () {
    const failing = [
      () => Effect.never,
      () => Effect.fail(new LanguageModelError({ reason: "503", retryable: true })),
      () => Effect.die(new Error("boom"))
    ]
    for (const sumUp of failing) {
      const { requests, state } = yield* callWith(sumUp)
      expect(requests.filter(isSummary).length).toBeGreaterThan(0)
      expect(state.transcript.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
        "One",
        "Two",
        "Three",
        "Four",
        "Five"
      ])
      expect(state.history.summary).toBeNull()
      expect(state.outcome?.status).toBe("completed")
    }
  })
)
