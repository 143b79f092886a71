import { expect, it } from "@effect/vitest"
import type { CommandOf } from "@svc/conversation/Command"
import { healthy } from "@svc/providers/Health"
import { type LanguageModel, LanguageModelError, type ModelDelta } from "@svc/providers/LanguageModel"
import { Clock, type Context, Effect, Exit, TestClock } from "effect"
import * as Generation from "../../src/session/Generation.ts"
import type { ModelUsage } from "../../src/session/ModelUsage.ts"

type Model = Context.Tag.Service<LanguageModel>
type Answer = (onDelta: (delta: ModelDelta) => void) => ReturnType<Model["generate"]>

const request = { messages: [], tools: [] }
const ask = (turn: number, ahead?: string): CommandOf<"AskModel"> => ({
  _tag: "AskModel",
  turn,
  ...request,
  ...(ahead === undefined ? {} : { ahead })
})
const askAhead = (id: string): CommandOf<"AskAhead"> => ({ _tag: "AskAhead", id, ...request })

/** Says each part after `ms`. */
const says =
  (ms: number, ...parts: ReadonlyArray<string>): Answer =>
  (onDelta) =>
    Effect.forEach(
      parts,
      (text) =>
        Effect.delay(
          Effect.sync(() => onDelta({ _tag: "Text", text })),
          ms
        ),
      { discard: true }
    )

/** A generation whose n-th request has the n-th answer; what it reports, and how its requests ended. */
const generationOf = (...answers: ReadonlyArray<Answer>) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    const used: Array<ModelUsage> = []
    const ends: Array<string> = []
    const clock = yield* Effect.clock
    let requests = 0
    const model: Model = {
      id: "scripted",
      models: [],
      health: Effect.succeed(healthy),
      generate: (_, onDelta) =>
        Effect.suspend(() => {
          const n = requests++
          const answer = answers[n] ?? says(0)
          return Effect.onExit(answer(onDelta), (exit) =>
            Effect.sync(() => ends.push(`${n} ${Exit.isInterrupted(exit) ? "Interrupt" : exit._tag}`))
          )
        })
    }
    const generation = yield* Generation.make({
      callId: "call",
      models: [model],
      variables: {},
      now: () => clock.unsafeCurrentTimeMillis(),
      listener: {
        onStarted: (turn) => heard.push(`${turn} started`),
        onSentence: (turn, text) => heard.push(`${turn} ${text}`),
        onToolCalls: (turn, calls) => heard.push(`${turn} calls ${calls.map(({ name }) => name)}`),
        onUsage: (usage) => used.push(usage),
        onDone: (turn) => heard.push(`${turn} done`),
        onFailed: (turn, reason) => heard.push(`${turn} failed: ${reason}`)
      }
    })
    return { generation, heard, used, ends, requests: () => requests }
  })

/** Lets time pass, and everything that is ready run. */
const pass = (ms: number) => Effect.zipRight(Effect.yieldNow(), TestClock.adjust(ms))

it.scoped("a held answer reports nothing until it is adopted, then all that it has given and what follows", () =>
  Effect.gen(function* () {
    const { ends, generation, heard, requests } = yield* generationOf(says(100, "We open at nine. ", "Until six."))
    generation.askAhead(askAhead("a0"))
    yield* pass(150)
    expect(heard).toEqual([])
    generation.ask(ask(7, "a0"))
    expect(heard).toEqual(["7 started", "7 We open at nine."])
    yield* pass(100)
    expect(heard.slice(2)).toEqual(["7 Until six.", "7 done"])
    expect([requests(), ends]).toEqual([1, ["0 Success"]])
  })
)

it.scoped("an answer that was complete while it was held is reported whole", () =>
  Effect.gen(function* () {
    const { generation, heard } = yield* generationOf((onDelta) =>
      Effect.sync(() => {
        onDelta({ _tag: "Text", text: "One moment." })
        onDelta({ _tag: "ToolCall", call: { id: "t", name: "lookup", arguments: {} } })
      })
    )
    generation.askAhead(askAhead("a0"))
    yield* pass(10)
    generation.ask(ask(1, "a0"))
    expect(heard).toEqual(["1 started", "1 One moment.", "1 calls lookup", "1 done"])
  })
)

it.scoped("the usage of a held answer counts also when it is dropped, and the request in its place", () =>
  Effect.gen(function* () {
    const { generation, used } = yield* generationOf((onDelta) =>
      Effect.zipRight(
        Effect.sync(() => onDelta({ _tag: "Usage", inputTokens: 40, outputTokens: 2 })),
        Effect.fail(new LanguageModelError({ reason: "503", retryable: true }))
      )
    )
    generation.askAhead(askAhead("a0"))
    yield* pass(10)
    // It failed, so the model is asked again.
    generation.ask(ask(1, "a0"))
    expect(used).toEqual([
      { input_tokens: 40, cached_input_tokens: 0, output_tokens: 2 },
      { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, is_retry: true }
    ])
  })
)

it.scoped("an adopted answer can be canceled, and another be held beside it", () =>
  Effect.gen(function* () {
    const { ends, generation, heard } = yield* generationOf(says(100, "One. ", "Two."), says(100, "Other."))
    generation.askAhead(askAhead("a0"))
    yield* pass(10)
    generation.ask(ask(1, "a0"))
    generation.askAhead(askAhead("a1"))
    yield* pass(10)
    generation.cancel()
    yield* pass(150)
    expect(heard).toEqual([])
    generation.ask(ask(2, "a1"))
    expect(heard).toEqual(["2 started", "2 Other.", "2 done"])
    expect(ends).toEqual(["0 Interrupt", "1 Success"])
  })
)

it.scoped("a held answer that is dropped, or replaced, is interrupted and reports nothing", () =>
  Effect.gen(function* () {
    const { ends, generation, heard } = yield* generationOf(says(100, "One."), says(100, "Two."), says(0, "Three."))
    generation.askAhead(askAhead("a0"))
    yield* pass(10)
    generation.askAhead(askAhead("a1"))
    yield* pass(10)
    generation.dropAhead()
    yield* pass(500)
    expect(ends).toEqual(["0 Interrupt", "1 Interrupt"])
    generation.ask(ask(1, "a1"))
    yield* pass(10)
    expect(heard).toEqual(["1 started", "1 Three.", "1 done"])
  })
)

it.scoped.each<[string, Answer, number]>([
  ["failed", () => Effect.fail(new LanguageModelError({ reason: "broken", retryable: true })), 10],
  ["has a bug", () => Effect.die(new Error("bug")), 10],
  ["hangs", () => Effect.never, Generation.silentMs],
  [
    "is longer than what is held",
    (onDelta) =>
      Effect.zipRight(
        Effect.sync(() => onDelta({ _tag: "Text", text: "word ".repeat(10_000) })),
        Effect.never
      ),
    10
  ],
  [
    "has longer tool calls than what is held",
    (onDelta) =>
      Effect.zipRight(
        Effect.sync(() => {
          const call = { id: "t", name: "lookup", arguments: { text: "x".repeat(Generation.maxHeld) } }
          onDelta({ _tag: "ToolCall", call })
        }),
        Effect.never
      ),
    10
  ]
])("a held answer that %s is not adopted: the model is asked again", ([, answer, ms]) =>
  Effect.gen(function* () {
    const { ends, generation, heard } = yield* generationOf(answer, says(10, "Yes."))
    generation.askAhead(askAhead("a0"))
    yield* pass(ms)
    generation.ask(ask(1, "a0"))
    yield* pass(20)
    expect(heard).toEqual(["1 started", "1 Yes.", "1 done"])
    expect(ends.length).toBe(2)
    expect(yield* Clock.currentTimeMillis).toBe(ms + 20)
  })
)

it.scoped("an answer that is not held here, as after a restart, is asked for", () =>
  Effect.gen(function* () {
    const { generation, heard } = yield* generationOf(says(10, "Yes."))
    generation.ask(ask(1, "a4"))
    yield* pass(20)
    expect(heard).toEqual(["1 started", "1 Yes.", "1 done"])
  })
)

const callOf = (id: string, name: string, args: { readonly [name: string]: unknown } = {}): ModelDelta => ({
  _tag: "ToolCall",
  call: { id, name, arguments: args }
})

it.scoped("each tool call is reported when it is complete, after the text before it and before the text after it", () =>
  Effect.gen(function* () {
    const { generation, heard } = yield* generationOf((onDelta) =>
      Effect.gen(function* () {
        onDelta({ _tag: "Text", text: "One moment" })
        onDelta(callOf("a", "lookup"))
        onDelta({ _tag: "Text", text: "And the depot. " })
        onDelta(callOf("b", "slow"))
        yield* Effect.sleep(2000)
        onDelta({ _tag: "Text", text: "Soon" })
      })
    )
    generation.ask(ask(1))
    yield* pass(10)
    expect(heard).toEqual(["1 started", "1 One moment", "1 calls lookup", "1 And the depot.", "1 calls slow"])
    yield* pass(2000)
    expect(heard.slice(5)).toEqual(["1 Soon", "1 done"])
  })
)

it.scoped("end_call and large arguments wait for the end of the answer, and with them the calls that follow", () =>
  Effect.gen(function* () {
    const { generation, heard } = yield* generationOf((onDelta) =>
      Effect.gen(function* () {
        onDelta(callOf("a", "lookup"))
        onDelta(callOf("b", "store", { text: "x".repeat(20_000) }))
        onDelta(callOf("c", "lookup"))
        onDelta(callOf("d", "end_call"))
        onDelta({ _tag: "Text", text: "Goodbye." })
        yield* Effect.sleep(100)
      })
    )
    generation.ask(ask(1))
    yield* pass(10)
    expect(heard).toEqual(["1 started", "1 calls lookup"])
    yield* pass(100)
    while (!heard.includes("1 done")) yield* Effect.yieldNow()
    expect(heard.slice(2)).toEqual(["1 Goodbye.", "1 calls store,lookup,end_call", "1 done"])
  })
)
