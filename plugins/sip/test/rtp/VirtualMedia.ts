import type { MediaAddress } from "../../src/rtp/MediaAddress.ts"
import type { MediaParameters, PacketTime } from "../../src/rtp/MediaParameters.ts"
import { RtpPacket } from "../../src/rtp/RtpPacket.ts"
import { type Port, RtpSession } from "../../src/rtp/RtpSession.ts"
import type { Direction } from "../../src/sdp/Description.ts"

/** A datagram on the virtual network. */
export interface Datagram {
  readonly at: number
  readonly port: Port
  readonly bytes: Uint8Array
  readonly to: MediaAddress
}

/** What a session has emitted: labels of audio by their first byte, empty packets as 0. */
interface Heard {
  readonly label: number
  readonly length: number
  readonly sequence: number
  readonly timestamp: number
}

/** A session in virtual time, and what it sends and hears. */
export class VirtualEnd {
  readonly address: MediaAddress
  readonly session: RtpSession
  readonly sent: Array<Datagram> = []
  readonly heard: Array<Heard> = []
  digits = ""

  constructor(address: MediaAddress, clock: { now: number }, random: () => number, law: "mulaw" | "alaw" = "mulaw") {
    this.address = address
    this.session = new RtpSession({
      law,
      listener: {
        onAudio: (payload, sequence, timestamp) =>
          this.heard.push({ label: payload[0] ?? 0, length: payload.length, sequence, timestamp }),
        onDigit: (digit) => {
          this.digits += digit
        }
      },
      send: (port, bytes, length, to) =>
        this.sent.push({ at: clock.now, port, bytes: bytes.slice(0, length), to: { ...to } }),
      now: () => clock.now,
      wallNow: () => 1_700_000_000_000 + clock.now,
      random,
      // They are ticked every 20 ms.
      onUnsent: () => {},
      cname: "virtual"
    })
  }

  /** RTP packets that were sent, with their headers. */
  get rtp() {
    return this.sent
      .filter(({ bytes }) => (bytes[1] ?? 0) < 192 || (bytes[1] ?? 0) > 223)
      .map((datagram) => {
        const header = new RtpPacket()
        header.read(datagram.bytes)
        return { ...datagram, header, payload: datagram.bytes.slice(header.payloadStart, header.payloadEnd) }
      })
  }

  get rtcp(): ReadonlyArray<Datagram> {
    return this.sent.filter(({ bytes }) => (bytes[1] ?? 0) >= 192 && (bytes[1] ?? 0) <= 223)
  }

  /** The audio that was emitted, by label, without silence and empty packets. */
  get labels(): ReadonlyArray<number> {
    return this.heard.map(({ label }) => label).filter((label) => label !== 0 && label !== 0xff && label !== 0xd5)
  }
}

export const parameters = (
  remote: MediaAddress,
  options: Partial<MediaParameters> & { readonly packetTimeMs?: PacketTime; readonly direction?: Direction } = {}
): MediaParameters => ({
  remote,
  isRtcpMuxed: false,
  audio: [{ payloadType: 0, law: "mulaw" }],
  telephoneEvent: 101,
  packetTimeMs: 20,
  direction: "sendrecv",
  ...options
})

/** What the network does with a datagram: the milliseconds after which it arrives, once for each. */
export type Transport = (datagram: Datagram, index: number) => ReadonlyArray<number>

const ideal: Transport = () => [0]

/** Random numbers from 0 to 1, the same in each run. */
export const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

/** Two sessions that talk over a virtual network, in steps of 20 ms. */
export class VirtualMedia {
  readonly clock = { now: 900 }
  readonly a: VirtualEnd
  readonly b: VirtualEnd
  readonly #transport: Transport
  #index = 0
  readonly #taken = new Map<VirtualEnd, number>()
  #waiting: Array<{ readonly at: number; readonly order: number; readonly deliver: () => void }> = []

  constructor(
    options: { readonly transport?: Transport; readonly laws?: readonly ["mulaw" | "alaw", "mulaw" | "alaw"] } = {}
  ) {
    const [first, second] = options.laws ?? ["mulaw", "mulaw"]
    this.#transport = options.transport ?? ideal
    this.a = new VirtualEnd({ address: "192.0.2.1", port: 4000 }, this.clock, seeded(1), first)
    this.b = new VirtualEnd({ address: "192.0.2.2", port: 5000 }, this.clock, seeded(2), second)
    this.clock.now = 1000
  }

  /** Both sides negotiate the same. */
  negotiate(options: Parameters<typeof parameters>[1] = {}): this {
    this.a.session.negotiate(parameters(this.b.address, options))
    this.b.session.negotiate(parameters(this.a.address, options))
    return this
  }

  /** Ticks both for `ms`; `onStep` runs before each tick with its number. */
  run(ms: number, onStep: (step: number) => void = () => {}): this {
    for (let step = 0; step < ms / 20; step++) {
      onStep(step)
      this.a.session.tick()
      this.b.session.tick()
      this.#carry()
      this.clock.now += 20
      this.#carry()
    }
    return this
  }

  #carry(): void {
    for (const [from, to] of [
      [this.a, this.b],
      [this.b, this.a]
    ] as const) {
      const taken = this.#taken.get(from) ?? 0
      this.#taken.set(from, from.sent.length)
      for (const datagram of from.sent.slice(taken)) this.#schedule(datagram, from, to)
    }
    const due = this.#waiting
      .filter(({ at }) => at <= this.clock.now)
      .sort((one, other) => one.at - other.at || one.order - other.order)
    this.#waiting = this.#waiting.filter(({ at }) => at > this.clock.now)
    for (const { deliver } of due) deliver()
  }

  #schedule(datagram: Datagram, from: VirtualEnd, to: VirtualEnd): void {
    const isRtp = datagram.to.port === to.address.port
    if (datagram.to.address !== to.address.address || (!isRtp && datagram.to.port !== to.address.port + 1)) return
    const port = from.address.port + (datagram.port === "rtp" ? 0 : 1)
    for (const delay of this.#transport(datagram, this.#index++)) {
      const deliver = (): void => {
        const bytes = datagram.bytes.slice()
        if (isRtp) to.session.receive(bytes, from.address.address, port)
        else to.session.receiveRtcp(bytes, from.address.address, port)
      }
      this.#waiting.push({ at: datagram.at + delay, order: this.#index, deliver })
    }
  }
}

/** A frame whose bytes are a label from 1 to 120, none of which is silence. */
export const frame = (label: number): Uint8Array => new Uint8Array(160).fill(1 + (label % 120))
