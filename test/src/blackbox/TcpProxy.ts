import { createServer, connect as open, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** A network between a client and a server, which can be gone. */
export interface TcpProxy {
  readonly url: string
  /** Breaks all connections and takes none. */
  readonly cut: () => void
  readonly restore: () => void
  /** Leads new connections to another server. */
  readonly leadTo: (url: string) => void
}

/** A proxy on loopback to the server at `url`. */
export const start = (url: string): Effect.Effect<TcpProxy, never, Scope.Scope> =>
  Effect.gen(function* () {
    let target = new URL(url)
    let isCut = false
    const sockets = new Set<Socket>()
    const server = createServer((near) => {
      if (isCut) {
        near.destroy()
        return
      }
      const far = open(Number(target.port), target.hostname)
      for (const [one, other] of [
        [near, far],
        [far, near]
      ] as const) {
        sockets.add(one)
        one.on("error", () => {})
        one.on("close", () => {
          sockets.delete(one)
          other.destroy()
        })
        one.pipe(other)
      }
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      url: `http://127.0.0.1:${port}`,
      cut: () => {
        isCut = true
        for (const socket of sockets) socket.destroy()
      },
      restore: () => {
        isCut = false
      },
      leadTo: (other) => {
        target = new URL(other)
      }
    }
  })
