import { expect, it } from "@effect/vitest"
import type { Route, RouteRequest, RouteResponse, RouteSocket } from "@svc/providers/Route"
import { Cause, Effect, Exit, Fiber, TestClock } from "effect"
import { describe } from "vitest"
import { fencedRoute } from "../../src/fence/FencedRoute.ts"
import { invalid } from "../fixtures/Invalid.ts"

const request: RouteRequest = {
  method: "GET",
  path: "",
  query: new URLSearchParams(),
  headers: {},
  body: new Uint8Array(),
  params: {},
  remoteAddress: "127.0.0.1"
}

const boom = (): never => {
  throw new Error("boom")
}

type Handle = Extract<Route, { readonly _tag: "Http" }>["handle"]

const answerOf = (handle: Handle): Effect.Effect<RouteResponse> => {
  const fenced = fencedRoute("net", { _tag: "Http", method: "GET", path: "/a", handle }, () => {})
  return fenced._tag === "Http" ? fenced.handle(request) : Effect.dieMessage("not the route")
}

/** What the log says about a route that did not give a response. */
const faultOf = (handle: Handle) =>
  Effect.map(Effect.exit(answerOf(handle)), (exit) =>
    Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : `answered ${exit.value.status}`
  )

describe("a fenced HTTP route", () => {
  it.effect("passes a valid response on, without the length that the plugin states", () =>
    Effect.gen(function* () {
      const headers = { "Content-Type": "text/plain", Location: "/caf\u00e9?a=b" }
      expect(
        yield* answerOf(() =>
          Effect.succeed({ status: 302, headers: { ...headers, "content-length": "99" }, body: "moved" })
        )
      ).toEqual({ status: 302, headers, body: "moved" })
      expect(yield* answerOf(() => Effect.succeed({ status: 204, body: "" }))).toEqual({ status: 204, headers: {} })
      const bytes = Uint8Array.of(1, 2)
      expect(yield* answerOf(() => Effect.succeed({ status: 200, body: bytes }))).toMatchObject({ body: bytes })
    })
  )

  it.effect("that throws, dies, fails or hangs dies with a reason that names plugin and route", () =>
    Effect.gen(function* () {
      for (const handle of [boom, () => Effect.die(new Error("boom")), () => Effect.fail(invalid<never>("boom"))]) {
        expect(yield* faultOf(handle)).toBe("RouteFailed: telephony net: GET /a: crashed: boom")
      }
      const fiber = yield* Effect.fork(faultOf(() => Effect.never))
      yield* TestClock.adjust("30 seconds")
      expect(yield* Fiber.join(fiber)).toBe("RouteFailed: telephony net: GET /a: did not answer within 30s")
    })
  )

  it.effect("that throws dies with the plugin's own error, its stack and its causes as the cause", () =>
    Effect.gen(function* () {
      const own = new Error("boom", { cause: new Error("inner") })
      for (const thrown of [Effect.die(own), Effect.fail(invalid<never>(own))]) {
        const exit = yield* Effect.exit(answerOf(() => thrown))
        const fault = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        expect(fault).toMatchObject({ cause: { message: "boom", stack: own.stack, cause: { message: "inner" } } })
      }
    })
  )

  it.effect("that throws an error whose getters throw dies with a cause that can be logged", () =>
    Effect.gen(function* () {
      const hostile = Object.defineProperty(new Error("boom"), "stack", { get: boom })
      const exit = yield* Effect.exit(answerOf(() => Effect.die(hostile)))
      expect(Exit.isFailure(exit) ? Cause.pretty(exit.cause, { renderErrorCause: true }) : "").toContain("boom")
    })
  )

  const wrong: ReadonlyArray<readonly [string, unknown, string]> = [
    ["undefined", undefined, "the response must be an object, not undefined"],
    ["null", null, "the response must be an object, not null"],
    ["a string", "ok", "the status must be"],
    ["no status", {}, "the status must be a whole number from 200 to 599, not undefined"],
    ["the status NaN", { status: Number.NaN }, "not NaN"],
    ["the status 99", { status: 99 }, "not 99"],
    ["the status 101", { status: 101 }, "not 101"],
    ["the status 1000", { status: 1000 }, "not 1000"],
    ["the status 200.5", { status: 200.5 }, "not 200.5"],
    ["the status as text", { status: "200" }, "not a string"],
    ["204 with a body", { status: 204, body: "x" }, "a response 204 has no body"],
    ["304 with a body", { status: 304, body: Uint8Array.of(1) }, "a response 304 has no body"],
    ["an object as body", { status: 200, body: {} }, "the body must be a string or Uint8Array, not an object"],
    ["a number as body", { status: 200, body: 1 }, "not a number"],
    ["null as body", { status: 200, body: null }, "not null"],
    ["CR LF in a header", { status: 302, headers: { Location: "/\r\nSet-Cookie: a=b" } }, "the header Location has"],
    ["LF in a header", { status: 302, headers: { Location: "/\n" } }, "the header Location has"],
    ["NUL in a header", { status: 302, headers: { Location: "/\0" } }, "the header Location has"],
    ["an emoji in a header", { status: 302, headers: { Location: "/😀" } }, "the header Location has"],
    ["a space in a header's name", { status: 200, headers: { "a b": "c" } }, '"a b" is not a valid header name'],
    ["an empty header name", { status: 200, headers: { "": "c" } }, '"" is not a valid header name'],
    ["an undefined header", { status: 200, headers: { a: undefined } }, "the header a must be a string"],
    ["a Map as headers", { status: 200, headers: new Map([["a", "b"]]) }, "the headers must be a plain object"],
    ["null as headers", { status: 200, headers: null }, "the headers must be a plain object"],
    ["Transfer-Encoding", { status: 200, headers: { "Transfer-Encoding": "chunked" } }, "is the server's to send"],
    ["Trailer", { status: 200, headers: { trailer: "a" } }, "is the server's to send"],
    [
      "a getter that throws",
      Object.defineProperty({ status: 200 }, "body", { enumerable: true, get: boom }),
      "cannot be read: boom"
    ]
  ]
  it.effect.each(wrong)("that answers with %s dies with what is wrong", ([, response, reason]) =>
    Effect.gen(function* () {
      const fault = yield* faultOf(() => Effect.succeed(invalid<RouteResponse>(response)))
      expect(fault).toMatch(/^RouteFailed: telephony net: GET \/a: /)
      expect(fault).toContain(reason)
    })
  )
})

describe("the refuse of a fenced WebSocket route", () => {
  const refusing = (refuse: () => RouteResponse | undefined) => () => {
    const route = fencedRoute("net", { _tag: "WebSocket", path: "/ws", refuse, accept: () => {} }, () => {})
    return route._tag === "WebSocket" ? route.refuse?.(request) : undefined
  }

  it("passes a refusal on, and none", () => {
    expect(refusing(() => ({ status: 403, body: "no" }))()).toEqual({ status: 403, headers: {}, body: "no" })
    expect(refusing(() => undefined)()).toBeUndefined()
  })

  it.each([
    ["throws", boom, "refuse crashed: boom"],
    ["gives a string", () => invalid<RouteResponse>("no"), "refuse: the status must be a whole number"],
    ["gives null", () => invalid<RouteResponse>(null), "refuse: the response must be an object, not null"],
    ["gives a promise", () => invalid<RouteResponse>(Promise.resolve({ status: 403 })), "refuse: the status must be"]
  ])("that %s fails with plugin, route and what is wrong", (_, refuse, reason) => {
    expect(refusing(refuse)).toThrow(`telephony net: WebSocket /ws: ${reason}`)
  })

  it("that throws fails with the plugin's own stack as the cause", () => {
    const own = new Error("boom")
    const refuse = refusing(() => {
      throw own
    })
    expect(refuse).toThrow(expect.objectContaining({ cause: expect.objectContaining({ stack: own.stack }) }))
  })
})

describe("a fenced WebSocket route", () => {
  /** The socket that a plugin gets, and what happened to the real one. */
  const opened = (accept: (socket: RouteSocket) => void) => {
    const sent: Array<unknown> = []
    const closed: Array<readonly [number | undefined, string | undefined]> = []
    const log: Array<string> = []
    let receive: (data: string) => void = () => {}
    const route = fencedRoute("net", { _tag: "WebSocket", path: "", accept }, (message) => log.push(message))
    const socket: RouteSocket = {
      send: (data) => sent.push(data),
      bufferedBytes: () => 0,
      close: (code, reason) => closed.push([code, reason]),
      onMessage: (handler) => {
        receive = handler
      },
      onClose: (handler) => handler(1000)
    }
    if (route._tag === "WebSocket") route.accept(socket, request)
    return { sent, closed, log, receive: (data: string) => receive(data) }
  }
  const internal = [[1011, "internal error"]]

  it.effect("sends text and bytes, and closes with the codes that a program may use", () =>
    Effect.sync(() => {
      const { closed, log, sent } = opened((socket) => {
        socket.send("a")
        socket.send(Uint8Array.of(1))
        socket.close(1000, "bye")
        socket.close(4999)
        socket.close()
      })
      expect(sent).toEqual(["a", Uint8Array.of(1)])
      expect(closed).toEqual([
        [1000, "bye"],
        [4999, ""],
        [undefined, undefined]
      ])
      expect(log).toEqual([])
    })
  )

  it.effect("closes the socket and logs the reason when a method is given something invalid, and does not throw", () =>
    Effect.sync(() => {
      const uses: ReadonlyArray<readonly [(socket: RouteSocket) => void, string]> = [
        [(socket) => socket.send(invalid<string>(undefined)), "send was given undefined"],
        [(socket) => socket.send(invalid<string>({})), "send was given an object"],
        [(socket) => socket.close(99), "99 is not a code for close"],
        [(socket) => socket.close(1005), "1005 is not a code for close"],
        [(socket) => socket.close(5000), "5000 is not a code for close"],
        [(socket) => socket.close(Number.NaN), "NaN is not a code for close"],
        [(socket) => socket.close(1000, invalid<string>(1)), "the reason of close was a number"],
        [(socket) => socket.onMessage(invalid<() => void>(undefined)), "onMessage was given undefined"],
        [(socket) => socket.onClose(boom), "the handler given to onClose failed: boom"],
        [boom, "accept failed: boom"]
      ]
      for (const [use, reason] of uses) {
        const { closed, log } = opened(use)
        expect(log).toHaveLength(1)
        expect(log[0]).toContain(`telephony net: WebSocket its mount point: ${reason}`)
        expect(closed).toEqual(internal)
      }
    })
  )

  it.effect("closes the socket when a message handler throws", () =>
    Effect.sync(() => {
      const { closed, log, receive } = opened((socket) => socket.onMessage(boom))
      receive("x")
      expect([closed, log]).toEqual([internal, [expect.stringContaining("onMessage failed: boom")]])
    })
  )

  it.effect("shortens a reason of a close to the 123 bytes that a close frame has for it", () =>
    Effect.sync(() => {
      const { closed } = opened((socket) => socket.close(1000, "é".repeat(100)))
      expect(closed).toEqual([[1000, "é".repeat(61)]])
    })
  )
})
