import { copyAs, silenceOf } from "./LawConversion.ts"
import type { AudioType, Law, PacketTime } from "./MediaParameters.ts"
import type { SenderInfo } from "./RtcpPacket.ts"
import { rtpHeaderBytes, writeRtpHeader } from "./RtpPacket.ts"
import { eventBytes, writeEvent } from "./TelephoneEvent.ts"

/** Samples and bytes of G.711 in a millisecond; telephone events have the same clock. */
const perMs = 8
/** A frame that is later than this, in ms, begins a talk spurt: before it was a pause. */
const pauseMs = 60
/** How loud comfort noise is, in -dBov: hardly to be heard (RFC 3389, 3.1). */
const noiseLevel = 78
/** Space for the tag that SRTP adds. */
const mostTagBytes = 16
/** Buffers that take turns, because the system may hold on to one for a moment. */
const bufferCount = 8
const longestPacketMs = 60
const bufferBytes = rtpHeaderBytes + longestPacketMs * perMs + mostTagBytes

/** Sends the first `length` bytes of a packet. There is space for the tag of SRTP after them. */
export type Transmit = (packet: Uint8Array, length: number) => void

export interface OutgoingStreamOptions {
  readonly ssrc: number
  /** Random, so that encrypted packets cannot be guessed (RFC 3550, 5.1). */
  readonly sequence: number
  readonly timestamp: number
  readonly transmit: Transmit
  /** The law of the frames. */
  readonly law: Law
  /** Milliseconds. */
  readonly now: number
}

/**
 * The stream that we send: its sequence numbers have no gaps, and its timestamps follow the time, also over pauses in
 * which nothing is sent (RFC 3550, 5.1). Frames of 20 ms become packets of the length that was negotiated.
 */
export class OutgoingStream {
  ssrc: number
  #sequence: number
  /** Of the next sample. */
  #timestamp: number
  /** When the next sample is due. */
  #dueAt: number
  readonly #transmit: Transmit
  readonly #law: Law
  readonly #buffers = Array.from({ length: bufferCount }, () => new Uint8Array(bufferBytes))
  #turn = 0
  #audio: AudioType | undefined
  #packetBytes = 160
  /** Bytes of audio in the packet that is being filled. */
  #filled = 0
  #isMarked = true
  #eventTimestamp = 0
  /** The repetitions of the end of an event were sent in the time of audio. */
  #isAfterEvent = false
  /** When the last packet was sent; before the first: since ever. */
  sentAt = Number.NEGATIVE_INFINITY
  /** For sender reports. */
  #packets = 0
  #bytes = 0

  constructor(options: OutgoingStreamOptions) {
    this.ssrc = options.ssrc
    this.#sequence = options.sequence & 0xffff
    this.#timestamp = options.timestamp >>> 0
    this.#dueAt = options.now
    this.#transmit = options.transmit
    this.#law = options.law
  }

  /** What is sent from now on. */
  negotiate(audio: AudioType, packetTime: PacketTime): void {
    if (audio.payloadType === this.#audio?.payloadType && packetTime * perMs === this.#packetBytes) return
    this.#audio = audio
    this.#packetBytes = packetTime * perMs
    this.clear()
  }

  /** Another stream takes the place of this one, because the peer has the same SSRC (RFC 3550, 8.2). */
  restart(ssrc: number): void {
    this.ssrc = ssrc
    this.#packets = 0
    this.#bytes = 0
    this.#isMarked = true
  }

  /** Sends a frame, or keeps it until a packet is full. */
  send(frame: Uint8Array, now: number): void {
    const audio = this.#audio
    if (audio === undefined) return
    if (now - this.#dueAt > pauseMs || this.#isAfterEvent) {
      this.flush(now)
      this.#skipTo(now)
      this.#isAfterEvent = false
    }
    for (let at = 0; at < frame.length; ) {
      const some = Math.min(frame.length - at, this.#packetBytes - this.#filled)
      copyAs(this.#law, audio.law, frame, at, at + some, this.#buffer, rtpHeaderBytes + this.#filled)
      this.#filled += some
      at += some
      if (this.#filled === this.#packetBytes) this.#sendAudio(audio, now)
    }
    this.#dueAt += frame.length / perMs
  }

  /** Sends what does not fill a packet, with silence, when nothing has followed it. */
  flush(now: number): void {
    if (this.#filled === 0 || this.#audio === undefined) return
    const missing = this.#packetBytes - this.#filled
    this.#buffer.fill(silenceOf(this.#audio.law), rtpHeaderBytes + this.#filled, rtpHeaderBytes + this.#packetBytes)
    this.#filled = this.#packetBytes
    this.#dueAt += missing / perMs
    this.#sendAudio(this.#audio, now)
  }

  /** Whether a part of a packet waits for more audio. */
  get isFilling(): boolean {
    return this.#filled > 0
  }

  /** Whether something waits that `flush` has to send at `now`. */
  isStale(now: number): boolean {
    return this.#filled > 0 && now - this.#dueAt > pauseMs
  }

  /** Drops the audio that does not fill a packet. */
  clear(): void {
    this.#timestamp = (this.#timestamp + this.#filled) >>> 0
    this.#filled = 0
  }

  /** Sends one packet of silence, or of comfort noise, so that NATs and the peer know that we are there (RFC 6263). */
  keepAlive(now: number, comfortNoise: number | undefined): void {
    const audio = this.#audio
    if (audio === undefined) return
    this.flush(now)
    // The silence is that of the time before.
    this.#skipTo(comfortNoise === undefined ? now - this.#packetBytes / perMs : now)
    if (comfortNoise === undefined) {
      this.#buffer.fill(silenceOf(audio.law), rtpHeaderBytes, rtpHeaderBytes + this.#packetBytes)
      this.#filled = this.#packetBytes
      this.#dueAt += this.#packetBytes / perMs
      this.#sendAudio(audio, now)
      return
    }
    this.#buffer[rtpHeaderBytes] = noiseLevel
    this.#sendPacket(comfortNoise, false, this.#timestamp, 1, now)
    this.#isMarked = true
  }

  /** Sends a packet of a telephone event; `durationMs` until now. All packets of an event have its first timestamp. */
  sendEvent(
    payloadType: number,
    event: number,
    durationMs: number,
    isFirst: boolean,
    isEnd: boolean,
    now: number
  ): void {
    if (isFirst) {
      this.flush(now)
      this.#skipTo(now)
      this.#eventTimestamp = this.#timestamp
    }
    writeEvent(this.#buffer, rtpHeaderBytes, event, isEnd, durationMs * perMs)
    this.#sendPacket(payloadType, isFirst, this.#eventTimestamp, eventBytes, now)
    this.#isAfterEvent = true
    // Audio goes on after the event.
    const past = (this.#eventTimestamp + durationMs * perMs - this.#timestamp) | 0
    if (past <= 0) return
    this.#timestamp = (this.#timestamp + past) >>> 0
    this.#dueAt += past / perMs
  }

  /** For a sender report at `now`; undefined: nothing was sent. */
  report(now: number, wallMs: number): SenderInfo | undefined {
    if (this.#packets === 0) return undefined
    const { fraction, seconds } = ntpTime(wallMs)
    return {
      ntpSeconds: seconds,
      ntpFraction: fraction,
      // Of the same moment.
      timestamp: (this.#timestamp + this.#filled + Math.round((now - this.#dueAt) * perMs)) >>> 0,
      packets: this.#packets,
      bytes: this.#bytes
    }
  }

  get #buffer(): Uint8Array {
    return this.#buffers[this.#turn] ?? this.#buffers[0] ?? new Uint8Array(bufferBytes)
  }

  /** Leaves out the time in which nothing was sent, in whole frames. */
  #skipTo(now: number): void {
    const missed = Math.floor((now - this.#dueAt) / 20) * 20
    if (missed <= 0) return
    this.#timestamp = (this.#timestamp + missed * perMs) >>> 0
    this.#dueAt += missed
    this.#isMarked = true
  }

  #sendAudio(audio: AudioType, now: number): void {
    this.#sendPacket(audio.payloadType, this.#isMarked, this.#timestamp, this.#filled, now)
    this.#timestamp = (this.#timestamp + this.#filled) >>> 0
    this.#filled = 0
    this.#isMarked = false
  }

  #sendPacket(payloadType: number, isMarked: boolean, timestamp: number, bytes: number, now: number): void {
    const packet = this.#buffer
    writeRtpHeader(packet, payloadType, isMarked, this.#sequence, timestamp, this.ssrc)
    this.#sequence = (this.#sequence + 1) & 0xffff
    this.#packets = (this.#packets + 1) >>> 0
    this.#bytes = (this.#bytes + bytes) >>> 0
    this.#turn = (this.#turn + 1) % bufferCount
    this.sentAt = now
    this.#transmit(packet, rtpHeaderBytes + bytes)
  }
}

/** Seconds from 1900, where NTP begins, to 1970. */
const ntpEpoch = 2_208_988_800

/** The time of RTCP (RFC 3550, 4), from milliseconds since 1970. */
export const ntpTime = (wallMs: number): { readonly seconds: number; readonly fraction: number } => {
  const seconds = Math.floor(wallMs / 1000)
  return {
    seconds: (seconds + ntpEpoch) >>> 0,
    fraction: Math.floor(((wallMs - seconds * 1000) / 1000) * 0x1_0000_0000) >>> 0
  }
}
