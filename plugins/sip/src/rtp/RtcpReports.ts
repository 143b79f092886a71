import { clockRate, type IncomingStream } from "./IncomingStream.ts"
import { ntpTime, type OutgoingStream } from "./OutgoingStream.ts"
import { rtcpIntervalMs } from "./RtcpInterval.ts"
import { type ReportBlock, type RtcpPacket, writeCompound } from "./RtcpPacket.ts"

/** Headers of IPv4 and UDP, which count for the interval (RFC 3550, 6.2). */
const headerBytes = 28
/** G.711 with its headers, both ways, in bits per second. */
const bandwidth = 160_000
/** We count as a sender for this time after the last packet, in ms: two intervals (RFC 3550, 6.3.8). */
const senderMs = 10_000

/** How the peer receives us, of its last report. */
export interface RemoteReport {
  /** Of the time between its last two reports, from 0 to 1. */
  readonly shareLost: number
  readonly packetsLost: number
  readonly jitterMs: number
  /** Null: the peer has not got a report of ours yet. */
  readonly roundTripMs: number | null
}

/** The middle 32 bits of an NTP time, in 1/65536 s. */
const middle = (seconds: number, fraction: number): number => ((seconds << 16) | (fraction >>> 16)) >>> 0

/** When to send RTCP, what it says, and what the peer's says. Times are milliseconds. */
export class RtcpReports {
  readonly #cname: string
  readonly #random: () => number
  #averageBytes = 100
  #dueAt: number
  /** The last sender report of the peer, and when it came. */
  #lastReport = 0
  #lastReportAt = 0
  #remote: RemoteReport | undefined

  /** `random`: from 0 to 1. */
  constructor(options: { readonly cname: string; readonly random: () => number; readonly now: number }) {
    this.#cname = options.cname
    this.#random = options.random
    this.#dueAt = options.now + this.#interval(true, true)
  }

  /** When the next report is due. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** How the peer receives us; undefined: it has not reported yet. */
  get remote(): RemoteReport | undefined {
    return this.#remote
  }

  /** Writes a report; the next one is due later. `isLast`: with a BYE. */
  write(outgoing: OutgoingStream, incoming: IncomingStream, now: number, wallMs: number, isLast: boolean): Uint8Array {
    const isSender = now - outgoing.sentAt < senderMs
    const sender = isSender ? outgoing.report(now, wallMs) : undefined
    const block = this.#block(incoming, now)
    const compound = writeCompound({
      ssrc: outgoing.ssrc,
      cname: this.#cname,
      ...(sender && { sender }),
      ...(block && { block }),
      isLast
    })
    this.#weigh(compound.length)
    this.#dueAt = now + this.#interval(isSender, false)
    return compound
  }

  /** Takes a compound packet of the peer about the stream `ssrc`, which is ours. */
  receive(
    packets: ReadonlyArray<RtcpPacket>,
    bytes: number,
    incoming: IncomingStream,
    ssrc: number,
    now: number,
    wallMs: number
  ): void {
    this.#weigh(bytes)
    for (const packet of packets) {
      if (packet._tag !== "Report") continue
      if (packet.sender !== undefined && packet.ssrc === incoming.ssrc) {
        this.#lastReport = middle(packet.sender.ntpSeconds, packet.sender.ntpFraction)
        this.#lastReportAt = now
      }
      const block = packet.blocks.find((each) => each.ssrc === ssrc)
      if (block !== undefined) this.#remote = remoteReport(block, wallMs)
    }
  }

  /** The peer has begun another stream, of which there is no sender report. */
  forget(): void {
    this.#lastReport = 0
  }

  #block(incoming: IncomingStream, now: number): ReportBlock | undefined {
    const { ssrc, statistics } = incoming
    if (ssrc === undefined || statistics.received === 0) return undefined
    return {
      ssrc,
      fractionLost: statistics.takeFractionLost(),
      cumulativeLost: statistics.cumulativeLost,
      highestSequence: statistics.highestSequence,
      jitter: statistics.jitter,
      lastReport: this.#lastReport,
      sinceLastReport: this.#lastReport === 0 ? 0 : Math.round(((now - this.#lastReportAt) / 1000) * 0x1_0000) >>> 0
    }
  }

  #weigh(bytes: number): void {
    this.#averageBytes += (bytes + headerBytes - this.#averageBytes) / 16
  }

  #interval(weSend: boolean, isFirst: boolean): number {
    return rtcpIntervalMs({
      members: 2,
      senders: weSend ? 2 : 1,
      weSend,
      averageBytes: this.#averageBytes,
      bandwidth,
      isFirst,
      random: this.#random()
    })
  }
}

const remoteReport = (block: ReportBlock, wallMs: number): RemoteReport => {
  const { fraction, seconds } = ntpTime(wallMs)
  const roundTrip = (middle(seconds, fraction) - block.lastReport - block.sinceLastReport) | 0
  return {
    shareLost: block.fractionLost / 256,
    packetsLost: Math.max(0, block.cumulativeLost),
    jitterMs: (block.jitter * 1000) / clockRate,
    // A peer whose clock is a little fast has answered before it was asked.
    roundTripMs: block.lastReport === 0 ? null : Math.max(0, (roundTrip * 1000) / 0x1_0000)
  }
}
