import type { AudioFormat } from "@svc/providers/Audio"
import type { CallGone, CallLeg, DialFailed, IncomingCall } from "@svc/providers/Telephony"
import { Effect } from "effect"

/** A call that we place. */
export interface Outgoing {
  /** Rings until it is answered; interrupting stops the ringing. */
  readonly dial: Effect.Effect<CallLeg, DialFailed>
}

/** How a call comes to its leg: somebody calls us, or we call somebody. */
export interface Way {
  readonly leg: Effect.Effect<CallLeg, CallGone | DialFailed>
  /** Refuses a call that was not answered. What we dial stops to ring when its fiber is interrupted. */
  readonly refuse: (reason: string) => void
  /** Completes when the caller gave up before the answer. */
  readonly canceled: Effect.Effect<void>
}

export const of = (
  call: IncomingCall | Outgoing,
  options: { readonly callId: string; readonly formats: ReadonlyArray<AudioFormat> }
): Way =>
  "dial" in call
    ? { leg: call.dial, refuse: () => {}, canceled: Effect.never }
    : {
        leg: call.answer(options),
        refuse: (reason) => call.reject("unavailable", reason),
        canceled: call.canceled
      }
