import * as dgram from "node:dgram"
import * as net from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { freePorts } from "@svc/providers/testing/FreePorts"
import { Effect, Random } from "effect"

const listening = (port: number) =>
  Effect.acquireRelease(
    Effect.async<net.Server>((resume) => {
      const server = net.createServer().listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

const bound = (port: number) =>
  Effect.acquireRelease(
    Effect.async<dgram.Socket>((resume) => {
      const socket = dgram.createSocket("udp4").bind(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.close())
  )

describe("freePorts", () => {
  it.scopedLive("passes over ports where one of them is taken, on TCP or on UDP", () =>
    Effect.gen(function* () {
      // The same random numbers each time: it begins at the same port.
      const again = Effect.suspend(() => Effect.withRandom(freePorts(3), Random.make("seed")))
      const first = yield* again
      expect(yield* again).toBe(first)
      yield* listening(first + 2)
      const second = yield* again
      expect(second).not.toBe(first)
      yield* bound(second + 1)
      const third = yield* again
      expect([first, second]).not.toContain(third)
      yield* listening(third)
      yield* bound(third)
    })
  )
})
