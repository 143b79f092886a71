import * as Http from "node:http"
import * as Net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, TestClock } from "effect"
import { ask, json } from "../../servers/Client.ts"
import { signals, startTiny } from "../../servers/TinyServer.ts"

/** A server that the test stops itself. */
const stoppable = Effect.gen(function* () {
  const s = yield* signals
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const { port } = yield* Scope.extend(startTiny({ signals: s }), scope)
  return { s, port, stop: Scope.close(scope, Exit.void) }
})

/** Waits until nothing listens on the port any more. */
const refused = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = Net.connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
    socket.once("error", () => resume(Effect.succeed(true)))
  }).pipe(Effect.repeat({ until: (is) => is }))

describe("shutdown", () => {
  it.scopedLive("finishes a slow request, sends Connection: close, and accepts no new connection", () =>
    Effect.gen(function* () {
      const { port, s, stop } = yield* stoppable
      const slow = yield* Effect.fork(ask(port, { path: "/v1/slow", method: "POST", key: "full" }))
      yield* Deferred.await(s.begun)
      const stopped = yield* Effect.fork(stop)
      yield* refused(port)
      yield* Deferred.succeed(s.go, undefined)
      const answer = yield* Fiber.join(slow)
      expect([answer.status, json(answer), answer.headers.connection]).toEqual([200, { item: "slow" }, "close"])
      yield* Fiber.join(stopped)
    })
  )

  it.scopedLive("answers a request on an open connection with 503", () =>
    Effect.gen(function* () {
      const { port, s, stop } = yield* stoppable
      const received = yield* Deferred.make<string>()
      const socket = Net.connect(port, "127.0.0.1")
      let text = ""
      socket.on("data", (chunk) => {
        text += String(chunk)
      })
      socket.on("close", () => Deferred.unsafeDone(received, Exit.succeed(text)))
      // A request whose head is not complete keeps its connection from being idle.
      socket.write("GET /v1/items/x HTTP/1.1\r\nHost: x\r\n")
      const slow = yield* Effect.fork(ask(port, { path: "/v1/slow", method: "POST", key: "full" }))
      yield* Deferred.await(s.begun)
      const stopped = yield* Effect.fork(stop)
      yield* refused(port)
      socket.write("Authorization: Bearer full\r\n\r\n")
      const answer = yield* Deferred.await(received)
      expect(answer).toMatch(/^HTTP\/1.1 503 /)
      expect(answer).toMatch(/UNAVAILABLE/)
      yield* Deferred.succeed(s.go, undefined)
      expect((yield* Fiber.join(slow)).status).toBe(200)
      yield* Fiber.join(stopped)
    })
  )

  it.scopedLive("closes connections that are kept alive and idle", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* stoppable
      const agent = new Http.Agent({ keepAlive: true })
      expect((yield* ask(port, { path: "/healthz", agent })).status).toBe(200)
      yield* stop
      yield* refused(port)
      agent.destroy()
    })
  )

  it.scoped("cuts connections and interrupts handlers after 10 seconds", () =>
    Effect.gen(function* () {
      const { port, s, stop } = yield* stoppable
      const hung = yield* Effect.fork(Effect.either(ask(port, { path: "/v1/hangs", key: "full" })))
      yield* Deferred.await(s.begun)
      const stopped = yield* Effect.fork(stop)
      yield* refused(port)
      yield* TestClock.adjust("9 seconds")
      expect(yield* Deferred.isDone(s.interrupted)).toBe(false)
      yield* TestClock.adjust("1 second")
      yield* Deferred.await(s.interrupted)
      yield* Fiber.join(stopped)
      expect((yield* Fiber.join(hung))._tag).toBe("Left")
    })
  )
})
