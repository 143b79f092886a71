/** RTP packets (RFC 3550, 5.1). Nothing here allocates: packets come and go 50 times a second and call. */

/** Bytes of a header without contributing sources and extension, as we send it. */
export const rtpHeaderBytes = 12

/**
 * Whether a datagram is RTCP, where RTP and RTCP share a port (RFC 5761, 4): the packet types 192 to 223 lie where RTP has
 * the marker and payload types 64 to 95, which are not used for it.
 */
export const isRtcp = (bytes: Uint8Array): boolean => {
  const type = bytes[1] ?? 0
  return bytes.length >= 2 && type >= 192 && type <= 223
}

/** The fields of the packet that was read last. Made once and used for all packets. */
export class RtpPacket {
  payloadType = 0
  isMarked = false
  /** 16 bits. */
  sequence = 0
  /** 32 bits, of the first sample. */
  timestamp = 0
  /** 32 bits: the sender's stream. */
  ssrc = 0
  /** The header ends and the payload begins here, in bytes. */
  payloadStart = 0
  /** The payload ends here; padding may follow. */
  payloadEnd = 0

  /** Reads the header of the first `length` bytes. False: they are no RTP packet, and the fields are not to be used. */
  read(bytes: Uint8Array, length: number = bytes.length): boolean {
    if (!this.readHeader(bytes, length)) return false
    if (((bytes[0] ?? 0) & 0x20) === 0) return true
    const padding = bytes[length - 1] ?? 0
    this.payloadEnd = length - padding
    return padding > 0 && this.payloadEnd >= this.payloadStart
  }

  /** As `read`, without the padding, whose length is encrypted in a packet of SRTP. */
  readHeader(bytes: Uint8Array, length: number): boolean {
    const first = bytes[0] ?? 0
    if (length < rtpHeaderBytes || length > bytes.length || first >> 6 !== 2) return false
    const second = bytes[1] ?? 0
    this.isMarked = second >> 7 === 1
    this.payloadType = second & 0x7f
    this.sequence = uint16(bytes, 2)
    this.timestamp = uint32(bytes, 4)
    this.ssrc = uint32(bytes, 8)
    let start = rtpHeaderBytes + (first & 0x0f) * 4
    if ((first & 0x10) !== 0) {
      if (start + 4 > length) return false
      start += 4 + uint16(bytes, start + 2) * 4
    }
    this.payloadStart = start
    this.payloadEnd = length
    return start <= length
  }
}

/** Writes a header of {@link rtpHeaderBytes} to the beginning of `target`. */
export const writeRtpHeader = (
  target: Uint8Array,
  payloadType: number,
  isMarked: boolean,
  sequence: number,
  timestamp: number,
  ssrc: number
): void => {
  target[0] = 0x80
  target[1] = (isMarked ? 0x80 : 0) | payloadType
  putUint16(target, 2, sequence)
  putUint32(target, 4, timestamp)
  putUint32(target, 8, ssrc)
}

/** 16 bits in network order; what lies beyond the bytes counts as 0. */
export const uint16 = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

/** 32 bits in network order; what lies beyond the bytes counts as 0. */
export const uint32 = (bytes: Uint8Array, at: number): number => uint16(bytes, at) * 0x1_0000 + uint16(bytes, at + 2)

/** Writes 16 bits in network order. */
export const putUint16 = (target: Uint8Array, at: number, value: number): void => {
  target[at] = value >>> 8
  target[at + 1] = value
}

/** Writes the lower 32 bits in network order. */
export const putUint32 = (target: Uint8Array, at: number, value: number): void => {
  target[at] = value >>> 24
  target[at + 1] = value >>> 16
  target[at + 2] = value >>> 8
  target[at + 3] = value
}
