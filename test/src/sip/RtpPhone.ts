import * as dgram from "node:dgram"
import { Effect, type Scope } from "effect"

/** What happens to packets that a phone sends. Delayed ones overtake each other. */
export interface LineFaults {
  /** Share of packets that are lost, 0 to 1. */
  readonly loss: number
  /** The longest delay in ms; each packet has its own. */
  readonly jitterMs: number
  /** From 0 to 1. */
  readonly random: () => number
}

/** A packet that came. The bytes are valid only during the call. */
export interface RtpArrival {
  readonly payloadType: number
  readonly sequence: number
  readonly timestamp: number
  readonly payload: Uint8Array
  /** Monotonic ms. */
  readonly at: number
}

const headerBytes = 12
const eventType = 101

/** RTP of one phone on a UDP socket of its own: mu-law of 20 ms and telephone events (RFC 4733). */
export class RtpPhone {
  readonly #socket: dgram.Socket
  readonly #ssrc: number
  #peer: { readonly address: string; readonly port: number } | undefined
  #sequence = 0
  #timestamp = 0
  #delayed: Array<{ readonly due: number; readonly bytes: Uint8Array }> = []
  readonly #events: Array<{ readonly digit: number; readonly duration: number; readonly isEnd: boolean }> = []
  #eventStart = 0
  faults: LineFaults | undefined
  onPacket: (packet: RtpArrival) => void = () => {}
  sent = 0
  /** Packets that `faults` dropped. */
  dropped = 0
  received = 0
  isClosed = false

  constructor(socket: dgram.Socket, ssrc: number) {
    this.#socket = socket
    this.#ssrc = ssrc
    socket.on("error", () => {})
    socket.on("message", (bytes) => this.#receive(bytes))
  }

  get port(): number {
    return this.#socket.address().port
  }

  connect(peer: { readonly address: string; readonly port: number } | undefined): void {
    this.#peer = peer
  }

  /** The time of one frame passes: `payload` is sent, or nothing; a digit takes its place. To be called every 20 ms. */
  tick(payload: Uint8Array | undefined): void {
    const event = this.#events.shift()
    if (event !== undefined) {
      if (event.duration === 160) this.#eventStart = this.#timestamp
      const body = Uint8Array.of(event.digit, (event.isEnd ? 0x80 : 0) | 10, event.duration >> 8, event.duration & 0xff)
      this.#send(eventType, event.duration === 160, this.#eventStart, body)
    } else if (payload !== undefined) this.#send(0, false, this.#timestamp, payload)
    this.#timestamp = (this.#timestamp + 160) >>> 0
  }

  /** Sends digits as telephone events of 100 ms, whose end is sent three times, with pauses of 60 ms. */
  press(digits: string): void {
    for (const character of digits) {
      const digit = "0123456789*#ABCD".indexOf(character)
      for (const duration of [160, 320, 480, 640, 800]) this.#events.push({ digit, duration, isEnd: false })
      for (let again = 0; again < 3; again++) this.#events.push({ digit, duration: 800, isEnd: true })
    }
  }

  /** Whether the next tick sends a digit. */
  get isPressing(): boolean {
    return this.#events.length > 0
  }

  /** Sends delayed packets that are due. */
  flush(now: number): void {
    if (this.#delayed.length === 0) return
    const due = this.#delayed.filter((packet) => packet.due <= now).toSorted((one, other) => one.due - other.due)
    this.#delayed = this.#delayed.filter((packet) => packet.due > now)
    for (const { bytes } of due) this.#transmit(bytes)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#socket.close()
  }

  #send(payloadType: number, isMarked: boolean, timestamp: number, payload: Uint8Array): void {
    const bytes = Buffer.alloc(headerBytes + payload.length)
    bytes[0] = 0x80
    bytes[1] = (isMarked ? 0x80 : 0) | payloadType
    bytes.writeUInt16BE(this.#sequence, 2)
    bytes.writeUInt32BE(timestamp >>> 0, 4)
    bytes.writeUInt32BE(this.#ssrc, 8)
    bytes.set(payload, headerBytes)
    this.#sequence = (this.#sequence + 1) & 0xffff
    this.sent++
    if (this.faults === undefined) this.#transmit(bytes)
    else if (this.faults.random() < this.faults.loss) this.dropped++
    else this.#delayed.push({ due: performance.now() + this.faults.random() * this.faults.jitterMs, bytes })
  }

  #transmit(bytes: Uint8Array): void {
    if (this.#peer !== undefined && !this.isClosed) this.#socket.send(bytes, this.#peer.port, this.#peer.address)
  }

  #receive(bytes: Buffer): void {
    const type = bytes[1] ?? 0
    // RTCP comes to the port above; what is shorter than a header is none of ours.
    if (bytes.length < headerBytes || (type >= 192 && type <= 223)) return
    this.received++
    this.onPacket({
      payloadType: type & 0x7f,
      sequence: bytes.readUInt16BE(2),
      timestamp: bytes.readUInt32BE(4),
      payload: bytes.subarray(headerBytes),
      at: performance.now()
    })
  }
}

let opened = 0

/** Opens one on a free port of 127.0.0.1. The scope closes it. */
export const openRtp: Effect.Effect<RtpPhone, never, Scope.Scope> = Effect.acquireRelease(
  Effect.async<RtpPhone>((resume) => {
    const socket = dgram.createSocket("udp4")
    socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(new RtpPhone(socket, 0x5100_0000 + ++opened))))
  }),
  (phone) => Effect.sync(() => phone.close())
)
