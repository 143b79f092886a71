import * as dgram from "node:dgram"
import { isIP } from "node:net"
import { Data, Effect, type Scope } from "effect"

/** A port could not be opened. `code` is that of the system, such as `EADDRINUSE`. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly transport: "udp" | "tcp" | "tls"
  readonly address: string
  readonly port: number
  readonly code: string
}> {}

export interface Udp {
  /** The port that was bound. */
  readonly port: number
  readonly send: (bytes: Uint8Array, address: string, port: number) => void
}

/** `::ffff:192.0.2.1`, as sockets for both families write IPv4, in its usual form. */
export const plain = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address

/** Addresses are numbers here: without this Node would wait a tick for each datagram, and lose those before a close. */
const lookup = (
  address: string,
  family: unknown,
  callback: (error: null, address: string, family: number) => void
): void => callback(null, address, family === 6 ? 6 : 4)

/** Opens a UDP socket until the end of the scope. Datagrams are passed synchronously. */
export const listen = (
  address: string,
  port: number,
  onDatagram: (bytes: Uint8Array, address: string, port: number) => void
): Effect.Effect<Udp, ListenFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<dgram.Socket, ListenFailed>((resume) => {
      // The types have the signature of `dns.lookup`, of which Node uses this part.
      const options = {
        type: isIP(address) === 6 ? "udp6" : "udp4",
        recvBufferSize: 1 << 20,
        lookup
      } as unknown as dgram.SocketOptions
      const socket = dgram.createSocket(options)
      socket.once("error", (error: NodeJS.ErrnoException) => {
        resume(new ListenFailed({ transport: "udp", address, port, code: error.code ?? error.message }))
      })
      socket.bind({ address, port, exclusive: true }, () => {
        socket.removeAllListeners("error")
        // Such as ECONNREFUSED of a peer that is gone: its transaction times out.
        socket.on("error", () => {})
        resume(Effect.succeed(socket))
      })
    }),
    (socket) =>
      Effect.async<void>((resume) => {
        socket.close(() => resume(Effect.void))
      })
  ).pipe(
    Effect.map((socket) => {
      const isV6 = isIP(address) === 6
      socket.on("message", (bytes, from) => onDatagram(bytes, plain(from.address), from.port))
      return {
        port: socket.address().port,
        send: (bytes, to, toPort) => {
          if (isIP(to) === 0 || (!isV6 && isIP(to) === 6)) return
          socket.send(bytes, toPort, isV6 && isIP(to) === 4 ? `::ffff:${to}` : to)
        }
      }
    })
  )
