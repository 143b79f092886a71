import type { Effect, Scope } from "effect"
import type { IncomingSms, OutgoingSms } from "../Messaging.ts"
import type { Telephony } from "../Telephony.ts"

/**
 * A phone on the network under test, implemented by the plugin's author: on the plugin's routes with in-memory sockets,
 * or with a fake carrier.
 */
export interface Phone {
  readonly dial: (options: {
    readonly from: string
    readonly to: string
  }) => Effect.Effect<PhoneCall, never, Scope.Scope>
  /** The text messages to the dialling number so far. Required when the plugin provides `sms`. */
  readonly messages?: () => ReadonlyArray<Pick<OutgoingSms, "from" | "to" | "message">>
  /** Sends a text message to the platform. Omitted when phones of the network cannot. */
  readonly text?: (sms: Pick<IncomingSms, "from" | "to" | "message">) => Effect.Effect<void>
  /** Another phone on the network. Required when the plugin transfers or dials. */
  readonly other?: (behaves: OtherBehaviour) => Effect.Effect<OtherPhone, never, Scope.Scope>
}

/**
 * How a phone reacts to a call. `rings`: it rings until the caller gives up. `answers`, `declines`: within a second.
 */
export type OtherBehaviour = "answers" | "busy" | "declines" | "rings"

/** A phone that can be called. */
export interface OtherPhone {
  /** E.164. */
  readonly number: string
  /** The call to this phone. Its state is `dialling` until the phone rings. */
  readonly call: PhoneCall
  /**
   * Sends one 20 ms frame before the answer, in the first format that the network declares. Required when the plugin
   * declares `earlyMedia`.
   */
  readonly early?: (frame: Uint8Array) => Effect.Effect<void>
}

/** One call as the phone sees it. */
export interface PhoneCall {
  readonly state: () => "dialling" | "ringing" | "answered" | "rejected" | "ended"
  /**
   * Sends one 20 ms frame in the leg's format. Where the network numbers packets, the frame has the timestamp of this time,
   * so that it counts the pause before.
   */
  readonly send: (frame: Uint8Array) => Effect.Effect<void>
  /** All audio that the phone has played so far, in the leg's format. */
  readonly heard: () => Uint8Array
  readonly hangup: Effect.Effect<void>
  /** Breaks the connection without a hangup. */
  readonly drop: Effect.Effect<void>
  /** Sends digits. Required when the plugin declares `dtmfIn`. */
  readonly press?: (digits: string) => Effect.Effect<void>
  /** The digits that the phone has received. Required when the plugin declares `dtmfOut`. */
  readonly digits?: () => string
  /** Sends data that violates the protocol. */
  readonly garbage?: Effect.Effect<void>
}

/** Connects a phone to a telephony plugin that was just started. */
export type ConnectPhone = (telephony: typeof Telephony.Service) => Effect.Effect<Phone, never, Scope.Scope>
