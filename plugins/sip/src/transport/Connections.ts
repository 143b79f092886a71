import type * as net from "node:net"
import { Effect, type Scope } from "effect"
import { Framer } from "../message/Framer.ts"
import { sourceOf } from "./SourceLimits.ts"
import { plain } from "./Udp.ts"

/**
 * Connections at once: in all, from one address, and of strangers, so that those cannot take the connections of trunks. A
 * stranger is a peer that is not known by its address, and has not proven with a message who it is.
 */
const maxConnections = 2000
const maxPerSource = 100
const maxStrangers = 500
/** Milliseconds after which a connection without any bytes is closed. */
const idleMs = 10 * 60_000
/** Milliseconds in which a message must be complete, and in which a stranger must have proven who it is. */
const usualMessageMs = 30_000
/** How often it is looked whether connections are late, in ms. */
const lookEveryMs = 500
/** Milliseconds without bytes after which TCP asks whether the peer is there, so that NATs keep the connection. */
const keepAliveMs = 60_000
/** Milliseconds for which a peer whose stream is broken may read the answer, before its connection is torn down. */
const lingerMs = 500
/** Bytes that wait for a peer which does not read, before its connection is closed. */
const maxWaiting = 1 << 20

/** Who sent bytes: an address, and the connection on which answers go back. */
export interface Source {
  readonly address: string
  readonly port: number
  readonly connection: number
}

/** Where bytes go. `host`: the name that the certificate of a TLS server must have; absent: its address. */
export interface Destination {
  readonly address: string
  readonly port: number
  readonly connection?: number
  readonly host?: string
}

/** Sends on a connection, or on another one to the same destination. `onFailed` is called when it cannot be sent. */
export type Send = (bytes: Uint8Array, to: Destination, onFailed: (reason: string) => void) => void

interface Waiting {
  readonly bytes: Uint8Array
  readonly onFailed: (reason: string) => void
}

interface Connection {
  readonly id: number
  /** The destinations for which it is used; undefined: only its own answers. */
  readonly key: string | undefined
  readonly socket: net.Socket
  readonly address: string
  readonly framer: Framer
  /** When it is torn down, in monotonic ms, unless a message is complete before, or a stranger has proven who it is. */
  dueAt: number | undefined
  /** What is sent once the connection is made: nothing leaves before the server's certificate has been verified. */
  waiting: Array<Waiting> | undefined
  failure: string
}

export interface ConnectionsOptions {
  readonly isAllowed: (address: string) => boolean
  /** Whether a peer is known by its address; the others are strangers. Absent: all that are allowed. */
  readonly isKnown?: ((address: string) => boolean) | undefined
  /** Begins a connection. */
  readonly connect: (to: Destination) => net.Socket
  /** The event of a socket of `connect` after which bytes may be sent. */
  readonly connected: "connect" | "secureConnect"
  /** Identifies the connections that serve a destination equally. */
  readonly keyOf: (to: Destination) => string
  /** What went wrong, for the log. */
  readonly reasonOf: (error: NodeJS.ErrnoException, to: Destination) => string
  readonly onMessage: OnMessage
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Milliseconds in which a message must be complete. */
  readonly messageMs?: number | undefined
}

/** Takes a message. Returns whether it proves who its sender is, or the sender is known by its address. */
export type OnMessage = (bytes: Uint8Array, from: Source) => boolean

/** The connections of one transport: TCP or TLS. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #messageMs: number
  readonly #byId = new Map<number, Connection>()
  readonly #byDestination = new Map<string, Connection>()
  /** Connections whose stream is broken, until the peer closes them too or they are torn down. */
  readonly #broken = new Set<Connection>()
  /** The open sockets with their sources, also those whose handshake has not ended. */
  readonly #sources = new Map<net.Socket, string>()
  /** Open sockets of each source. */
  readonly #counts = new Map<string, number>()
  readonly #strangers = new Set<net.Socket>()
  #count = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#messageMs = options.messageMs ?? usualMessageMs
  }

  /** Whether one more connection of this address is taken. */
  admits(address: string): boolean {
    const same = this.#counts.get(sourceOf(address)) ?? 0
    return (
      this.#options.isAllowed(address) &&
      this.#sources.size < maxConnections &&
      same < maxPerSource &&
      (this.#isKnown(address) || this.#strangers.size < maxStrangers)
    )
  }

  /** Counts a socket that is not a connection yet. */
  opening(socket: net.Socket): void {
    const address = plain(socket.remoteAddress ?? "")
    this.#enter(socket, address)
    if (!this.#isKnown(address)) this.#strangers.add(socket)
  }

  /** It is a connection now, or will be none. */
  opened(socket: net.Socket): void {
    this.#leave(socket)
  }

  /** Takes a connection of a peer. `key`: the destinations for which it may be used; absent: only its own answers. */
  accept(socket: net.Socket, key?: string): void {
    const address = plain(socket.remoteAddress ?? "")
    const connection = this.#add(socket, address, socket.remotePort ?? 0, key)
    if (!this.#isKnown(address)) this.#strangers.add(socket)
    connection.dueAt = this.#options.now() + this.#messageMs
  }

  /**
   * Closes connections whose message is not complete in time, however slowly its bytes come, late strangers, and broken
   * connections that the peer does not close.
   */
  closeLate(): void {
    const now = this.#options.now()
    for (const connections of [this.#byId.values(), this.#broken]) {
      for (const { dueAt, socket } of connections) if (dueAt !== undefined && now >= dueAt) socket.destroy()
    }
  }

  send(bytes: Uint8Array, to: Destination, onFailed: (reason: string) => void): void {
    const kept = to.connection === undefined ? undefined : this.#byId.get(to.connection)
    const connection = kept ?? this.#byDestination.get(this.#options.keyOf(to)) ?? this.#connect(to)
    const { socket, waiting } = connection
    const size = socket.writableLength + (waiting ?? []).reduce((sum, each) => sum + each.bytes.length, 0)
    if (size > maxWaiting) {
      connection.failure = "the peer does not read what it is sent"
      socket.destroy()
    }
    if (waiting === undefined) this.#write(connection, { bytes, onFailed })
    else waiting.push({ bytes, onFailed })
  }

  /** Whether a connection is open. */
  has(connection: number): boolean {
    return this.#byId.has(connection)
  }

  closeAll(): void {
    for (const socket of this.#sources.keys()) socket.destroy()
  }

  #isKnown(address: string): boolean {
    const { isKnown } = this.#options
    return isKnown === undefined || isKnown(address)
  }

  #enter(socket: net.Socket, address: string): void {
    const source = sourceOf(address)
    this.#sources.set(socket, source)
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + 1)
    socket.once("close", () => this.#leave(socket))
  }

  #leave(socket: net.Socket): void {
    const source = this.#sources.get(socket)
    if (source === undefined) return
    this.#sources.delete(socket)
    this.#strangers.delete(socket)
    const left = (this.#counts.get(source) ?? 1) - 1
    if (left === 0) this.#counts.delete(source)
    else this.#counts.set(source, left)
  }

  #write(connection: Connection, { bytes, onFailed }: Waiting): void {
    connection.socket.write(bytes, (error) => {
      if (error !== null && error !== undefined) onFailed(connection.failure)
    })
  }

  #connect(to: Destination): Connection {
    const { connect, connected, keyOf, reasonOf } = this.#options
    const socket = connect(to)
    const connection = this.#add(socket, to.address, to.port, keyOf(to))
    connection.waiting = []
    connection.failure = "it did not answer in time"
    socket.on("error", (error) => {
      connection.failure = reasonOf(error, to)
    })
    socket.once(connected, () => {
      socket.setTimeout(idleMs)
      const { waiting } = connection
      connection.waiting = undefined
      connection.failure = "the connection was closed"
      for (const each of waiting ?? []) this.#write(connection, each)
    })
    return connection
  }

  #add(socket: net.Socket, address: string, port: number, key: string | undefined): Connection {
    const connection: Connection = {
      id: ++this.#count,
      key,
      socket,
      address,
      framer: new Framer(),
      dueAt: undefined,
      waiting: undefined,
      failure: "the connection was closed"
    }
    this.#byId.set(connection.id, connection)
    this.#enter(socket, address)
    if (key !== undefined) this.#byDestination.set(key, connection)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, keepAliveMs)
    socket.on("data", (chunk: Buffer) => this.#take(connection, chunk, port))
    socket.on("timeout", () => socket.destroy())
    socket.on("error", () => {})
    socket.on("close", () => {
      this.#forget(connection)
      this.#broken.delete(connection)
      for (const { onFailed } of connection.waiting ?? []) onFailed(connection.failure)
      connection.waiting = undefined
    })
    return connection
  }

  #take(connection: Connection, chunk: Uint8Array, port: number): void {
    const { address, framer, id, socket } = connection
    if (this.#broken.has(connection)) return
    for (const frame of framer.push(chunk)) {
      if (frame._tag === "Ping") {
        socket.write("\r\n")
        continue
      }
      socket.setTimeout(idleMs)
      if (this.#options.onMessage(frame.bytes, { address, port, connection: id })) this.#strangers.delete(socket)
      if (!this.#strangers.has(socket)) connection.dueAt = undefined
      if (frame._tag === "Broken") this.#endBroken(connection)
    }
    if (framer.isInMessage) connection.dueAt ??= this.#options.now() + this.#messageMs
  }

  /**
   * Closes a connection on which it is not known where the next message begins. What is to be sent to the peer goes over
   * another one from now on. What it has still sent is read and dropped for a while: without that the kernel may drop the
   * answer that is on its way.
   */
  #endBroken(connection: Connection): void {
    connection.dueAt = this.#options.now() + lingerMs
    this.#forget(connection)
    this.#broken.add(connection)
    connection.socket.end()
  }

  /** Sends nothing more on it. */
  #forget({ id, key }: Connection): void {
    if (key !== undefined && this.#byDestination.get(key)?.id === id) this.#byDestination.delete(key)
    this.#byId.delete(id)
  }
}

/** Closes late connections until the end of the scope. */
export const watch = (connections: Connections): Effect.Effect<void, never, Scope.Scope> =>
  Effect.sleep(lookEveryMs).pipe(
    Effect.zipRight(Effect.sync(() => connections.closeLate())),
    Effect.forever,
    Effect.forkScoped,
    Effect.asVoid
  )
