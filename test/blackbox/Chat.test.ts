import { assert, describe, expect, layer } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Chunk, Context, Effect, Layer, Redacted, Stream } from "effect"
import OpenAI from "openai"
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

/** Chat completions with OpenAI's own client, unchanged. */

class Server extends Context.Tag("@svc/test/ChatServer")<
  Server,
  ServerProcess.ServerProcess & { readonly client: OpenAI }
>() {
  static readonly layer = Layer.scoped(
    Server,
    Effect.gen(function* () {
      const url = yield* TestDatabase.freshUrl
      const keys = yield* ServerProcess.newKeys
      const server = yield* ServerProcess.start({
        data: { url },
        keys,
        env: { SVC_LIMIT_CHAT_CONCURRENT_ENTERPRISE: "2" }
      })
      return { ...server, client: clientOf(server.url, keys.project) }
    })
  )
}

const clientOf = (url: string, key: Redacted.Redacted, headers: Record<string, string> = {}) =>
  new OpenAI({ apiKey: Redacted.value(key), baseURL: `${url}/v1`, maxRetries: 0, defaultHeaders: headers })

const model = "svc-ki-1.0"

/** A system message with a script of the simulated model. */
const script = (content: unknown): ChatCompletionMessageParam => ({
  role: "system",
  content: `\`\`\`script\n${JSON.stringify(content)}\n\`\`\``
})

const user = (content: string): ChatCompletionMessageParam => ({ role: "user", content })

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } } }
  }
} as const

const weatherScript = script({
  rules: [
    { user: "weather in (\\w+)", say: "Let me see.", tool: "weather", arguments: { city: "$1" } },
    { tool_result: "weather", say: "It is {{result.sky}}." }
  ]
})

const ask = <A>(request: (signal: AbortSignal) => PromiseLike<A>) => Effect.tryPromise((signal) => request(signal))

/** The error that the client throws. */
const failure = (request: (signal: AbortSignal) => PromiseLike<unknown>) =>
  Effect.map(Effect.flip(ask(request)), ({ error }) => {
    assert(error instanceof OpenAI.APIError, String(error))
    return error
  })

const collect = <A>(items: AsyncIterable<A>) =>
  Stream.fromAsyncIterable(items, (cause) => new Error(String(cause), { cause })).pipe(
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray)
  )

layer(Server.layer, { timeout: 90_000, excludeTestServices: true })("chat completions with the openai client", (it) => {
  it.effect("chat.completions.create answers with a completion and its usage", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const answer = yield* ask(() =>
        client.chat.completions.create({
          model,
          messages: [
            { role: "developer", content: "Be brief." },
            {
              role: "user",
              content: [
                { type: "text", text: "hello " },
                { type: "text", text: "there" }
              ],
              name: "Ann"
            }
          ],
          temperature: 0.5,
          top_p: 1,
          n: 1,
          seed: 5,
          user: "somebody",
          response_format: { type: "text" }
        })
      )
      expect(answer).toEqual({
        id: expect.stringMatching(/^chatcmpl-[0-9a-z]{24}$/),
        object: "chat.completion",
        created: expect.any(Number),
        model,
        system_fingerprint: "fp_simulated",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "You said: hello there", refusal: null },
            logprobs: null,
            finish_reason: "stop"
          }
        ],
        usage: { prompt_tokens: 6, completion_tokens: 6, total_tokens: 12, prompt_tokens_details: { cached_tokens: 0 } }
      })
    })
  )

  it.effect("stream sends the role first, then text as it comes, the reason, the usage, and [DONE]", () =>
    Effect.gen(function* () {
      const { api, client } = yield* Server
      const body: OpenAI.ChatCompletionCreateParamsStreaming = {
        model,
        messages: [script({ otherwise: "one two three", tokens_per_second: 20 }), user("count")],
        stream: true,
        stream_options: { include_usage: true }
      }
      const chunks = yield* collect(yield* ask(() => client.chat.completions.create(body)))
      expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
        { role: "assistant", content: "" },
        { content: "one " },
        { content: "two " },
        { content: "three" },
        {},
        undefined
      ])
      expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([
        null,
        null,
        null,
        null,
        "stop",
        undefined
      ])
      expect(chunks.map(({ usage }) => usage?.completion_tokens)).toEqual([...new Array(5).fill(undefined), 4])
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
      const raw = yield* api.post("/v1/chat/completions", body)
      expect(raw.headers.get("content-type")).toBe("text/event-stream; charset=utf-8")
      expect(raw.text.endsWith("\n\ndata: [DONE]\n\n")).toBe(true)
    })
  )

  it.effect("tools are called, also in a stream, and their results are answered", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const messages = [weatherScript, user("the weather in Ghent")]
      const first = yield* ask(() => client.chat.completions.create({ model, messages, tools: [weather] }))
      const message = first.choices[0]?.message
      assert(message !== undefined)
      expect(first.choices[0]?.finish_reason).toBe("tool_calls")
      expect(message).toMatchObject({
        content: "Let me see.",
        tool_calls: [{ type: "function", function: { name: "weather", arguments: '{"city":"Ghent"}' } }]
      })
      const streamed = client.chat.completions.stream({ model, messages, tools: [weather] })
      expect(yield* ask(() => streamed.finalMessage())).toMatchObject({ tool_calls: message.tool_calls })
      const tool_call_id = message.tool_calls?.[0]?.id ?? ""
      const second = yield* ask(() =>
        client.chat.completions.create({
          model,
          messages: [...messages, message, { role: "tool", tool_call_id, content: '{"sky":"clear"}' }],
          tools: [weather]
        })
      )
      expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "It is clear." } })
    })
  )

  it.effect("tool_choice none hides the tools, required and a named tool demand a call", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const choose = (tool_choice: OpenAI.ChatCompletionToolChoiceOption) =>
        Effect.map(
          ask(() =>
            client.chat.completions.create({ model, messages: [user("hello")], tools: [weather], tool_choice })
          ),
          ({ choices }) => choices[0]
        )
      const none = yield* ask(() =>
        client.chat.completions.create({
          model,
          messages: [weatherScript, user("weather in Ghent")],
          tools: [weather],
          tool_choice: "none"
        })
      )
      expect(none.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "Let me see." } })
      expect(none.choices[0]?.message.tool_calls).toBeUndefined()
      for (const choice of ["required", { type: "function", function: { name: "weather" } }] as const) {
        expect(yield* choose(choice)).toMatchObject({
          finish_reason: "tool_calls",
          message: { content: null, tool_calls: [{ function: { name: "weather" } }] }
        })
      }
    })
  )

  it.effect("response_format json_schema gives an object of the schema", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const schema = { type: "object", properties: { people: { type: "integer" } }, required: ["people"] }
      const answer = yield* ask(() =>
        client.chat.completions.parse({
          model,
          messages: [script({ extract: { people: "for (\\d+)" } }), user("a table for 4")],
          response_format: { type: "json_schema", json_schema: { name: "booking", schema, strict: true } }
        })
      )
      expect(answer.choices[0]?.message.parsed).toEqual({ people: 4 })
    })
  )

  it.effect("max_completion_tokens and stop end the answer", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const messages = [script({ otherwise: "first line\nsecond line" }), user("read")]
      const short = yield* ask(() => client.chat.completions.create({ model, messages, max_completion_tokens: 2 }))
      expect(short.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "first li" } })
      const stopped = yield* ask(() => client.chat.completions.create({ model, messages, stop: ["\n", "no"] }))
      expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "first line" } })
    })
  )

  it.effect("models.list and models.retrieve know the one model", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const { data } = yield* ask(() => client.models.list())
      expect(data).toEqual([{ id: model, object: "model", created: 1793491200, owned_by: "svc" }])
      expect(yield* ask(() => client.models.retrieve(model))).toEqual(data[0])
      const unknown = yield* failure(() => client.models.retrieve("gpt-5"))
      expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
      expect(unknown).toMatchObject({ code: "MODEL_NOT_FOUND", param: "model", type: "invalid_request_error" })
    })
  )

  it.effect("another model is UNSUPPORTED_MODEL, in OpenAI's shape and in that of all errors", () =>
    Effect.gen(function* () {
      const { api, client } = yield* Server
      const error = yield* failure(() => client.chat.completions.create({ model: "gpt-5", messages: [user("hello")] }))
      expect(error).toBeInstanceOf(OpenAI.BadRequestError)
      expect(error).toMatchObject({ code: "UNSUPPORTED_MODEL", param: "model", type: "invalid_request_error" })
      const raw = yield* api.post("/v1/chat/completions", { model: "gpt-5", messages: [user("hello")] })
      expect(raw.body).toEqual({
        code: "UNSUPPORTED_MODEL",
        message: "model must be svc-ki-1.0",
        error: {
          message: "model must be svc-ki-1.0",
          type: "invalid_request_error",
          code: "UNSUPPORTED_MODEL",
          param: "model"
        }
      })
    })
  )

  it.effect("a wrong or unsupported parameter is a BadRequestError that names it", () =>
    Effect.gen(function* () {
      const { api } = yield* Server
      const messages = [user("hello")]
      const call = { id: "call_1", type: "function", function: { name: "f", arguments: "[1]" } }
      const image = { type: "image_url", image_url: { url: "data:," } }
      const cases: ReadonlyArray<readonly [param: string, body: unknown]> = [
        ["model", { messages }],
        ["messages", { model }],
        ["messages", { model, messages: [] }],
        ["messages.0.role", { model, messages: [{ role: "function", content: "x" }] }],
        [
          "messages.0.content.1.type",
          { model, messages: [{ role: "user", content: [{ type: "text", text: "" }, image] }] }
        ],
        ["messages.0.tool_call_id", { model, messages: [{ role: "tool", tool_call_id: "call_1", content: "x" }] }],
        [
          "messages.0.tool_calls.0.function.arguments",
          { model, messages: [{ role: "assistant", tool_calls: [call] }] }
        ],
        ["messages.0.content", { model, messages: [{ role: "assistant", content: null }] }],
        ["temperature", { model, messages, temperature: 3 }],
        ["stop", { model, messages, stop: ["1", "2", "3", "4", "5"] }],
        ["n", { model, messages, n: 2 }],
        ["logprobs", { model, messages, logprobs: true }],
        ["frequency_penalty", { model, messages, frequency_penalty: 1 }],
        ["logit_bias", { model, messages, logit_bias: { 1: 2 } }],
        ["modalities", { model, messages, modalities: ["text", "audio"] }],
        ["functions", { model, messages, functions: [] }],
        ["store", { model, messages, store: true }],
        ["tool_choice", { model, messages, tool_choice: "required" }],
        [
          "tool_choice.function.name",
          { model, messages, tools: [weather], tool_choice: { type: "function", function: { name: "x" } } }
        ],
        ["tools.1.function.name", { model, messages, tools: [weather, weather] }]
      ]
      for (const [param, body] of cases) {
        const { body: answer, status } = yield* api.post("/v1/chat/completions", body)
        expect([status, answer]).toMatchObject([400, { code: "VALIDATION_ERROR", error: { param } }])
      }
    })
  )

  it.effect("parameters without effect are taken as they are", () =>
    Effect.gen(function* () {
      const { api } = yield* Server
      const nothing = {
        n: null,
        logprobs: false,
        store: false,
        frequency_penalty: 0,
        logit_bias: {},
        modalities: ["text"]
      }
      const ignored = { metadata: { a: "b" }, reasoning_effort: "low", service_tier: "auto", unknown: 1, tools: null }
      const body = { model, messages: [user("hello")], stream: null, ...nothing, ...ignored }
      expect((yield* api.post("/v1/chat/completions", body)).status).toBe(200)
    })
  )

  it.effect("keys are checked as everywhere, with the client's typed errors", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* Server
      const list = (key: Redacted.Redacted, headers?: Record<string, string>) => () =>
        clientOf(url, key, headers).models.list()
      const wrong = yield* failure(list(Redacted.make("svc_live_wrong")))
      expect(wrong).toBeInstanceOf(OpenAI.AuthenticationError)
      expect(wrong).toMatchObject({ code: "INVALID_API_KEY", type: "authentication_error", param: null })
      expect(yield* failure(list(keys.org))).toMatchObject({ status: 400, code: "PROJECT_ID_REQUIRED" })
      expect((yield* ask(list(keys.org, { "X-Project-Id": "1" }))).data).toHaveLength(1)
      const malformed = yield* (yield* Server).api.request("POST", "/v1/chat/completions", { raw: "{" })
      expect(malformed.body).toMatchObject({
        code: "INVALID_JSON",
        error: { type: "invalid_request_error", param: null }
      })
    })
  )

  it.effect("a model that fails before its first word is a 503, with or without a stream", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      const messages = [script({ fail: "error" }), user("hello")]
      for (const stream of [false, true]) {
        const error = yield* failure(() => client.chat.completions.create({ model, messages, stream }))
        expect(error).toBeInstanceOf(OpenAI.InternalServerError)
        expect(error).toMatchObject({ status: 503, code: "UNAVAILABLE", type: "server_error" })
      }
    })
  )

  it.scoped("a client that disconnects frees its place at once, before the first word and after it", () =>
    Effect.gen(function* () {
      const { client } = yield* Server
      /** A request that runs until it is aborted. */
      const begin = (content: unknown, stream: boolean) =>
        Effect.map(
          Effect.acquireRelease(
            Effect.sync(() => new AbortController()),
            (controller) => Effect.sync(() => controller.abort())
          ),
          (controller) => {
            const { signal } = controller
            const body = { model, messages: [script(content), user("hello")], stream }
            // A request of another may hold the place for a moment.
            const attempt = (): void =>
              void client.chat.completions.create(body, { signal }).then(
                () => {},
                (error) => (error instanceof OpenAI.RateLimitError ? attempt() : undefined)
              )
            attempt()
            return controller
          }
        )
      const hello = Effect.either(
        failureOrAnswer(() => client.chat.completions.create({ model, messages: [user("hello")] }))
      )
      const first = yield* begin({ fail: "hang" }, false)
      const second = yield* begin({ fail: "hang" }, true)
      const refused = yield* eventually("both places are taken", hello, ({ _tag }) => _tag === "Left")
      assert(refused._tag === "Left")
      expect(refused.left).toBeInstanceOf(OpenAI.RateLimitError)
      expect(refused.left).toMatchObject({ code: "AI_CONCURRENT_LIMIT_EXCEEDED", type: "rate_limit_error" })
      expect(refused.left.headers?.get("retry-after")).toBe("1")
      first.abort()
      yield* eventually("one place is free", hello, ({ _tag }) => _tag === "Right")
      second.abort()
      const third = yield* begin({ otherwise: "one two three", tokens_per_second: 0.001 }, true)
      const fourth = yield* begin({ otherwise: "one two three", tokens_per_second: 0.001 }, true)
      yield* eventually("both places are taken again", hello, ({ _tag }) => _tag === "Left")
      third.abort()
      fourth.abort()
      yield* eventually("the places are free", hello, ({ _tag }) => _tag === "Right")
    })
  )
})

/** The answer, or the error that the client throws. */
const failureOrAnswer = <A>(request: () => PromiseLike<A>) =>
  Effect.catchAll(ask(request), ({ error }) => {
    assert(error instanceof OpenAI.APIError, String(error))
    return Effect.fail(error)
  })

describe("limits of chat completions", () => {
  layer(
    Layer.scoped(
      Server,
      Effect.gen(function* () {
        const url = yield* TestDatabase.freshUrl
        const keys = yield* ServerProcess.newKeys
        const env = { SVC_BOOTSTRAP_TIER: "payg", SVC_BOOTSTRAP_CREDITS: "1", SVC_LIMIT_CHAT_PER_MINUTE_PAYG: "3" }
        const server = yield* ServerProcess.start({ data: { url }, keys, env })
        return { ...server, client: clientOf(server.url, keys.project) }
      })
    ),
    { timeout: 90_000, excludeTestServices: true }
  )((it) => {
    it.effect("per minute: AI_RATE_LIMIT_EXCEEDED with the seconds until the next", () =>
      Effect.gen(function* () {
        const { client } = yield* Server
        const hello = Effect.either(
          failureOrAnswer(() => client.chat.completions.create({ model, messages: [user("hello")] }))
        )
        // A minute may begin in between: then a few more are admitted.
        const refused = yield* eventually("the limit is reached", hello, ({ _tag }) => _tag === "Left")
        assert(refused._tag === "Left")
        expect(refused.left).toBeInstanceOf(OpenAI.RateLimitError)
        expect(refused.left).toMatchObject({ status: 429, code: "AI_RATE_LIMIT_EXCEEDED", type: "rate_limit_error" })
        expect(Number(refused.left.headers?.get("retry-after"))).toBeGreaterThan(0)
      })
    )
  })
})
