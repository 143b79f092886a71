import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import type { RouteSocket } from "@svc/providers/Route"
import { Context, Effect, Layer, Runtime, Schedule } from "effect"
import { type RawData, WebSocket, WebSocketServer } from "ws"
import { writeBytes, writeText } from "./MessageFrames.ts"

/** Largest message that a peer may send. */
const maxMessage = 1024 * 1024

/** A peer that sends nothing between two pings is dead, so it is noticed after 20 to 40 seconds. */
const pingInterval = "20 seconds"

/** How long peers have to answer the close frame when the server stops. */
const closeTimeout = "1 second"

const toMessage = (data: RawData, isBinary: boolean): string | Uint8Array => {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
  return isBinary ? bytes : bytes.toString("utf8")
}

/** A socket on a stream as plugins see it; `heard` is called for each message, `report` gets what their handlers throw. */
const routeSocket = (
  socket: WebSocket,
  stream: Duplex,
  { heard, report }: { readonly heard: () => void; readonly report: (defect: unknown) => void }
): RouteSocket => {
  // Messages that arrive before the plugin listens are kept, in order.
  const early: Array<string | Uint8Array> = []
  let onMessage: ((data: string | Uint8Array) => void) | undefined
  let onClose: ((code: number) => void) | undefined
  let closed: number | undefined
  const guarded = (run: () => void) => {
    try {
      run()
    } catch (defect) {
      report(defect)
      socket.close(1011, "internal error")
    }
  }
  socket.on("message", (data, isBinary) => {
    heard()
    const message = toMessage(data, isBinary)
    if (onMessage === undefined) early.push(message)
    else guarded(() => onMessage?.(message))
  })
  socket.on("close", (code) => {
    closed = code
    guarded(() => onClose?.(code))
  })
  return {
    send: (data) => {
      if (socket.readyState !== WebSocket.OPEN) return
      // Without a callback, which would cost a tick per frame: a failed write causes "error" and "close".
      const isWritten = typeof data === "string" ? writeText(stream, data) : writeBytes(stream, data)
      if (!isWritten) socket.send(data)
    },
    bufferedBytes: () => socket.bufferedAmount,
    close: (code, reason) => socket.close(code, reason),
    onMessage: (handler) => {
      onMessage = handler
      for (const message of early.splice(0)) guarded(() => handler(message))
    },
    onClose: (handler) => {
      onClose = handler
      const code = closed
      if (code !== undefined) guarded(() => handler(code))
    }
  }
}

/**
 * The WebSockets of plugins. They outlive the HTTP server, so that the calls whose media they carry can end properly:
 * build this before the call engine.
 */
export class PluginSockets extends Context.Tag("@svc/server/PluginSockets")<
  PluginSockets,
  {
    /** Completes the upgrade and hands the socket to `accept`. `name` is the route's, for the log. */
    readonly upgrade: (
      request: IncomingMessage,
      stream: Duplex,
      head: Buffer,
      name: string,
      accept: (socket: RouteSocket) => void
    ) => void
    /** How many are open. */
    readonly open: () => number
  }
>() {
  static readonly layer: Layer.Layer<PluginSockets> = Layer.scoped(
    PluginSockets,
    Effect.gen(function* () {
      const log = Runtime.runFork(yield* Effect.runtime())
      const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: maxMessage })
      const unanswered = new Set<WebSocket>()

      const pingAll = Effect.sync(() => {
        for (const socket of server.clients) {
          if (unanswered.has(socket)) socket.terminate()
          else {
            unanswered.add(socket)
            socket.ping()
          }
        }
      })
      let onEmpty = () => {}
      const allClosed = Effect.async<void>((resume) => {
        onEmpty = () => resume(Effect.void)
        if (server.clients.size === 0) onEmpty()
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const socket of server.clients) socket.close(1001, "server stops")
        }).pipe(
          Effect.zipRight(Effect.timeoutOption(Effect.interruptible(allClosed), closeTimeout)),
          Effect.zipRight(
            Effect.sync(() => {
              for (const socket of server.clients) socket.terminate()
              server.close()
            })
          )
        )
      )
      yield* Effect.forkScoped(Effect.repeat(pingAll, Schedule.spaced(pingInterval)))

      return {
        open: () => server.clients.size,
        upgrade: (request, stream, head, name, accept) =>
          server.handleUpgrade(request, stream, head, (socket) => {
            const markAlive = () => void (unanswered.size > 0 && unanswered.delete(socket))
            socket.on("pong", markAlive)
            socket.on("close", () => {
              markAlive()
              if (server.clients.size === 0) onEmpty()
            })
            // "close" follows.
            socket.on("error", () => {})
            const report = (defect: unknown) => void log(Effect.logError(`${name} failed`, defect))
            accept(routeSocket(socket, stream, { heard: markAlive, report }))
          })
      }
    })
  )
}
