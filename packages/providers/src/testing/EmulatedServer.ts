import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, Exit, Queue, Runtime, type Scope } from "effect"
import { type RawData, WebSocket, WebSocketServer } from "ws"

/** A request that the server got, or the one that opened a WebSocket. */
export interface EmulatedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** The query as it was sent, from its `?` on; empty without one. */
  readonly search: string
  readonly headers: IncomingHttpHeaders
  /** Empty for one that opened a WebSocket, like `json`. */
  readonly body: Buffer
  /** The body as JSON; an empty object if it is none. */
  readonly json: Readonly<Record<string, unknown>>
  /** Of the connection: the same for requests of one. */
  readonly port: number
}

/** A WebSocket of a client, as the server sees it. */
export interface EmulatedPeer {
  readonly request: EmulatedRequest
  /** All messages that the client has sent. */
  readonly received: ReadonlyArray<string | Buffer>
  /** The next message that the client has sent; null when it closed the connection. */
  readonly next: Effect.Effect<string | Buffer | null>
  /** Sends bytes or text as they are, and anything else as JSON. */
  readonly send: (message: unknown) => void
  readonly close: (code: number, reason?: string) => void
  /** Ends the connection without a close frame. */
  readonly breakOff: () => void
  /** Sends bytes that are no WebSocket frame. */
  readonly sendGarbage: () => void
  /** Stops to read what the client sends. */
  readonly stopReading: () => void
  /** When the connection ended, in milliseconds since the start of the process, and with which code of the client. */
  readonly closed: () => { readonly at: number; readonly code: number } | undefined
}

export interface EmulatedBehaviour {
  /** Answers a request, or leaves it open. Without it, 404. */
  readonly request?: (request: EmulatedRequest, response: ServerResponse) => void
  /** What happens to a request for a WebSocket: it is accepted by default. */
  readonly upgrade?: (request: EmulatedRequest) => Refusal | "accept" | "hang"
  /** Talks with a client; interrupted when the connection ends. Without it, the server listens and says nothing. */
  readonly connection?: (peer: EmulatedPeer) => Effect.Effect<void>
}

/** An HTTP answer in place of a WebSocket. */
export interface Refusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface EmulatedServer {
  /** `http://127.0.0.1:` and the port. */
  readonly origin: string
  readonly requests: ReadonlyArray<EmulatedRequest>
  /** All WebSockets that were accepted, in order. */
  readonly peers: ReadonlyArray<EmulatedPeer>
  /** Requests of which the answer is neither complete nor broken off. */
  readonly openRequests: () => number
  /** WebSockets that are open. */
  readonly openPeers: () => number
  /** Milliseconds since the start of the process at which each request was broken off by the client. */
  readonly brokenOff: ReadonlyArray<number>
}

const jsonOf = (body: Buffer): Readonly<Record<string, unknown>> => {
  try {
    return Object(JSON.parse(body.toString("utf8")))
  } catch {
    return {}
  }
}

const requestOf = (message: IncomingMessage, body: Buffer): EmulatedRequest => {
  const target = message.url ?? "/"
  const { pathname, searchParams } = new URL(target, "http://localhost")
  const queryAt = target.indexOf("?")
  return {
    method: message.method ?? "",
    path: pathname,
    query: searchParams,
    search: queryAt < 0 ? "" : target.slice(queryAt),
    headers: message.headers,
    body,
    json: jsonOf(body),
    port: message.socket.remotePort ?? 0
  }
}

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data

const refuse = (socket: Duplex, { body = "", headers = {}, status }: Refusal): void => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${lines.join("")}\r\n${body}`
  )
}

const peerOf = (request: EmulatedRequest, socket: WebSocket, raw: Duplex): Effect.Effect<EmulatedPeer> =>
  Effect.gen(function* () {
    const received: Array<string | Buffer> = []
    const messages = yield* Queue.unbounded<string | Buffer | null>()
    let closed: { readonly at: number; readonly code: number } | undefined
    socket.on("message", (data, isBinary) => {
      const message = isBinary ? bytesOf(data) : bytesOf(data).toString("utf8")
      received.push(message)
      messages.unsafeOffer(message)
    })
    socket.on("error", () => {})
    socket.on("close", (code) => {
      closed = { at: performance.now(), code }
      messages.unsafeOffer(null)
    })
    return {
      request,
      received,
      next: Queue.take(messages),
      send: (message) => {
        if (socket.readyState !== WebSocket.OPEN) return
        socket.send(typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message))
      },
      close: (code, reason) => socket.close(code, reason),
      breakOff: () => socket.terminate(),
      // Reserved bits are set, and a frame of a server is not masked (RFC 6455, 5.2).
      sendGarbage: () => void raw.write(Buffer.from([0xff, 0xff, 0xff, 0xff])),
      stopReading: () => socket.pause(),
      closed: () => closed
    }
  })

/**
 * A server on a real socket of 127.0.0.1, for tests of a plugin: it answers HTTP requests and WebSockets as `behaviour`
 * says, faults included, and closes with the scope.
 */
export const emulatedServer = (behaviour: EmulatedBehaviour): Effect.Effect<EmulatedServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const requests: Array<EmulatedRequest> = []
    const peers: Array<EmulatedPeer> = []
    const brokenOff: Array<number> = []
    let openRequests = 0
    const raws = new Set<Duplex>()
    const webSockets = new WebSocketServer({ noServer: true })

    const server = createServer((message, response) => {
      openRequests++
      response.on("close", () => {
        openRequests--
        if (!response.writableFinished) brokenOff.push(performance.now())
      })
      const chunks: Array<Buffer> = []
      message.on("data", (chunk: Buffer) => chunks.push(chunk))
      message.on("end", () => {
        const request = requestOf(message, Buffer.concat(chunks))
        requests.push(request)
        if (behaviour.request === undefined) response.writeHead(404).end()
        else behaviour.request(request, response)
      })
    })
    server.on("upgrade", (message: IncomingMessage, raw: Duplex, head: Buffer) => {
      raws.add(raw)
      raw.on("close", () => raws.delete(raw))
      raw.on("error", () => {})
      const request = requestOf(message, Buffer.alloc(0))
      requests.push(request)
      const verdict = behaviour.upgrade?.(request) ?? "accept"
      if (verdict === "hang") return
      if (verdict !== "accept") return refuse(raw, verdict)
      webSockets.handleUpgrade(message, raw, head, (socket) => {
        const peer = Runtime.runSync(runtime)(peerOf(request, socket, raw))
        peers.push(peer)
        if (behaviour.connection === undefined) return
        const fiber = Runtime.runFork(runtime)(behaviour.connection(peer))
        socket.on("close", () => fiber.unsafeInterruptAsFork(fiber.id()))
        fiber.addObserver((exit) => {
          // A behaviour that dies is a fault of the test: the client sees it.
          if (Exit.isFailure(exit) && peer.closed() === undefined) peer.close(1011, "the emulated server died")
        })
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
          for (const raw of raws) raw.destroy()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      origin: `http://127.0.0.1:${port}`,
      requests,
      peers,
      openRequests: () => openRequests,
      openPeers: () => peers.filter((peer) => peer.closed() === undefined).length,
      brokenOff
    }
  })
