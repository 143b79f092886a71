import * as net from "node:net"
import { Effect, type Scope } from "effect"
import { Connections, type Destination, type Send, type Source } from "./Connections.ts"
import { listenOn } from "./StreamServer.ts"
import { type ListenFailed, plain } from "./Udp.ts"

/** Milliseconds for which a connection of ours may take to be made. */
const connectMs = 5000

export interface Tcp {
  readonly port: number
  readonly send: Send
}

const placeOf = ({ address, port }: Destination): string => `${address} ${port}`

const connect = ({ address, port }: Destination): net.Socket => {
  const socket = net.connect({ host: address, port })
  socket.setTimeout(connectMs)
  return socket
}

/** Listens for connections until the end of the scope, which closes them all. Messages are passed synchronously. */
export const listen = (
  address: string,
  port: number,
  isAllowed: (address: string) => boolean,
  onMessage: (bytes: Uint8Array, from: Source) => void
): Effect.Effect<Tcp, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const connections = new Connections({
      isAllowed,
      connect,
      connected: "connect",
      placeOf,
      reasonOf: ({ code, message }) => code ?? message,
      onMessage
    })
    const accept = (socket: net.Socket): void => {
      const from = plain(socket.remoteAddress ?? "")
      if (connections.admits(from)) {
        connections.accept(socket, placeOf({ address: from, port: socket.remotePort ?? 0 }))
        return
      }
      socket.on("error", () => {})
      socket.destroy()
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => connections.closeAll()))
    const bound = yield* listenOn("tcp", address, port, accept)
    return { port: bound, send: (bytes, to, onFailed) => connections.send(bytes, to, onFailed) }
  })
