import * as net from "node:net"
import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, type Scope } from "effect"
import { Connections, type ConnectionsOptions, type Destination, type Send, watch } from "./Connections.ts"
import { listenOn } from "./StreamServer.ts"
import { type ListenFailed, plain } from "./Udp.ts"

/** Milliseconds for which a connection of ours may take to be made. */
const connectMs = 5000

export interface Tcp {
  readonly port: number
  readonly send: Send
}

export interface TcpOptions extends Pick<ConnectionsOptions, "isAllowed" | "isKnown" | "onMessage" | "messageMs"> {
  readonly address: string
  readonly port: number
}

const keyOf = ({ address, port }: Destination): string => `${address} ${port}`

const connect = ({ address, port }: Destination): net.Socket => {
  const socket = net.connect({ host: address, port })
  socket.setTimeout(connectMs)
  return socket
}

/** Listens for connections until the end of the scope, which closes them all. Messages are passed synchronously. */
export const listen = ({
  address,
  isAllowed,
  isKnown,
  messageMs,
  onMessage,
  port
}: TcpOptions): Effect.Effect<Tcp, ListenFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const connections = new Connections({
      isAllowed,
      isKnown,
      connect,
      connected: "connect",
      keyOf,
      reasonOf: ({ code, message }) => code ?? message,
      onMessage,
      now: () => monotonicMillis(clock),
      messageMs
    })
    const accept = (socket: net.Socket): void => {
      const from = plain(socket.remoteAddress ?? "")
      if (connections.admits(from)) {
        connections.accept(socket, keyOf({ address: from, port: socket.remotePort ?? 0 }))
        return
      }
      socket.on("error", () => {})
      socket.destroy()
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => connections.closeAll()))
    yield* watch(connections)
    const bound = yield* listenOn("tcp", address, port, accept)
    return { port: bound, send: (bytes, to, onFailed) => connections.send(bytes, to, onFailed) }
  })
