import { BridgeFailed, type CallLeg } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { CallContext } from "./CallContext.ts"
import type { SipCall } from "./SipCall.ts"

/** An answered call, by its id in the user agent. */
export interface JoinableCall {
  readonly call: string
  readonly sipCall: SipCall
}

/** The call of each leg. Copies of a leg have the same `send`, by which the call is found. */
export class JoinableCalls {
  readonly #calls = new WeakMap<CallLeg["send"], JoinableCall>()

  add(leg: CallLeg, joinable: JoinableCall): void {
    this.#calls.set(leg.send, joinable)
  }

  of(leg: CallLeg): JoinableCall | undefined {
    return this.#calls.get(leg.send)
  }
}

/**
 * Joins the peers of two calls at their trunk: REFER with Replaces (RFC 3891) on the first one. Fails when the trunk does
 * not offer that or refuses it; both calls go on then.
 */
export const join =
  ({ joinable, signaling }: Pick<CallContext, "joinable" | "signaling">) =>
  (one: CallLeg, other: CallLeg): Effect.Effect<void, BridgeFailed> =>
    Effect.suspend(() => {
      const [first, second] = [joinable.of(one), joinable.of(other)]
      if (first === undefined || second === undefined) {
        return new BridgeFailed({ reason: "one of the legs is not a SIP call" })
      }
      const target = signaling.agent.replacement(first.call, second.call)
      if ("reason" in target) return new BridgeFailed({ reason: target.reason })
      return first.sipCall.connectTo(second.sipCall, target.uri)
    })
