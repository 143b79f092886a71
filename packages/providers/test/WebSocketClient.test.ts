import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Scope, TestClock, TestServices } from "effect"
import { makeFailures, type RequestFailed } from "../src/RequestFailed.ts"
import { type EmulatedBehaviour, emulatedServer } from "../src/testing/EmulatedServer.ts"
import { makeHostDouble } from "../src/testing/HostDouble.ts"
import { makeSteppedClock } from "../src/testing/SteppedClock.ts"
import { open, type SocketClosed, type SocketOptions } from "../src/WebSocketClient.ts"

const key = "secret-0123"
const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

/** A server, and a client of it that is not connected yet. */
const setUp = (behaviour: EmulatedBehaviour, more: Partial<SocketOptions> = {}) =>
  Effect.gen(function* () {
    const server = yield* emulatedServer(behaviour)
    const double = yield* makeHostDouble()
    const failures = makeFailures({
      server: server.origin,
      key: Redacted.make(key),
      keySetting: "SVC_EXAMPLE_API_KEY",
      log: double.host.log
    })
    const messages: Array<string | Uint8Array> = []
    const closed: Array<SocketClosed> = []
    return {
      server,
      double,
      failures,
      messages,
      closed,
      connect: open({
        url: `${server.origin}/v1/listen?model=a`,
        headers: { authorization: `Token ${key}` },
        failures,
        onMessage: (message) => void messages.push(typeof message === "string" ? message : message.slice()),
        onClosed: (how) => void closed.push(how),
        ...more
      })
    }
  })

describe("WebSocketClient", () => {
  it.live("sends headers, query and protocols, and gets what the server says with its answer to the handshake", () =>
    Effect.gen(function* () {
      const { connect, messages, server } = yield* setUp(
        { connection: (peer) => Effect.sync(() => peer.send({ type: "Connected" })) },
        { protocols: ["v2.example", "v1.example"] }
      )
      const socket = yield* connect
      yield* until(() => messages.length === 1)
      expect(messages).toEqual(['{"type":"Connected"}'])
      const [request] = server.requests
      expect([request?.path, request?.query.get("model")]).toEqual(["/v1/listen", "a"])
      expect(request?.headers.authorization).toBe(`Token ${key}`)
      expect(request?.headers["sec-websocket-protocol"]).toBe("v2.example,v1.example")
      socket.send("text")
      socket.send(new Uint8Array([1, 2]))
      yield* until(() => server.peers[0]?.received.length === 2)
      expect(server.peers[0]?.received).toEqual(["text", Buffer.from([1, 2])])
    }).pipe(Effect.scoped)
  )

  it.live("open fails typed when the server refuses, and never says the key", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [status: number, body: string, retryable: boolean, says: string]> = [
        [401, '{"err_msg":"Invalid credentials."}', true, "SVC_EXAMPLE_API_KEY was refused: SERVER answered 401"],
        [403, "", true, "SVC_EXAMPLE_API_KEY was refused: SERVER answered 403"],
        [400, `{"err_msg":"no model ${key}"}`, false, "SERVER answered 400: no model …"],
        [429, '{"detail":{"status":"busy","message":"too many"}}', true, "SERVER answered 429: too many"],
        [503, "<html>down</html>", true, "SERVER answered 503: <html>down</html>"]
      ]
      for (const [status, body, retryable, says] of cases) {
        const { connect, double, failures, server } = yield* setUp({ upgrade: () => ({ status, body }) })
        const error = yield* Effect.flip(connect)
        expect(error).toMatchObject({ _tag: "RequestFailed", status, retryable })
        expect(error.reason).toBe(says.replace("SERVER", server.origin))
        const isKey = status === 401 || status === 403
        expect(double.logged.map(({ message }) => message)).toEqual(
          isKey ? [`${error.reason}. Set a valid key and restart the server`] : []
        )
        expect(failures.refused()).toBe(isKey ? error.reason : undefined)
      }
    }).pipe(Effect.scoped)
  )

  it.live("open obeys Retry-After when it fits the deadline, and fails at once when it does not", () =>
    Effect.gen(function* () {
      const busy = (seconds: string, times: number) => {
        let left = times
        return {
          upgrade: () => (left-- > 0 ? { status: 429, headers: { "retry-after": seconds } } : "accept")
        } as const
      }
      let waits = 0
      const fits = yield* setUp(busy("0.02", 2), { onRetryWait: () => void waits++ })
      yield* fits.connect
      expect([fits.server.requests.length, waits]).toEqual([3, 2])
      const late = yield* setUp(busy("60", 2))
      expect((yield* Effect.flip(late.connect)).retryAfterMs).toBe(60_000)
      expect(late.server.requests).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("open fails when nothing listens, and when the server does not answer", () =>
    Effect.gen(function* () {
      const hanging = yield* setUp({ upgrade: () => "hang" }, { deadline: "50 millis" })
      const silent = yield* Effect.flip(hanging.connect)
      expect(silent.reason).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/v1\/listen did not answer within 50ms$/)
      const scope = yield* Scope.make()
      const gone = yield* Scope.extend(setUp({}), scope)
      yield* Scope.close(scope, Exit.void)
      const refused = yield* Effect.flip(gone.connect)
      expect(refused).toMatchObject({ retryable: true, reason: expect.stringContaining("ECONNREFUSED") })
    }).pipe(Effect.scoped)
  )

  it.live("closes the connection at the server when the scope closes, and calls nothing after that", () =>
    Effect.gen(function* () {
      const { closed, connect, messages, server } = yield* setUp({
        connection: (peer) =>
          Effect.forever(
            Effect.delay(
              Effect.sync(() => peer.send("x")),
              1
            )
          )
      })
      const scope = yield* Scope.make()
      yield* Scope.extend(connect, scope)
      yield* until(() => messages.length > 2)
      yield* Scope.close(scope, Exit.void)
      const count = messages.length
      yield* until(() => server.openPeers() === 0)
      expect(server.peers[0]?.closed()?.code).toBe(1000)
      expect([messages.length, closed]).toEqual([count, []])
    }).pipe(Effect.scoped)
  )

  it.live("reports how the server ended the connection, once", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [EmulatedBehaviour["connection"] & {}, number, RegExp]> = [
        [
          (peer) => Effect.sync(() => peer.close(1011, "NET-0001")),
          1011,
          /closed the connection with code 1011: NET-0001$/
        ],
        [(peer) => Effect.sync(() => peer.close(1000)), 1000, /closed the connection with code 1000$/],
        [(peer) => Effect.sync(() => peer.breakOff()), 1006, /closed the connection without a reason$/],
        [(peer) => Effect.sync(() => peer.sendGarbage()), 1006, /the connection to .* failed: WS_ERR_/]
      ]
      for (const [connection, code, reason] of cases) {
        const { closed, connect, server } = yield* setUp({ connection })
        const socket = yield* connect
        yield* until(() => closed.length > 0 && server.openPeers() === 0)
        expect(closed).toMatchObject([{ code, failure: { _tag: "RequestFailed", retryable: true } }])
        expect(closed[0]?.failure.reason).toMatch(reason)
        socket.send("late")
        socket.fail("late")
        expect(closed).toHaveLength(1)
      }
    }).pipe(Effect.scoped)
  )

  it.live("a listener that throws, and a plugin that gives up, end the connection with a reason", () =>
    Effect.gen(function* () {
      const thrown = yield* setUp(
        { connection: (peer) => Effect.sync(() => peer.send("{")) },
        { onMessage: (message) => void JSON.parse(String(message)) }
      )
      yield* thrown.connect
      yield* until(() => thrown.closed.length > 0 && thrown.server.openPeers() === 0)
      expect(thrown.closed[0]?.failure.reason).toContain("failed to read a message of ws://")
      const given = yield* setUp({})
      const socket = yield* given.connect
      socket.fail("the answer is no transcript")
      yield* until(() => given.server.openPeers() === 0)
      expect(given.closed.map(({ failure }) => failure.reason)).toEqual(["the answer is no transcript"])
    }).pipe(Effect.scoped)
  )

  it.live("a server that takes no data fails the connection when too much waits", () =>
    Effect.gen(function* () {
      const { closed, connect } = yield* setUp(
        { connection: (peer) => Effect.sync(() => peer.stopReading()) },
        { mostWaiting: 100_000 }
      )
      const socket = yield* connect
      const piece = new Uint8Array(50_000)
      yield* Effect.repeat(
        Effect.zipRight(
          Effect.sync(() => socket.send(piece)),
          Effect.sleep(1)
        ),
        { until: () => closed.length > 0 }
      )
      expect(closed[0]?.failure.reason).toMatch(/takes no data: 100000 bytes wait to be sent$/)
    }).pipe(Effect.scoped)
  )

  it.live("a paused connection lets the server wait", () =>
    Effect.gen(function* () {
      const size = 100_000
      const { connect, messages, server } = yield* setUp({
        connection: (peer) =>
          Effect.zipRight(
            peer.next,
            Effect.sync(() => {
              for (let n = 0; n < 200; n++) peer.send(Buffer.alloc(size))
            })
          )
      })
      const socket = yield* connect
      socket.pause()
      socket.send("go")
      yield* until(() => server.peers[0]?.received.length === 1)
      expect(messages.length).toBeLessThan(200)
      socket.resume()
      yield* until(() => messages.length === 200)
    }).pipe(Effect.scoped)
  )

  it.effect("keeps an idle connection alive, and gives up a server that answers no ping", () =>
    Effect.gen(function* () {
      const real = (condition: () => boolean) => TestServices.provideLive(until(condition))
      const { closed, connect, server } = yield* setUp(
        {},
        { keepAlive: { idleMs: 4000, message: () => '{"type":"KeepAlive"}' }, pingMs: 10_000 }
      )
      const connecting = yield* Effect.fork(connect)
      yield* real(() => server.openPeers() === 1)
      const socket = yield* Fiber.join(connecting)
      yield* TestClock.adjust(3000)
      socket.send("audio")
      yield* TestClock.adjust(3999)
      yield* real(() => server.peers[0]?.received.length === 1)
      yield* TestClock.adjust(1)
      yield* real(() => server.peers[0]?.received.length === 2)
      expect(server.peers[0]?.received).toEqual(["audio", '{"type":"KeepAlive"}'])
      server.peers[0]?.stopReading()
      yield* TestClock.adjust(10_000)
      expect(closed).toEqual([])
      yield* TestClock.adjust(10_000)
      expect(closed.map(({ failure }: { failure: RequestFailed }) => failure.reason)).toEqual([
        expect.stringMatching(/did not answer a ping within 10000 ms$/)
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("sends to an idle server after the same time when the system's time is set back or forward meanwhile", () =>
    Effect.gen(function* () {
      const real = (condition: () => boolean) => TestServices.provideLive(until(condition))
      for (const step of [-3_600_000, 3_600_000]) {
        const system = yield* makeSteppedClock
        let idle = 0
        const message = () => {
          idle++
          return "idle"
        }
        const { connect, server } = yield* setUp({}, { keepAlive: { idleMs: 4000, message } })
        const connecting = yield* Effect.fork(Effect.withClock(connect, system.clock))
        yield* real(() => server.openPeers() === 1)
        const socket = yield* Fiber.join(connecting)
        yield* TestClock.adjust(3000)
        socket.send("audio")
        yield* system.step(step)
        yield* TestClock.adjust(3999)
        expect(idle).toBe(0)
        yield* TestClock.adjust(1)
        expect(idle).toBe(1)
        yield* real(() => server.peers[0]?.received.length === 2)
        expect(server.peers[0]?.received).toEqual(["audio", "idle"])
      }
    }).pipe(Effect.scoped)
  )
})
