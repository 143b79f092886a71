import * as net from "node:net"
import { Effect, type Scope } from "effect"
import * as Framer from "../message/Framer.ts"
import { ListenFailed, plain } from "./Udp.ts"

/** Connections at once, in all and from one address. */
const maxConnections = 2000
const maxPerSource = 100
/** Milliseconds after which a connection without any bytes is closed. */
const idleMs = 10 * 60_000
/** Milliseconds in which a new connection must have sent a message. */
const firstMessageMs = 30_000
/** Milliseconds for which a connection of ours may take to be made. */
const connectMs = 5000
/** Bytes that wait for a peer which does not read, before its connection is closed. */
const maxWaiting = 1 << 20

/** Who sent bytes: an address, and the connection on which answers go back. */
export interface Source {
  readonly address: string
  readonly port: number
  readonly connection: number
}

export interface Tcp {
  readonly port: number
  /** Sends on a connection, or on another one to the same place. `onFailed` is called when it cannot be sent. */
  readonly send: (
    bytes: Uint8Array,
    to: { readonly address: string; readonly port: number; readonly connection?: number },
    onFailed: () => void
  ) => void
}

interface Connection {
  readonly id: number
  readonly socket: net.Socket
  readonly address: string
  pending: Framer.Pending
}

/** All TCP connections of the process. */
class Connections {
  readonly #onMessage: (bytes: Uint8Array, from: Source) => void
  readonly #isAllowed: (address: string) => boolean
  readonly #byId = new Map<number, Connection>()
  readonly #byPlace = new Map<string, Connection>()
  #count = 0

  constructor(isAllowed: (address: string) => boolean, onMessage: (bytes: Uint8Array, from: Source) => void) {
    this.#isAllowed = isAllowed
    this.#onMessage = onMessage
  }

  accept(socket: net.Socket): void {
    const address = plain(socket.remoteAddress ?? "")
    const same = [...this.#byId.values()].filter((each) => each.address === address).length
    if (!this.#isAllowed(address) || this.#byId.size >= maxConnections || same >= maxPerSource) {
      socket.on("error", () => {})
      socket.destroy()
      return
    }
    socket.setTimeout(firstMessageMs)
    this.#add(socket, address, socket.remotePort ?? 0)
  }

  send(
    bytes: Uint8Array,
    to: { readonly address: string; readonly port: number; readonly connection?: number },
    onFailed: () => void
  ): void {
    const place = `${to.address} ${to.port}`
    const kept = (to.connection === undefined ? undefined : this.#byId.get(to.connection)) ?? this.#byPlace.get(place)
    const { socket } = kept ?? this.#connect(to.address, to.port)
    if (socket.writableLength > maxWaiting) socket.destroy()
    socket.write(bytes, (error) => {
      if (error !== null && error !== undefined) onFailed()
    })
  }

  closeAll(): void {
    for (const { socket } of this.#byId.values()) socket.destroy()
  }

  #connect(address: string, port: number): Connection {
    const socket = net.connect({ host: address, port })
    socket.setTimeout(connectMs)
    socket.once("connect", () => socket.setTimeout(idleMs))
    return this.#add(socket, address, port)
  }

  #add(socket: net.Socket, address: string, port: number): Connection {
    const connection: Connection = { id: ++this.#count, socket, address, pending: Framer.empty }
    const place = `${address} ${port}`
    this.#byId.set(connection.id, connection)
    this.#byPlace.set(place, connection)
    socket.setNoDelay(true)
    socket.on("data", (chunk: Buffer) => this.#take(connection, chunk, port))
    socket.on("timeout", () => socket.destroy())
    socket.on("error", () => {})
    socket.on("close", () => {
      this.#byId.delete(connection.id)
      if (this.#byPlace.get(place) === connection) this.#byPlace.delete(place)
    })
    return connection
  }

  #take(connection: Connection, chunk: Uint8Array, port: number): void {
    const { address, id, socket } = connection
    const [pending, framed] = Framer.push(connection.pending, chunk)
    connection.pending = pending
    for (const frame of framed) {
      if (frame._tag === "Ping") {
        socket.write("\r\n")
        continue
      }
      socket.setTimeout(idleMs)
      this.#onMessage(frame.bytes, { address, port, connection: id })
      // Where the next message begins is not known.
      if (frame._tag === "Broken") socket.end()
    }
  }
}

/** Listens for connections until the end of the scope, which closes them all. Messages are passed synchronously. */
export const listen = (
  address: string,
  port: number,
  isAllowed: (address: string) => boolean,
  onMessage: (bytes: Uint8Array, from: Source) => void
): Effect.Effect<Tcp, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const connections = new Connections(isAllowed, onMessage)
    const server = yield* Effect.acquireRelease(
      Effect.async<net.Server, ListenFailed>((resume) => {
        const opened = net.createServer((socket) => connections.accept(socket))
        opened.once("error", (error: NodeJS.ErrnoException) => {
          resume(new ListenFailed({ transport: "tcp", address, port, code: error.code ?? error.message }))
        })
        opened.listen({ host: address, port, exclusive: true }, () => {
          opened.removeAllListeners("error")
          opened.on("error", () => {})
          resume(Effect.succeed(opened))
        })
      }),
      (opened) =>
        Effect.async<void>((resume) => {
          opened.close(() => resume(Effect.void))
          connections.closeAll()
        })
    )
    const bound = server.address()
    return {
      port: typeof bound === "object" && bound !== null ? bound.port : port,
      send: (bytes, to, onFailed) => connections.send(bytes, to, onFailed)
    }
  })
