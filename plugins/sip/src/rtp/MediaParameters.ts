import type { Encoding } from "@svc/providers/Audio"
import type { Direction } from "../sdp/Description.ts"
import type { MediaAddress } from "./MediaAddress.ts"
import type { SrtpKeys } from "./SrtpKeys.ts"

/** G.711, the only audio of a SIP call. */
export type Law = Extract<Encoding, "mulaw" | "alaw">

/** Milliseconds of audio in a packet. */
export type PacketTime = 10 | 20 | 30 | 40 | 60

/** What offer and answer have negotiated for the audio of a call. Payload types are those of our peer's description. */
export interface MediaParameters {
  /** Where the peer wants RTP: its `c=` and `m=`. */
  readonly remote: MediaAddress
  /** Where it wants RTCP, from `a=rtcp` (RFC 3605). Absent: the port above that of RTP. */
  readonly remoteRtcp?: MediaAddress
  /** Other IP addresses of the peer, such as that of its signaling. */
  readonly hosts?: ReadonlyArray<string>
  /** RTP and RTCP share a port (RFC 5761). */
  readonly isRtcpMuxed: boolean
  /** We send the first, and take all. */
  readonly audio: readonly [AudioType, ...ReadonlyArray<AudioType>]
  /** The payload type of telephone events at 8 kHz (RFC 4733). Absent: they were not negotiated. */
  readonly telephoneEvent?: number
  /** Another payload type with which the peer may send telephone events: that of our offer (RFC 3264, 6.1). */
  readonly offeredTelephoneEvent?: number
  /** The payload type of comfort noise (RFC 3389), which is 13. Absent: none is sent. */
  readonly comfortNoise?: number
  /** `a=ptime` of the peer: what it wants to get. What it sends may differ. */
  readonly packetTimeMs: PacketTime
  /** As we see it (RFC 3264, 5.1). Audio of the peer is used only with `sendrecv`: a call on hold has none, whatever plays there. */
  readonly direction: Direction
  /** SRTP (RFC 4568). Absent: RTP. */
  readonly keys?: { readonly outgoing: SrtpKeys; readonly incoming: SrtpKeys }
}

export interface AudioType {
  readonly payloadType: number
  readonly law: Law
}
