import type { AudioFormat } from "@svc/providers/Audio"
import type { CallGone, CallLeg, DialFailed, IncomingCall } from "@svc/providers/Telephony"
import { Effect } from "effect"

/** A call that we place. */
export interface OutboundDial {
  /** Rings until it is answered; interrupting stops the ringing. */
  readonly dial: Effect.Effect<CallLeg, DialFailed>
  /** The carrier's id of the call, from when the network has it. Absent: it is known of an answered call only. */
  readonly carrierCallId?: () => string | undefined
}

/** How a call gets its leg: an inbound call is answered, an outbound one is dialled. */
export interface Direction {
  readonly leg: Effect.Effect<CallLeg, CallGone | DialFailed>
  /**
   * Rejects an inbound call that was not answered. An outbound one stops ringing when the fiber of `leg` is
   * interrupted.
   */
  readonly reject: (reason: string) => void
  /** Completes when the caller gives up before the answer. */
  readonly canceled: Effect.Effect<void>
  /** The carrier's id of a call that may not be answered yet. */
  readonly carrierCallId: () => string | undefined
}

export const of = (
  connection: IncomingCall | OutboundDial,
  options: { readonly callId: string; readonly formats: ReadonlyArray<AudioFormat> }
): Direction =>
  "dial" in connection
    ? {
        leg: connection.dial,
        reject: () => {},
        canceled: Effect.never,
        carrierCallId: () => connection.carrierCallId?.()
      }
    : {
        leg: connection.answer(options),
        reject: (reason) => connection.reject("unavailable", reason),
        canceled: connection.canceled,
        carrierCallId: () => connection.id
      }
