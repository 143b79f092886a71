import type { Effect, Scope } from "effect"
import type { IncomingSms, OutgoingSms } from "../Messaging.ts"
import type { Telephony } from "../Telephony.ts"

/**
 * A phone on the network of the telephony under test, as the plugin's author builds it: on the plugin's routes with sockets in
 * memory, or against a fake of the carrier.
 */
export interface Phone {
  readonly dial: (options: {
    readonly from: string
    readonly to: string
  }) => Effect.Effect<PhoneCall, never, Scope.Scope>
  /** The messages to the dialling number so far. Needed where the plugin has `sms`. */
  readonly messages?: () => ReadonlyArray<Pick<OutgoingSms, "from" | "to" | "message">>
  /** Sends a message to us, on networks where phones can. */
  readonly text?: (sms: Pick<IncomingSms, "from" | "to" | "message">) => Effect.Effect<void>
  /** Another phone on the network. Needed where the plugin declares that it transfers or dials. */
  readonly other?: (behaves: OtherBehaviour) => Effect.Effect<OtherPhone, never, Scope.Scope>
}

/** What a call to a phone meets. `rings`: it rings until the caller gives up. `answers` and `declines`: within a second. */
export type OtherBehaviour = "answers" | "busy" | "declines" | "rings"

/** A phone that can be called. */
export interface OtherPhone {
  /** E.164. */
  readonly number: string
  /** The call that reached it; before that it is `dialling`. */
  readonly call: PhoneCall
}

/** One call as the phone sees it. What it has seen so far is read synchronously. */
export interface PhoneCall {
  readonly state: () => "dialling" | "ringing" | "answered" | "rejected" | "ended"
  /** Sends one 20 ms frame in the leg's format. */
  readonly send: (frame: Uint8Array) => Effect.Effect<void>
  /** All audio that the phone has played so far, in order, in the leg's format. */
  readonly heard: () => Uint8Array
  readonly hangup: Effect.Effect<void>
  /** The connection breaks, without a goodbye. */
  readonly drop: Effect.Effect<void>
  /** Presses keys. Needed where the plugin declares `dtmfIn`. */
  readonly press?: (digits: string) => Effect.Effect<void>
  /** The keys that the phone has heard. Needed where the plugin declares `dtmfOut`. */
  readonly keys?: () => string
  /** Sends what the protocol does not allow. */
  readonly garbage?: Effect.Effect<void>
}

/** Connects a phone to a telephony plugin that has just started. */
export type ConnectPhone = (telephony: typeof Telephony.Service) => Effect.Effect<Phone, never, Scope.Scope>
