import { describe, expect, it } from "@effect/vitest"
import { plainRoutes } from "@svc/api/PlainRoutes"
import type { Route, RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import { Deferred, Effect, Exit, Logger, Scope, TestClock } from "effect"
import { WebSocket } from "ws"
import { ask, exchange, json } from "../../servers/Client.ts"
import { startTiny } from "../../servers/TinyServer.ts"

/** A value that is no body, as plain JavaScript can give it. */
const notABody = (value: unknown): never => value as never // the point of these tests is that the type is wrong

const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

const http = (
  method: "GET" | "POST" | "DELETE",
  path: string,
  handle: Extract<Route, { _tag: "Http" }>["handle"]
): Route => ({
  _tag: "Http",
  method,
  path,
  handle
})
const socketAt = (path: string, accept: (socket: RouteSocket, request: RouteRequest) => void): Route => ({
  _tag: "WebSocket",
  path,
  accept
})
const echo = socketAt("", (socket) => socket.onMessage((data) => socket.send(data)))

/** A connected client socket, cut at the end of the scope. */
const connect = (port: number, path: string, options: { readonly autoPong?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.async<WebSocket, Error>((resume) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, options)
      socket.once("open", () => resume(Effect.succeed(socket)))
      socket.once("error", (error) => resume(Effect.fail(error)))
    }),
    (socket) => Effect.sync(() => socket.terminate())
  )
const nextMessage = (socket: WebSocket) =>
  Effect.async<{ readonly data: string; readonly binary: boolean }>((resume) => {
    socket.once("message", (data, binary) => resume(Effect.succeed({ data: String(data), binary })))
  })
const closing = (socket: WebSocket) =>
  Effect.async<number>((resume) => {
    socket.once("close", (code) => resume(Effect.succeed(code)))
  })

describe("HTTP routes of plugins", () => {
  it.scopedLive("get the raw body, the path below the mount, query, parameters and headers", () =>
    Effect.gen(function* () {
      let seen: RouteRequest | undefined
      const { port } = yield* startTiny({
        routes: [
          http("POST", "/calls/:call_id", (request) => {
            seen = request
            return Effect.succeed({ status: 202, headers: { "Content-Type": "text/xml" }, body: "<ok/>" })
          })
        ]
      })
      const answer = yield* ask(port, {
        path: "/telephony/tin/calls/a%20b?x=It's%20+1&y=2&z",
        headers: { "content-type": "application/x-www-form-urlencoded", "X-Signature": "s" },
        body: "From=%2B1&To=%2B2"
      })
      expect([answer.status, answer.headers["content-type"], answer.text]).toEqual([202, "text/xml", "<ok/>"])
      expect(answer.headers["x-request-id"]).toMatch(/^req_/)
      expect(Buffer.from(seen?.body ?? []).toString()).toBe("From=%2B1&To=%2B2")
      expect(seen).toMatchObject({
        method: "POST",
        path: "/calls/a%20b",
        params: { call_id: "a b" },
        remoteAddress: "127.0.0.1"
      })
      expect(seen?.headers["x-signature"]).toBe("s")
      expect(seen?.query.get("y")).toBe("2")
      expect(seen?.search).toBe("?x=It's%20+1&y=2&z")
    })
  )

  it.scopedLive("get the carrier's address, not that of a trusted proxy", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({
        settings: { SVC_TRUSTED_PROXIES: "127.0.0.1" },
        routes: [http("GET", "/who", ({ remoteAddress }) => Effect.succeed({ status: 200, body: remoteAddress }))]
      })
      const headers = { "x-forwarded-for": "1.1.1.1, ::ffff:198.51.100.1" }
      expect((yield* ask(port, { path: "/telephony/tin/who", headers })).text).toBe("198.51.100.1")
      expect((yield* ask(port, { path: "/telephony/tin/who" })).text).toBe("127.0.0.1")
    })
  )

  it.scopedLive("need no key, answer 405 to other methods, and refuse a body over 1 MB", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({ routes: [http("POST", "/voice", () => Effect.succeed({ status: 204 }))] })
      expect((yield* ask(port, { path: "/telephony/tin/voice", method: "POST" })).status).toBe(204)
      const wrong = yield* ask(port, { path: "/telephony/tin/voice" })
      expect([wrong.status, wrong.headers.allow]).toEqual([405, "POST"])
      const big = yield* ask(port, { path: "/telephony/tin/voice", body: "x".repeat(2 * 1024 * 1024) })
      expect([big.status, json(big)["code"]]).toEqual([413, "REQUEST_TOO_LARGE"])
    })
  )

  it.scopedLive("that fail or throw end only the request", () =>
    Effect.gen(function* () {
      const { port } = yield* quiet(
        startTiny({
          routes: [
            http("GET", "/dies", () => Effect.die(new Error("secret"))),
            http("GET", "/throws", () => {
              throw new Error("secret")
            })
          ]
        })
      )
      for (const path of ["/telephony/tin/dies", "/telephony/tin/throws"]) {
        const answer = yield* ask(port, { path })
        expect([answer.status, json(answer)["code"]]).toEqual([500, "INTERNAL_ERROR"])
        expect(answer.text).not.toContain("secret")
      }
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )
})

describe("A response that node refuses to write", () => {
  /** Responses as a route could give them past the fence, or as a fault of our own could. */
  const unwritable: ReadonlyArray<readonly [string, RouteResponse]> = [
    ["line breaks in a header", { status: 302, headers: { Location: "/\r\nSet-Cookie: a=b" } }],
    [
      "a character beyond latin-1 in a header",
      { status: 200, headers: { "Content-Disposition": "a 😀.mp3" }, body: "x" }
    ],
    ["an invalid header name", { status: 200, headers: { "a b": "c" } }],
    ["the status NaN", { status: Number.NaN }],
    ["the status 99", { status: 99 }],
    ["the status 1000", { status: 1000 }],
    ["a body that is an object", { status: 200, body: notABody({}) }],
    ["no response", notABody(undefined)]
  ]
  const internal = [500, "INTERNAL_ERROR", "application/json"]

  it.scopedLive("becomes a 500 with the request's id, on plugins' and on plain routes, and the log says why", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.map(Logger.logfmtLogger, (line) => void log.push(line))
      )
      const { port } = yield* Effect.provide(
        startTiny({
          routes: unwritable.map(([, response], at) => http("GET", `/${at}`, () => Effect.succeed(response))),
          plain: plainRoutes(
            Effect.succeed(
              unwritable.map(([, response], at) => ({
                method: "GET",
                path: `/plain/${at}`,
                handle: () => Effect.succeed(response)
              }))
            )
          )
        }),
        logger
      )
      for (const at of unwritable.keys()) {
        for (const path of [`/telephony/tin/${at}`, `/plain/${at}`]) {
          const answer = yield* ask(port, { path, headers: { "x-request-id": `r${at}` } })
          expect([path, answer.status, json(answer)["code"], answer.headers["content-type"]]).toEqual([
            path,
            ...internal
          ])
          expect(answer.headers["x-request-id"]).toBe(`r${at}`)
          expect(answer.headers["set-cookie"]).toBeUndefined()
        }
        expect(log.filter((line) => line.includes(`request_id=r${at}`) && line.includes("cause="))).toHaveLength(2)
      }
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )

  it.scopedLive("cuts the connection when the response has begun", () =>
    Effect.gen(function* () {
      const { port } = yield* quiet(
        startTiny({
          plain: plainRoutes(
            Effect.succeed([
              {
                method: "GET",
                path: "/plain",
                handle: () =>
                  Effect.succeed({
                    status: 200,
                    body: ({ write }) => Effect.zipRight(write("begun"), write(notABody({})))
                  })
              }
            ])
          )
        })
      )
      const answer = yield* exchange(port, "GET /plain HTTP/1.1\r\nHost: x\r\n\r\n")
      expect(answer).toContain("begun")
      // The last chunk would say that the body is complete.
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )
})

describe("WebSocket routes of plugins", () => {
  it.scopedLive("that refuse a request answer it before the upgrade, and a throw while they decide is a 500", () =>
    Effect.gen(function* () {
      const refusing = (path: string, refuse: () => RouteResponse | undefined): Route => ({
        _tag: "WebSocket",
        path,
        refuse,
        accept: (socket) => socket.onMessage((data) => socket.send(data))
      })
      const { port, sockets } = yield* quiet(
        startTiny({
          routes: [
            refusing("/no", () => ({ status: 403, headers: { "X-Why": "not you" }, body: "no" })),
            refusing("/throws", () => {
              throw new Error("secret")
            }),
            refusing("/yes", () => undefined)
          ]
        })
      )
      const upgrade = (path: string) =>
        exchange(
          port,
          `GET /telephony/tin${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
        )
      expect(yield* upgrade("/no")).toMatch(/^HTTP\/1.1 403 [\s\S]*X-Why: not you[\s\S]*\r\n\r\nno$/)
      const thrown = yield* upgrade("/throws")
      expect(thrown).toMatch(/^HTTP\/1.1 500 [\s\S]*INTERNAL_ERROR/)
      expect(thrown).not.toContain("secret")
      expect(sockets.open()).toBe(0)
      const socket = yield* connect(port, "/telephony/tin/yes")
      socket.send("x")
      expect((yield* nextMessage(socket)).data).toBe("x")
    })
  )

  it.scopedLive("whose refuse throws are logged with their path and the reason", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.map(Logger.logfmtLogger, (line) => void log.push(line))
      )
      const refuse = () => {
        throw new Error("no number in the query")
      }
      const { port } = yield* Effect.provide(
        startTiny({ routes: [{ _tag: "WebSocket", path: "/ws", refuse, accept: () => {} }] }),
        logger
      )
      const answer = yield* exchange(
        port,
        "GET /telephony/tin/ws?a=secret HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
      )
      expect(answer).toMatch(/^HTTP\/1.1 500 [\s\S]*INTERNAL_ERROR/)
      expect(log).toHaveLength(1)
      expect(log[0]).toMatch(/"\/telephony\/tin\/ws failed".*no number in the query.*request_id=req_/)
      expect(log[0]).not.toContain("secret")
    })
  )

  it.scopedLive("carry text and bytes both ways, and report their close", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const { port, sockets } = yield* startTiny({
        routes: [
          socketAt("", (socket) => {
            socket.onMessage((data) => socket.send(data))
            socket.onClose(() => Deferred.unsafeDone(ended, Exit.void))
          })
        ]
      })
      const socket = yield* connect(port, "/telephony/tin")
      socket.send("hello")
      expect(yield* nextMessage(socket)).toEqual({ data: "hello", binary: false })
      socket.send(Buffer.from("bytes"))
      expect(yield* nextMessage(socket)).toEqual({ data: "bytes", binary: true })
      expect(sockets.open()).toBe(1)
      socket.close()
      yield* Deferred.await(ended)
    })
  )

  it.scopedLive("carry text and bytes of every length whole and in order, between pings", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({ routes: [echo] })
      const socket = yield* connect(port, "/telephony/tin")
      const lengths = [0, 1, 125, 126, 127, 128, 255, 256, 257, 4094, 4095, 4096, 65_535, 65_536]
      const texts = [
        ...lengths.map((length) => "x".repeat(length)),
        ...["\u0000\r\n\u007f", "\u0080", "caf\u00e9", `${"x".repeat(125)}\u00e9`, "\u20ac", "\u{1f600}", "after"]
      ]
      const heard: Array<string> = []
      const all = Effect.async<void>((resume) => {
        socket.on("message", (data, binary) => {
          heard.push(`${binary ? "bytes" : "text"} ${data}`)
          if (heard.length === 2 * texts.length) resume(Effect.void)
        })
        for (const text of texts) {
          socket.send(text)
          socket.ping()
          socket.send(Buffer.from(text))
        }
      })
      yield* all
      expect(heard).toEqual(texts.flatMap((text) => [`text ${text}`, `bytes ${text}`]))
    })
  )

  it.scopedLive("get the request that opened them", () =>
    Effect.gen(function* () {
      const seen = yield* Deferred.make<RouteRequest>()
      const { port } = yield* startTiny({
        routes: [socketAt("/media/:id", (_, request) => Deferred.unsafeDone(seen, Exit.succeed(request)))]
      })
      yield* connect(port, "/telephony/tin/media/7?token=t")
      const request = yield* Deferred.await(seen)
      expect([request.path, request.params, request.query.get("token")]).toEqual(["/media/7", { id: "7" }, "t"])
    })
  )

  it.scopedLive("get the messages that arrived before they listened, in order", () =>
    Effect.gen(function* () {
      const accepted = yield* Deferred.make<RouteSocket>()
      const { port } = yield* startTiny({
        routes: [socketAt("", (socket) => Deferred.unsafeDone(accepted, Exit.succeed(socket)))]
      })
      const client = yield* connect(port, "/telephony/tin")
      const socket = yield* Deferred.await(accepted)
      client.send("a")
      client.send("b")
      const pong = Effect.async<void>((resume) => {
        client.once("pong", () => resume(Effect.void))
        client.ping()
      })
      yield* pong
      const heard: Array<unknown> = []
      socket.onMessage((data) => heard.push(data))
      expect(heard).toEqual(["a", "b"])
    })
  )

  it.scopedLive("ignore what is sent after the close, and report the close to a late listener", () =>
    Effect.gen(function* () {
      const accepted = yield* Deferred.make<RouteSocket>()
      const { port } = yield* startTiny({
        routes: [socketAt("", (socket) => Deferred.unsafeDone(accepted, Exit.succeed(socket)))]
      })
      const client = yield* connect(port, "/telephony/tin")
      const socket = yield* Deferred.await(accepted)
      const gone = closing(client)
      socket.close(1000, "bye")
      expect(yield* gone).toBe(1000)
      socket.send("too late")
      yield* Effect.async<void>((resume) => socket.onClose(() => resume(Effect.void)))
    })
  )

  it.scopedLive("whose handler throws close only that socket", () =>
    Effect.gen(function* () {
      const { port } = yield* quiet(
        startTiny({
          routes: [
            socketAt("", (socket) =>
              socket.onMessage(() => {
                throw new Error("bad message")
              })
            )
          ]
        })
      )
      const socket = yield* connect(port, "/telephony/tin")
      socket.send("x")
      expect(yield* closing(socket)).toBe(1011)
      expect((yield* ask(port, { path: "/healthz" })).status).toBe(200)
    })
  )

  it.scopedLive("refuse a message over 1 MB", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({ routes: [echo] })
      const socket = yield* connect(port, "/telephony/tin")
      socket.send("x".repeat(1024 * 1024 + 1))
      expect(yield* closing(socket)).toBe(1009)
    })
  )

  it.scopedLive("refuse an unknown path, a request without upgrade and another protocol", () =>
    Effect.gen(function* () {
      const { port } = yield* startTiny({ routes: [echo] })
      const upgrade = (path: string, protocol: string) =>
        exchange(
          port,
          `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
        )
      const unknown = yield* upgrade("/telephony/none", "websocket")
      expect(unknown).toMatch(/^HTTP\/1.1 404 [\s\S]*ROUTE_NOT_FOUND/)
      expect(unknown).toMatch(/X-Request-Id: req_/)
      expect(yield* upgrade("/healthz", "h2c")).toMatch(/^HTTP\/1.1 200 /)
      const plain = yield* ask(port, { path: "/telephony/tin" })
      expect([plain.status, plain.headers.upgrade]).toEqual([426, "websocket"])
      const broken = yield* exchange(
        port,
        "GET /telephony/tin HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
      )
      expect(broken).toMatch(/^HTTP\/1.1 400 /)
    })
  )

  it.scoped("are closed after two unanswered pings, while live ones stay open", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* startTiny({ routes: [echo] })
      const dead = yield* connect(port, "/telephony/tin", { autoPong: false })
      const live = yield* connect(port, "/telephony/tin")
      const pinged = yield* Deferred.make<void>()
      live.once("ping", () => Deferred.unsafeDone(pinged, Exit.void))
      const code = yield* Deferred.make<number>()
      dead.once("close", (reason: number) => Deferred.unsafeDone(code, Exit.succeed(reason)))
      const roundTrip = Effect.suspend(() => {
        live.send("are you there")
        return nextMessage(live)
      })
      yield* TestClock.adjust("20 seconds")
      yield* Deferred.await(pinged)
      yield* roundTrip
      expect(sockets.open()).toBe(2)
      yield* TestClock.adjust("20 seconds")
      expect(yield* Deferred.await(code)).toBe(1006)
      expect(sockets.open()).toBe(1)
      yield* roundTrip
    })
  )

  it.live("get a close frame when the server stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port } = yield* Scope.extend(startTiny({ routes: [echo] }), scope)
      const socket = yield* connect(port, "/telephony/tin")
      const code = closing(socket)
      yield* Effect.fork(Scope.close(scope, Exit.void))
      expect(yield* code).toBe(1001)
    }).pipe(Effect.scoped)
  )

  it.live("that do not answer the close frame do not delay the shutdown", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port } = yield* Scope.extend(startTiny({ routes: [echo] }), scope)
      const socket = yield* connect(port, "/telephony/tin")
      socket.pause()
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.scoped)
  )
})
