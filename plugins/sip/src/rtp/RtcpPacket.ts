import { putUint16, putUint32, uint16, uint32 } from "./RtpPacket.ts"

/** RTCP packets (RFC 3550, 6.4 to 6.6). */

/** What one side received of a stream. */
export interface ReportBlock {
  /** The stream that is reported on. */
  readonly ssrc: number
  /** Lost since the last report, in 256ths. */
  readonly fractionLost: number
  /** Lost in all; 24 bits with sign, because packets can come twice. */
  readonly cumulativeLost: number
  /** The extended highest sequence number. */
  readonly highestSequence: number
  /** Interarrival jitter in units of the timestamp. */
  readonly jitter: number
  /** The middle 32 bits of the NTP time of the last sender report, or 0, and the time since then in 1/65536 s. */
  readonly lastReport: number
  readonly sinceLastReport: number
}

/** What a sender reports of its stream. */
export interface SenderInfo {
  /** Seconds since 1900 and their 2^-32 parts. */
  readonly ntpSeconds: number
  readonly ntpFraction: number
  readonly timestamp: number
  readonly packets: number
  /** Bytes of payload. */
  readonly bytes: number
}

export type RtcpPacket =
  | {
      readonly _tag: "Report"
      readonly ssrc: number
      readonly sender?: SenderInfo
      readonly blocks: ReadonlyArray<ReportBlock>
    }
  | { readonly _tag: "SourceDescription"; readonly ssrc: number; readonly cname: string }
  | { readonly _tag: "Goodbye"; readonly ssrcs: ReadonlyArray<number> }

const senderReport = 200
const receiverReport = 201
const sourceDescription = 202
const goodbye = 203
const cnameItem = 1
const headerBytes = 8
const senderBytes = 20
const blockBytes = 24

const readBlock = (bytes: Uint8Array, at: number): ReportBlock => ({
  ssrc: uint32(bytes, at),
  fractionLost: bytes[at + 4] ?? 0,
  cumulativeLost: (uint32(bytes, at + 4) << 8) >> 8,
  highestSequence: uint32(bytes, at + 8),
  jitter: uint32(bytes, at + 12),
  lastReport: uint32(bytes, at + 16),
  sinceLastReport: uint32(bytes, at + 20)
})

const readReport = (bytes: Uint8Array, at: number, end: number, count: number, isSender: boolean) => {
  const start = at + headerBytes + (isSender ? senderBytes : 0)
  // Extensions of a profile may follow the blocks.
  if (start + count * blockBytes > end) return undefined
  const blocks = Array.from({ length: count }, (_, index) => readBlock(bytes, start + index * blockBytes))
  const report: RtcpPacket = { _tag: "Report", ssrc: uint32(bytes, at + 4), blocks }
  if (!isSender) return report
  const sender: SenderInfo = {
    ntpSeconds: uint32(bytes, at + 8),
    ntpFraction: uint32(bytes, at + 12),
    timestamp: uint32(bytes, at + 16),
    packets: uint32(bytes, at + 20),
    bytes: uint32(bytes, at + 24)
  }
  return { ...report, sender }
}

/** The chunks of a source description, of which only CNAME is kept; undefined: malformed. */
const readDescriptions = (bytes: Uint8Array, at: number, end: number, count: number) => {
  const found: Array<RtcpPacket> = []
  let next = at + 4
  for (let chunk = 0; chunk < count; chunk++) {
    const ssrc = uint32(bytes, next)
    next += 4
    while (next < end && bytes[next] !== 0) {
      const length = bytes[next + 1] ?? 0
      if (next + 2 + length > end) return undefined
      if (bytes[next] === cnameItem) {
        const cname = new TextDecoder().decode(bytes.subarray(next + 2, next + 2 + length))
        found.push({ _tag: "SourceDescription", ssrc, cname })
      }
      next += 2 + length
    }
    // The items of a chunk end with a zero byte and are filled to 32 bits.
    if (next >= end) return undefined
    next += 4 - ((next - at) % 4)
  }
  return next <= end ? found : undefined
}

/**
 * The packets of a compound packet, of which those of other types are left out; undefined: it is malformed (RFC 3550,
 * A.2), and nothing of it is to be used.
 */
export const readCompound = (bytes: Uint8Array): ReadonlyArray<RtcpPacket> | undefined => {
  const packets: Array<RtcpPacket> = []
  if (bytes[1] !== senderReport && bytes[1] !== receiverReport) return undefined
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at] ?? 0
    const type = bytes[at + 1] ?? 0
    const next = at + 4 + uint16(bytes, at + 2) * 4
    if (at + 4 > bytes.length || next > bytes.length || first >> 6 !== 2) return undefined
    const hasPadding = (first & 0x20) !== 0
    const padding = hasPadding ? (bytes[next - 1] ?? 0) : 0
    const end = next - padding
    // Only the last packet may have padding.
    if (hasPadding && (next !== bytes.length || padding === 0 || padding % 4 !== 0 || end < at + 4)) return undefined
    const count = first & 0x1f
    if (type === senderReport || type === receiverReport) {
      const report = readReport(bytes, at, end, count, type === senderReport)
      if (report === undefined) return undefined
      packets.push(report)
    } else if (type === sourceDescription) {
      const descriptions = readDescriptions(bytes, at, end, count)
      if (descriptions === undefined) return undefined
      packets.push(...descriptions)
    } else if (type === goodbye) {
      if (at + 4 + count * 4 > end) return undefined
      const ssrcs = Array.from({ length: count }, (_, index) => uint32(bytes, at + 4 + index * 4))
      packets.push({ _tag: "Goodbye", ssrcs })
    }
    at = next
  }
  return packets
}

const putHeader = (target: Uint8Array, at: number, count: number, type: number, bytes: number): void => {
  target[at] = 0x80 | count
  target[at + 1] = type
  putUint16(target, at + 2, bytes / 4 - 1)
}

const putBlock = (target: Uint8Array, at: number, block: ReportBlock): void => {
  putUint32(target, at, block.ssrc)
  putUint32(target, at + 4, block.cumulativeLost & 0xff_ffff)
  target[at + 4] = block.fractionLost
  putUint32(target, at + 8, block.highestSequence)
  putUint32(target, at + 12, block.jitter)
  putUint32(target, at + 16, block.lastReport)
  putUint32(target, at + 20, block.sinceLastReport)
}

/** What a compound packet of ours has: a report, the CNAME, and at the end of the stream a BYE. */
export interface OwnReport {
  readonly ssrc: number
  /** At most 255 bytes. */
  readonly cname: string
  /** Present: we have sent since the report before the last. */
  readonly sender?: SenderInfo
  readonly block?: ReportBlock
  readonly isLast?: boolean
}

/** Writes a compound packet: SR or RR, SDES, and BYE. */
export const writeCompound = ({ block, cname, isLast, sender, ssrc }: OwnReport): Uint8Array => {
  const name = new TextEncoder().encode(cname)
  const reportBytes = headerBytes + (sender === undefined ? 0 : senderBytes) + (block === undefined ? 0 : blockBytes)
  // At least one zero byte ends the items.
  const descriptionBytes = headerBytes + Math.ceil((2 + name.length + 1) / 4) * 4
  const bytes = new Uint8Array(reportBytes + descriptionBytes + (isLast === true ? headerBytes : 0))
  putHeader(bytes, 0, block === undefined ? 0 : 1, sender === undefined ? receiverReport : senderReport, reportBytes)
  putUint32(bytes, 4, ssrc)
  if (sender !== undefined) {
    putUint32(bytes, 8, sender.ntpSeconds)
    putUint32(bytes, 12, sender.ntpFraction)
    putUint32(bytes, 16, sender.timestamp)
    putUint32(bytes, 20, sender.packets)
    putUint32(bytes, 24, sender.bytes)
  }
  if (block !== undefined) putBlock(bytes, reportBytes - blockBytes, block)
  putHeader(bytes, reportBytes, 1, sourceDescription, descriptionBytes)
  putUint32(bytes, reportBytes + 4, ssrc)
  bytes[reportBytes + 8] = cnameItem
  bytes[reportBytes + 9] = name.length
  bytes.set(name, reportBytes + 10)
  if (isLast === true) {
    const at = reportBytes + descriptionBytes
    putHeader(bytes, at, 1, goodbye, headerBytes)
    putUint32(bytes, at + 4, ssrc)
  }
  return bytes
}
