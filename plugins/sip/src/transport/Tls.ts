import * as net from "node:net"
import * as tls from "node:tls"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, type Scope } from "effect"
import { Connections, type ConnectionsOptions, type Destination, type Send } from "./Connections.ts"
import { listenOn } from "./StreamServer.ts"
import type { TlsIdentity } from "./TlsFiles.ts"
import { type ListenFailed, plain } from "./Udp.ts"

/** Milliseconds from a connection's beginning to the end of its handshake, however slowly bytes come. */
const usualHandshakeMs = 10_000
/** How often handshakes and messages are looked at, in ms. */
const lookEveryMs = 500

export interface Tls {
  /** The port that accepts connections; undefined: none, as there is no certificate. */
  readonly port: number | undefined
  readonly send: Send
  /** Whether a connection is open. */
  readonly has: (connection: number) => boolean
}

export interface TlsOptions extends Pick<ConnectionsOptions, "isAllowed" | "isKnown" | "onMessage" | "messageMs"> {
  readonly address: string
  readonly port: number
  /** The certificates, read again at each connection. */
  readonly identity: () => TlsIdentity
  readonly handshakeMs?: number
}

const keyOf = ({ address, host = "", port }: Destination): string => `${address} ${port} ${host}`

/** The names of a certificate by which it is the server of a SIP domain (RFC 5922, 7.1). */
const isSipDomain = (host: string, { subjectaltname = "" }: tls.PeerCertificate): boolean =>
  subjectaltname.split(/, ?/).some((each) => each.toLowerCase() === `uri:sip:${host.toLowerCase()}`)

const unknownAuthority: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])

/** Why a server was not accepted, and which setting to look at. */
const reasonOf = ({ code = "", message }: NodeJS.ErrnoException, { address, host = address }: Destination): string => {
  if (code === "CERT_HAS_EXPIRED") return "its certificate has expired"
  if (code === "CERT_NOT_YET_VALID") return "its certificate is not valid yet"
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `its certificate is not of ${host}; SVC_SIP_TRUNK_URI must have a name that is in it (${message})`
  }
  if (unknownAuthority.has(code)) {
    return `its certificate is of an unknown authority (${code}); name the file of the authority's certificate in SVC_SIP_TLS_CA`
  }
  return code === "" ? message : code
}

const connectWith = (identity: TlsIdentity, { address, host = address, port }: Destination): tls.TLSSocket =>
  tls.connect({
    host: address,
    port,
    secureContext: identity.client,
    minVersion: "TLSv1.2",
    // SNI has names only; an address is verified as it is.
    servername: net.isIP(host) === 0 ? host : "",
    checkServerIdentity: (_, certificate) =>
      isSipDomain(host, certificate) ? undefined : tls.checkServerIdentity(host, certificate)
  })

const remoteOf = ({ remoteAddress = "", remotePort = 0 }: net.Socket): string => `${remoteAddress} ${remotePort}`

/** Makes and accepts TLS connections until the end of the scope, which closes them all. Messages are passed synchronously. */
export const listen = (options: TlsOptions): Effect.Effect<Tls, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const {
      address,
      handshakeMs = usualHandshakeMs,
      identity,
      isAllowed,
      isKnown,
      messageMs,
      onMessage,
      port
    } = options
    const clock = yield* Effect.clock
    const now = (): number => monotonicMillis(clock)
    /** Sockets in their handshake, with the time of their beginning. */
    const handshakes = new Map<net.Socket, number>()
    const begin = (socket: net.Socket): void => {
      handshakes.set(socket, now())
      socket.once("close", () => handshakes.delete(socket))
    }
    const connections = new Connections({
      isAllowed,
      isKnown,
      connect: (to) => {
        const socket = connectWith(identity(), to)
        begin(socket)
        socket.once("secureConnect", () => handshakes.delete(socket))
        return socket
      },
      connected: "secureConnect",
      keyOf,
      reasonOf,
      onMessage,
      now,
      messageMs
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => connections.closeAll()))

    let used = identity()
    const server = tls.createServer({ ...used.server, minVersion: "TLSv1.2" })
    /** The sockets below those whose handshake has not ended, by the address and port of the peer. */
    const accepted = new Map<string, net.Socket>()
    server.on("tlsClientError", (_, socket) => socket.destroy())
    server.on("secureConnection", (socket) => {
      const below = accepted.get(remoteOf(socket))
      if (below !== undefined) handshakes.delete(below)
      if (below !== undefined) connections.opened(below)
      connections.accept(socket)
    })
    const accept = (socket: net.Socket): void => {
      const current = identity()
      socket.on("error", () => {})
      if (!connections.admits(plain(socket.remoteAddress ?? ""))) {
        socket.destroy()
        return
      }
      if (current !== used && current.server !== undefined) server.setSecureContext(current.server)
      used = current
      const remote = remoteOf(socket)
      accepted.set(remote, socket)
      socket.once("close", () => accepted.delete(remote))
      connections.opening(socket)
      begin(socket)
      server.emit("connection", socket)
    }
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.zipRight(
          Effect.sleep(Math.min(lookEveryMs, handshakeMs)),
          Effect.sync(() => {
            for (const [socket, at] of handshakes) if (now() - at >= handshakeMs) socket.destroy()
            connections.closeLate()
          })
        )
      )
    )
    const bound = used.server === undefined ? undefined : yield* listenOn("tls", address, port, accept)
    return {
      port: bound,
      send: (bytes, to, onFailed) => connections.send(bytes, to, onFailed),
      has: (connection) => connections.has(connection)
    }
  })
