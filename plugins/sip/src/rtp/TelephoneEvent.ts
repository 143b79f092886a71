import { putUint16 } from "./RtpPacket.ts"

/** Telephone events (RFC 4733, 2.3): digits as RTP packets. */

/** Bytes of one event. */
export const eventBytes = 4

/** The digits of the events 0 to 15. */
export const eventDigits = "0123456789*#ABCD"

/** -10 dBm0, the loudness of a usual telephone. */
const volume = 10

/** Writes the payload of an event. `duration`: until now, in units of the timestamp. */
export const writeEvent = (target: Uint8Array, at: number, event: number, isEnd: boolean, duration: number): void => {
  target[at] = event
  target[at + 1] = (isEnd ? 0x80 : 0) | volume
  putUint16(target, at + 2, duration)
}
