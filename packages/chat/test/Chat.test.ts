import { describe, expect, it } from "@effect/vitest"
import { chatModel } from "@svc/api/chat/ChatCompletion"
import type { ChatRequest } from "@svc/api/chat/ChatRequest"
import { type EventStream, Streamed } from "@svc/api/EventStream"
import { newOrgId } from "@svc/api/Ids"
import type { BodyWriter } from "@svc/api/PlainRoutes"
import type { Tier } from "@svc/api/Principal"
import { RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { NodeLease } from "@svc/cluster/NodeLease"
import { healthy } from "@svc/providers/Health"
import {
  type LanguageModel,
  LanguageModelError,
  type ModelDelta,
  type ModelRequest
} from "@svc/providers/LanguageModel"
import { Providers } from "@svc/providers/Providers"
import { type Context, Deferred, Effect, Exit, Fiber, Layer, Option, TestClock } from "effect"
import { Chat } from "../src/Chat.ts"
import { ChatLimits } from "../src/ChatLimits.ts"
import { ChatSlots } from "../src/ChatSlots.ts"
import { ChatSlotsRepo } from "../src/ChatSlotsRepo.ts"

type Model = Context.Tag.Service<LanguageModel>

const modelOf = (id: string, generate: Model["generate"]): Model => ({
  id,
  models: [id],
  health: Effect.succeed(healthy),
  generate
})

/** A model that emits these deltas at once and completes. */
const saying = (id: string, ...deltas: ReadonlyArray<ModelDelta>): Model =>
  modelOf(id, (_, onDelta) => Effect.sync(() => deltas.forEach(onDelta)))

const failing = (id: string, ...before: ReadonlyArray<ModelDelta>): Model =>
  modelOf(id, (_, onDelta) =>
    Effect.suspend(() => {
      before.forEach(onDelta)
      return new LanguageModelError({ reason: `${id} is broken`, retryable: true })
    })
  )

const text = (text: string): ModelDelta => ({ _tag: "Text", text })
const done: ModelDelta = { _tag: "Done", reason: "stop" }
const call = (id: string, name = "f"): ModelDelta => ({ _tag: "ToolCall", call: { id, name, arguments: {} } })

/** Beside so many other servers, of which a slot that is given back is known when `release` completes. */
const withOthers = (others: number, release: Effect.Effect<void>, ...languageModel: ReadonlyArray<Model>) =>
  Effect.provide(
    Chat.layer.pipe(
      Layer.provideMerge(ChatLimits.layer),
      Layer.provide(ChatSlots.layer),
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(Providers, {
            plugins: [],
            telephony: [],
            speechToText: [],
            textToSpeech: [],
            languageModel,
            voiceActivity: undefined,
            objectStore: undefined,
            embedding: undefined
          }),
          TierLimits.layer,
          Layer.succeed(ChatSlotsRepo, {
            take: () => Effect.succeed(true),
            release: () => release,
            releaseAllOf: () => Effect.void
          }),
          Layer.mock(NodeLease, {
            current: Effect.succeed({ id: "node_1", lost: Effect.never }),
            others: Effect.succeed(others),
            onDeath: () => Effect.void
          }),
          Layer.succeed(RateLimits, {
            consume: (_, limit) => ({ admitted: true, limit, remaining: limit, resetAt: 60, resetIn: 60 }),
            peek: () => ({ admitted: true, limit: null, remaining: null, resetAt: 60, resetIn: 60 }),
            size: () => 0
          })
        )
      )
    )
  )

const withModels = (...languageModel: ReadonlyArray<Model>) => withOthers(0, Effect.void, ...languageModel)

const orgOf = (tier: Tier) => Effect.map(newOrgId, (public_id) => ({ id: 1, public_id, tier }))

const body: ChatRequest = { model: chatModel, messages: [{ role: "user", content: "hello" }] }
const tools: ChatRequest["tools"] = [{ type: "function", function: { name: "f" } }]

/** A client that reads everything at once, or with `take` one that is behind, and reads each piece when that allows it. */
const client = (take?: (piece: string) => Effect.Effect<void>) => {
  const pieces: Array<string> = []
  const writer: BodyWriter = {
    write: (piece) => {
      pieces.push(String(piece))
      return take === undefined ? Effect.void : take(String(piece))
    },
    push: (piece) => void pieces.push(String(piece)),
    isBehind: () => take !== undefined,
    isStopping: () => false
  }
  const outcomes: Array<"ended" | "cut"> = []
  const stream: Context.Tag.Service<EventStream> = {
    open: () => ({ ...writer, end: () => void outcomes.push("ended"), cut: () => void outcomes.push("cut") })
  }
  const events = () =>
    pieces
      .join("")
      .split("\n\n")
      .filter((event) => event !== "")
      .map((event): unknown => (event === "data: [DONE]" ? "[DONE]" : JSON.parse(event.slice("data: ".length))))
  return { stream, pieces, outcomes, events }
}

const complete = (request: ChatRequest = body, stream = client().stream) =>
  Effect.gen(function* () {
    const chat = yield* Chat
    return yield* chat.complete(yield* orgOf("payg"), request, stream)
  })

describe("fallback", () => {
  it.effect("the next model answers when one fails before its first word", () =>
    Effect.gen(function* () {
      expect(yield* complete()).toMatchObject({
        system_fingerprint: "fp_second",
        choices: [{ message: { content: "Hi." } }]
      })
    }).pipe(withModels(failing("first"), saying("second", text("Hi."), done)))
  )

  it.effect("a crash of a model is a failure too, and its details are not shown", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(complete())
      expect(error).toMatchObject({ code: "UNAVAILABLE", message: "The language model failed: it crashed" })
    }).pipe(withModels(modelOf("first", () => Effect.die(new Error("secret")))))
  )

  it.effect("a model that fails after its first word is not replaced: the stream ends with the error", () =>
    Effect.gen(function* () {
      const { events, stream } = client()
      yield* complete({ ...body, stream: true }, stream)
      const [first, second, last, ...more] = events()
      expect([first, second]).toMatchObject([
        { choices: [{ delta: { role: "assistant" } }] },
        { choices: [{ delta: { content: "Hel" } }] }
      ])
      expect(last).toMatchObject({
        code: "UNAVAILABLE",
        error: { type: "server_error", message: "The language model failed: first is broken" }
      })
      expect(more).toEqual([])
    }).pipe(
      withModels(
        modelOf("first", (_, onDelta) =>
          Effect.sync(() => onDelta(text("Hel"))).pipe(
            Effect.zipRight(Effect.yieldNow()),
            Effect.zipRight(Effect.yieldNow()),
            Effect.zipRight(Effect.yieldNow()),
            Effect.zipRight(Effect.yieldNow()),
            Effect.zipRight(Effect.fail(new LanguageModelError({ reason: "first is broken", retryable: true })))
          )
        ),
        saying("second", text("Hi."), done)
      )
    )
  )

  it.effect("without a language model the answer is 503 and says what to do", () =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(complete())).message).toMatch(/SVC_PLUGINS/)
      expect((yield* Chat).isAvailable).toBe(false)
    }).pipe(withModels())
  )
})

describe("the model's request", () => {
  it.effect("is refused when the arguments of a tool call exceed the limits of JSON or are no object", () =>
    Effect.gen(function* () {
      const withArguments = (json: string): ChatRequest => ({
        model: chatModel,
        messages: [
          {
            role: "assistant",
            tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: json } }]
          },
          { role: "tool", tool_call_id: "c1", content: "1" }
        ]
      })
      const field = "messages.0.tool_calls.0.function.arguments"
      const refused = (json: string) => Effect.flip(complete(withArguments(json)))
      expect(yield* refused(`{"a":[${"0,".repeat(20_000)}0]}`)).toMatchObject({
        details: { [field]: `${field} has more than 10000 values` }
      })
      for (const json of ["[1]", "{", "null"]) {
        expect(yield* refused(json)).toMatchObject({ details: { [field]: `${field} must be a JSON object as text` } })
      }
      expect(yield* complete(withArguments(`{"a":[${"0,".repeat(9000)}0]}`))).toMatchObject({
        object: "chat.completion"
      })
      expect(yield* complete(withArguments(""))).toMatchObject({ object: "chat.completion" })
    }).pipe(withModels(saying("one", text("Hi"), done)))
  )

  it.effect("has the parameters, instructions as system messages, and the names of called tools", () =>
    Effect.gen(function* () {
      const seen: Array<ModelRequest> = []
      const spy = modelOf("spy", (request, onDelta) =>
        Effect.sync(() => {
          seen.push(request)
          onDelta(done)
        })
      )
      yield* complete({
        model: chatModel,
        messages: [
          {
            role: "developer",
            content: [
              { type: "text", text: "Be " },
              { type: "text", text: "brief." }
            ]
          },
          { role: "user", content: "hello" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } }]
          },
          { role: "tool", tool_call_id: "c1", content: "ok" }
        ],
        tools,
        tool_choice: "required",
        temperature: 0,
        top_p: 0.5,
        max_tokens: 10,
        max_completion_tokens: 20,
        response_format: { type: "json_object" }
      }).pipe(withModels(spy))
      expect(seen).toEqual([
        {
          callId: expect.stringMatching(/^chatcmpl-/),
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "hello" },
            { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "f", arguments: { a: 1 } }] },
            { role: "tool", tool_call_id: "c1", name: "f", content: "ok" }
          ],
          tools: [{ name: "f", description: "", parameters: { type: "object", properties: {} } }],
          variables: {},
          toolChoice: "required",
          temperature: 0,
          topP: 0.5,
          maxOutputTokens: 20,
          responseSchema: { type: "object" }
        }
      ])
    })
  )
})

describe("the answer", () => {
  it.effect("has the usage with cached tokens, and none when the model reports none", () =>
    Effect.gen(function* () {
      const usage: ModelDelta = { _tag: "Usage", inputTokens: 10, outputTokens: 3, cachedInputTokens: 8 }
      expect(yield* complete().pipe(withModels(saying("m", text("Hi."), usage, done)))).toMatchObject({
        usage: {
          prompt_tokens: 10,
          completion_tokens: 3,
          total_tokens: 13,
          prompt_tokens_details: { cached_tokens: 8 }
        }
      })
      expect(yield* complete().pipe(withModels(saying("m", text("Hi."), done)))).not.toHaveProperty("usage")
    })
  )

  it.effect("has one tool call when parallel_tool_calls is false, and none of a tool that was not offered", () =>
    Effect.gen(function* () {
      const answer = yield* complete({ ...body, tools, parallel_tool_calls: false })
      expect(answer).toMatchObject({
        choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{ id: "2" }] } }]
      })
      expect(yield* complete()).toMatchObject({ choices: [{ finish_reason: "stop", message: { content: "" } }] })
    }).pipe(withModels(saying("m", call("1", "g"), call("2"), call("3"), { _tag: "Done", reason: "tool_calls" })))
  )

  it.effect("streams several tool calls by index", () =>
    Effect.gen(function* () {
      const { events, stream } = client()
      yield* complete({ ...body, tools, stream: true }, stream)
      expect(events()).toMatchObject([
        { choices: [{ delta: { role: "assistant" } }] },
        { choices: [{ delta: { tool_calls: [{ index: 0, id: "1", type: "function" }] } }] },
        { choices: [{ delta: { tool_calls: [{ index: 1, id: "2", function: { name: "f", arguments: "{}" } }] } }] },
        { choices: [{ finish_reason: "tool_calls" }] },
        "[DONE]"
      ])
    }).pipe(withModels(saying("m", call("1"), call("2"), { _tag: "Done", reason: "tool_calls" })))
  )

  it.effect("ends at a stop text that arrives in pieces, and the model is stopped", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const endless = modelOf("endless", (_, onDelta) =>
        Effect.sync(() => ["a <", "b <e", "n", "d> c"].map(text).forEach(onDelta)).pipe(
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )
      )
      const answer = yield* complete({ ...body, stop: ["<end>", "zzz"] }).pipe(withModels(endless))
      expect(answer).toMatchObject({
        choices: [{ finish_reason: "stop", message: { content: "a <b " } }],
        // The model has not counted: 5 and 5 characters.
        usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 }
      })
      yield* Deferred.await(stopped)
    })
  )

  it.effect("that ended at a stop text is not asked of the next model when its own fails afterwards", () =>
    Effect.gen(function* () {
      let asked = 0
      const next = modelOf("second", () => Effect.sync(() => void asked++))
      const answer = yield* complete({ ...body, stop: "STOP" }).pipe(withModels(failing("first", text("STOP")), next))
      expect(answer).toMatchObject({ system_fingerprint: "fp_first", choices: [{ message: { content: "" } }] })
      expect(asked).toBe(0)
    })
  )

  it.effect("has what looked like a stop text at its end", () =>
    Effect.gen(function* () {
      const answer = yield* complete({ ...body, stop: "<end>" })
      expect(answer).toMatchObject({ choices: [{ message: { content: "a <en" } }] })
    }).pipe(withModels(saying("m", text("a <en"), done)))
  )

  it.effect("ends after 10 minutes, however steadily it grows", () =>
    Effect.gen(function* () {
      const steady = modelOf("steady", (_, onDelta) =>
        Effect.forever(
          Effect.zipRight(
            Effect.sync(() => onDelta(text("a"))),
            Effect.sleep("10 seconds")
          )
        )
      )
      const running = yield* Effect.fork(Effect.flip(complete().pipe(withModels(steady))))
      yield* TestClock.adjust("11 minutes")
      expect(yield* Fiber.join(running)).toMatchObject({ code: "UNAVAILABLE", message: /10 minutes/ })
    })
  )
})

describe("a running completion", () => {
  it.effect("stops its model and frees its slot when it is interrupted, before or after the first word", () =>
    Effect.gen(function* () {
      for (const first of [[], [text("Hel")]]) {
        for (const stream of [false, true]) {
          const begun = yield* Deferred.make<void>()
          const stopped = yield* Deferred.make<void>()
          const hanging = modelOf("hanging", (_, onDelta) =>
            Effect.sync(() => first.forEach(onDelta)).pipe(
              Effect.zipRight(Deferred.succeed(begun, undefined)),
              Effect.zipRight(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
            )
          )
          yield* Effect.gen(function* () {
            const limits = yield* ChatLimits
            const running = yield* Effect.fork(complete({ ...body, stream }))
            yield* Deferred.await(begun)
            expect(limits.running(1)).toBe(1)
            yield* Fiber.interrupt(running)
            yield* Deferred.await(stopped)
            expect(limits.running(1)).toBe(0)
          }).pipe(withModels(hanging))
        }
      }
    })
  )

  /** A model that says a word and goes on; `stopped` completes when it was interrupted. */
  const endless = Effect.map(Deferred.make<void>(), (stopped) => ({
    stopped: Deferred.await(stopped),
    model: modelOf("endless", (_, onDelta) =>
      Effect.sync(() => onDelta(text("Hel"))).pipe(
        Effect.zipRight(Effect.never),
        Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
      )
    )
  }))

  it.effect(
    "stops its model and frees its slot when the client is gone at the first word, or its head is refused",
    () =>
      Effect.gen(function* () {
        const refused = new Error("invalid header")
        const heads: ReadonlyArray<[Context.Tag.Service<EventStream>["open"], Exit.Exit<unknown, unknown>]> = [
          [() => undefined, Exit.succeed(new Streamed())],
          [
            () => {
              throw refused
            },
            Exit.die(refused)
          ]
        ]
        for (const [open, outcome] of heads) {
          const { model, stopped } = yield* endless
          yield* Effect.gen(function* () {
            expect(yield* Effect.exit(complete({ ...body, stream: true }, { open }))).toEqual(outcome)
            yield* stopped
            expect((yield* ChatLimits).running(1)).toBe(0)
          }).pipe(withModels(model))
        }
      })
  )

  it.effect("stops its model at a stop text, also while the client is slow", () =>
    Effect.gen(function* () {
      const stopped = yield* Deferred.make<void>()
      const model = modelOf("m", (_, onDelta) =>
        Effect.sync(() => onDelta(text("Hel"))).pipe(
          Effect.zipRight(Effect.sleep("1 second")),
          Effect.zipRight(Effect.sync(() => onDelta(text("lo STOP and more")))),
          Effect.zipRight(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )
      )
      const { stream } = client(() => Effect.never)
      const running = yield* Effect.fork(
        complete({ ...body, stream: true, stop: "STOP" }, stream).pipe(withModels(model))
      )
      yield* TestClock.adjust("2 seconds")
      yield* Deferred.await(stopped)
      expect(yield* running.poll).toEqual(Option.none())
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("cuts the stream when it is interrupted, also while it waits for a slow client", () =>
    Effect.gen(function* () {
      for (const take of [undefined, () => Effect.never]) {
        const { model, stopped } = yield* endless
        const { outcomes, pieces, stream } = client(take)
        const running = yield* Effect.fork(complete({ ...body, stream: true }, stream).pipe(withModels(model)))
        yield* Effect.repeat(Effect.yieldNow(), { until: () => pieces.length > 0 })
        yield* Fiber.interrupt(running)
        yield* stopped
        expect(outcomes).toEqual(["cut"])
      }
    })
  )

  it.effect("beyond the tier's number is refused with AI_CONCURRENT_LIMIT_EXCEEDED", () =>
    Effect.gen(function* () {
      const running = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.fork(complete()))
      yield* Effect.yieldNow()
      const error = yield* Effect.flip(complete())
      expect(error).toMatchObject({ code: "AI_CONCURRENT_LIMIT_EXCEEDED", retryAfter: 1 })
      expect(error.message).toMatch(/payg has 5/)
      yield* Fiber.interruptAll(running)
      expect((yield* ChatLimits).running(1)).toBe(0)
    }).pipe(withModels(modelOf("hanging", () => Effect.never)))
  )

  it.effect("streams the words at once, and the last events when other servers know the end, or after a second", () =>
    Effect.gen(function* () {
      const { events, stream } = client()
      const running = yield* Effect.fork(complete({ ...body, stream: true }, stream))
      yield* TestClock.adjust("999 millis")
      expect(events()).toMatchObject([
        { choices: [{ delta: { role: "assistant" } }] },
        { choices: [{ delta: { content: "Hi." } }] }
      ])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(running)
      expect(events().slice(2)).toMatchObject([{ choices: [{ finish_reason: "stop" }] }, "[DONE]"])
    }).pipe(withOthers(1, Effect.never, saying("m", text("Hi."), done)))
  )

  it.effect("sends a slow client longer texts, and cuts off one that reads nothing for 30 seconds", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const taken = yield* Deferred.make<void>()
      const words = modelOf("words", (_, onDelta) =>
        Effect.sync(() => onDelta(text("0"))).pipe(
          Effect.zipRight(Deferred.await(taken)),
          Effect.zipRight(
            Effect.sync(() => {
              for (let n = 1; n < 10; n++) onDelta(text(`${n}`))
              onDelta(done)
            })
          ),
          Effect.zipRight(Deferred.succeed(go, undefined))
        )
      )
      const slow = client((piece) =>
        piece.includes('"content":"0"')
          ? Effect.zipRight(Deferred.succeed(taken, undefined), Deferred.await(go))
          : Effect.void
      )
      yield* complete({ ...body, stream: true }, slow.stream).pipe(withModels(words))
      expect(slow.events().slice(1, 3)).toMatchObject([
        { choices: [{ delta: { content: "0" } }] },
        { choices: [{ delta: { content: "123456789" } }] }
      ])
      const stalled = client(() => Effect.never)
      const running = yield* Effect.fork(
        complete({ ...body, stream: true }, stalled.stream).pipe(withModels(saying("m", text("Hi."), done)))
      )
      yield* TestClock.adjust("31 seconds")
      yield* Fiber.join(running)
      expect(stalled.outcomes).toEqual(["cut"])
    })
  )
})
