import type { LineQuality } from "@svc/providers/Telephony"
import { DigitSender } from "./DigitSender.ts"
import { IncomingStream, type MediaListener } from "./IncomingStream.ts"
import { isUnspecified, type MediaAddress } from "./MediaAddress.ts"
import type { Law, MediaParameters } from "./MediaParameters.ts"
import { OutgoingStream } from "./OutgoingStream.ts"
import { PeerLatch } from "./PeerLatch.ts"
import { readCompound } from "./RtcpPacket.ts"
import { type RemoteReport, RtcpReports } from "./RtcpReports.ts"
import { isRtcp, RtpPacket } from "./RtpPacket.ts"
import { areSameKeys } from "./SrtpKeys.ts"
import { SrtpReceiver } from "./SrtpReceiver.ts"
import { SrtpSender } from "./SrtpSender.ts"

/** A packet is sent at least this often, in ms: NATs and carriers drop what is still (RFC 6263 asks for 15 s). */
const keepAliveMs = 5000
/** After this time without a frame, in ms, comfort noise begins where it was negotiated. */
const quietMs = 60
/** A collision within this time, in ms, is the same stream again, such as that of an echo (RFC 3550, 8.2: ten intervals). */
const collisionMs = 50_000

/** Packets that were not used, by what was wrong with them. */
export interface DroppedPackets {
  readonly malformed: number
  /** Of a payload type that was not negotiated. */
  readonly unknownType: number
  /** They failed the checks of SRTP, or came twice. */
  readonly unauthenticated: number
  /** From addresses that are not the peer's. */
  readonly foreign: number
}

/** The port of the pair from which a packet goes. */
export type Port = "rtp" | "rtcp"

/** Sends the first `length` bytes; they may be changed after the call. */
export type SendDatagram = (port: Port, bytes: Uint8Array, length: number, to: MediaAddress) => void

export interface RtpSessionOptions {
  /** The law of the frames in both directions, whatever is negotiated later. */
  readonly law: Law
  readonly listener: MediaListener
  readonly send: SendDatagram
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Milliseconds since 1970. */
  readonly wallNow: () => number
  /** A random number from 0 to 1 that cannot be guessed. */
  readonly random: () => number
  /** There are digits or a part of a packet to send: until `hasUnsent` is false again, `tick` is needed every 20 ms. */
  readonly onUnsent: () => void
  /** The name of this machine in RTCP: the same for all streams, without personal data (RFC 7022). */
  readonly cname: string
}

/** The packet that is read; all sessions use the same, because none is read while another one is. */
const received = new RtpPacket()

type SessionKeyPair = NonNullable<MediaParameters["keys"]>

const random32 = (random: () => number): number => Math.floor(random() * 0x1_0000_0000)

/**
 * The media of a call over RTP: what to do with each datagram, frame and tick, without sockets and timers. Nothing is sent
 * or taken before `negotiate`. Only the timer sends RTCP and nothing answers a packet, so that no peer can make us send
 * to others.
 */
export class RtpSession {
  readonly #options: RtpSessionOptions
  readonly #incoming: IncomingStream
  readonly #outgoing: OutgoingStream
  readonly #digits: DigitSender
  readonly #reports: RtcpReports
  readonly #dropped = { malformed: 0, unknownType: 0, unauthenticated: 0, foreign: 0 }
  #parameters: MediaParameters | undefined
  /** Whether what was negotiated lets us send audio, and to an address. */
  #isSendingAgreed = false
  #latch: PeerLatch | undefined
  /** Where the peer's RTCP came from. */
  #rtcpSource: MediaAddress | undefined
  #rtcpAt: number | undefined
  #srtpIn: SrtpReceiver | undefined
  #srtpOut: SrtpSender | undefined
  #collidedAt = Number.NEGATIVE_INFINITY
  /** Audio was sent since the last comfort noise. */
  #hasSpoken = false
  #isClosed = false
  /** Nothing is sent yet to an address that nothing speaks for. */
  #awaitsProof = false

  constructor(options: RtpSessionOptions) {
    const { law, now, random } = options
    this.#options = options
    this.#incoming = new IncomingStream(law, options.listener)
    this.#outgoing = new OutgoingStream({
      ssrc: random32(random),
      // The upper half is left out, so that the receiver of SRTP cannot miss the first wrap (RFC 3711, 3.3.1).
      sequence: random32(random) >>> 17,
      timestamp: random32(random),
      law,
      now: now(),
      transmit: (packet, length) => this.#transmit(packet, length)
    })
    this.#reports = new RtcpReports({ cname: options.cname, random, now: now() })
    this.#digits = new DigitSender((event, duration, isFirst, isEnd) => {
      const type = this.#parameters?.telephoneEvent
      if (type !== undefined && this.#maySend) this.#outgoing.sendEvent(type, event, duration, isFirst, isEnd, now())
    })
  }

  /**
   * From now on nothing is sent before `prove`, but to an address from which RTP came or that is one of `hosts`: the source of
   * an INVITE over UDP may be forged, and its description may name anybody's address.
   */
  awaitProof(): void {
    this.#awaitsProof = true
  }

  /** The peer has got what we sent it, such as our answer. */
  prove(): void {
    if (!this.#awaitsProof) return
    this.#awaitsProof = false
    this.tick()
  }

  /** Applies what offer and answer have negotiated, also again in the call. */
  negotiate(parameters: MediaParameters): void {
    if (this.#isClosed) return
    const former = this.#parameters
    this.#parameters = parameters
    const { direction, remote } = parameters
    this.#isSendingAgreed = (direction === "sendrecv" || direction === "sendonly") && !isUnspecified(remote)
    if (this.#latch === undefined) this.#latch = new PeerLatch(parameters.remote, parameters.hosts)
    else this.#latch.negotiate(parameters.remote, parameters.hosts, this.#options.now())
    if (former?.remote.address !== parameters.remote.address) this.#rtcpSource = this.#rtcpAt = undefined
    this.#incoming.negotiate(parameters)
    this.#outgoing.negotiate(parameters.audio[0], parameters.packetTimeMs)
    if (parameters.keys === undefined) this.#srtpIn = this.#srtpOut = undefined
    else this.#useKeys(parameters.keys, former?.keys)
    if (!this.#maySend) this.#outgoing.clear()
    this.tick()
  }

  /** Takes a datagram of the RTP port, whose bytes may be changed. */
  receive(bytes: Uint8Array, address: string, port: number): void {
    const latch = this.#latch
    if (latch === undefined || this.#isClosed) {
      this.#dropped.foreign++
      return
    }
    if (isRtcp(bytes)) {
      this.receiveRtcp(bytes, address, port)
      return
    }
    if (!received.readHeader(bytes, bytes.length)) this.#dropped.malformed++
    else if (!this.#incoming.knows(received.payloadType)) this.#dropped.unknownType++
    else {
      const length = this.#srtpIn === undefined ? bytes.length : this.#srtpIn.unprotect(bytes, received)
      const now = this.#options.now()
      if (length < 0) this.#dropped.unauthenticated++
      else if (!received.read(bytes, length)) this.#dropped.malformed++
      else if (!latch.accepts(address, port, received.ssrc, received.sequence, now)) this.#dropped.foreign++
      else {
        if (received.ssrc === this.#outgoing.ssrc) this.#avoidCollision(now)
        if (received.ssrc !== this.#incoming.ssrc) this.#reports.forget()
        this.#incoming.take(received, bytes, now)
      }
    }
  }

  /** Takes a datagram of the RTCP port. */
  receiveRtcp(bytes: Uint8Array, address: string, port: number): void {
    if (this.#latch?.knows(address) !== true || this.#isClosed) {
      this.#dropped.foreign++
      return
    }
    const compound = this.#srtpIn === undefined ? bytes : this.#srtpIn.unprotectRtcp(bytes)
    if (compound === undefined) {
      this.#dropped.unauthenticated++
      return
    }
    const packets = readCompound(compound)
    if (packets === undefined) {
      this.#dropped.malformed++
      return
    }
    this.#rtcpSource = { address, port }
    const { now, wallNow } = this.#options
    this.#rtcpAt = now()
    this.#reports.receive(packets, bytes.length, this.#incoming, this.#outgoing.ssrc, this.#rtcpAt, wallNow())
  }

  /** Sends one 20 ms frame. The bytes may be reused. While a digit is sent, audio is not. */
  send(frame: Uint8Array): void {
    if (!this.#maySend || this.#digits.isSending) return
    this.#outgoing.send(frame, this.#options.now())
    this.#hasSpoken = true
    if (this.#outgoing.isFilling) this.#options.onUnsent()
  }

  /** Drops audio that does not fill a packet yet. */
  clear(): void {
    this.#outgoing.clear()
  }

  /** Sends digits one after the other; `w` is a pause of half a second. False: telephone events were not negotiated. */
  sendDigits(digits: string): boolean {
    if (this.#parameters?.telephoneEvent === undefined) return false
    if (!this.#maySend) return true
    this.#digits.push(digits, this.#options.now())
    this.#options.onUnsent()
    return true
  }

  /** Whether there are digits or a part of a packet to send. */
  get hasUnsent(): boolean {
    return this.#digits.isActive || this.#outgoing.isFilling
  }

  /**
   * Sends what is due. To be called every 20 ms while `hasUnsent`, and at least every 100 ms otherwise: for comfort noise,
   * reports, and the packets that keep NATs open.
   */
  tick(now = this.#options.now()): void {
    const parameters = this.#parameters
    if (parameters === undefined || this.#isClosed) return
    if (!this.#maySend) this.#digits.clear()
    if (this.#digits.isActive) this.#digits.tick(now)
    if (this.#maySend && !this.#digits.isSending) {
      if (this.#outgoing.isStale(now)) this.#outgoing.flush(now)
      const idle = now - this.#outgoing.sentAt
      const isQuiet = parameters.comfortNoise !== undefined && this.#hasSpoken && idle >= quietMs
      if (isQuiet || idle >= keepAliveMs) {
        this.#hasSpoken = false
        this.#outgoing.keepAlive(now, parameters.comfortNoise)
      }
    }
    // Ticks of many sessions take time, and a report relates both clocks.
    if (now >= this.#reports.dueAt) this.#report(this.#options.now(), false)
  }

  /** How well the peer's audio came. Also after the end. */
  get quality(): LineQuality {
    return this.#incoming.quality
  }

  /** How the peer receives us; undefined: it has not reported. */
  get remoteReport(): RemoteReport | undefined {
    return this.#reports.remote
  }

  /** What was not used until now. */
  get dropped(): DroppedPackets {
    return { ...this.#dropped }
  }

  /** When RTP or RTCP of the peer came last, in monotonic ms; undefined: never, since the address was negotiated. */
  get heardAt(): number | undefined {
    const audioAt = this.#latch?.heardAt
    const reportAt = this.#rtcpAt
    return audioAt === undefined || reportAt === undefined ? (audioAt ?? reportAt) : Math.max(audioAt, reportAt)
  }

  /** Whether the peer's last packet was comfort noise: it may send nothing until it speaks (RFC 3389, 4). */
  get isInNoise(): boolean {
    return this.#incoming.isInNoise
  }

  /** Where our media goes to. */
  get destination(): MediaAddress | undefined {
    return this.#latch?.current
  }

  /** Ends the stream with a BYE. Nothing is sent or taken any more. */
  close(): void {
    if (this.#isClosed) return
    if (this.#parameters !== undefined) this.#report(this.#options.now(), true)
    this.#isClosed = true
  }

  get #maySend(): boolean {
    return this.#isSendingAgreed && !this.#isClosed && this.#isProven
  }

  get #isProven(): boolean {
    if (!this.#awaitsProof || this.#latch?.heardAt !== undefined) return true
    const { hosts = [], remote } = this.#parameters ?? {}
    return remote !== undefined && hosts.includes(remote.address)
  }

  /** Keys that stay must go on with their counters, or the same key stream would encrypt twice. */
  #useKeys(keys: SessionKeyPair, former: SessionKeyPair | undefined): void {
    if (former === undefined || !areSameKeys(keys.incoming, former.incoming)) {
      this.#srtpIn = new SrtpReceiver(keys.incoming, this.#srtpIn)
    }
    if (former === undefined || !areSameKeys(keys.outgoing, former.outgoing)) {
      this.#srtpOut = new SrtpSender(keys.outgoing)
    }
  }

  #transmit(packet: Uint8Array, length: number): void {
    if (this.#latch === undefined) return
    const size = this.#srtpOut === undefined ? length : this.#srtpOut.protect(packet, length)
    this.#options.send("rtp", packet, size, this.#latch.current)
  }

  #report(now: number, isLast: boolean): void {
    const to = this.#rtcpDestination
    const report = this.#reports.write(this.#outgoing, this.#incoming, now, this.#options.wallNow(), isLast)
    if (to === undefined || isUnspecified(to) || !this.#isProven) return
    const bytes = this.#srtpOut === undefined ? report : this.#srtpOut.protectRtcp(report)
    this.#options.send(this.#parameters?.isRtcpMuxed === true ? "rtp" : "rtcp", bytes, bytes.length, to)
  }

  get #rtcpDestination(): MediaAddress | undefined {
    const parameters = this.#parameters
    const current = this.#latch?.current
    if (parameters === undefined || current === undefined || isUnspecified(parameters.remote)) return undefined
    if (parameters.isRtcpMuxed) return current
    if (this.#rtcpSource !== undefined) return this.#rtcpSource
    if (current.address !== parameters.remote.address) return { address: current.address, port: current.port + 1 }
    return parameters.remoteRtcp ?? { address: parameters.remote.address, port: parameters.remote.port + 1 }
  }

  /** The peer has our SSRC: we take another one, once (RFC 3550, 8.2). An echo of our packets has it again, and is audio. */
  #avoidCollision(now: number): void {
    if (now - this.#collidedAt < collisionMs) return
    this.#collidedAt = now
    this.#report(now, true)
    this.#outgoing.restart(random32(this.#options.random))
  }
}
