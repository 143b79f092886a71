import * as Http from "node:http"
import { HttpApi } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { ChatApi } from "@svc/api/chat/ChatApi"
import { chatModel } from "@svc/api/chat/ChatCompletion"
import { HandlerRegistry } from "@svc/api/Handlers"
import { RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { Chat } from "@svc/chat/Chat"
import { ChatHttp } from "@svc/chat/ChatHttp"
import { ChatLimits } from "@svc/chat/ChatLimits"
import { ChatSlots } from "@svc/chat/ChatSlots"
import { ChatSlotsRepo } from "@svc/chat/ChatSlotsRepo"
import { NodeLease } from "@svc/cluster/NodeLease"
import { fencedLanguageModel, modelIdleMs } from "@svc/plugin-host/fence/FencedLanguageModel"
import { Providers } from "@svc/providers/Providers"
import { ConfigProvider, Context, Deferred, Effect, Fiber, FiberId, Layer, Logger, TestClock } from "effect"
import { ask } from "../servers/Client.ts"
import { startModelServer } from "../servers/ModelServer.ts"
import { startTiny } from "../servers/TinyServer.ts"

/** A server with chat completions, one at once, by a model that asks a server of the test over HTTP. */
const start = Effect.gen(function* () {
  const upstream = yield* startModelServer
  const model = yield* fencedLanguageModel(upstream.model)
  const unlimited = { admitted: true, limit: null, remaining: null, resetAt: 60, resetIn: 60 }
  const services = yield* Layer.build(
    ChatHttp.pipe(
      Layer.provide(Chat.layer),
      Layer.provideMerge(ChatLimits.layer),
      Layer.provide(ChatSlots.layer),
      Layer.provide(
        Layer.mergeAll(
          Layer.succeed(Providers, {
            plugins: [],
            telephony: [],
            speechToText: [],
            textToSpeech: [],
            languageModel: [model],
            voiceActivity: undefined,
            objectStore: undefined,
            embedding: undefined
          }),
          Layer.succeed(RateLimits, { consume: () => unlimited, peek: () => unlimited, size: () => 0 }),
          Layer.succeed(ChatSlotsRepo, {
            take: () => Effect.succeed(true),
            release: () => Effect.void,
            releaseAllOf: () => Effect.void
          }),
          Layer.mock(NodeLease, {
            current: Effect.succeed({ id: "node_1", lost: Effect.never }),
            others: Effect.succeed(0),
            onDeath: () => Effect.void
          }),
          TierLimits.layer
        )
      ),
      Layer.provideMerge(HandlerRegistry.layer)
    )
  ).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_LIMIT_CHAT_CONCURRENT_ENTERPRISE", "1"]]))))
  const groups = yield* Context.get(services, HandlerRegistry).all
  const { port } = yield* startTiny({ groups, api: HttpApi.make("chat").add(ChatApi) })
  const post = (stream: boolean) =>
    ask(port, { path: "/v1/chat/completions", key: "full", body: JSON.stringify({ ...request, stream }) })
  return { port, post, asked: upstream.asked, running: Context.get(services, ChatLimits).running }
})

const request = {
  model: chatModel,
  messages: [{ role: "user", content: "hello" }],
  stream_options: { include_usage: true }
}
const text = (text: string) => ({ _tag: "Text", text })
const usage = { _tag: "Usage", inputTokens: 3, outputTokens: 2 }
const done = { _tag: "Done", reason: "stop" }

/** The events of a streamed answer. */
const eventsOf = (body: string): ReadonlyArray<unknown> =>
  body
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => (event === "data: [DONE]" ? "[DONE]" : JSON.parse(event.slice("data: ".length))))

const unavailable = (message: unknown) => ({
  code: "UNAVAILABLE",
  message,
  error: { type: "server_error", code: "UNAVAILABLE", param: null, message }
})

/** A streamed completion of which the client has read the first word, and then hangs up. */
const readOneWord = (port: number) => {
  const first = Deferred.unsafeMake<void>(FiberId.none)
  const sent = Http.request({
    host: "127.0.0.1",
    port,
    path: "/v1/chat/completions",
    method: "POST",
    headers: { authorization: "Bearer full" }
  })
  sent.on("response", (response) =>
    response
      .on("error", () => {})
      .on("data", (piece) => {
        if (String(piece).includes("Hel")) Deferred.unsafeDone(first, Effect.void)
      })
  )
  sent.on("error", () => {})
  sent.end(JSON.stringify({ ...request, stream: true }))
  return { first: Deferred.await(first), hangUp: Effect.sync(() => void sent.destroy()) }
}

/** Failures of models are logged. */
const quietly = Effect.provide(Logger.remove(Logger.defaultLogger))

describe("POST /v1/chat/completions", () => {
  /** What one completion left behind does not matter to the next: there is a single place, and it is free. */
  const completes = ({ asked, post, running }: Effect.Effect.Success<typeof start>) =>
    Effect.gen(function* () {
      const answer = yield* Effect.fork(post(false))
      const model = yield* asked
      expect(running(1)).toBe(1)
      yield* model.send(text("Hi."), usage, done)
      model.end()
      const { status, text: body } = yield* answer
      expect([status, JSON.parse(body)]).toMatchObject([
        200,
        { choices: [{ message: { content: "Hi." } }], usage: { prompt_tokens: 3, completion_tokens: 2 } }
      ])
      expect(running(1)).toBe(0)
    })

  it.scoped(
    "is answered 503 with OpenAI's error object when the model sends nothing for 20 seconds, stream or not",
    () =>
      Effect.gen(function* () {
        const server = yield* start
        for (const stream of [false, true]) {
          const answer = yield* Effect.fork(server.post(stream))
          const model = yield* server.asked
          yield* TestClock.adjust(modelIdleMs)
          const { headers, status, text: body } = yield* answer
          expect([status, headers["content-type"]]).toEqual([503, "application/json"])
          expect(JSON.parse(body)).toEqual(unavailable("The language model failed: remote: generated nothing for 20 s"))
          yield* model.closed
        }
        yield* completes(server)
      }).pipe(quietly)
  )

  it.scoped("stops the model and frees its place when the client disconnects, before or after the first word", () =>
    Effect.gen(function* () {
      const server = yield* start
      for (const stream of [false, true]) {
        const answer = yield* Effect.fork(server.post(stream))
        const model = yield* server.asked
        yield* Fiber.interrupt(answer)
        yield* model.closed
        yield* completes(server)
      }
      const reading = readOneWord(server.port)
      const model = yield* server.asked
      yield* model.send(text("Hel"))
      yield* reading.first
      yield* reading.hangUp
      yield* model.closed
      yield* completes(server)
    })
  )

  it.scoped("ends a stream with an error event and without [DONE] when the model breaks off in mid-stream", () =>
    Effect.gen(function* () {
      const server = yield* start
      const answer = yield* Effect.fork(server.post(true))
      const model = yield* server.asked
      yield* model.send(text("Hel"))
      model.cut()
      const { status, text: body } = yield* answer
      expect(status).toBe(200)
      expect(eventsOf(body)).toMatchObject([
        { choices: [{ delta: { role: "assistant" } }] },
        { choices: [{ delta: { content: "Hel" } }] },
        unavailable(expect.stringMatching(/^The language model failed: the connection broke/))
      ])
      yield* completes(server)
    }).pipe(quietly)
  )

  const garbage = [
    {},
    null,
    "text",
    [],
    { _tag: "Text" },
    { _tag: "Text", text: { choices: [] } },
    { _tag: "ToolCall", call: null },
    { _tag: "Usage", inputTokens: "many" },
    { _tag: "Done", reason: 5 }
  ]
  it.scoped("fails when the model sends what is no delta: 503 before the first word, an error event after it", () =>
    Effect.gen(function* () {
      const server = yield* start
      for (const value of garbage) {
        for (const before of [[], [text("Hel")]]) {
          const answer = yield* Effect.fork(server.post(true))
          const model = yield* server.asked
          for (const delta of before) yield* model.send(delta)
          yield* model.send(value)
          const { status, text: body } = yield* answer
          const last = before.length === 0 ? JSON.parse(body) : eventsOf(body).at(-1)
          expect([value, status, last]).toMatchObject([
            value,
            before.length === 0 ? 503 : 200,
            unavailable(expect.stringMatching(/generated something invalid: /))
          ])
          yield* model.closed
        }
        // Without a success in between, the circuit breaker would refuse to ask.
        yield* completes(server)
      }
    }).pipe(quietly)
  )

  it.scoped("cuts a huge delta at 1,000,000 characters, with the finish_reason length, and stops the model", () =>
    Effect.gen(function* () {
      const server = yield* start
      for (const stream of [false, true]) {
        const answer = yield* Effect.fork(server.post(stream))
        const model = yield* server.asked
        yield* Effect.fork(model.send(text("ß".repeat(3_000_000))))
        const { text: body } = yield* answer
        const whole = stream ? eventsOf(body) : [JSON.parse(body)]
        expect(JSON.stringify(whole).match(/ß/g)).toHaveLength(1_000_000)
        expect(body).toContain('"finish_reason":"length"')
        yield* model.closed
      }
      yield* completes(server)
    })
  )
})
