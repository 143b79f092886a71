import { createServer, type Server, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import type { ModelDelta } from "@svc/providers/LanguageModel"
import { Effect, Fiber } from "effect"
import {
  answerError,
  answerJson,
  type Behaviour,
  chatWith,
  chunk,
  done,
  stream,
  textEvents,
  toolEvents,
  usage,
  usageChunk,
  words,
  works
} from "./EmulatedServer.ts"
import { apiKey, setUp, textOf } from "./Provided.ts"

const spoken = words.join("")
/** Answers the requests one after the other, the last behaviour all that follow. */
const inOrder = (...behaviours: ReadonlyArray<Behaviour>): Behaviour => {
  let at = 0
  return chatWith((received, response) => behaviours[Math.min(at++, behaviours.length - 1)]?.(received, response))
}
const refuses =
  (status: number, message: string, headers: Record<string, string> = {}): Behaviour =>
  (_, response) =>
    void answerError(response, status, message, headers)
const streams =
  (pieces: ReadonlyArray<string | Buffer>, last?: () => unknown): Behaviour =>
  (_, response) =>
    stream(response, pieces, 2, last)
const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })
const chats = (received: ReadonlyArray<{ readonly path: string; readonly json: Readonly<Record<string, unknown>> }>) =>
  received.filter(({ path }) => path === "/v1/chat/completions").map(({ json }) => json)

describe("the request", () => {
  it.live("has the model, messages, tools, limits and the call's id as the key of the cache", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setUp(works)
      yield* ask({
        model: "large",
        temperature: 0.3,
        topP: 0.9,
        maxOutputTokens: 50,
        toolChoice: "required",
        tools: [{ name: "find", description: "Finds", parameters: { type: "object" } }],
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hi \ud800" },
          { role: "assistant", content: "", tool_calls: [{ id: "a", name: "find", arguments: { day: 1 } }] },
          { role: "tool", tool_call_id: "a", name: "find", content: "{}" }
        ]
      })
      expect(chats(server.received)).toEqual([
        {
          model: "large",
          stream: true,
          stream_options: { include_usage: true },
          prompt_cache_key: "call_1",
          temperature: 0.3,
          top_p: 0.9,
          max_tokens: 50,
          tool_choice: "required",
          tools: [
            { type: "function", function: { name: "find", description: "Finds", parameters: { type: "object" } } }
          ],
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "Hi \ufffd" },
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id: "a", type: "function", function: { name: "find", arguments: '{"day":1}' } }]
            },
            { role: "tool", tool_call_id: "a", content: "{}" }
          ]
        }
      ])
      expect(server.received.every(({ headers }) => headers.authorization === `Bearer ${apiKey}`)).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("is sent again without what the server refuses, which is remembered", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setUp(
        inOrder(
          refuses(400, "property 'stream_options' is unsupported, did you mean 'stream'?"),
          (_, response) =>
            void answerJson(
              response,
              { detail: [{ type: "extra_forbidden", loc: ["body", "prompt_cache_key"] }] },
              422
            ),
          refuses(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
          ),
          refuses(400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
          refuses(400, "response_format is not supported"),
          (_, response) =>
            void answerJson(
              response,
              { object: "error", message: "Conversation roles must alternate user/assistant" },
              400
            ),
          streams(textEvents)
        )
      )
      const request = {
        temperature: 0.2,
        maxOutputTokens: 9,
        responseSchema: { type: "object" },
        messages: [
          { role: "system", content: "One" },
          { role: "assistant", content: "Hello!" },
          { role: "user", content: "a" },
          { role: "user", content: "b" },
          { role: "system", content: "Two" }
        ] as const
      }
      expect(textOf(yield* ask(request))).toBe(spoken)
      const [last] = chats(server.received).slice(-1)
      const schema = 'Answer with one JSON object only, which conforms to this JSON Schema:\n{"type":"object"}'
      expect(last).toEqual({
        model: "small",
        stream: true,
        max_completion_tokens: 9,
        response_format: { type: "json_object" },
        messages: [
          { role: "system", content: "One" },
          { role: "user", content: "(The conversation begins.)" },
          { role: "assistant", content: "Hello!" },
          { role: "user", content: `a\nb\nTwo\n${schema}` }
        ]
      })
      const before = server.received.length
      yield* ask(request)
      expect(chats(server.received.slice(before))).toEqual([last])
    }).pipe(Effect.scoped)
  )

  it.live("fails at once when the server refuses it for another reason, and is not retryable", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setUp(chatWith(refuses(400, `too long for ${apiKey}`)))
      const error = yield* Effect.flip(ask())
      expect(error).toMatchObject({ _tag: "LanguageModelError", retryable: false })
      expect(error.reason).toBe(`${server.url} answered 400: too long for …`)
      expect(chats(server.received)).toHaveLength(1)
    }).pipe(Effect.scoped)
  )
})

describe("the answer", () => {
  it.live("may be cut at any byte, have CRLF and comments, no [DONE] and no usage", () =>
    Effect.gen(function* () {
      const text = textEvents.join("")
      const bytes = Buffer.from(chunk({ content: "Zoë 😀" }) + chunk({}, "stop"))
      const cases: ReadonlyArray<readonly [Behaviour, string]> = [
        [streams([...bytes].map((byte) => Buffer.of(byte))), "Zoë 😀"],
        [streams([`: hello\r\n\r\n${text.replaceAll("\n", "\r\n")}`]), spoken],
        [streams(textEvents.filter((event) => event !== done)), spoken],
        [streams([chunk({ content: "Hi" }), chunk({}, "stop")]), "Hi"],
        // A server that does not close: the usage is not waited for long.
        [streams([chunk({ content: "Hi" }), chunk({}, "stop")], () => {}), "Hi"],
        [
          streams([
            chunk({ reasoning_content: "hm" }),
            chunk({ content: "<think>hm" }),
            chunk({ content: "</think> Hi" }, "stop")
          ]),
          "Hi"
        ],
        [
          (_, response) =>
            void answerJson(response, { choices: [{ message: { content: "Whole" }, finish_reason: "stop" }], usage }),
          "Whole"
        ]
      ]
      for (const [behaviour, expected] of cases) {
        const { ask } = yield* setUp(chatWith(behaviour))
        const deltas = yield* ask()
        expect(textOf(deltas)).toBe(expected)
        expect(deltas.at(-1)).toEqual({ _tag: "Done", reason: "stop" })
      }
    }).pipe(Effect.scoped)
  )

  it.live("has the usage with cached tokens, which is counted, and the reason of its end", () =>
    Effect.gen(function* () {
      const { ask, double } = yield* setUp(
        inOrder(
          streams(textEvents),
          streams([
            chunk({ content: "Hi" }, "length"),
            `data: ${JSON.stringify({ choices: [], x_groq: { usage: { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } } } })}\n\n`,
            done
          ]),
          streams([chunk({ content: "Hi" }, "stop"), usageChunk({ prompt_tokens: -1, completion_tokens: "x" }), done])
        )
      )
      expect((yield* ask()).slice(-2)).toEqual([
        { _tag: "Usage", inputTokens: 20, outputTokens: 6, cachedInputTokens: 16 },
        { _tag: "Done", reason: "stop" }
      ])
      expect((yield* ask()).slice(-2)).toEqual([
        { _tag: "Usage", inputTokens: 5, outputTokens: 1, cachedInputTokens: 5 },
        { _tag: "Done", reason: "length" }
      ])
      expect((yield* ask()).map(({ _tag }) => _tag)).toEqual(["Text", "Done"])
      expect(double.counted("tokens")).toBe(20 + 6 + 16 + 5 + 1 + 5)
    }).pipe(Effect.scoped)
  )

  it.live("emits a tool call while the server still writes", () =>
    Effect.gen(function* () {
      const { model } = yield* setUp(chatWith((_, response) => stream(response, toolEvents.slice(0, 4), 2, () => {})))
      const deltas: Array<ModelDelta> = []
      const request = { callId: "call_1", messages: [], tools: [], variables: {} }
      const fiber = yield* Effect.fork(model.generate(request, (delta) => deltas.push(delta)))
      yield* until(() => deltas.length > 0)
      expect(deltas).toEqual([{ _tag: "ToolCall", call: { id: "call_a", name: "find", arguments: { day: "Monday" } } }])
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.scoped)
  )

  it.live("that is broken off, malformed or an error fails, and may be tried again", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Behaviour, string]> = [
        [streams([chunk({ content: "Hi" })]), "closed before the answer was complete"],
        [
          (_, response) => stream(response, [chunk({ content: "Hi" })], 5, () => response.destroy()),
          "the connection to"
        ],
        [streams(["data: <html>\n\n"]), "not in the format of chat completions"],
        [streams(['data: {"error":{"message":"out of memory","code":500}}\n\n']), "out of memory"],
        [refuses(500, "overloaded"), "answered 500: overloaded"],
        [(_, response) => void response.writeHead(502).end("<html>Bad Gateway</html>"), "answered 502: <html>"],
        [(_, response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(), "answered 302"]
      ]
      for (const [behaviour, reason] of cases) {
        const { ask } = yield* setUp(chatWith(behaviour))
        const error = yield* Effect.flip(ask())
        expect(error.reason).toContain(reason)
        expect(error.retryable, error.reason).toBe(!reason.includes("302"))
      }
    }).pipe(Effect.scoped)
  )
})

describe("the connection", () => {
  it.live("is opened at the start, and kept for one answer after the other", () =>
    Effect.gen(function* () {
      const { ask, model, server } = yield* setUp(works)
      expect(server.received.map(({ path }) => path)).toEqual(["/v1/models"])
      yield* model.prepare?.({ callId: "call_1", systemPrompt: "", tools: [] }) ?? Effect.void
      yield* Effect.repeatN(ask(), 9)
      // A connection is free a moment after its answer: another one may have been opened by then, but no third.
      expect(new Set(server.received.map(({ port }) => port)).size).toBeLessThanOrEqual(2)
      expect(server.brokenOff).toEqual([])
    }).pipe(Effect.scoped)
  )

  it.live("is closed when a request is interrupted: before the answer, and when it stalls in mid-stream", () =>
    Effect.gen(function* () {
      for (const behaviour of [() => {}, streams([chunk({ content: "Hi" })], () => {})]) {
        const { ask, server } = yield* setUp(chatWith(behaviour))
        const fiber = yield* Effect.fork(ask())
        yield* until(() => server.open() === 1)
        yield* Fiber.interrupt(fiber)
        yield* until(() => server.open() === 0)
        expect(server.brokenOff).toHaveLength(1)
      }
    }).pipe(Effect.scoped)
  )

  it.live("that the server has closed meanwhile is opened again", () =>
    Effect.gen(function* () {
      const sockets: Array<Socket> = []
      const answer = (body: string, type: string) =>
        `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
      // The first connection answers once; then it is closed as soon as another request comes.
      const server: Server = createServer((socket) => {
        const isFirst = sockets.push(socket) === 1
        let requests = 0
        socket.on("error", () => {})
        socket.on("data", (data) => {
          if (data.toString("latin1").includes("GET "))
            return void socket.write(answer('{"data":[]}', "application/json"))
          if (isFirst && requests++ === 0) return void socket.destroy()
          socket.write(answer(textEvents.join(""), "text/event-stream"))
        })
      })
      yield* Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const { ask } = yield* setUp(works, { baseUrl: `http://127.0.0.1:${port}/v1` })
      expect(textOf(yield* ask())).toBe(spoken)
      expect(sockets).toHaveLength(2)
      for (const socket of sockets) socket.destroy()
    }).pipe(Effect.scoped)
  )

  it.live("waits as long as Retry-After says, if that is soon, and fails at once if it is not", () =>
    Effect.gen(function* () {
      const soon: ReadonlyArray<Record<string, string>> = [
        { "retry-after": "0.02" },
        { "retry-after-ms": "20", "retry-after": "3600" },
        { "retry-after": "Thu, 01 Jan 2015 00:00:00 GMT" }
      ]
      for (const headers of soon) {
        const { ask, double, server } = yield* setUp(
          inOrder(refuses(429, "slow down", headers), refuses(503, "busy", headers), streams(textEvents))
        )
        expect(textOf(yield* ask())).toBe(spoken)
        expect(chats(server.received)).toHaveLength(3)
        expect(double.counted("rate_limit_waits")).toBe(2)
      }
      const late: ReadonlyArray<Record<string, string>> = [
        { "retry-after": "60" },
        { "retry-after": "Thu, 01 Jan 2099 00:00:00 GMT" },
        { "retry-after": "soon" },
        {}
      ]
      for (const headers of late) {
        const { ask, server } = yield* setUp(chatWith(refuses(429, "slow down", headers)))
        expect(yield* Effect.flip(ask())).toMatchObject({
          reason: `${server.url} answered 429: slow down`,
          retryable: true
        })
        expect(chats(server.received)).toHaveLength(1)
      }
    }).pipe(Effect.scoped)
  )
})

describe("the server's state", () => {
  it.live("a refused key makes it unhealthy and is logged with its setting, and appears nowhere", () =>
    Effect.gen(function* () {
      const { ask, double, model, server } = yield* setUp(refuses(401, `Incorrect API key provided: ${apiKey}`))
      const reason = `SVC_OPENAI_API_KEY was refused: ${server.url} answered 401`
      expect(yield* model.health).toEqual({ healthy: false, reason })
      const error = yield* Effect.flip(ask())
      expect(error.reason).toBe(reason)
      expect(double.logged).toEqual([
        { level: "error", message: `${reason}. Set a valid key and restart the server`, fields: {} }
      ])
      const everything = JSON.stringify([
        double.logged,
        error,
        yield* model.health,
        String(error),
        Object.entries(model)
      ])
      expect(everything).not.toContain(apiKey)
    }).pipe(Effect.scoped)
  )

  it.live("the context of a model is what its server says, or SVC_OPENAI_CONTEXT_TOKENS", () =>
    Effect.gen(function* () {
      const lists =
        (data: ReadonlyArray<unknown>, props?: unknown): Behaviour =>
        ({ path }, response) =>
          void (path === "/v1/models"
            ? answerJson(response, { data })
            : path === "/props" && props !== undefined
              ? answerJson(response, props)
              : answerError(response, 404, `no ${path}`))
      const contextAt = (behaviour: Behaviour, settings = {}) =>
        Effect.gen(function* () {
          const { model, server } = yield* setUp(behaviour, settings)
          yield* model.health
          return { tokens: model.models.map((name) => model.contextTokens?.(name)), server }
        })
      const hosted = yield* contextAt(
        lists([
          { id: "small", max_model_len: 8192 },
          { id: "groq", context_window: 131_072 },
          { id: "together", context_length: 32_768 },
          { id: "mistral", max_context_length: 128_000 },
          { id: "odd", context_length: "many", max_model_len: -1 },
          { id: "unknown" }
        ])
      )
      expect(hosted.tokens).toEqual([8192, 131_072, 32_768, 128_000, undefined, undefined])
      expect(hosted.server.received.some(({ path }) => path.endsWith("/props"))).toBe(false)

      const llama = [{ id: "small", owned_by: "llamacpp", meta: { n_ctx_train: 131_072 } }]
      const slots = { default_generation_settings: { n_ctx: 4096 }, total_slots: 2 }
      expect((yield* contextAt(lists(llama, slots))).tokens).toEqual([4096])
      expect((yield* contextAt(lists(llama, { n_ctx: 1 }))).tokens).toEqual([undefined])
      const without = yield* contextAt(lists(llama))
      expect(without.tokens).toEqual([undefined])
      expect((yield* contextAt(lists(llama, slots), { contextTokens: "6000" })).tokens).toEqual([6000])
    }).pipe(Effect.scoped)
  )

  it.live("an error within the stream that repeats the key does not show it", () =>
    Effect.gen(function* () {
      const error = `data: ${JSON.stringify({ error: { message: `bad key ${apiKey} in the request` } })}\n\n`
      const { ask } = yield* setUp(chatWith(streams([chunk({ content: "One" }), error])))
      const failure = yield* Effect.flip(ask())
      expect(failure.reason).toContain("bad key … in the request")
      expect(JSON.stringify(failure)).not.toContain(apiKey)
    }).pipe(Effect.scoped)
  )

  it.live("a server without a list of models is healthy, and one that is not there is not", () =>
    Effect.gen(function* () {
      const without = yield* setUp((received, response) =>
        received.path === "/v1/models" ? refuses(404, "not found")(received, response) : works(received, response)
      )
      expect(yield* without.model.health).toEqual({ healthy: true })
      expect(without.model.models).toEqual(["small"])
      const absent = yield* setUp(works, { baseUrl: "http://127.0.0.1:9/v1" })
      expect(yield* absent.model.health).toEqual({
        healthy: false,
        reason: "the connection to http://127.0.0.1:9/v1 failed: ECONNREFUSED"
      })
      expect((yield* Effect.flip(absent.ask())).retryable).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.live("a server that hangs does not keep the plugin from starting", () =>
    Effect.gen(function* () {
      const { model } = yield* setUp(() => {})
      expect(model.models).toEqual(["small"])
    }).pipe(Effect.scoped)
  )

  it.live("the named models come first, then those that the server lists for text", () =>
    Effect.gen(function* () {
      const { model } = yield* setUp(works, { model: "mine", models: "other, large ," })
      expect(model.models).toEqual(["mine", "other", "large", "small"])
    }).pipe(Effect.scoped)
  )
})
