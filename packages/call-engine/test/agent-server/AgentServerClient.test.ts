import type * as http from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { facts } from "@svc/conversation/testing/Script"
import { Resolver } from "@svc/urls/UrlSafety/Resolver"
import { Clock, Effect, Fiber, Layer, type Scope } from "effect"
import { AgentServerClient, callStartedMs } from "../../src/agent-server/AgentServerClient.ts"
import type { ServerRequest } from "../../src/agent-server/ServerRequest.ts"
import * as AgentServerDouble from "../../src/testing/AgentServerDouble.ts"
import { fastClock } from "../../src/testing/FastClock.ts"
import { agentAt, agentServerClient } from "../doubles/AgentServerRequests.ts"
import { until } from "../doubles/Engine.ts"

const started = {
  event: "call.started",
  call_id: facts.call_id,
  from: "+15550001111",
  to: null,
  agent_id: facts.agent_id,
  gathered_digit: null,
  gathered_input: null,
  gather_status: null
} as const

const toolCall = {
  event: "tool.call",
  tool_call_id: "t1",
  name: "lookup",
  arguments: { what: "café 😀" },
  call_id: facts.call_id,
  from: null
} as const

const turn = {
  event: "transcript.updated",
  call_id: facts.call_id,
  role: "user",
  content: "Hi",
  timestamp: 1.5
} as const

const ask = (answer: (res: http.ServerResponse) => void) =>
  Effect.gen(function* () {
    const server = yield* AgentServerDouble.start(() => ({ write: answer }))
    const service = yield* AgentServerClient
    return yield* Effect.either(service.callStarted(agentAt(server.url), started))
  })

/** On the real clock: what is timed here is real HTTP. */
const live = (name: string, body: () => Effect.Effect<void, unknown, AgentServerClient | Scope.Scope>) =>
  it.scopedLive(name, () => body().pipe(Effect.provide(agentServerClient())))

describe("a request to the agent's server", () => {
  live("is a POST of JSON with X-Call-Id, X-Svc-Event, X-Svc-Timestamp and both X-Svc-Signatures", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => ({ json: { result: { n: 1 } } }))
      const service = yield* AgentServerClient
      const to = agentAt(`${server.url}?tenant=7`)
      const before = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      expect(yield* service.callStarted(to, started)).toEqual({ result: { n: 1 } })
      expect(yield* service.toolCall(to, toolCall)).toEqual({ n: 1 })
      yield* service.transcriptUpdated(to, turn)
      expect(server.received.map((r) => r.body)).toEqual([started, toolCall, turn])
      for (const { event, headers, method, raw, url } of server.received) {
        expect([method, url]).toEqual(["POST", "/agent?tenant=7"])
        expect(headers["content-type"]).toBe("application/json")
        expect(headers["user-agent"]).toBe("Svc-API/1.0")
        expect(headers["x-call-id"]).toBe(facts.call_id)
        expect(headers["x-svc-event"]).toBe(event)
        expect(headers["x-svc-signature"]).toBe(AgentServerDouble.sign("s3cret", raw))
        const timestamp = String(headers["x-svc-timestamp"])
        expect(headers["x-svc-signature-v1"]).toBe(AgentServerDouble.signV1("s3cret", timestamp, raw))
        expect(Number(headers["content-length"])).toBe(Buffer.byteLength(raw))
        expect(Number(headers["x-svc-timestamp"])).toBeGreaterThanOrEqual(before)
        expect(Number(headers["x-svc-timestamp"])).toBeLessThanOrEqual((yield* Clock.currentTimeMillis) / 1000)
      }
    })
  )

  live("fails with a reason that says what the server did wrong", () =>
    Effect.gen(function* () {
      const reasons = yield* Effect.forEach(
        [
          (res: http.ServerResponse) => void res.writeHead(500).end("{}"),
          (res: http.ServerResponse) => void res.writeHead(404).end("{}"),
          (res: http.ServerResponse) => void res.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
          (res: http.ServerResponse) => void res.end("<html></html>"),
          (res: http.ServerResponse) => void res.end(""),
          (res: http.ServerResponse) => void res.end(`"${"x".repeat(128 * 1024)}"`),
          (res: http.ServerResponse) => void res.end("[".repeat(60_000) + "]".repeat(60_000)),
          (res: http.ServerResponse) => void res.end(`[${"0,".repeat(60_000)}0]`),
          (res: http.ServerResponse) => void res.end("[".repeat(60_000)),
          (res: http.ServerResponse) => void res.socket?.destroy(),
          (res: http.ServerResponse) => void res.socket?.end("SSH-2.0-OpenSSH\r\n")
        ],
        (answer) => Effect.map(ask(answer), (result) => (result._tag === "Left" ? result.left.reason : result.right))
      )
      expect(reasons.slice(0, 9)).toEqual([
        "status 500",
        "status 404",
        "redirects are not followed (307)",
        "the answer is not JSON",
        "the answer is not JSON",
        "the answer is over 128 KB",
        "the answer is nested more than 100 levels deep",
        "the answer has more than 10000 values",
        "the answer is nested more than 100 levels deep"
      ])
      expect(reasons[9]).toMatch(/^server_url could not be reached: /)
      expect(reasons[10]).toMatch(/^server_url could not be reached: /)
    })
  )

  live("accepts an answer to call.started of exactly 128 KB, to tool.call of exactly 256 KB, and any JSON", () =>
    Effect.gen(function* () {
      const text = "x".repeat(128 * 1024 - 2)
      expect((yield* ask((res) => void res.end(`"${text}"`)))._tag).toBe("Right")
      const result = "x".repeat(256 * 1024 - '{"result":""}'.length)
      const service = yield* AgentServerClient
      const call = (answer: string) =>
        Effect.gen(function* () {
          const server = yield* AgentServerDouble.start(() => ({ write: (res) => void res.end(answer) }))
          return yield* Effect.either(service.toolCall(agentAt(server.url), toolCall))
        })
      expect(yield* call(JSON.stringify({ result }))).toMatchObject({ right: result })
      expect(yield* call(JSON.stringify({ result: `${result}x` }))).toMatchObject({
        left: { reason: "the answer is over 256 KB" }
      })
      for (const value of [null, 1, [1], { a: [] }]) {
        expect(yield* ask((res) => void res.writeHead(201).end(JSON.stringify(value)))).toMatchObject({ right: value })
      }
    })
  )

  live("with an endless answer is closed as soon as the answer is too large", () =>
    Effect.gen(function* () {
      let closed = false
      const result = yield* ask((res) => {
        res.on("close", () => (closed = true))
        const more = (): void => {
          while (!closed && res.write("x".repeat(65_536))) {}
        }
        res.on("drain", more)
        more()
      })
      expect(result).toMatchObject({ left: { reason: "the answer is over 128 KB" } })
      yield* until(
        Effect.sync(() => closed),
        (yes) => yes
      )
    })
  )

  live("that is interrupted is closed", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => undefined)
      const service = yield* AgentServerClient
      const fiber = yield* Effect.fork(service.toolCall(agentAt(server.url), toolCall))
      yield* until(
        Effect.sync(() => server.received.length),
        (n) => n === 1
      )
      yield* Fiber.interrupt(fiber)
      yield* until(Effect.sync(server.connections), (n) => n === 0)
    })
  )

  live("that is interrupted before it was sent is never sent", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => ({ json: { result: 1 } }))
      const service = yield* AgentServerClient
      const fiber = yield* Effect.fork(service.toolCall(agentAt(server.url), toolCall))
      // The request is handed over now; its connection is not there yet.
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      yield* service.toolCall(agentAt(server.url), { ...toolCall, tool_call_id: "t2" })
      yield* until(Effect.sync(server.connections), (n) => n <= 1)
      expect(server.received.map((r) => r.body["tool_call_id"])).toEqual(["t2"])
    })
  )

  live("calls onDone when it is done, with request and response", () =>
    Effect.gen(function* () {
      const service = yield* AgentServerClient
      const requests: Array<ServerRequest> = []
      const onDone = (request: ServerRequest): void => void requests.push(request)
      const long = `"${"\u{1F600}".repeat(9000)}"`
      for (const write of [
        (res: http.ServerResponse) => void res.end(`{"result": 1}`),
        (res: http.ServerResponse) => void res.writeHead(500).end("broken \0"),
        (res: http.ServerResponse) => void res.end(long),
        (res: http.ServerResponse) => void res.socket?.destroy()
      ]) {
        const server = yield* AgentServerDouble.start(() => ({ write }))
        yield* Effect.ignore(service.toolCall(agentAt(server.url), toolCall, onDone))
      }
      expect(requests.map(({ error, event, request, status }) => [event, JSON.parse(request), status, error])).toEqual([
        ["tool.call", toolCall, 200, null],
        ["tool.call", toolCall, 500, "status 500"],
        ["tool.call", toolCall, 200, "the answer to tool.call has no result"],
        ["tool.call", toolCall, null, expect.stringMatching(/^server_url could not be reached: /)]
      ])
      const [good, bad, cut, none] = requests.map(({ response }) => response)
      expect([good, bad, none]).toEqual([`{"result": 1}`, "broken \uFFFD", null])
      expect(cut).toMatch(/^"(\u{1F600})+\uFFFD?… \(18002 characters\)$/u)
      expect(cut?.length).toBeLessThan(16_500)
    })
  )

  live("calls onDone with the error `given up` when it is interrupted", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => undefined)
      const service = yield* AgentServerClient
      const requests: Array<ServerRequest> = []
      const asked = service.toolCall(agentAt(server.url), toolCall, (request) => void requests.push(request))
      const fiber = yield* Effect.fork(asked)
      yield* until(
        Effect.sync(() => server.received.length),
        (n) => n === 1
      )
      yield* Fiber.interrupt(fiber)
      expect(requests).toMatchObject([{ status: null, error: "given up", response: null }])
    })
  )

  live("of event tool.call needs a result, which may be null", () =>
    Effect.gen(function* () {
      const service = yield* AgentServerClient
      const answers: ReadonlyArray<unknown> = [{ result: null }, {}, [], null, "x", { Result: 1 }]
      const results = yield* Effect.forEach(answers, (json) =>
        Effect.flatMap(
          AgentServerDouble.start(() => ({ json })),
          ({ url }) => Effect.either(service.toolCall(agentAt(url), toolCall))
        )
      )
      expect(results.map((r) => (r._tag === "Right" ? r.right : r.left.reason))).toEqual([
        null,
        ...Array.from({ length: 5 }, () => "the answer to tool.call has no result")
      ])
    })
  )

  live("to an invalid server_url fails", () =>
    Effect.gen(function* () {
      const service = yield* AgentServerClient
      const result = yield* Effect.either(service.callStarted(agentAt("not a url"), started))
      expect(result).toMatchObject({ left: { reason: "server_url is not a URL" } })
    })
  )

  it.scopedLive("never reaches a private address unless SVC_ALLOW_PRIVATE_URLS is set", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => ({ json: {} }))
      const service = yield* AgentServerClient
      const { port } = new URL(server.url)
      for (const host of ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "0x7f.1"]) {
        for (const scheme of ["http", "https"]) {
          const to = agentAt(`${scheme}://${host}:${port}/`)
          for (const asked of [service.callStarted(to, started), service.toolCall(to, toolCall)]) {
            const result = yield* Effect.either(asked)
            expect(result).toMatchObject({
              left: { reason: expect.stringContaining("its address, scheme or port is blocked by SSRF filter") }
            })
          }
        }
      }
      expect(server.received).toEqual([])
      expect(server.connections()).toBe(0)
    }).pipe(Effect.provide(agentServerClient(false)))
  )

  it.scopedLive("never reaches a host that resolves to a private address since it was stored", () =>
    Effect.gen(function* () {
      const server = yield* AgentServerDouble.start(() => ({ json: {} }))
      const service = yield* AgentServerClient
      const { port } = new URL(server.url)
      const result = yield* Effect.either(service.callStarted(agentAt(`https://rebind.example:${port}/`), started))
      expect(result).toMatchObject({
        left: { reason: expect.stringContaining("its address, scheme or port is blocked by SSRF filter") }
      })
      expect([server.received, server.connections()]).toEqual([[], 0])
    }).pipe(
      Effect.provide(
        agentServerClient(
          false,
          Layer.succeed(Resolver, {
            resolve: (_, done) => queueMicrotask(() => done(null, [{ address: "127.0.0.1", family: 4 }]))
          })
        )
      )
    )
  )

  live("does not follow redirects", () =>
    Effect.gen(function* () {
      const elsewhere = yield* AgentServerDouble.start(() => ({ json: { result: 1 } }))
      const server = yield* AgentServerDouble.start(() => ({
        write: (res) => void res.writeHead(308, { location: elsewhere.url }).end()
      }))
      const service = yield* AgentServerClient
      for (const asked of [
        service.callStarted(agentAt(server.url), started),
        service.toolCall(agentAt(server.url), toolCall)
      ]) {
        expect(yield* Effect.either(asked)).toMatchObject({ left: { reason: "redirects are not followed (308)" } })
      }
      expect([server.received.length, elsewhere.received.length]).toEqual([2, 0])
    })
  )

  it.scopedLive("fails after 5 seconds without an answer to call.started", () =>
    Effect.gen(function* () {
      expect(callStartedMs).toBe(5000)
      const server = yield* AgentServerDouble.start(() => undefined)
      const service = yield* AgentServerClient
      // Its clock runs fifty times as fast.
      const result = yield* Effect.either(service.callStarted(agentAt(server.url), started)).pipe(
        Effect.withClock(fastClock(50))
      )
      expect(result).toMatchObject({ left: { reason: "no answer within 5 seconds" } })
      yield* until(Effect.sync(server.connections), (n) => n === 0)
    }).pipe(Effect.provide(agentServerClient()))
  )
})
