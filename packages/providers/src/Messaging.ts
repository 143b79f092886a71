import { Data, type Effect, type Stream } from "effect"

/** A text message that we send. */
export interface OutgoingSms {
  /** Ours, the same should it be sent again; networks that know such ids deliver it once. */
  readonly id: string
  /** E.164. */
  readonly to: string
  /** One of our numbers in E.164, or a name of up to 11 characters. */
  readonly from: string
  readonly sender_type: "number" | "alphanumeric"
  readonly message: string
}

/** A text message to one of our numbers. */
export interface IncomingSms {
  /** The carrier's id of the message. */
  readonly id: string
  /** E.164, or a name. */
  readonly from: string
  /** E.164. */
  readonly to: string
  readonly message: string
}

/** The network did not take a message; `reason` is one plain sentence. */
export class SmsFailed extends Data.TaggedError("SmsFailed")<{ readonly reason: string }> {}

/** The text messages of a telephone network. */
export interface Messaging {
  /**
   * Completes when the network has taken the message, with the carrier's id of it. Nobody tries again: a message that may
   * have been taken must not arrive twice.
   */
  readonly send: (sms: OutgoingSms) => Effect.Effect<{ readonly provider_message_id: string | null }, SmsFailed>
  /** Messages as they come in. Taken once, for as long as the plugin lives. */
  readonly incoming: Stream.Stream<IncomingSms>
}
