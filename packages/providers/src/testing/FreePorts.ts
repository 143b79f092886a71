import * as dgram from "node:dgram"
import type { EventEmitter } from "node:events"
import * as net from "node:net"
import { Effect, Random, type Scope } from "effect"

/** Below the ports that systems give to connections (from 32768 on), so that no connection takes a port before its program does. */
const lowest = 25_000
const highest = 31_999

/** Binds a socket of 127.0.0.1 until the end of the scope. Fails when the port is taken. */
const held = <Socket extends EventEmitter & { close(done: () => void): unknown }>(
  bind: (bound: () => void) => Socket
): Effect.Effect<void, Error, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.async<Socket, Error>((resume) => {
        const socket = bind(() => resume(Effect.succeed(socket)))
        socket.once("error", (error: Error) => resume(Effect.fail(error)))
      }),
      (socket) => Effect.async<void>((resume) => void socket.close(() => resume(Effect.void)))
    )
  )

/**
 * The first of so many ports of 127.0.0.1 that follow each other, even, and on which nothing listens now, neither on TCP nor
 * on UDP. For a program that is told its port: it can lose the port to another one until it starts.
 */
export const freePorts = (count: number): Effect.Effect<number> =>
  Effect.gen(function* () {
    const first = 2 * (yield* Random.nextIntBetween(lowest / 2, Math.floor((highest - count) / 2)))
    for (let port = first; port < first + count; port++) {
      yield* held((bound) => net.createServer().listen({ port, host: "127.0.0.1", exclusive: true }, bound))
      yield* held((bound) => dgram.createSocket("udp4").bind({ port, address: "127.0.0.1", exclusive: true }, bound))
    }
    return first
  }).pipe(Effect.scoped, Effect.retry({ times: 1000 }), Effect.orDie)

/** One of them. */
export const freePort: Effect.Effect<number> = freePorts(1)
