import { createCipheriv, createHmac } from "node:crypto"
import { putUint32, rtpHeaderBytes, uint16, uint32 } from "./RtpPacket.ts"
import { deriveKeys, packetIv, type SessionKeys, type SrtpKeys } from "./SrtpKeys.ts"
import { srtcpTagBytes, tagBytesOf } from "./SrtpReceiver.ts"

/** Encrypts what we send (RFC 3711, 3.3 and 3.4). */
export class SrtpSender {
  readonly #rtp: SessionKeys
  readonly #rtcp: SessionKeys
  readonly #tagBytes: number
  readonly #iv = new Uint8Array(16)
  readonly #rollover = new Uint8Array(4)
  #ssrc = -1
  #lastSequence = 0
  #rollovers = 0
  #rtcpIndex = 0

  constructor(keys: SrtpKeys) {
    this.#rtp = deriveKeys(keys, "rtp")
    this.#rtcp = deriveKeys(keys, "rtcp")
    this.#tagBytes = tagBytesOf(keys.suite)
  }

  /** Encrypts a packet of ours in its buffer, which has space for the tag. Returns its length with the tag. */
  protect(packet: Uint8Array, length: number): number {
    const sequence = uint16(packet, 2)
    const ssrc = uint32(packet, 8)
    if (ssrc !== this.#ssrc) this.#rollovers = 0
    else if (sequence < this.#lastSequence) this.#rollovers++
    this.#ssrc = ssrc
    this.#lastSequence = sequence
    packetIv(this.#iv, this.#rtp.salt, ssrc, this.#rollovers * 0x1_0000 + sequence)
    encrypt(this.#rtp.cipherKey, this.#iv, packet, rtpHeaderBytes, length)
    putUint32(this.#rollover, 0, this.#rollovers)
    const tag = createHmac("sha1", this.#rtp.authKey).update(packet.subarray(0, length)).update(this.#rollover).digest()
    packet.set(tag.subarray(0, this.#tagBytes), length)
    return length + this.#tagBytes
  }

  /** The encrypted compound packet. */
  protectRtcp(compound: Uint8Array): Uint8Array {
    const index = this.#rtcpIndex
    this.#rtcpIndex = (index + 1) & 0x7fff_ffff
    const packet = new Uint8Array(compound.length + 4 + srtcpTagBytes)
    packet.set(compound)
    packetIv(this.#iv, this.#rtcp.salt, uint32(compound, 4), index)
    encrypt(this.#rtcp.cipherKey, this.#iv, packet, 8, compound.length)
    putUint32(packet, compound.length, 0x8000_0000 + index)
    const end = compound.length + 4
    const tag = createHmac("sha1", this.#rtcp.authKey).update(packet.subarray(0, end)).digest()
    packet.set(tag.subarray(0, srtcpTagBytes), end)
    return packet
  }
}

const encrypt = (key: Uint8Array, iv: Uint8Array, packet: Uint8Array, start: number, end: number): void => {
  packet.set(createCipheriv("aes-128-ctr", key, iv).update(packet.subarray(start, end)), start)
}
