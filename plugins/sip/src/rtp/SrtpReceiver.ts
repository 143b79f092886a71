import { createDecipheriv, createHmac, timingSafeEqual } from "node:crypto"
import { ReplayWindow } from "./ReplayWindow.ts"
import { putUint32, type RtpPacket, uint32 } from "./RtpPacket.ts"
import { deriveKeys, packetIv, type SessionKeys, type SrtpKeys, type SrtpSuite } from "./SrtpKeys.ts"

/** The tag of RTCP has 80 bits in both suites (RFC 4568, 6.2). */
export const srtcpTagBytes = 10

/** Bytes of the tag of an RTP packet. */
export const tagBytesOf = (suite: SrtpSuite): number => (suite === "AES_CM_128_HMAC_SHA1_80" ? 10 : 4)

/** Streams that are remembered: the sender may change its SSRC, and must not make us take old packets again. */
const mostStreams = 8

/**
 * Authenticates and decrypts what we receive (RFC 3711, 3.3 and 3.4). With a new key, the count of how often the sequence
 * numbers have wrapped goes on (3.3.1) or begins at 0, as the tag of the first packet shows: senders do both.
 */
export class SrtpReceiver {
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  readonly #tagBytes: number
  readonly #iv = new Uint8Array(16)
  readonly #rollover = new Uint8Array(4)
  /** By SSRC. */
  readonly #windows = new Map<number, ReplayWindow>()
  readonly #rtcpWindows = new Map<number, ReplayWindow>()
  /** The newest packet of each stream under the key before this one. */
  readonly #former: ReadonlyMap<number, number>

  /** `former`: the receiver with the key that this one replaces. */
  constructor(keys: SrtpKeys, former?: SrtpReceiver) {
    this.#former = former?.newest ?? new Map()
    this.#rtp = deriveKeys(keys, "rtp")
    this.#rtcp = deriveKeys(keys, "rtcp")
    this.#tagBytes = tagBytesOf(keys.suite)
  }

  /** Decrypts a packet in its bytes. `header` has been read from it. Returns its length without the tag; -1: refused. */
  unprotect(bytes: Uint8Array, header: RtpPacket): number {
    const end = bytes.length - this.#tagBytes
    if (end < header.payloadStart) return -1
    const { sequence, ssrc } = header
    const known = this.#windows.get(ssrc)
    const window = known ?? new ReplayWindow()
    const next = packetIndex(window.newest, sequence)
    if (!window.isFresh(next)) return -1
    const isNext = this.#isAuthentic(bytes, end, next)
    const former = known === undefined ? this.#former.get(ssrc) : undefined
    const index = isNext || former === undefined ? next : packetIndex(former, sequence)
    if (!isNext && (former === undefined || !this.#isAuthentic(bytes, end, index))) return -1
    keep(this.#windows, ssrc, window)
    window.take(index)
    packetIv(this.#iv, this.#rtp.salt, ssrc, index)
    decrypt(this.#rtp.cipherKey, this.#iv, bytes, header.payloadStart, end)
    return end
  }

  /** The index of the newest packet of each stream. */
  get newest(): ReadonlyMap<number, number> {
    const own = [...this.#windows].map(([ssrc, { newest }]) => [ssrc, newest] as const)
    return new Map([...this.#former, ...own].slice(-mostStreams))
  }

  /** Whether the tag at `end` is that of a packet with this index. */
  #isAuthentic(bytes: Uint8Array, end: number, index: number): boolean {
    putUint32(this.#rollover, 0, Math.floor(index / 0x1_0000))
    const tag = createHmac("sha1", this.#rtp.authKey).update(bytes.subarray(0, end)).update(this.#rollover).digest()
    return timingSafeEqual(tag.subarray(0, this.#tagBytes), bytes.subarray(end))
  }

  /** The decrypted compound packet; undefined: refused. */
  unprotectRtcp(bytes: Uint8Array): Uint8Array | undefined {
    const end = bytes.length - srtcpTagBytes
    const trailer = end - 4
    if (trailer < 8) return undefined
    const flagAndIndex = uint32(bytes, trailer)
    const index = flagAndIndex & 0x7fff_ffff
    const ssrc = uint32(bytes, 4)
    const window = this.#rtcpWindows.get(ssrc) ?? new ReplayWindow()
    if (!window.isFresh(index)) return undefined
    const tag = createHmac("sha1", this.#rtcp.authKey).update(bytes.subarray(0, end)).digest()
    if (!timingSafeEqual(tag.subarray(0, srtcpTagBytes), bytes.subarray(end))) return undefined
    keep(this.#rtcpWindows, ssrc, window)
    window.take(index)
    const compound = bytes.slice(0, trailer)
    if (flagAndIndex >= 0x8000_0000) {
      packetIv(this.#iv, this.#rtcp.salt, ssrc, index)
      decrypt(this.#rtcp.cipherKey, this.#iv, compound, 8, compound.length)
    }
    return compound
  }
}

/** The index with a sequence number of 16 bits that is nearest to the newest one (RFC 3711, 3.3.1). */
const packetIndex = (newest: number, sequence: number): number => {
  if (newest < 0) return sequence
  const index = newest + ((((sequence - newest) & 0xffff) << 16) >> 16)
  return index < 0 ? index + 0x1_0000 : index
}

const keep = (windows: Map<number, ReplayWindow>, ssrc: number, window: ReplayWindow): void => {
  if (windows.has(ssrc)) return
  const [oldest] = windows.keys()
  if (windows.size === mostStreams && oldest !== undefined) windows.delete(oldest)
  windows.set(ssrc, window)
}

const decrypt = (key: Uint8Array, iv: Uint8Array, bytes: Uint8Array, start: number, end: number): void => {
  bytes.set(createDecipheriv("aes-128-ctr", key, iv).update(bytes.subarray(start, end)), start)
}
