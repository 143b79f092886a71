import type * as net from "node:net"
import * as Framer from "../message/Framer.ts"
import { sourceOf } from "./SourceLimits.ts"
import { plain } from "./Udp.ts"

/** Connections at once, in all and from one address. */
const maxConnections = 2000
const maxPerSource = 100
/** Milliseconds after which a connection without any bytes is closed. */
const idleMs = 10 * 60_000
/** Milliseconds in which a new connection must have sent a message. */
const firstMessageMs = 30_000
/** Milliseconds without bytes after which TCP asks whether the peer is there, so that NATs keep the connection. */
const keepAliveMs = 60_000
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

/** Sends on a connection, or on another one to the same place. `onFailed` is called when it cannot be sent. */
export type Send = (bytes: Uint8Array, to: Destination, onFailed: (reason: string) => void) => void

interface Waiting {
  readonly bytes: Uint8Array
  readonly onFailed: (reason: string) => void
}

interface Connection {
  readonly id: number
  readonly socket: net.Socket
  readonly address: string
  pending: Framer.Pending
  /** What is sent once the connection is made: nothing leaves before the server's certificate has been verified. */
  waiting: Array<Waiting> | undefined
  failure: string
}

export interface ConnectionsOptions {
  readonly isAllowed: (address: string) => boolean
  /** Begins a connection. */
  readonly connect: (to: Destination) => net.Socket
  /** The event of a socket of `connect` after which bytes may be sent. */
  readonly connected: "connect" | "secureConnect"
  /** Identifies the connections that serve a destination equally. */
  readonly placeOf: (to: Destination) => string
  /** What went wrong, for the log. */
  readonly reasonOf: (error: NodeJS.ErrnoException, to: Destination) => string
  readonly onMessage: (bytes: Uint8Array, from: Source) => void
}

/** The connections of one transport: TCP or TLS. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #byId = new Map<number, Connection>()
  readonly #byPlace = new Map<string, Connection>()
  /** Sockets that are not connections yet, such as those whose handshake has not ended, by their address. */
  readonly #opening = new Map<net.Socket, string>()
  #count = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** Whether one more connection of this address is taken. */
  admits(address: string): boolean {
    const addresses = [...[...this.#byId.values()].map((each) => each.address), ...this.#opening.values()]
    const source = sourceOf(address)
    const same = addresses.filter((each) => sourceOf(each) === source).length
    return this.#options.isAllowed(address) && addresses.length < maxConnections && same < maxPerSource
  }

  /** Counts a socket that is not a connection yet. */
  opening(socket: net.Socket): void {
    this.#opening.set(socket, plain(socket.remoteAddress ?? ""))
    socket.once("close", () => this.#opening.delete(socket))
  }

  /** It is a connection now, or will be none. */
  opened(socket: net.Socket): void {
    this.#opening.delete(socket)
  }

  /** Takes a connection of a peer. `place`: the destinations for which it may be used; absent: only its own answers. */
  accept(socket: net.Socket, place?: string): void {
    socket.setTimeout(firstMessageMs)
    this.#add(socket, plain(socket.remoteAddress ?? ""), socket.remotePort ?? 0, place)
  }

  send(bytes: Uint8Array, to: Destination, onFailed: (reason: string) => void): void {
    const kept = to.connection === undefined ? undefined : this.#byId.get(to.connection)
    const connection = kept ?? this.#byPlace.get(this.#options.placeOf(to)) ?? this.#connect(to)
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
    for (const socket of this.#opening.keys()) socket.destroy()
    for (const { socket } of this.#byId.values()) socket.destroy()
  }

  #write(connection: Connection, { bytes, onFailed }: Waiting): void {
    connection.socket.write(bytes, (error) => {
      if (error !== null && error !== undefined) onFailed(connection.failure)
    })
  }

  #connect(to: Destination): Connection {
    const { connect, connected, placeOf, reasonOf } = this.#options
    const socket = connect(to)
    const connection = this.#add(socket, to.address, to.port, placeOf(to))
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

  #add(socket: net.Socket, address: string, port: number, place: string | undefined): Connection {
    const connection: Connection = {
      id: ++this.#count,
      socket,
      address,
      pending: Framer.empty,
      waiting: undefined,
      failure: "the connection was closed"
    }
    this.#byId.set(connection.id, connection)
    if (place !== undefined) this.#byPlace.set(place, connection)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, keepAliveMs)
    socket.on("data", (chunk: Buffer) => this.#take(connection, chunk, port))
    socket.on("timeout", () => socket.destroy())
    socket.on("error", () => {})
    socket.on("close", () => {
      this.#byId.delete(connection.id)
      if (place !== undefined && this.#byPlace.get(place) === connection) this.#byPlace.delete(place)
      for (const { onFailed } of connection.waiting ?? []) onFailed(connection.failure)
      connection.waiting = undefined
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
      this.#options.onMessage(frame.bytes, { address, port, connection: id })
      // Where the next message begins is not known.
      if (frame._tag === "Broken") socket.end()
    }
  }
}
