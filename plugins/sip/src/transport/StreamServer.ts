import * as net from "node:net"
import { Effect, type Scope } from "effect"
import { ListenFailed } from "./Udp.ts"

/** Accepts TCP connections until the end of the scope. Returns the port. */
export const listenOn = (
  transport: "tcp" | "tls",
  address: string,
  port: number,
  accept: (socket: net.Socket) => void
): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<net.Server, ListenFailed>((resume) => {
      const opened = net.createServer(accept)
      opened.once("error", (error: NodeJS.ErrnoException) => {
        resume(new ListenFailed({ transport, address, port, code: error.code ?? error.message }))
      })
      opened.listen({ host: address, port, exclusive: true }, () => {
        opened.removeAllListeners("error")
        opened.on("error", () => {})
        resume(Effect.succeed(opened))
      })
    }),
    // It ends when its connections do, which their owner closes.
    (opened) => Effect.sync(() => opened.close())
  ).pipe(
    Effect.map((opened) => {
      const bound = opened.address()
      return typeof bound === "object" && bound !== null ? bound.port : port
    })
  )
