import * as dgram from "node:dgram"
import { Data, Effect } from "effect"
import { addressFor, type MediaAddress, plainAddress } from "./MediaAddress.ts"

/** A port cannot be bound. `reason` is the system's, such as `EADDRINUSE`. */
export class RtpBindFailed extends Data.TaggedError("RtpBindFailed")<{
  readonly address: string
  readonly port: number
  readonly reason: string
}> {
  override get message(): string {
    return `cannot bind the UDP port ${this.port} on ${this.address} for RTP: ${this.reason}`
  }
}

/** A bound UDP socket that sends to addresses and never throws. */
export interface RtpSocket {
  readonly port: number
  /** Installs the only listener. */
  readonly listen: (onDatagram: (bytes: Uint8Array, address: string, port: number) => void) => void
  /** The first `length` bytes. What cannot be sent is lost, as on the network. */
  readonly send: (bytes: Uint8Array, length: number, to: MediaAddress) => void
  readonly close: () => void
}

/** Addresses are numbers here: without this Node would wait a tick for each packet. */
const lookup = (
  address: string,
  family: unknown,
  callback: (error: null, address: string, family: number) => void
): void => callback(null, address, family === 6 ? 6 : 4)

/** Binds a port; 0: any. IPv6 with `::` takes IPv4 too. */
export const bind = (address: string, port: number): Effect.Effect<RtpSocket, RtpBindFailed> =>
  Effect.async((resume) => {
    const family = address.includes(":") ? 6 : 4
    // The types have the signature of `dns.lookup`, of which Node uses this part.
    const options = { type: family === 6 ? "udp6" : "udp4", lookup } as unknown as dgram.SocketOptions
    const socket = dgram.createSocket(options)
    const onError = (error: NodeJS.ErrnoException) => {
      socket.close()
      resume(Effect.fail(new RtpBindFailed({ address, port, reason: error.code ?? error.message })))
    }
    socket.once("error", onError)
    socket.bind({ address, port, exclusive: true }, () => {
      socket.off("error", onError)
      // The peer's port is closed or its network gone; the signaling ends the call, or media comes again.
      socket.on("error", () => {})
      resume(Effect.succeed(fromSocket(socket, family)))
    })
    return Effect.sync(() => {
      socket.removeAllListeners()
      socket.on("error", () => {})
      socket.close()
    })
  })

const fromSocket = (socket: dgram.Socket, family: 4 | 6): RtpSocket => {
  let isOpen = true
  let from = { raw: "", plain: "" }
  let to: { plain: string; raw: string | undefined } = { plain: "", raw: undefined }
  return {
    port: socket.address().port,
    listen: (onDatagram) => {
      socket.on("message", (bytes, { address, port }) => {
        if (address !== from.raw) from = { raw: address, plain: plainAddress(address) ?? address }
        onDatagram(bytes, from.plain, port)
      })
    },
    send: (bytes, length, { address, port }) => {
      if (!isOpen) return
      if (address !== to.plain) to = { plain: address, raw: addressFor(family, address) }
      if (to.raw === undefined || port < 1 || port > 0xffff) return
      socket.send(bytes, 0, length, port, to.raw)
    },
    close: () => {
      if (!isOpen) return
      isOpen = false
      socket.close()
    }
  }
}
